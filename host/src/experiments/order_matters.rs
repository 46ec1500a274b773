//! Without an order between them, allocations of one graph cannot share anything.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, GraphExec, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "order-matters",
    title: "A missing dependency multiplies the footprint",
    shows: "Three alloc-free pairs in one graph, once chained and once side by side: one one_launch \
            against three, although each pair frees what it allocates.",
    teaches: "A graph's footprint is decided when its nodes are added, by the order that its \
              edges give, not by what happens to run when. If buffers are used one after \
              another, say so: an edge from each free to the next allocation makes them one \
              buffer. Work captured from several streams, or nodes added without dependencies, \
              has no such edges and pays for every buffer.",
    rules: &["R3", "R4", "R31", "R42", "R48", "M16"],
    run,
};

/// Pairs in each graph.
const PAIRS: usize = 3;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let memory = lab.device.graph_memory();
    notebook.baseline()?;

    let ((chained, chain), (forked, fork)) = notebook
        .step(
            "instantiate three pairs chained, and three side by side",
            Action::Instantiate,
        )
        .done(|| Ok((pairs(lab, Order::Chained)?, pairs(lab, Order::None)?)))?;
    for (graph, addresses) in [&chain, &fork].into_iter().enumerate() {
        for (&address, name) in addresses.iter().zip(["A", "B", "C"]) {
            notebook.allocation(name, graph, address, one_launch);
        }
    }
    notebook.check_count(
        "R3",
        "chained: one address for all three",
        1,
        distinct(&chain),
    );
    notebook.check_count(
        "R4",
        "side by side: an address for each",
        PAIRS,
        distinct(&fork),
    );

    let stream = Stream::new(lab.runtime)?;
    let _ = notebook
        .step("launch the chained pairs", Action::Launch)
        .graph(0)
        .stream(0)
        .spin_time(Duration::ZERO)
        .done(|| chained.launch(&stream))?;
    let used = notebook.last().used_bytes;
    notebook.check_bytes("R3 R48", "chained: one unit", one_launch, used);
    notebook
        .step("synchronize", Action::Synchronize)
        .stream(0)
        .done(|| stream.synchronize())?;
    notebook.step("trim", Action::Trim).done(|| memory.trim())?;

    let _ = notebook
        .step("launch the pairs side by side", Action::Launch)
        .graph(1)
        .stream(0)
        .spin_time(Duration::ZERO)
        .done(|| forked.launch(&stream))?;
    let used = notebook.last().used_bytes;
    notebook.check_bytes(
        "R4 M16",
        "side by side: a unit for each pair",
        PAIRS as u64 * one_launch,
        used,
    );
    notebook
        .step("synchronize", Action::Synchronize)
        .stream(0)
        .done(|| stream.synchronize())?;
    chained.destroy()?;
    forked.destroy()?;
    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// How the pairs of a graph are ordered among each other.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Each allocation comes after the free before it.
    Chained,
    /// Not at all.
    None,
}

/// Alloc-free pairs of a whole unit each, so that none fits beside another in a block.
fn pairs<'rt>(lab: &Lab<'rt>, order: Order) -> Result<(GraphExec<'rt>, Vec<DeviceAddress>)> {
    let graph = lab.graph()?;
    let mut after = Vec::new();
    let mut addresses = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let alloc = graph.add_alloc(&after, lab.launch_footprint_bytes())?;
        let free = graph.add_free(&[alloc.node], alloc.address)?;
        addresses.push(alloc.address);
        if order == Order::Chained {
            after = vec![free];
        }
    }
    Ok((graph.instantiate()?, addresses))
}

fn distinct(addresses: &[DeviceAddress]) -> usize {
    addresses.iter().collect::<BTreeSet<_>>().len()
}
