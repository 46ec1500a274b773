//! Graphs: creation, queries, instantiation and launch.

use core::ffi::{c_char, c_uint, c_ulonglong};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::pointers::{not_null, write};
use super::entry::{Needs, as_runtime, run};

pub(in crate::c_api) unsafe fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphCreate(graph, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphDestroy(graph: CUgraph) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphDestroy(graph) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphClone(
    graph_clone: *mut CUgraph,
    original_graph: CUgraph,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphClone(graph_clone, original_graph) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphGetNodes(
    graph: CUgraph,
    nodes: *mut CUgraphNode,
    num_nodes: *mut usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphGetNodes(graph, nodes, num_nodes) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphGetRootNodes(
    graph: CUgraph,
    root_nodes: *mut CUgraphNode,
    num_root_nodes: *mut usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphGetRootNodes(graph, root_nodes, num_root_nodes) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    edge_data: *mut CUgraphEdgeData,
    num_edges: *mut usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphGetEdges_v2(graph, from, to, edge_data, num_edges) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphGetEdges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    num_edges: *mut usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuGraphGetEdges_v2(graph, from, to, core::ptr::null_mut(), num_edges) }
}

pub(in crate::c_api) unsafe fn cuGraphDebugDotPrint(
    graph: CUgraph,
    path: *const c_char,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::print_dot(graph, path, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphInstantiate_v2(
    exec: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log_buffer: *mut c_char,
    buffer_size: usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    let code = unsafe { cuGraphInstantiateWithFlags(exec, graph, 0) };
    if !error_node.is_null() {
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(error_node, CUgraphNode::NULL) };
    }
    if !log_buffer.is_null() && buffer_size > 0 {
        // SAFETY: not null, and the program guarantees this number of bytes.
        unsafe { log_buffer.write(0) };
    }
    code
}

pub(in crate::c_api) unsafe fn cuGraphInstantiateWithFlags(
    exec: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphInstantiateWithFlags(exec, graph, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphInstantiateWithParams(
    exec: *mut CUgraphExec,
    graph: CUgraph,
    instantiate_params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphInstantiateWithParams(exec, graph, instantiate_params) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphExecDestroy(exec: CUgraphExec) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphExecDestroy(exec) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphExecGetFlags(exec: CUgraphExec, flags: *mut u64) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphExecGetFlags(exec, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphExecUpdate_v2(
    exec: CUgraphExec,
    graph: CUgraph,
    result_info: *mut CUgraphExecUpdateResultInfo,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphExecUpdate(exec, graph, result_info) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphExecUpdate(
    exec: CUgraphExec,
    graph: CUgraph,
    error_node_out: *mut CUgraphNode,
    update_result_out: *mut CUgraphExecUpdateResult,
) -> CUresult {
    let mut info = CUgraphExecUpdateResultInfo::zeroed();
    // SAFETY: the pointer is to a local variable.
    let code = unsafe { cuGraphExecUpdate_v2(exec, graph, &raw mut info) };
    let written = run(Needs::Nothing, |_| {
        let (node_out, result_out) = (not_null(error_node_out)?, not_null(update_result_out)?);
        // SAFETY: not null, and the program promises that both can be written.
        unsafe {
            write(node_out, info.error_node);
            write(result_out, info.result);
        }
        Ok(())
    });
    if code.is_success() { written } else { code }
}

pub(in crate::c_api) unsafe fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphLaunch(exec, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphUpload(exec, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphInstantiate(
    exec: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log_buffer: *mut c_char,
    buffer_size: usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuGraphInstantiate_v2(exec, graph, error_node, log_buffer, buffer_size) }
}
