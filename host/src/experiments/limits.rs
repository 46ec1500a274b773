//! Calls that CUDA refuses for graphs with memory nodes, and their error codes.

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, Graph, Node, Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "limits",
    title: "What graphs with memory nodes cannot do",
    shows: "Cloning, a second exec, becoming a child graph and removing nodes return error 801, \
            cudaErrorNotSupported. Freeing twice, freeing what the graph frees itself, and freeing \
            before the first launch return error 1, cudaErrorInvalidValue. None of these calls \
            changes anything.",
    teaches: "Build the graph again instead of cloning it. To run it twice at the same time, build \
              two graphs: a graph can have one exec, and a new one after the first is destroyed. \
              Add the nodes of a child graph to the parent instead (from CUDA 12.9 on a child can \
              be moved into it). Build the graph without a node instead of removing the node. Free \
              each allocation in one place only, and not before its graph has run.",
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
        "instantiating a second exec",
        cudaError_t::NOT_SUPPORTED,
        &second,
    );
    let outside = refuse(notebook, "cudaFree before the launch", || {
        lab.runtime.try_free(alloc.address)
    })?;
    notebook.check_code(
        "R7 M8",
        "freeing the allocation before the graph has run",
        cudaError_t::INVALID_VALUE,
        &outside,
    );
    notebook.check_used("R31", "the refused calls mapped no memory", 0);

    let stream = Stream::new(lab.runtime)?;
    let _ = notebook.launch("launch", (0, alloc.address), &exec, &stream)?;
    notebook.synchronize(&stream)?;
    let outside = refuse(
        notebook,
        "cudaFree an allocation that the graph freed",
        || lab.runtime.try_free(alloc.address),
    )?;
    notebook.check_code(
        "R13",
        "freeing an allocation that the graph frees itself",
        cudaError_t::INVALID_VALUE,
        &outside,
    );
    notebook.check_used("R13", "the graph's memory stays mapped", one_launch);

    exec.destroy()?;
    let next = notebook
        .step(
            "instantiate after the first exec is destroyed",
            Action::Instantiate,
        )
        .graph(0)
        .done(|| Ok(graph.instantiate()))?;
    notebook.check_code(
        "M9",
        "instantiating again after the first exec is destroyed",
        cudaError_t::SUCCESS,
        &next,
    );
    drop(next);

    free_twice(lab, notebook, &stream)?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// Calls that are refused before the graph is instantiated.
fn while_building<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    graph: &Graph<'rt>,
    free: Node<'_>,
    address: DeviceAddress,
) -> Result<()> {
    let clone = refuse(notebook, "clone the graph", || graph.try_clone())?;
    notebook.check_code(
        "R24 M9",
        "cloning the graph",
        cudaError_t::NOT_SUPPORTED,
        &clone,
    );
    let parent = lab.graph()?;
    let child = refuse(notebook, "add it as a child graph", || {
        parent.try_add_child(graph)
    })?;
    notebook.check_code(
        "R26 M9",
        "adding the graph as a child by copy",
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
        "adding a second free node for one allocation",
        cudaError_t::INVALID_VALUE,
        &twice,
    );
    let elsewhere = refuse(notebook, "add a free node to another graph", || {
        parent.add_free(&[], address)
    })?;
    notebook.check_code(
        "R13",
        "adding a free node for it to another graph",
        cudaError_t::INVALID_VALUE,
        &elsewhere,
    );
    Ok(())
}

/// An unfreed allocation can be freed once.
fn free_twice<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    stream: &Stream<'rt>,
) -> Result<()> {
    let (exec, address) = super::graphs::alloc_only(lab)?;
    notebook.allocation("y", 1, address, lab.choices.allocation_bytes);
    let launched = notebook.launch(
        "launch a graph that frees nothing",
        (1, address),
        &exec,
        stream,
    )?;
    notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| launched.live.into_iter().try_for_each(|live| live.free()))?;
    let again = refuse(notebook, "cudaFree again", || lab.runtime.try_free(address))?;
    notebook.check_code(
        "M6",
        "freeing an allocation twice",
        cudaError_t::INVALID_VALUE,
        &again,
    );
    exec.destroy()
}

/// Makes a call that CUDA should refuse, as a step of its own.
fn refuse<T>(
    notebook: &mut Notebook<'_>,
    label: &str,
    call: impl FnOnce() -> Result<T>,
) -> Result<Result<T>> {
    notebook.step(label, Action::Refuse).done(|| Ok(call()))
}
