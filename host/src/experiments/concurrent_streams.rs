//! Graphs that run at the same time need memory of their own.
//!
//! The claim is about graphs that overlap, so the overlap is proven in every run:
//! when the last footprint has been read, every stream must still be busy. Then
//! each graph was running, or waiting to, at every launch after its own, and none
//! of its memory could be given to a later one. Where the proof fails the graphs
//! are made to run twice as long and everything is done again.

use std::time::Duration;

use super::graphs::alloc_spin_free;
use super::overlap::{Queried, until_proven};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "concurrent-streams",
    title: "Concurrent graphs on several streams",
    shows: "Graphs that may run at the same time cannot share physical memory: each launch \
            adds a one_launch. That they did overlap is proven, not assumed.",
    teaches: "Every stream that runs graphs with allocations needs memory of its own, for as \
              long as the graphs overlap. Streams that merely could overlap do not count: once \
              a graph has finished, the next launch on any stream may take its memory. So a \
              footprint measured with short kernels says little about one with long kernels.",
    rules: &["R25", "R31", "R34", "R36", "R37", "R42", "M18"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    notebook.baseline()?;
    let proof = until_proven(lab, notebook, lab.choices.graphs, |notebook, spin_time| {
        launch_all(lab, notebook, spin_time)
    })?;

    let one_launch = lab.launch_footprint_bytes();
    let first_check = notebook.check_count_so_far();
    let grown: Vec<_> = (1..=lab.choices.graphs as u64)
        .map(|launches| launches * one_launch)
        .collect();
    let measured = notebook.used_after(Action::Launch);
    notebook.check_series("R36", "each launch adds one unit", grown, measured);
    let at_end = notebook
        .used_after(Action::Synchronize)
        .last()
        .copied()
        .unwrap_or(0);
    let all = lab.choices.graphs as u64 * one_launch;
    notebook.check_bytes(
        "R34",
        "all units are still held when all graphs are done",
        all,
        at_end,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// One attempt: a graph and a stream each, launched as fast as the footprint can be
/// read. Tells whether each stream was still busy after the last reading.
fn launch_all(lab: &Lab<'_>, notebook: &mut Notebook<'_>, spin_time: Duration) -> Result<Queried> {
    let pairs = notebook
        .step(
            format!("instantiate {} graphs", lab.choices.graphs),
            Action::Instantiate,
        )
        .done(|| {
            let pair = |_| Ok((alloc_spin_free(lab, spin_time)?, Stream::new(lab.runtime)?));
            (0..lab.choices.graphs)
                .map(pair)
                .collect::<Result<Vec<_>>>()
        })?;
    for (index, ((_, address), _)) in pairs.iter().enumerate() {
        notebook.allocation("x", index, *address, lab.choices.allocation_bytes);
    }
    for (index, ((exec, address), stream)) in pairs.iter().enumerate() {
        let _ = notebook
            .step(
                format!("launch graph {index} on stream {index}"),
                Action::Launch,
            )
            .graph(index)
            .stream(index)
            .address(*address)
            .spin_time(spin_time)
            .done(|| exec.launch(stream))?;
    }
    let queried = Queried::now(notebook, pairs.iter().map(|(_, stream)| stream))?;
    notebook
        .step("synchronize all streams", Action::Synchronize)
        .done(|| {
            pairs
                .iter()
                .try_for_each(|(_, stream)| stream.synchronize())
        })?;
    for ((exec, _), stream) in pairs {
        exec.destroy()?;
        stream.destroy()?;
    }
    Ok(queried)
}
