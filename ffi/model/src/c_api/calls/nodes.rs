//! Nodes whose functions are not in the table: copies, memsets, host functions, events.

use core::ffi::c_void;

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::pointers::{handles, not_null, write};
use crate::functions::FunctionId as F;
use crate::objects::effects::{CopyRequest, Fill, HostCall};
use crate::runtime::Outcome;

/// The common part of adding a node: reading the dependencies, and writing the handle.
///
/// # Safety
///
/// `node` must be null or valid for a write, `dependencies` null or valid for reading
/// `count` handles.
unsafe fn add(
    call: &mut Call<'_>,
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    body: impl FnOnce(&mut Call<'_>, &[u64]) -> Outcome<u64>,
) -> Outcome {
    let out = not_null(node)?;
    let most = call.runtime().node_count(graph.0 as u64)?;
    // SAFETY: the caller guarantees it.
    let dependencies = unsafe { handles(dependencies.cast(), count, most)? };
    let handle = body(call, &dependencies)?;
    // SAFETY: not null, and valid as the caller guarantees.
    unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub(in crate::c_api) unsafe fn cudaGraphAddMemcpyNode1D(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    run(F::cudaGraphAddMemcpyNode1D, |call| {
        let copy = |call: &mut Call<'_>, after: &[u64]| {
            let runtime = call.runtime();
            let (to, from) = runtime.sides(kind, dst as u64, src as u64)?;
            let copy = CopyRequest {
                to,
                from,
                bytes: count as u64,
            };
            runtime.add_copy_node(graph.0 as u64, after, copy)
        };
        // SAFETY: the program guarantees an array of this length and a pointer for
        // the node.
        unsafe { add(call, node, graph, dependencies, dependency_count, copy) }
    })
}

/// `cuGraphAddMemcpyNode`, after the driver's function has read the parameters.
///
/// # Safety
///
/// The same as for that function.
pub(in crate::c_api) unsafe fn add_copy_node(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    copy: CopyRequest,
) -> cudaError_t {
    run(F::cudaGraphAddMemcpyNode1D, |call| {
        let copy = |call: &mut Call<'_>, after: &[u64]| {
            call.runtime().add_copy_node(graph.0 as u64, after, copy)
        };
        // SAFETY: the caller guarantees it.
        unsafe { add(call, node, graph, dependencies, dependency_count, copy) }
    })
}

/// The parameters of a memset node.
pub(super) fn fill_of(given: CUDA_MEMSET_NODE_PARAMS) -> Fill {
    Fill {
        address: given.dst,
        value: given.value,
        element_bytes: given.element_size,
        width: given.width as u64,
        height: given.height as u64,
        pitch: given.pitch as u64,
    }
}

pub(in crate::c_api) unsafe fn cudaGraphAddMemsetNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    params: *const CUDA_MEMSET_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphAddMemsetNode, |call| {
        let params = not_null(params.cast_mut())?;
        // SAFETY: not null, and the program promises parameters that can be read.
        let given = unsafe { params.read_unaligned() };
        let fill = fill_of(given);
        let set = |call: &mut Call<'_>, after: &[u64]| {
            call.runtime().add_set_node(graph.0 as u64, after, fill)
        };
        // SAFETY: as above.
        unsafe { add(call, node, graph, dependencies, dependency_count, set) }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphAddHostNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    params: *const CUDA_HOST_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphAddHostNode, |call| {
        let params = not_null(params.cast_mut())?;
        // SAFETY: not null, and the program promises parameters that can be read.
        let given = unsafe { params.read_unaligned() };
        let host = host_call(given.function, given.user_data);
        let add_host = |call: &mut Call<'_>, after: &[u64]| {
            call.runtime().add_host_node(graph.0 as u64, after, host)
        };
        // SAFETY: as above.
        unsafe { add(call, node, graph, dependencies, dependency_count, add_host) }
    })
}

/// A function of the program with its argument.
pub(super) fn host_call(function: CUhostFn, user_data: *mut c_void) -> HostCall {
    HostCall {
        function: function.map_or(0, |function| function as usize as u64),
        user_data: user_data as u64,
    }
}

pub(in crate::c_api) unsafe fn cudaGraphAddEventRecordNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    event: cudaEvent_t,
) -> cudaError_t {
    run(F::cudaGraphAddEventRecordNode, |call| {
        let record = |call: &mut Call<'_>, after: &[u64]| {
            let runtime = call.runtime();
            runtime.add_event_node(graph.0 as u64, after, event.0 as u64, false)
        };
        // SAFETY: as above.
        unsafe { add(call, node, graph, dependencies, dependency_count, record) }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphAddEventWaitNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    event: cudaEvent_t,
) -> cudaError_t {
    run(F::cudaGraphAddEventWaitNode, |call| {
        let wait = |call: &mut Call<'_>, after: &[u64]| {
            let runtime = call.runtime();
            runtime.add_event_node(graph.0 as u64, after, event.0 as u64, true)
        };
        // SAFETY: as above.
        unsafe { add(call, node, graph, dependencies, dependency_count, wait) }
    })
}
