//! Graphs have a pool of their own beside the one of cudaMallocAsync.

use std::time::Duration;

use super::graphs::alloc_spin_free;
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{MemoryPool, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "two-pools",
    title: "Two pools, two trims",
    shows: "Memory that cudaMallocAsync took and memory that a graph took, both freed and both \
            still held. Each trim gives back its own and leaves the other; the four attributes \
            see only the graphs'; cudaMemGetInfo sees both.",
    teaches: "\"The memory is not freed\" has two answers: cudaMemPoolTrimTo for the \
              stream-ordered pool, cudaDeviceGraphMemTrim for the graphs'. Neither pool lends \
              to the other, so a program that uses both in turn holds the sum of what each \
              needed most. What is held and not used is missing from cudaMemGetInfo's free \
              memory all the same.",
    rules: &["R31", "R42", "R44", "R48"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let pool = lab.device.default_pool()?;
    let memory = lab.device.graph_memory();
    let stream = Stream::new(lab.runtime)?;
    // Without a threshold the pool would give back what is freed at the next wait.
    let _kept = pool.keep_freed()?;
    warm_up(lab, &stream, pool)?;
    notebook.baseline()?;
    let free_before = notebook.last().device_free_bytes;

    notebook
        .step("cudaMallocAsync and cudaFreeAsync", Action::Allocate)
        .stream(0)
        .done(|| fill(lab, &stream))?;
    let (in_pool, graphs) = (pool.reserved_bytes()?, notebook.last());
    notebook.check_bytes(
        "R44",
        "the pool uses nothing of what was freed",
        0,
        pool.used_bytes()?,
    );
    notebook.check_at_least(
        "R44",
        "and still holds it",
        lab.choices.allocation_bytes,
        in_pool,
    );
    notebook.check_bytes(
        "R44 R48",
        "the graphs' attributes do not see it",
        0,
        graphs.used_bytes + graphs.reserved_bytes - lab.lost_bytes.get(),
    );

    let (exec, address) = alloc_spin_free(lab, Duration::ZERO)?;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    let _ = notebook
        .step("launch a graph that allocates and frees", Action::Launch)
        .graph(0)
        .stream(0)
        .address(address)
        .spin_time(Duration::ZERO)
        .done(|| exec.launch(&stream))?;
    notebook
        .step("synchronize", Action::Synchronize)
        .stream(0)
        .done(|| stream.synchronize())?;
    let graphs = notebook.last();
    notebook.check_bytes(
        "R44",
        "the graph takes a unit of its own",
        one_launch,
        graphs.used_bytes,
    );
    notebook.check_bytes(
        "R44",
        "and none from the pool",
        in_pool,
        pool.reserved_bytes()?,
    );
    notebook.check_at_least(
        "R48",
        "cudaMemGetInfo misses what both hold",
        in_pool + one_launch,
        free_before.saturating_sub(graphs.device_free_bytes),
    );

    notebook
        .step("cudaMemPoolTrimTo 0", Action::Trim)
        .done(|| pool.trim_to(0))?;
    notebook.check_bytes(
        "R44",
        "the pool's trim empties the pool",
        0,
        pool.reserved_bytes()?,
    );
    let used = notebook.last().used_bytes;
    notebook.check_bytes("R44", "and leaves the graph's unit", one_launch, used);

    notebook
        .step("cudaMallocAsync and cudaFreeAsync again", Action::Allocate)
        .stream(0)
        .done(|| fill(lab, &stream))?;
    let in_pool = pool.reserved_bytes()?;
    notebook
        .step("cudaDeviceGraphMemTrim", Action::Trim)
        .done(|| memory.trim())?;
    let used = notebook.last().used_bytes;
    notebook.check_bytes("R42 R44", "the graphs' trim takes their unit", 0, used);
    notebook.check_bytes(
        "R44",
        "and leaves what the pool holds",
        in_pool,
        pool.reserved_bytes()?,
    );

    exec.destroy()?;
    pool.trim_to(0)?;
    notebook.trim_to_nothing("R42", "nothing is left of the graphs' memory")
}

/// Takes memory from the pool and frees it, so that the pool holds it unused.
fn fill(lab: &Lab<'_>, stream: &Stream<'_>) -> Result<()> {
    stream
        .allocate(lab.choices.allocation_bytes)?
        .free_async(stream)?;
    stream.synchronize()
}

/// Has everything happen once that takes device memory for good: contexts, code and
/// queues, which cudaMemGetInfo would see as well.
fn warm_up(lab: &Lab<'_>, stream: &Stream<'_>, pool: MemoryPool<'_>) -> Result<()> {
    fill(lab, stream)?;
    let (exec, _) = alloc_spin_free(lab, Duration::ZERO)?;
    let _ = exec.launch(stream)?;
    stream.synchronize()?;
    exec.destroy()?;
    pool.trim_to(0)?;
    lab.device.graph_memory().trim()
}
