//! Graphs that run one after another in a stream share physical memory.

use std::collections::BTreeSet;

use super::graphs::{SHORT_SPIN_TIME, alloc_spin_free};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "physical-memory-reuse",
    title: "Physical memory reuse in one stream",
    shows: "Graphs launched into one stream cannot overlap, so they share physical memory: the \
            footprint is that of one graph. Each graph keeps its own addresses.",
    teaches: "Every graph keeps its own virtual addresses. Physical memory is mapped at the launch \
              and is shared among graphs that cannot run at the same time. Graphs in one stream \
              therefore take as much memory as the largest of them, however many there are. Memory \
              stays mapped after a graph has finished, so that a relaunch is cheap; only a trim \
              returns it.",
    rules: &["R2", "R5", "R31", "R32", "R34", "R35", "R41", "R42"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let spin_time = lab.choices.fixed_spin_time.unwrap_or(SHORT_SPIN_TIME);
    notebook.baseline()?;

    let graphs = notebook
        .step(
            format!("instantiate {} graphs", lab.choices.graphs),
            Action::Instantiate,
        )
        .done(|| {
            (0..lab.choices.graphs)
                .map(|_| alloc_spin_free(lab, spin_time))
                .collect::<Result<Vec<_>>>()
        })?;
    notebook.check_used("R31", "instantiating maps no memory", 0);
    let addresses: BTreeSet<_> = graphs.iter().map(|&(_, address)| address).collect();
    notebook.check_count(
        "R5",
        "each graph has its own address",
        lab.choices.graphs,
        addresses.len(),
    );

    for (index, &(_, address)) in graphs.iter().enumerate() {
        notebook.allocation("x", index, address, lab.choices.allocation_bytes);
    }

    // The first graph twice, then every other: the first launch maps, and nothing
    // after it needs more.
    let stream = Stream::new(lab.runtime)?;
    let order = std::iter::once(0).chain(0..lab.choices.graphs);
    for (launch, index) in order.enumerate() {
        let (exec, address) = &graphs[index];
        let label = match launch {
            1 => "launch graph 0 again".to_owned(),
            _ => format!("launch graph {index}"),
        };
        let _ = notebook
            .step(label, Action::Launch)
            .graph(index)
            .stream(0)
            .address(*address)
            .spin_time(spin_time)
            .done(|| exec.launch(&stream))?;
    }
    notebook.check_launches(
        "R32 R34 R35",
        "after each launch the footprint is that of one launch",
        vec![one_launch; lab.choices.graphs + 1],
    );

    notebook.synchronize(&stream)?;
    notebook.check_used("R34", "finished graphs stay mapped", one_launch);
    for (exec, _) in graphs {
        exec.destroy()?;
    }
    notebook.trim_to_nothing("R42", "a trim returns everything")
}
