//! Nodes of graphs.

use core::ffi::c_void;

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::entry::Call;
use super::super::pointers::not_null;
use super::entry::{Needs, as_runtime, run};
use super::kernels::{given_params, given_params_v2};
use crate::objects::effects::{CopyRequest, Side};
use crate::runtime::Outcome;

// Types that the driver and the runtime have under different names have the same layout.
const _: () =
    assert!(size_of::<CUDA_MEM_ALLOC_NODE_PARAMS>() == size_of::<cudaMemAllocNodeParams>());

pub(in crate::c_api) unsafe fn cuGraphDestroyNode(node: CUgraphNode) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphDestroyNode(node) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddKernelNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult {
    let mut params = cudaKernelNodeParams::zeroed();
    let read = run(Needs::Context, |call| {
        // SAFETY: the program promises parameters that can be read.
        params = unsafe { given_params(call, node_params)? };
        Ok(())
    });
    if !read.is_success() {
        return read;
    }
    let params = &raw const params;
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddKernelNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                params,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddKernelNode_v2(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v2,
) -> CUresult {
    let mut params = cudaKernelNodeParams::zeroed();
    let read = run(Needs::Context, |call| {
        // SAFETY: the program promises parameters that can be read.
        params = unsafe { given_params_v2(call, node_params)? };
        Ok(())
    });
    if !read.is_success() {
        return read;
    }
    let params = &raw const params;
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddKernelNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                params,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddMemcpyNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    copy_params: *const CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> CUresult {
    let mut copy = None;
    let read = run(Needs::Init, |call| {
        node_context(call, ctx)?;
        let params = not_null(copy_params.cast_mut())?;
        // SAFETY: not null, and the program promises parameters that can be read.
        copy = Some(row_of(&unsafe { params.read_unaligned() })?);
        Ok(())
    });
    let Some(copy) = copy.filter(|_| read.is_success()) else {
        return read;
    };
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::add_copy_node(graph_node, graph, dependencies, dependency_count, copy) }
    })
}

/// Checks the context in which a node is to run. Null is accepted (H200, driver 580).
fn node_context(call: &mut Call<'_>, ctx: CUcontext) -> Outcome {
    if ctx.is_null() {
        return Ok(());
    }
    call.runtime().check_context(ctx.0 as u64)
}

/// The only row of a copy. Copies of several rows are not simulated.
fn row_of(params: &CUDA_MEMCPY3D) -> Outcome<CopyRequest> {
    if params.width_in_bytes == 0 || params.height == 0 || params.depth == 0 {
        return Err(cudaError_t::INVALID_VALUE);
    }
    if params.height > 1 || params.depth > 1 {
        return Err(cudaError_t::NOT_SUPPORTED);
    }
    let side = |kind: CUmemorytype,
                host: *const c_void,
                device: u64,
                offset: [usize; 3],
                pitch: [usize; 2]| {
        let [x, y, z] = offset.map(|at| at as u64);
        let [pitch, height] = pitch.map(|length| length as u64);
        let rows = y.saturating_add(z.saturating_mul(height));
        let offset = x.saturating_add(rows.saturating_mul(pitch));
        match kind {
            CUmemorytype::HOST => Ok(Side::Host((host as u64).saturating_add(offset))),
            CUmemorytype::DEVICE | CUmemorytype::UNIFIED => {
                Ok(Side::Device(device.saturating_add(offset)))
            }
            CUmemorytype::ARRAY => Err(cudaError_t::NOT_SUPPORTED),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    };
    Ok(CopyRequest {
        to: side(
            params.dst_memory_type,
            params.dst_host,
            params.dst_device,
            [params.dst_x_in_bytes, params.dst_y, params.dst_z],
            [params.dst_pitch, params.dst_height],
        )?,
        from: side(
            params.src_memory_type,
            params.src_host,
            params.src_device,
            [params.src_x_in_bytes, params.src_y, params.src_z],
            [params.src_pitch, params.src_height],
        )?,
        bytes: params.width_in_bytes as u64,
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddMemsetNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    memset_params: *const CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> CUresult {
    let context = run(Needs::Init, |call| node_context(call, ctx));
    if !context.is_success() {
        return context;
    }
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddMemsetNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                memset_params,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddHostNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    node_params: *const CUDA_HOST_NODE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddHostNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                node_params,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddChildGraphNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    child_graph: CUgraph,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddChildGraphNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                child_graph,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddEmptyNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphAddEmptyNode(graph_node, graph, dependencies, dependency_count) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddEventRecordNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    event: CUevent,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddEventRecordNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                event,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddEventWaitNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    event: CUevent,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddEventWaitNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                event,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddMemAllocNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    node_params: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddMemAllocNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                node_params.cast(),
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphAddMemFreeNode(
    graph_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_count: usize,
    dptr: CUdeviceptr,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphAddMemFreeNode(
                graph_node,
                graph,
                dependencies,
                dependency_count,
                dptr as *mut c_void,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphNodeGetType(
    node: CUgraphNode,
    kind: *mut CUgraphNodeType,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphNodeGetType(node, kind) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    dependency_count: *mut usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphNodeGetDependencies_v2(
                node,
                dependencies,
                edge_data,
                dependency_count,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphNodeGetDependencies(
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    dependency_count: *mut usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe {
        cuGraphNodeGetDependencies_v2(node, dependencies, core::ptr::null_mut(), dependency_count)
    }
}

pub(in crate::c_api) unsafe fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    dependent_nodes: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    num_dependent_nodes: *mut usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaGraphNodeGetDependentNodes_v2(
                node,
                dependent_nodes,
                edge_data,
                num_dependent_nodes,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuGraphNodeGetDependentNodes(
    node: CUgraphNode,
    dependent_nodes: *mut CUgraphNode,
    num_dependent_nodes: *mut usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe {
        cuGraphNodeGetDependentNodes_v2(
            node,
            dependent_nodes,
            core::ptr::null_mut(),
            num_dependent_nodes,
        )
    }
}

pub(in crate::c_api) unsafe fn cuGraphMemAllocNodeGetParams(
    node: CUgraphNode,
    params_out: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphMemAllocNodeGetParams(node, params_out.cast()) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphMemFreeNodeGetParams(
    node: CUgraphNode,
    dptr_out: *mut CUdeviceptr,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphMemFreeNodeGetParams(node, dptr_out.cast()) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphMemsetNodeGetParams(
    node: CUgraphNode,
    node_params: *mut CUDA_MEMSET_NODE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphMemsetNodeGetParams(node, node_params) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphHostNodeGetParams(
    node: CUgraphNode,
    node_params: *mut CUDA_HOST_NODE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphHostNodeGetParams(node, node_params) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphChildGraphNodeGetGraph(
    node: CUgraphNode,
    graph: *mut CUgraph,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphChildGraphNodeGetGraph(node, graph) }
    })
}
