//! A graph with a live allocation cannot be launched again; three ways to free it.

use super::graphs::alloc_only;
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{LiveAllocation, Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "relaunch-unfreed",
    title: "Relaunch with an unfreed allocation",
    shows: "Launching a graph again while its allocation is live returns error 1, \
            cudaErrorInvalidValue, and changes nothing. After cudaFree, cudaFreeAsync, or a free \
            node in another graph, the next launch works.",
    teaches: "If cudaGraphLaunch returns \"invalid argument\", an allocation of the previous \
              launch is probably still live. Free it before the next launch. In the same stream \
              cudaFreeAsync is enough, without waiting. A graph that uses the data can contain the \
              free node. If nothing frees the memory between launches, instantiate with \
              AutoFreeOnLaunch.",
    rules: &["R9", "R14", "R18", "R31", "R34", "R42", "M7"],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    let (exec, address) = notebook
        .step(
            "instantiate a graph that frees nothing",
            Action::Instantiate,
        )
        .graph(0)
        .done(|| alloc_only(lab))?;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    let freeing = notebook
        .step("instantiate a graph that frees it", Action::Instantiate)
        .graph(1)
        .address(address)
        .done(|| {
            let graph = lab.graph()?;
            graph.add_free(&[], address)?;
            graph.instantiate()
        })?;

    let stream = Stream::new(lab.runtime)?;
    let refuse = |notebook: &mut Notebook<'_>, claim| {
        let refused = notebook
            .step("launch with a live allocation", Action::Refuse)
            .graph(0)
            .stream(0)
            .address(address)
            .done(|| Ok(exec.launch(&stream)))?;
        notebook.check_code("R18 M7", claim, cudaError_t::INVALID_VALUE, &refused);
        Result::Ok(())
    };
    let live = notebook
        .launch("launch", (0, address), &exec, &stream)?
        .live;
    refuse(notebook, "launching with a live allocation returns error 1")?;
    notebook.synchronize(&stream)?;
    refuse(notebook, "also after the first launch has finished")?;

    notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| free_all(live))?;
    let live = notebook
        .launch("launch after cudaFree", (0, address), &exec, &stream)?
        .live;

    // The stream orders the free before the launch: no wait is needed.
    notebook
        .step("cudaFreeAsync", Action::Free)
        .stream(0)
        .address(address)
        .done(|| {
            live.into_iter()
                .try_for_each(|live| live.free_async(&stream))
        })?;
    let live = notebook
        .launch("launch after cudaFreeAsync", (0, address), &exec, &stream)?
        .live;

    let _ = notebook
        .step("launch the graph that frees it", Action::Free)
        .graph(1)
        .stream(0)
        .address(address)
        .done(|| freeing.launch(&stream))?;
    let still_live = live.iter().filter(|live| live.is_live()).count();
    notebook.check_count(
        "R14",
        "the other graph's free node frees the allocation",
        0,
        still_live,
    );
    drop(live);
    let live = notebook
        .launch(
            "launch after the other graph's free node",
            (0, address),
            &exec,
            &stream,
        )?
        .live;

    notebook.check_launches(
        "R9 R14 R34",
        "after each kind of free it runs again, in the footprint of one launch",
        vec![one_launch; 4],
    );
    notebook
        .step("free the last allocation", Action::Free)
        .address(address)
        .done(|| free_all(live))?;
    stream.synchronize()?;
    notebook.trim_to_nothing("R42", "a trim returns everything")?;
    freeing.destroy()?;
    exec.destroy()
}

fn free_all(live: Vec<LiveAllocation<'_>>) -> Result<()> {
    live.into_iter().try_for_each(LiveAllocation::free)
}
