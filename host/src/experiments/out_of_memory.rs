//! Launches graphs until no memory is left, and recovers from the error.
//!
//! Two things need care. Other programs may use the device, so the graphs leave a margin
//! (`--leave`). And a launch that fails takes the remaining memory block by block before
//! it fails, and on the H200 the driver keeps it until the process ends (M13). Therefore
//! the margin, except one block, is allocated with cudaMalloc during the failing launch.

use std::time::Duration;

use super::graphs::{alloc_only_of, spin_only};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Buffer, LiveAllocation, Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "out-of-memory",
    title: "Out of memory",
    shows: "Graphs with unfreed allocations take all device memory but a margin. One more launch \
            fails with error 2, cudaErrorMemoryAllocation; building the graph did not fail. The \
            stream stays usable, and the same exec launches once an allocation is freed.",
    teaches: "Adding nodes and instantiating do not check whether there is enough memory; only a \
              launch or an upload does. The error is not sticky: free something and launch again. \
              What the failed launch took before it failed may stay reserved until the process \
              ends, and no trim returns it, so do not use launches to find out how much memory is \
              free.",
    rules: &["R14", "R31", "R36", "R42", "M13"],
    run,
};

/// Blocks that the failing launch requests when one is left.
const REFUSED_BLOCKS: u64 = 2;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let block = lab.block_bytes()?;
    notebook.baseline()?;
    let free_at_first = notebook.last().device_free_bytes;

    // One block more than the margin, for the graph whose launch fails.
    let kept_free = lab.choices.leave_bytes.saturating_add(2 * block);
    let graphs = lab.choices.graphs as u64;
    let bytes = free_at_first.saturating_sub(kept_free) / graphs / block * block;
    if bytes == 0 {
        notebook.too_little(
            "M13",
            "there is free memory for graphs beyond --leave",
            kept_free + graphs * block,
            free_at_first,
            "the device has too little free memory; use a smaller --leave or fewer --graphs",
        );
        return Ok(());
    }

    let execs = notebook
        .step(
            format!("instantiate {graphs} graphs that fill the device"),
            Action::Instantiate,
        )
        .done(|| {
            (0..lab.choices.graphs)
                .map(|_| alloc_only_of(lab, bytes))
                .collect::<Result<Vec<_>>>()
        })?;
    let (last, last_address) = notebook
        .step("instantiate one more", Action::Instantiate)
        .graph(lab.choices.graphs)
        .done(|| alloc_only_of(lab, REFUSED_BLOCKS * block))?;
    notebook.check_used("R31", "instantiating maps no memory", 0);

    let stream = Stream::new(lab.runtime)?;
    let mut live: Vec<LiveAllocation<'_>> = Vec::with_capacity(lab.choices.graphs);
    for (index, (exec, address)) in execs.iter().enumerate() {
        notebook.allocation("x", index, *address, bytes);
        let launched = notebook.launch(
            format!("launch graph {index}"),
            (index, *address),
            exec,
            &stream,
        )?;
        live.extend(launched.live);
    }
    let all = graphs * bytes;
    let grown = (1..=graphs).map(|launches| launches * bytes).collect();
    notebook.check_launches("R14 R36", "each launch adds its graph's size", grown);
    notebook.check_at_most(
        "M13",
        "with --leave they fit in the memory that was free",
        free_at_first,
        notebook.last().used_bytes + lab.choices.leave_bytes,
    );

    let margin = notebook
        .step(
            "allocate the remaining memory with cudaMalloc",
            Action::Allocate,
        )
        .done(|| {
            let free = lab.device.graph_memory().snapshot()?.device_free_bytes;
            Buffer::new(lab.runtime, free.saturating_sub(block + block / 2))
        })?;
    let refused = notebook
        .step("launch one more", Action::Refuse)
        .graph(lab.choices.graphs)
        .stream(0)
        .address(last_address)
        .done(|| Ok(last.launch(&stream)))?;
    notebook.check_code(
        "M13",
        "the launch fails with error 2",
        cudaError_t::MEMORY_ALLOCATION,
        &refused,
    );
    drop(refused);
    let after = notebook.last();
    let kept = after.reserved_bytes.saturating_sub(after.used_bytes);
    notebook.check_bytes(
        "M13",
        "the failed launch leaves the used bytes unchanged",
        all,
        after.used_bytes,
    );

    let works = notebook
        .step(
            "launch a graph without memory nodes, and wait",
            Action::Synchronize,
        )
        .stream(0)
        .done(|| {
            let exec = spin_only(lab)?;
            Ok(exec.launch(&stream).and_then(|_| stream.synchronize()))
        })?;
    notebook.check_code(
        "M13",
        "the stream stays usable",
        cudaError_t::SUCCESS,
        &works,
    );

    if let Some(one) = live.pop() {
        notebook
            .step("free one allocation", Action::Free)
            .address(one.address())
            .done(|| one.free())?;
    }
    let again = notebook
        .step("launch the graph that failed again", Action::Launch)
        .graph(lab.choices.graphs)
        .stream(0)
        .address(last_address)
        .spin_time(Duration::ZERO)
        .done(|| Ok(last.launch(&stream)))?;
    notebook.check_code(
        "M13",
        "the same exec launches once memory is free",
        cudaError_t::SUCCESS,
        &again,
    );
    notebook
        .step("free the remaining memory", Action::Free)
        .done(|| margin.free())?;
    if let Ok(launched) = again {
        live.extend(launched.live);
    }
    notebook.synchronize(&stream)?;
    notebook
        .step("free all allocations", Action::Free)
        .done(|| live.into_iter().try_for_each(LiveAllocation::free))?;

    notebook.trim()?;
    let after = notebook.last();
    notebook.check_bytes("R42", "after a trim nothing is used", 0, after.used_bytes);
    notebook.check_at_most(
        "M13",
        "after a trim at most what the failed launch took is reserved",
        kept,
        after.reserved_bytes,
    );
    lab.lost_bytes.set(after.reserved_bytes);
    for (exec, _) in execs {
        exec.destroy()?;
    }
    last.destroy()
}
