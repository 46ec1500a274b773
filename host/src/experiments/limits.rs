//! What a graph with memory nodes may not do, each with its code.

use std::time::Duration;

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, Graph, Node, Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "limits",
    title: "What graphs with memory nodes may not do",
    shows: "Clone, second exec, child graph, node removal: error 801, cudaErrorNotSupported. \
            Freeing twice, freeing outside what the graph frees itself, freeing before the \
            first launch: error 1, cudaErrorInvalidValue. None of them does any harm.",
    teaches: "Instead of a clone, build the graph again. To run it twice at once, build it \
              twice: one graph has one exec, and another can be made when the first is \
              destroyed. Put the nodes of a would-be child into the parent (moving a child in \
              works from CUDA 12.9 on). Instead of removing a node, build without it. Give \
              each allocation one place that frees it, and none before its graph ran.",
    rules: &[
        "R7", "R13", "R23", "R24", "R25", "R26", "R30", "R31", "R42", "M6", "M8", "M9",
    ],
    run,
};

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    let graph = lab.graph()?;
    let alloc = graph.add_alloc(&[], lab.choices.allocation_bytes)?;
    let free = graph.add_free(&[alloc.node], alloc.address)?;
    notebook.allocation("x", 0, alloc.address, lab.choices.allocation_bytes);
    while_building(lab, notebook, &graph, free, alloc.address)?;

    let exec = notebook
        .step("instantiate", Action::Instantiate)
        .graph(0)
        .done(|| graph.instantiate())?;
    let second = refuse(notebook, "instantiate again", || graph.instantiate())?;
    notebook.check_code(
        "R25 M9",
        "a second exec of one graph",
        cudaError_t::NOT_SUPPORTED,
        &second,
    );
    let outside = refuse(notebook, "cudaFree before the launch", || {
        lab.runtime.try_free(alloc.address)
    })?;
    notebook.check_code(
        "R7 M8",
        "freeing before the graph ran",
        cudaError_t::INVALID_VALUE,
        &outside,
    );
    let used = notebook.last().used_bytes;
    notebook.check_bytes("R31", "no refusal has mapped anything", 0, used);

    let stream = Stream::new(lab.runtime)?;
    let _ = notebook
        .step("launch", Action::Launch)
        .graph(0)
        .stream(0)
        .address(alloc.address)
        .spin_time(Duration::ZERO)
        .done(|| exec.launch(&stream))?;
    notebook
        .step("synchronize", Action::Synchronize)
        .stream(0)
        .done(|| stream.synchronize())?;
    let outside = refuse(notebook, "cudaFree what the graph freed", || {
        lab.runtime.try_free(alloc.address)
    })?;
    notebook.check_code(
        "R13",
        "freeing what the graph itself frees",
        cudaError_t::INVALID_VALUE,
        &outside,
    );
    let used = notebook.last().used_bytes;
    notebook.check_bytes(
        "R13",
        "the graph keeps its unit all the same",
        one_launch,
        used,
    );

    exec.destroy()?;
    let next = notebook
        .step(
            "instantiate, the first exec being gone",
            Action::Instantiate,
        )
        .graph(0)
        .done(|| Ok(graph.instantiate()))?;
    notebook.check_code(
        "M9",
        "instead: another exec when the first is gone",
        cudaError_t::SUCCESS,
        &next,
    );
    drop(next);

    free_twice(lab, notebook, &stream)?;
    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// What is refused of the graph itself.
fn while_building<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    graph: &Graph<'rt>,
    free: Node<'_>,
    address: DeviceAddress,
) -> Result<()> {
    let clone = refuse(notebook, "clone the graph", || graph.try_clone())?;
    notebook.check_code("R24 M9", "a clone", cudaError_t::NOT_SUPPORTED, &clone);
    let parent = lab.graph()?;
    let child = refuse(notebook, "make it a child", || parent.try_add_child(graph))?;
    notebook.check_code(
        "R26 M9",
        "a child graph, by copy",
        cudaError_t::NOT_SUPPORTED,
        &child,
    );
    let removal = refuse(notebook, "add a node and remove it", || {
        graph.try_add_and_remove(&[free])
    })?;
    notebook.check_code(
        "R23",
        "removing a node",
        cudaError_t::NOT_SUPPORTED,
        &removal,
    );
    let twice = refuse(notebook, "add a second free node", || {
        graph.add_free(&[free], address)
    })?;
    notebook.check_code(
        "R30",
        "a second free node for one allocation",
        cudaError_t::INVALID_VALUE,
        &twice,
    );
    let elsewhere = refuse(notebook, "add a free node to another graph", || {
        parent.add_free(&[], address)
    })?;
    notebook.check_code(
        "R13",
        "a free node for it in another graph",
        cudaError_t::INVALID_VALUE,
        &elsewhere,
    );
    Ok(())
}

/// An allocation that outlives its graph is freed once.
fn free_twice(lab: &Lab<'_>, notebook: &mut Notebook<'_>, stream: &Stream<'_>) -> Result<()> {
    let (exec, address) = super::graphs::alloc_only(lab)?;
    notebook.allocation("y", 1, address, lab.choices.allocation_bytes);
    let launched = notebook
        .step("launch a graph that frees nothing", Action::Launch)
        .graph(1)
        .stream(0)
        .address(address)
        .spin_time(Duration::ZERO)
        .done(|| exec.launch(stream))?;
    notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| launched.live.into_iter().try_for_each(|live| live.free()))?;
    let again = refuse(notebook, "cudaFree again", || lab.runtime.try_free(address))?;
    notebook.check_code("M6", "freeing twice", cudaError_t::INVALID_VALUE, &again);
    exec.destroy()
}

/// Makes a call that is to be refused, as a step of its own.
fn refuse<T>(
    notebook: &mut Notebook<'_>,
    label: &str,
    call: impl FnOnce() -> Result<T>,
) -> Result<Result<T>> {
    notebook.step(label, Action::Refuse).done(|| Ok(call()))
}
