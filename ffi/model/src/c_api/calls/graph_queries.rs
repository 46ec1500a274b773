//! Queries of graphs, and parameters of nodes.

use core::ffi::{c_char, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::loaded_as;
#[cfg(not(unix))]
use super::super::pointers::string;
use super::super::pointers::{not_null, write};
use super::kernel_request;
use crate::functions::FunctionId as F;
use crate::runtime::{DOT_RUNTIME_TYPES, Outcome};

/// Returns a list in the way of CUDA: without an array, only its length; with an array, as
/// many entries as fit, null in the remaining places, and the number of entries written.
///
/// # Safety
///
/// `array` must be null or valid for writing as many handles as `count` says; `count`
/// valid for reading and writing.
unsafe fn give_list(list: &[u64], array: *mut cudaGraphNode_t, count: *mut usize) -> Outcome {
    let count = not_null(count)?;
    if array.is_null() {
        // SAFETY: not null, and valid as the caller guarantees.
        unsafe { write(count, list.len()) };
        return Ok(());
    }
    // SAFETY: as above.
    let room = unsafe { count.read_unaligned() };
    let padded = list.iter().copied().chain(core::iter::repeat(0));
    for (at, handle) in padded.take(room).enumerate() {
        // SAFETY: the index is below the length that the caller guarantees.
        unsafe { write(array.add(at), cudaGraphNode_t(handle as *mut c_void)) };
    }
    // SAFETY: as above.
    unsafe { write(count, list.len().min(room)) };
    Ok(())
}

/// Writes the data of `edges` edges, which is that of ordinary edges.
///
/// # Safety
///
/// `data` must be null or valid for writing as many.
unsafe fn give_edge_data(data: *mut CUgraphEdgeData, edges: usize) {
    if data.is_null() {
        return;
    }
    for at in 0..edges {
        // SAFETY: not null, and the caller guarantees that the index is in range.
        unsafe { write(data.add(at), CUgraphEdgeData::zeroed()) };
    }
}

/// The number of edges that a call may write.
///
/// # Safety
///
/// `count` must be null or readable.
unsafe fn room(count: *const usize) -> usize {
    if count.is_null() {
        0
    } else {
        // SAFETY: not null, and valid as the caller guarantees.
        unsafe { count.read_unaligned() }
    }
}

pub(in crate::c_api) unsafe fn cudaGraphGetNodes(
    graph: cudaGraph_t,
    nodes: *mut cudaGraphNode_t,
    num_nodes: *mut usize,
) -> cudaError_t {
    run(F::cudaGraphGetNodes, |call| {
        let list = call.runtime().graph_nodes(graph.0 as u64)?;
        // SAFETY: the program promises an array of the length that it gives.
        unsafe { give_list(&list, nodes, num_nodes) }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphGetRootNodes(
    graph: cudaGraph_t,
    nodes: *mut cudaGraphNode_t,
    num_nodes: *mut usize,
) -> cudaError_t {
    run(F::cudaGraphGetRootNodes, |call| {
        let list = call.runtime().graph_root_nodes(graph.0 as u64)?;
        // SAFETY: as above.
        unsafe { give_list(&list, nodes, num_nodes) }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphGetEdges_v2(
    graph: cudaGraph_t,
    from: *mut cudaGraphNode_t,
    to: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    num_edges: *mut usize,
) -> cudaError_t {
    run(F::cudaGraphGetEdges, |call| {
        let edges = call.runtime().graph_edges(graph.0 as u64)?;
        if from.is_null() != to.is_null() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // SAFETY: the program promises a count that can be read.
        let mut room = unsafe { room(num_edges) };
        let (firsts, seconds): (Vec<u64>, Vec<u64>) = edges.into_iter().unzip();
        if !from.is_null() {
            // SAFETY: the program promises arrays of the length that it gives.
            unsafe {
                give_edge_data(edge_data, room.min(firsts.len()));
                give_list(&firsts, from, &raw mut room)?;
            }
        }
        // SAFETY: as above.
        unsafe { give_list(&seconds, to, num_edges) }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetType(
    node: cudaGraphNode_t,
    kind: *mut CUgraphNodeType,
) -> cudaError_t {
    run(F::cudaGraphNodeGetType, |call| {
        let out = not_null(kind)?;
        let kind = call.runtime().node_type(node.0 as u64)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, kind) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetDependencies_v2(
    node: cudaGraphNode_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    dependency_count: *mut usize,
) -> cudaError_t {
    run(F::cudaGraphNodeGetDependencies, |call| {
        let list = call.runtime().node_dependencies(node.0 as u64)?;
        // SAFETY: the program promises arrays of the length that it gives.
        unsafe {
            if !dependencies.is_null() {
                give_edge_data(edge_data, room(dependency_count).min(list.len()));
            }
            give_list(&list, dependencies, dependency_count)
        }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetDependentNodes_v2(
    node: cudaGraphNode_t,
    dependents: *mut cudaGraphNode_t,
    edge_data: *mut CUgraphEdgeData,
    dependent_count: *mut usize,
) -> cudaError_t {
    run(F::cudaGraphNodeGetDependentNodes, |call| {
        let list = call.runtime().node_dependents(node.0 as u64)?;
        // SAFETY: as above.
        unsafe {
            if !dependents.is_null() {
                give_edge_data(edge_data, room(dependent_count).min(list.len()));
            }
            give_list(&list, dependents, dependent_count)
        }
    })
}

pub(in crate::c_api) unsafe fn cudaGraphKernelNodeGetParams(
    node: cudaGraphNode_t,
    params: *mut cudaKernelNodeParams,
) -> cudaError_t {
    run(F::cudaGraphKernelNodeGetParams, |call| {
        let out = not_null(params)?;
        let found = call.runtime().kernel_node_params(node.0 as u64)?;
        let extents = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
        let params = cudaKernelNodeParams {
            func: found.kernel.to_handle() as *mut c_void,
            grid_dim: extents(found.grid),
            block_dim: extents(found.block),
            shared_mem_bytes: found.shared_bytes,
            kernel_params: found.arguments.addresses().as_ptr().cast_mut().cast(),
            extra: core::ptr::null_mut(),
        };
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, params) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphKernelNodeSetParams(
    node: cudaGraphNode_t,
    params: *const cudaKernelNodeParams,
) -> cudaError_t {
    run(F::cudaGraphKernelNodeSetParams, |call| {
        let params = not_null(params.cast_mut())?;
        // SAFETY: the program guarantees parameters that can be read, with one
        // pointer for each parameter of the kernel.
        let (request, arguments) = unsafe { kernel_request(call, params.read_unaligned())? };
        call.runtime()
            .set_kernel_node(node.0 as u64, &request, arguments)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphMemsetNodeGetParams(
    node: cudaGraphNode_t,
    params: *mut CUDA_MEMSET_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphMemsetNodeGetParams, |call| {
        let out = not_null(params)?;
        let fill = call.runtime().set_node_params(node.0 as u64)?;
        let params = CUDA_MEMSET_NODE_PARAMS {
            dst: fill.address,
            pitch: fill.pitch as usize,
            value: fill.value,
            element_size: fill.element_bytes,
            width: fill.width as usize,
            height: fill.height as usize,
        };
        // SAFETY: as above.
        unsafe { write(out, params) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphHostNodeGetParams(
    node: cudaGraphNode_t,
    params: *mut CUDA_HOST_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphHostNodeGetParams, |call| {
        let out = not_null(params)?;
        let host = call.runtime().host_node_params(node.0 as u64)?;
        // SAFETY: the program passed this address as such a function, or as null.
        let function = unsafe {
            core::mem::transmute::<*const c_void, CUhostFn>(host.function as *const c_void)
        };
        let params = CUDA_HOST_NODE_PARAMS {
            function,
            user_data: host.user_data as *mut c_void,
        };
        // SAFETY: as above.
        unsafe { write(out, params) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphChildGraphNodeGetGraph(
    node: cudaGraphNode_t,
    graph: *mut cudaGraph_t,
) -> cudaError_t {
    run(F::cudaGraphChildGraphNodeGetGraph, |call| {
        let out = not_null(graph)?;
        let handle = call.runtime().child_graph(node.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraph_t(handle as *mut c_void)) };
        Ok(())
    })
}

/// `cudaErrorGraphExecUpdateFailure`.
const EXEC_UPDATE_FAILURE: cudaError_t = cudaError_t(910);

pub(in crate::c_api) unsafe fn cudaGraphExecUpdate(
    exec: cudaGraphExec_t,
    graph: cudaGraph_t,
    result_info: *mut CUgraphExecUpdateResultInfo,
) -> cudaError_t {
    run(F::cudaGraphExecUpdate, |call| {
        // Before 12 the results are written to two places, and the meaning of only
        // one is known.
        if loaded_as::major() < 12 {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let out = not_null(result_info)?;
        let outcome = call.runtime().exec_update(exec.0 as u64, graph.0 as u64)?;
        let mut info = CUgraphExecUpdateResultInfo::zeroed();
        if let Err(refused) = outcome {
            info.result = refused.result;
            info.error_node = cudaGraphNode_t(refused.node as *mut c_void);
        }
        // SAFETY: as above.
        unsafe { write(out, info) };
        outcome.map_err(|_| EXEC_UPDATE_FAILURE)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecGetFlags(
    exec: cudaGraphExec_t,
    flags: *mut u64,
) -> cudaError_t {
    run(F::cudaGraphExecGetFlags, |call| {
        let out = not_null(flags)?;
        let flags = call.runtime().exec_flags(exec.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, flags) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphDebugDotPrint(
    graph: cudaGraph_t,
    path: *const c_char,
    flags: c_uint,
) -> cudaError_t {
    // SAFETY: the caller guarantees it.
    unsafe { print_dot(graph, path, flags | DOT_RUNTIME_TYPES) }
}

/// The common part of the runtime's and the driver's function.
///
/// # Safety
///
/// The same as for both functions.
pub(in crate::c_api) unsafe fn print_dot(
    graph: cudaGraph_t,
    path: *const c_char,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaGraphDebugDotPrint, |call| {
        // SAFETY: the program promises a NUL-terminated path.
        let path = unsafe { path_of(path)? };
        let text = call.runtime().dot(graph.0 as u64, flags)?;
        // The driver returns this code if it cannot write the file.
        std::fs::write(path, text).map_err(|_| cudaError_t::OPERATING_SYSTEM)
    })
}

/// # Safety
///
/// `path` must be null or a C string.
#[cfg(unix)]
unsafe fn path_of(path: *const c_char) -> Outcome<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;

    let path = not_null(path.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    let bytes = unsafe { core::ffi::CStr::from_ptr(path) }.to_bytes();
    Ok(std::ffi::OsStr::from_bytes(bytes).into())
}

/// # Safety
///
/// `path` must be null or a C string.
#[cfg(not(unix))]
unsafe fn path_of(path: *const c_char) -> Outcome<std::path::PathBuf> {
    // SAFETY: the caller guarantees it.
    Ok(unsafe { string(path)? }.into())
}

pub(in crate::c_api) unsafe fn cudaGraphInstantiate(
    exec: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    flags: core::ffi::c_ulonglong,
) -> cudaError_t {
    // Before 12 the third argument is a pointer for the node that failed, and there are
    // no flags.
    let flags = if loaded_as::major() < 12 { 0 } else { flags };
    run(F::cudaGraphInstantiate, |call| {
        let out = not_null(exec)?;
        let handle = call.runtime().instantiate(graph.0 as u64, flags)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphExec_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGraphInstantiateWithParams(
    exec: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphInstantiateWithParams, |call| {
        let (out, params) = (not_null(exec)?, not_null(params)?);
        // SAFETY: not null, and the program promises parameters that can be read.
        let given = unsafe { params.read_unaligned() };
        let upload = given.flags & graph_instantiate_flags::UPLOAD != 0;
        let flags = given.flags & !graph_instantiate_flags::UPLOAD;
        let made = call.runtime().instantiate(graph.0 as u64, flags);
        let result = match made {
            Ok(_) => CUgraphInstantiateResult::SUCCESS,
            Err(_) => CUgraphInstantiateResult::ERROR,
        };
        // SAFETY: as above, for writing to fields of the program's struct.
        unsafe {
            write(&raw mut (*params).error_node, CUgraphNode::NULL);
            write(&raw mut (*params).result, result);
        }
        let handle = made?;
        if upload {
            let device = call.thread.device;
            let stream = given.upload_stream.0 as u64;
            let uploaded = call.runtime().upload(handle, stream, device);
            match uploaded {
                Ok(end) => call.wait_until(end),
                Err(code) => {
                    call.runtime().exec_destroy(handle)?;
                    return Err(code);
                }
            }
        }
        // SAFETY: as above.
        unsafe { write(out, cudaGraphExec_t(handle as *mut c_void)) };
        Ok(())
    })
}
