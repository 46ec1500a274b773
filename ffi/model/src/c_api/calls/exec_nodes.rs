//! Changes of single nodes, in a graph and in an exec.

use core::ffi::{c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::pointers::{not_null, write};
use super::kernel_request;
use super::nodes::{fill_of, host_call};
use crate::functions::FunctionId as F;
use crate::objects::effects::{CopyRequest, Fill, HostCall};
use crate::runtime::Outcome;

/// # Safety
///
/// `params` must be null or readable.
unsafe fn fill(params: *const CUDA_MEMSET_NODE_PARAMS) -> Outcome<Fill> {
    let params = not_null(params.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    Ok(fill_of(unsafe { params.read_unaligned() }))
}

/// # Safety
///
/// `params` must be null or readable.
unsafe fn host(params: *const CUDA_HOST_NODE_PARAMS) -> Outcome<HostCall> {
    let params = not_null(params.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    let given = unsafe { params.read_unaligned() };
    Ok(host_call(given.function, given.user_data))
}

fn copy(
    call: &mut Call<'_>,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Outcome<CopyRequest> {
    let (to, from) = call.runtime().sides(kind, dst as u64, src as u64)?;
    Ok(CopyRequest {
        to,
        from,
        bytes: count as u64,
    })
}

pub(in crate::c_api) unsafe fn cudaGraphMemsetNodeSetParams(
    node: cudaGraphNode_t,
    params: *const CUDA_MEMSET_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphMemsetNodeSetParams, |call| {
        // SAFETY: the program promises parameters that can be read.
        let fill = unsafe { fill(params)? };
        call.runtime().set_fill_node(node.0 as u64, fill)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphMemcpyNodeSetParams1D(
    node: cudaGraphNode_t,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    run(F::cudaGraphMemcpyNodeSetParams1D, |call| {
        let copy = copy(call, dst, src, count, kind)?;
        call.runtime().set_copy_node(node.0 as u64, copy)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphHostNodeSetParams(
    node: cudaGraphNode_t,
    params: *const CUDA_HOST_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphHostNodeSetParams, |call| {
        // SAFETY: as above.
        let host = unsafe { host(params)? };
        call.runtime().set_host_node(node.0 as u64, host)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecKernelNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const cudaKernelNodeParams,
) -> cudaError_t {
    run(F::cudaGraphExecKernelNodeSetParams, |call| {
        let params = not_null(params.cast_mut())?;
        // SAFETY: not null, and the program guarantees parameters that can be read,
        // with one pointer for each parameter of the kernel.
        let (request, arguments) = unsafe { kernel_request(call, params.read_unaligned())? };
        call.runtime()
            .set_exec_kernel(exec.0 as u64, node.0 as u64, &request, arguments)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecMemsetNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const CUDA_MEMSET_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphExecMemsetNodeSetParams, |call| {
        // SAFETY: as above.
        let fill = unsafe { fill(params)? };
        call.runtime()
            .set_exec_fill(exec.0 as u64, node.0 as u64, fill)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecMemcpyNodeSetParams1D(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    run(F::cudaGraphExecMemcpyNodeSetParams1D, |call| {
        // The H200 does not accept the kind `cudaMemcpyDefault` here.
        if kind == cudaMemcpyKind::DEFAULT {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let copy = copy(call, dst, src, count, kind)?;
        call.runtime()
            .set_exec_copy(exec.0 as u64, node.0 as u64, copy)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecHostNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const CUDA_HOST_NODE_PARAMS,
) -> cudaError_t {
    run(F::cudaGraphExecHostNodeSetParams, |call| {
        // SAFETY: as above.
        let host = unsafe { host(params)? };
        call.runtime()
            .set_exec_host(exec.0 as u64, node.0 as u64, host)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphExecChildGraphNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    child: cudaGraph_t,
) -> cudaError_t {
    run(F::cudaGraphExecChildGraphNodeSetParams, |call| {
        call.runtime()
            .set_exec_child(exec.0 as u64, node.0 as u64, child.0 as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphNodeSetEnabled(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    enabled: c_uint,
) -> cudaError_t {
    run(F::cudaGraphNodeSetEnabled, |call| {
        call.runtime()
            .set_exec_enabled(exec.0 as u64, node.0 as u64, enabled != 0)
    })
}

pub(in crate::c_api) unsafe fn cudaGraphNodeGetEnabled(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    enabled: *mut c_uint,
) -> cudaError_t {
    run(F::cudaGraphNodeGetEnabled, |call| {
        let out = not_null(enabled)?;
        let found = call.runtime().exec_enabled(exec.0 as u64, node.0 as u64)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, c_uint::from(found)) };
        Ok(())
    })
}
