//! Graphs that run at the same time do not share memory.
//!
//! The claim is about graphs that overlap, so every run checks that they did: after
//! the last footprint has been read, every stream must still be busy. Then each graph
//! was running or waiting during every later launch, and none of its memory could be
//! used by a later graph. If a stream was idle, the spin time is doubled and all graphs
//! are launched again.

use std::time::Duration;

use super::graphs::alloc_spin_free;
use super::overlap::{Queried, until_proven};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "concurrent-streams",
    title: "Concurrent graphs on several streams",
    shows: "Graphs that run at the same time cannot share physical memory: each launch adds the \
            footprint of one launch. The experiment checks that the graphs did overlap.",
    teaches: "Every stream that runs graphs with allocations needs its own memory while the graphs \
              overlap. It does not matter whether streams could overlap: once a graph has \
              finished, the next launch on any stream can use its memory. A footprint measured \
              with short kernels therefore does not predict the footprint with long kernels.",
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
    notebook.check_launches("R36", "each launch adds the footprint of one launch", grown);
    let at_end = notebook
        .used_after(Action::Synchronize)
        .last()
        .copied()
        .unwrap_or(0);
    let all = lab.choices.graphs as u64 * one_launch;
    notebook.check_bytes(
        "R34",
        "nothing is returned when all graphs have finished",
        all,
        at_end,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// One attempt: launches each graph on its own stream and reads the footprint after
/// each launch. Returns whether each stream was still busy after the last reading.
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
