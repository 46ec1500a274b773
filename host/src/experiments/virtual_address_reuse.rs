//! Within one graph, an allocation may get the address of an earlier one.

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "virtual-address-reuse",
    title: "Virtual address reuse in one graph",
    shows: "An allocation that is ordered after the free of an earlier one gets the same address, \
            so both use the same memory.",
    teaches: "The address of a graph allocation is fixed when its node is added, before anything \
              runs. Two allocations can have the same address only if a path of edges leads from \
              the free of the first to the second. Without such a path both may be live at the \
              same time, so each gets its own address and memory.",
    rules: &["R1", "R3", "R4", "R13", "R31", "R42", "R48", "M1"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    // The edge from A's free to B's alloc is what allows the reuse: without it the
    // two could be live at the same time.
    let graph = lab.graph()?;
    let a = graph.add_alloc(&[], lab.choices.allocation_bytes)?;
    let free_a = graph.add_free(&[a.node], a.address)?;
    let b = graph.add_alloc(&[free_a], lab.choices.allocation_bytes)?;
    graph.add_free(&[b.node], b.address)?;
    notebook.allocation("A", 0, a.address, lab.choices.allocation_bytes);
    notebook.allocation("B", 0, b.address, lab.choices.allocation_bytes);
    let exec = notebook
        .step(
            "instantiate: alloc A, free A, alloc B, free B",
            Action::Instantiate,
        )
        .graph(0)
        .address(a.address)
        .done(|| graph.instantiate())?;
    notebook.check_address("R3", "B gets A's address", a.address, b.address);

    let stream = Stream::new(lab.runtime)?;
    let launched = notebook.launch("launch", (0, a.address), &exec, &stream)?;
    notebook.check_used(
        "R48",
        "two allocations take the footprint of one launch",
        one_launch,
    );
    notebook.check_at_least(
        "M1",
        "the footprint of one launch is at least one allocation",
        lab.choices.allocation_bytes,
        one_launch,
    );
    notebook.check_count(
        "R13",
        "the graph leaves nothing allocated",
        0,
        launched.live.len(),
    );

    notebook.synchronize(&stream)?;
    exec.destroy()?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}
