//! The next launch on any stream can use the memory of a graph that has finished; being
//! ordered after a graph that is still running is not enough.

use std::time::Duration;

use super::graphs::alloc_spin_free;
use super::overlap::{Queried, until_proven};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Event, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "finished-elsewhere",
    title: "Memory of a graph that finished in another stream",
    shows: "Once a graph has finished, a launch in another stream uses its memory: both take the \
            footprint of one launch. While the first graph is still running this does not happen, \
            even if the second waits for it through an event: they take twice as much.",
    teaches: "What matters is whether the first graph has finished when the second is launched, \
              not whether it will have finished when the second starts: the launch call assigns \
              the memory, on the host. An event between streams orders the work but saves no \
              memory. To save memory, wait for the first graph on the host, or launch both into \
              one stream.",
    rules: &["R31", "R35", "R36", "R37", "R42", "M18"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    one_after_the_other(lab, notebook)?;
    notebook.check_used(
        "R37",
        "the first graph has finished: the second uses its memory",
        one_launch,
    );
    notebook.trim()?;

    // Of the two launches, only the first must still be running.
    let mut used_by_both = 0;
    let proof = until_proven(lab, notebook, 2, |notebook, spin_time| {
        let (queried, used) = ordered_by_an_event(lab, notebook, spin_time)?;
        used_by_both = used;
        Ok(queried)
    })?;
    let first_check = notebook.check_count_so_far();
    notebook.check_bytes(
        "R36 R37",
        "the first graph still runs: the second waits for an event, but needs memory of its own",
        2 * one_launch,
        used_by_both,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "a trim returns everything")
}

fn one_after_the_other(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let streams = [Stream::new(lab.runtime)?, Stream::new(lab.runtime)?];
    let execs = notebook
        .step("instantiate two graphs", Action::Instantiate)
        .done(|| {
            Ok([
                alloc_spin_free(lab, Duration::ZERO)?,
                alloc_spin_free(lab, Duration::ZERO)?,
            ])
        })?;
    for (index, ((exec, address), stream)) in execs.iter().zip(&streams).enumerate() {
        notebook.allocation("x", index, *address, lab.choices.allocation_bytes);
        let _ = notebook
            .step(
                format!("launch graph {index} on stream {index}"),
                Action::Launch,
            )
            .graph(index)
            .stream(index)
            .address(*address)
            .spin_time(Duration::ZERO)
            .done(|| exec.launch(stream))?;
        notebook
            .step(format!("synchronize stream {index}"), Action::Synchronize)
            .stream(index)
            .done(|| stream.synchronize())?;
    }
    for (exec, _) in execs {
        exec.destroy()?;
    }
    Ok(())
}

/// Launches the second graph, which waits for an event, while the first runs. Returns
/// whether the first was still running after the reading, and the used bytes.
fn ordered_by_an_event(
    lab: &Lab<'_>,
    notebook: &mut Notebook<'_>,
    spin_time: Duration,
) -> Result<(Queried, u64)> {
    let streams = [Stream::new(lab.runtime)?, Stream::new(lab.runtime)?];
    let done = Event::new(lab.runtime)?;
    let [(first, first_address), (second, second_address)] = notebook
        .step("instantiate two more", Action::Instantiate)
        .done(|| {
            Ok([
                alloc_spin_free(lab, spin_time)?,
                alloc_spin_free(lab, Duration::ZERO)?,
            ])
        })?;
    notebook.allocation("x", 2, first_address, lab.choices.allocation_bytes);
    notebook.allocation("x", 3, second_address, lab.choices.allocation_bytes);
    let [from, to] = &streams;
    let _ = notebook
        .step("launch graph 2 on stream 0", Action::Launch)
        .graph(2)
        .stream(0)
        .address(first_address)
        .spin_time(spin_time)
        .done(|| first.launch(from))?;
    done.record(from)?;
    to.wait(&done)?;
    let _ = notebook
        .step(
            "launch graph 3 on stream 1, waiting on an event after graph 2",
            Action::Launch,
        )
        .graph(3)
        .stream(1)
        .address(second_address)
        .spin_time(Duration::ZERO)
        .done(|| second.launch(to))?;
    let used = notebook.last().used_bytes;
    let queried = Queried::now(notebook, [from])?;
    notebook
        .step("synchronize both streams", Action::Synchronize)
        .done(|| from.synchronize().and_then(|()| to.synchronize()))?;
    first.destroy()?;
    second.destroy()?;
    Ok((queried, used))
}
