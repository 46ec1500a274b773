//! Graph memory and cudaMallocAsync use separate pools.

use std::time::Duration;

use super::graphs::alloc_spin_free;
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{MemoryPool, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "two-pools",
    title: "Two pools, two trims",
    shows: "cudaMallocAsync and a graph each take memory; both free it, and both pools still hold \
            it. Each trim returns the memory of its own pool only. The four graph memory \
            attributes show graph memory only; cudaMemGetInfo shows the memory of both.",
    teaches: "If memory is not returned after a free, trim: cudaMemPoolTrimTo for the \
              stream-ordered pool, cudaDeviceGraphMemTrim for graph memory. The pools do not share \
              memory, so a program that uses them in turn takes the sum of both maxima. \
              cudaMemGetInfo does not count the unused memory of either pool as free.",
    rules: &["R31", "R42", "R44", "R48"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let pool = lab.device.default_pool()?;
    let memory = lab.device.graph_memory();
    let stream = Stream::new(lab.runtime)?;
    // Without a threshold the pool would return freed memory at the next synchronization.
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
        "the stream-ordered pool uses nothing after the free",
        0,
        pool.used_bytes()?,
    );
    notebook.check_at_least(
        "R44",
        "the stream-ordered pool still holds the freed memory",
        lab.choices.allocation_bytes,
        in_pool,
    );
    notebook.check_bytes(
        "R44 R48",
        "the graph memory attributes do not include it",
        0,
        graphs.used_bytes + graphs.reserved_bytes - lab.lost_bytes.get(),
    );

    let (exec, address) = alloc_spin_free(lab, Duration::ZERO)?;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    let _ = notebook.launch(
        "launch a graph that allocates and frees",
        (0, address),
        &exec,
        &stream,
    )?;
    notebook.synchronize(&stream)?;
    let graphs = notebook.last();
    notebook.check_bytes(
        "R44",
        "the graph maps memory of its own",
        one_launch,
        graphs.used_bytes,
    );
    notebook.check_bytes(
        "R44",
        "the graph takes no memory from the stream-ordered pool",
        in_pool,
        pool.reserved_bytes()?,
    );
    notebook.check_at_least(
        "R48",
        "cudaMemGetInfo counts neither pool's memory as free",
        in_pool + one_launch,
        free_before.saturating_sub(graphs.device_free_bytes),
    );

    notebook
        .step("cudaMemPoolTrimTo 0", Action::Trim)
        .done(|| pool.trim_to(0))?;
    notebook.check_bytes(
        "R44",
        "cudaMemPoolTrimTo returns the stream-ordered pool's memory",
        0,
        pool.reserved_bytes()?,
    );
    notebook.check_used(
        "R44",
        "cudaMemPoolTrimTo does not affect graph memory",
        one_launch,
    );

    notebook
        .step("cudaMallocAsync and cudaFreeAsync again", Action::Allocate)
        .stream(0)
        .done(|| fill(lab, &stream))?;
    let in_pool = pool.reserved_bytes()?;
    notebook
        .step("cudaDeviceGraphMemTrim", Action::Trim)
        .done(|| memory.trim())?;
    notebook.check_used("R42 R44", "cudaDeviceGraphMemTrim returns graph memory", 0);
    notebook.check_bytes(
        "R44",
        "cudaDeviceGraphMemTrim does not affect the stream-ordered pool",
        in_pool,
        pool.reserved_bytes()?,
    );

    exec.destroy()?;
    pool.trim_to(0)?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// Allocates from the pool and frees, so that the pool holds unused memory.
fn fill(lab: &Lab<'_>, stream: &Stream<'_>) -> Result<()> {
    stream
        .allocate(lab.choices.allocation_bytes)?
        .free_async(stream)?;
    stream.synchronize()
}

/// Runs everything once that takes device memory permanently (contexts, code, queues),
/// because cudaMemGetInfo includes that memory.
fn warm_up<'rt>(lab: &Lab<'rt>, stream: &Stream<'rt>, pool: MemoryPool<'_>) -> Result<()> {
    fill(lab, stream)?;
    let (exec, _) = alloc_spin_free(lab, Duration::ZERO)?;
    let _ = exec.launch(stream)?;
    stream.synchronize()?;
    exec.destroy()?;
    pool.trim_to(0)?;
    lab.device.graph_memory().trim()
}
