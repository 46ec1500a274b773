//! An allocation without a free node stays allocated until the program frees it.

use super::graphs::alloc_only;
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{LiveAllocation, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "unfreed-allocations",
    title: "Unfreed allocations and trim",
    shows: "An allocation without a free node is left allocated after the launch, so its memory \
            cannot be shared or trimmed. Once freed it stays reserved until a trim, which works \
            while the execs exist.",
    teaches: "If a graph allocates memory and does not free it, the program must free it: with \
              cudaFreeAsync, with cudaFree, or with a free node of another graph. Until then \
              nothing can share the memory, no trim returns it, and the graph cannot be launched \
              again. Freeing makes the memory available to other graphs; a trim returns it to the \
              system.",
    rules: &["R9", "R14", "R16", "R18", "R31", "R36", "R41", "R42", "R43"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let all = lab.choices.graphs as u64 * one_launch;
    let memory = lab.device.graph_memory();
    notebook.baseline()?;

    let graphs = notebook
        .step(
            format!("instantiate {} graphs", lab.choices.graphs),
            Action::Instantiate,
        )
        .done(|| {
            (0..lab.choices.graphs)
                .map(|_| alloc_only(lab))
                .collect::<Result<Vec<_>>>()
        })?;

    for (index, &(_, address)) in graphs.iter().enumerate() {
        notebook.allocation("x", index, address, lab.choices.allocation_bytes);
    }

    // One stream, so nothing overlaps: only the live allocations keep the graphs
    // from sharing.
    let stream = Stream::new(lab.runtime)?;
    let mut live: Vec<LiveAllocation<'_>> = Vec::with_capacity(lab.choices.graphs);
    for (index, (exec, address)) in graphs.iter().enumerate() {
        let launched = notebook.launch(
            format!("launch graph {index}"),
            (index, *address),
            exec,
            &stream,
        )?;
        live.extend(launched.live);
    }
    let grown: Vec<_> = (1..=lab.choices.graphs as u64)
        .map(|launches| launches * one_launch)
        .collect();
    notebook.check_launches(
        "R14 R36",
        "each launch adds the footprint of one launch",
        grown,
    );
    notebook.check_count(
        "R14",
        "each launch leaves one allocation unfreed",
        lab.choices.graphs,
        live.len(),
    );
    notebook.synchronize(&stream)?;

    notebook
        .step("trim with live allocations", Action::Trim)
        .done(|| memory.trim())?;
    notebook.check_used(
        "R42",
        "a trim returns nothing while the allocations are live",
        all,
    );

    let count = live.len();
    notebook
        .step(format!("free {count} allocations"), Action::Free)
        .done(|| live.into_iter().try_for_each(LiveAllocation::free))?;
    notebook.check_used("R9 R41", "freeing returns nothing to the system", all);

    notebook.trim_to_nothing(
        "R43",
        "a trim then returns everything, while the execs exist",
    )?;
    graphs.into_iter().try_for_each(|(exec, _)| exec.destroy())
}
