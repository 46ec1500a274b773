//! Allocations in a captured stream become memory nodes.

use std::time::Duration;

use super::graphs::{SHORT_SPIN_TIME, alloc_spin_free};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, Graph, LiveAllocation, Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "captured",
    title: "Allocations in a captured stream",
    shows: "cudaMallocAsync, a kernel and cudaFreeAsync in a captured stream become a graph with \
            the footprint of a graph built by hand. None of its memory comes from the \
            stream-ordered pool. A captured allocation without a free is left allocated after the \
            launch.",
    teaches: "If a framework captures a stream while its allocator calls cudaMallocAsync, the \
              graph gets memory nodes. The graph then has their limits (one exec, no clone, no \
              relaunch while an allocation is live), and its memory is graph memory: \
              cudaDeviceGraphMemTrim returns it, cudaMemPoolTrimTo does not.",
    rules: &["R14", "R17", "R25", "R31", "R42", "R44", "R48"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let spin_time = lab.choices.fixed_spin_time.unwrap_or(SHORT_SPIN_TIME);
    let pool = lab.device.default_pool()?;
    let in_pool_before = pool.reserved_bytes()?;
    let stream = Stream::new(lab.runtime)?;
    notebook.baseline()?;

    let (by_hand, address) = notebook
        .step("build alloc, kernel, free by hand", Action::Instantiate)
        .graph(0)
        .done(|| alloc_spin_free(lab, spin_time))?;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    let _ = notebook
        .step("launch the graph built by hand", Action::Launch)
        .graph(0)
        .stream(0)
        .address(address)
        .spin_time(spin_time)
        .done(|| by_hand.launch(&stream))?;
    let footprint = notebook.last().used_bytes;
    stream.synchronize()?;
    by_hand.destroy()?;
    notebook.trim()?;

    let (graph, address) = notebook
        .step(
            "capture cudaMallocAsync, kernel, cudaFreeAsync",
            Action::Instantiate,
        )
        .graph(1)
        .done(|| capture(lab, &stream, spin_time, Frees::Yes))?;
    notebook.allocation("x", 1, address, lab.choices.allocation_bytes);
    notebook.check_used("R17 R31", "capturing an allocation maps no memory", 0);
    let exec = graph.instantiate()?;
    let second = notebook
        .step("instantiate it again", Action::Refuse)
        .graph(1)
        .done(|| Ok(graph.instantiate()))?;
    notebook.check_code(
        "R17 R25",
        "the captured graph has memory nodes: a second exec is refused",
        cudaError_t::NOT_SUPPORTED,
        &second,
    );
    let launched = notebook
        .step("launch the captured graph", Action::Launch)
        .graph(1)
        .stream(0)
        .address(address)
        .spin_time(spin_time)
        .done(|| exec.launch(&stream))?;
    notebook.check_used(
        "R17 R48",
        "the captured graph has the footprint of the graph built by hand",
        footprint,
    );
    notebook.check_used("R48", "this is the footprint of one launch", one_launch);
    notebook.check_count(
        "R17",
        "the captured graph frees its allocation itself",
        0,
        launched.live.len(),
    );
    let in_pool = pool.reserved_bytes()?;
    notebook.check_bytes(
        "R17 R44",
        "none of it comes from the stream-ordered pool",
        in_pool_before,
        in_pool,
    );
    stream.synchronize()?;
    exec.destroy()?;

    without_a_free(lab, notebook, &stream)?;
    notebook.trim_to_nothing("R42 R44", "cudaDeviceGraphMemTrim returns everything")
}

/// Whether the capture frees what it allocates.
#[derive(Clone, Copy, PartialEq)]
enum Frees {
    Yes,
    No,
}

/// Captures an allocation, a kernel and perhaps a free.
fn capture<'rt>(
    lab: &Lab<'rt>,
    stream: &Stream<'rt>,
    spin_time: Duration,
    frees: Frees,
) -> Result<(Graph<'rt>, DeviceAddress)> {
    let mut capture = stream.capture(lab.device.ordinal())?;
    let address = capture.allocate(lab.choices.allocation_bytes)?.address();
    capture.spin(lab.kernel, lab.clocks(spin_time))?;
    if frees == Frees::Yes {
        capture.free(address)?;
    }
    Ok((capture.end()?, address))
}

/// A captured allocation that the capture does not free.
fn without_a_free<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    stream: &Stream<'rt>,
) -> Result<()> {
    let (graph, address) = notebook
        .step("capture without the free", Action::Instantiate)
        .graph(2)
        .done(|| capture(lab, stream, Duration::ZERO, Frees::No))?;
    notebook.allocation("x", 2, address, lab.choices.allocation_bytes);
    let exec = graph.instantiate()?;
    let launched = notebook.launch("launch it", (2, address), &exec, stream)?;
    notebook.check_count(
        "R14 R17",
        "a captured allocation without a free is left allocated after the launch",
        1,
        launched.live.len(),
    );
    let freed = notebook
        .step("free it", Action::Free)
        .address(address)
        .done(|| Ok(launched.live.into_iter().try_for_each(LiveAllocation::free)))?;
    notebook.check_code("R14", "cudaFree frees it", cudaError_t::SUCCESS, &freed);
    stream.synchronize()?;
    exec.destroy()
}
