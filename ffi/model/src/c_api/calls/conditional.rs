//! Conditional nodes.

use core::ffi::{c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::loaded_as;
use super::super::pointers::{handles, not_null, write};
use crate::functions::FunctionId as F;

pub(in crate::c_api) unsafe fn cudaGraphConditionalHandleCreate(
    handle: *mut c_ulonglong,
    graph: cudaGraph_t,
    default_value: c_uint,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaGraphConditionalHandleCreate, |call| {
        let out = not_null(handle)?;
        let handle = call
            .runtime()
            .condition_create(graph.0 as u64, default_value, flags)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, handle) };
        Ok(())
    })
}

/// Adds conditional nodes, empty nodes and, for the runtime, kernel nodes. For other types,
/// only their own functions are simulated.
pub(in crate::c_api) unsafe fn cuGraphAddNode_v2(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_data: *const CUgraphEdgeData,
    dependency_count: usize,
    params: *mut CUgraphNodeParams,
) -> CUresult {
    let code = run(F::cuGraphAddNode_v2, |call| {
        let (out, params) = (not_null(node)?, not_null(params)?);
        if !dependency_data.is_null() {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length, and parameters that can
        // be read.
        let (dependencies, given) = unsafe {
            (
                handles(dependencies.cast(), dependency_count, most)?,
                params.read_unaligned(),
            )
        };
        let graph = graph.0 as u64;
        let handle = match given.type_ {
            CUgraphNodeType::EMPTY => call.runtime().add_empty_node(graph, &dependencies)?,
            CUgraphNodeType::CONDITIONAL => {
                let wanted = given.conditional;
                let (node, bodies) = call.runtime().add_conditional_node(
                    graph,
                    &dependencies,
                    wanted.handle,
                    wanted.type_,
                    wanted.size,
                )?;
                // Handles and pointers have the same size.
                let bodies = bodies.as_ptr().cast::<CUgraph>().cast_mut();
                // SAFETY: not null, and the program promises that they can be written.
                unsafe { write(&raw mut (*params).conditional.bodies, bodies) };
                node
            }
            _ => return Err(cudaError_t::NOT_SUPPORTED),
        };
        // SAFETY: as above.
        unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
        Ok(())
    });
    CUresult(code.0)
}

/// The name of [`cudaGraphAddNode`] from 12.3 to 12.9.
pub(in crate::c_api) unsafe fn cudaGraphAddNode_v2(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_data: *const CUgraphEdgeData,
    dependency_count: usize,
    params: *mut CUgraphNodeParams,
) -> cudaError_t {
    // SAFETY: the program promises parameters that can be read.
    let is_kernel = !params.is_null()
        && dependency_data.is_null()
        && unsafe { (&raw const (*params).type_).read_unaligned() } == CUgraphNodeType::KERNEL;
    if is_kernel {
        // SAFETY: the parameters start at the same offset for every type, and those
        // of a kernel have the layout of `cudaKernelNodeParams`. The caller
        // guarantees the rest.
        return unsafe {
            let params = (&raw const (*params).conditional).cast::<cudaKernelNodeParams>();
            super::cudaGraphAddKernelNode(node, graph, dependencies, dependency_count, params)
        };
    }
    // SAFETY: the caller guarantees it for both.
    let code = unsafe {
        cuGraphAddNode_v2(
            node,
            graph,
            dependencies,
            dependency_data,
            dependency_count,
            params,
        )
    };
    cudaError_t(code.0)
}

/// Before 13 there is no edge data, and the later arguments are one place further to the
/// front.
pub(in crate::c_api) unsafe fn cudaGraphAddNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_data: *const CUgraphEdgeData,
    dependency_count: usize,
    params: *mut CUgraphNodeParams,
) -> cudaError_t {
    let (data, count, params) = if loaded_as::major() < 13 {
        let params = core::ptr::with_exposed_provenance_mut(dependency_count);
        (core::ptr::null(), dependency_data.addr(), params)
    } else {
        (dependency_data, dependency_count, params)
    };
    // SAFETY: the caller guarantees it.
    unsafe { cudaGraphAddNode_v2(node, graph, dependencies, data, count, params) }
}
