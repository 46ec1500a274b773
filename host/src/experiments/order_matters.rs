//! Allocations of one graph that are not ordered cannot share memory.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, GraphExec, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "order-matters",
    title: "A missing dependency multiplies the footprint",
    shows: "Three pairs of an allocation and its free in one graph: in a chain they take the \
            footprint of one pair, in parallel that of three, although each pair frees what it \
            allocates.",
    teaches: "The edges of a graph determine its footprint when the nodes are added; when the \
              nodes actually run makes no difference. If buffers are used one after another, add \
              an edge from each free to the next allocation: then they share memory. Graphs \
              captured from several streams, and nodes added without dependencies, lack these \
              edges, so every buffer gets its own memory.",
    rules: &["R3", "R4", "R31", "R42", "R48", "M16"],
    run,
};

/// Pairs in each graph.
const PAIRS: usize = 3;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    let ((chained, chain), (forked, fork)) = notebook
        .step(
            "instantiate three pairs in a chain, and three in parallel",
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
        "in a chain: all three allocations have one address",
        1,
        distinct(&chain),
    );
    notebook.check_count(
        "R4",
        "in parallel: each allocation has its own address",
        PAIRS,
        distinct(&fork),
    );

    let stream = Stream::new(lab.runtime)?;
    let _ = notebook
        .step("launch the pairs in a chain", Action::Launch)
        .graph(0)
        .stream(0)
        .spin_time(Duration::ZERO)
        .done(|| chained.launch(&stream))?;
    notebook.check_used(
        "R3 R48",
        "in a chain: the footprint of one pair",
        one_launch,
    );
    notebook.synchronize(&stream)?;
    notebook.trim()?;

    let _ = notebook
        .step("launch the pairs in parallel", Action::Launch)
        .graph(1)
        .stream(0)
        .spin_time(Duration::ZERO)
        .done(|| forked.launch(&stream))?;
    notebook.check_used(
        "R4 M16",
        "in parallel: the footprint of three pairs",
        PAIRS as u64 * one_launch,
    );
    notebook.synchronize(&stream)?;
    chained.destroy()?;
    forked.destroy()?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// How the pairs of a graph are ordered.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Each allocation depends on the previous free.
    Chained,
    /// Not at all.
    None,
}

/// Pairs of an allocation and its free. Each allocation has the size of the footprint
/// of one launch, so that no two fit into one block.
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
