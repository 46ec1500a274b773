//! Functions whose arguments differ between CUDA 13 and earlier versions under the same
//! name. They read the arguments of the version as which the library was loaded
//! ([`loaded_as`]).

use core::ffi::{c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::super::loaded_as;
use super::{
    cudaGraphGetEdges_v2, cudaGraphNodeGetDependencies_v2, cudaGraphNodeGetDependentNodes_v2,
    cudaStreamGetCaptureInfo_v3, cudaStreamUpdateCaptureDependencies_v2,
};

/// The edge data and the count, as the functions of CUDA 13 take them. Before 13 there is
/// no edge data, and the count is in its place.
fn data_and_count(
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> (*mut CUgraphEdgeData, *mut usize) {
    if loaded_as::major() < 13 {
        (core::ptr::null_mut(), data.cast())
    } else {
        (data, count)
    }
}

pub(in crate::c_api) unsafe fn cudaGraphGetEdges(
    graph: cudaGraph_t,
    from: *mut cudaGraphNode_t,
    to: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    num_edges: *mut usize,
) -> cudaError_t {
    let (data, count) = data_and_count(edge_data, num_edges);
    // SAFETY: the caller guarantees it.
    unsafe { cudaGraphGetEdges_v2(graph, from, to, data, count) }
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetDependencies(
    node: cudaGraphNode_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    dependency_count: *mut usize,
) -> cudaError_t {
    let (data, count) = data_and_count(edge_data, dependency_count);
    // SAFETY: the caller guarantees it.
    unsafe { cudaGraphNodeGetDependencies_v2(node, dependencies, data, count) }
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetDependentNodes(
    node: cudaGraphNode_t,
    dependents: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    dependent_count: *mut usize,
) -> cudaError_t {
    let (data, count) = data_and_count(edge_data, dependent_count);
    // SAFETY: the caller guarantees it.
    unsafe { cudaGraphNodeGetDependentNodes_v2(node, dependents, data, count) }
}

pub(in crate::c_api) unsafe fn cudaStreamGetCaptureInfo(
    stream: cudaStream_t,
    status: *mut c_uint,
    id: *mut c_ulonglong,
    graph: *mut cudaGraph_t,
    dependencies: *mut *const cudaGraphNode_t,
    edge_data: *mut *const c_void,
    dependency_count: *mut usize,
) -> cudaError_t {
    if loaded_as::major() < 13 {
        // Before 13 there are no other arguments.
        let (graph, nodes) = (core::ptr::null_mut(), core::ptr::null_mut());
        let count = core::ptr::null_mut();
        // SAFETY: the caller guarantees it.
        return unsafe { cudaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count) };
    }
    // SAFETY: the caller guarantees it.
    unsafe {
        cudaStreamGetCaptureInfo_v3(
            stream,
            status,
            id,
            graph,
            dependencies,
            edge_data,
            dependency_count,
        )
    }
}

/// The name of `cudaStreamGetCaptureInfo` in programs of CUDA 12.
pub(in crate::c_api) unsafe fn cudaStreamGetCaptureInfo_v2(
    stream: cudaStream_t,
    status: *mut c_uint,
    id: *mut c_ulonglong,
    graph: *mut cudaGraph_t,
    dependencies: *mut *const cudaGraphNode_t,
    dependency_count: *mut usize,
) -> cudaError_t {
    let data = core::ptr::null_mut();
    // SAFETY: the caller guarantees it.
    unsafe {
        cudaStreamGetCaptureInfo_v3(
            stream,
            status,
            id,
            graph,
            dependencies,
            data,
            dependency_count,
        )
    }
}

pub(in crate::c_api) unsafe fn cudaStreamUpdateCaptureDependencies(
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *const c_void,
    dependency_count: usize,
    flags: c_uint,
) -> cudaError_t {
    let (data, count, flags) = if loaded_as::major() < 13 {
        // The count and the flags are one argument further to the front.
        (
            core::ptr::null(),
            edge_data as usize,
            dependency_count as c_uint,
        )
    } else {
        (edge_data, dependency_count, flags)
    };
    // SAFETY: the caller guarantees it.
    unsafe { cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, data, count, flags) }
}
