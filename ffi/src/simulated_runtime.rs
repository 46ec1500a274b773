//! The runtime functions that the simulated runtime exports, one per line: those of the
//! [table](crate::table), which this project's own program calls, and those that other
//! programs call.
//!
//! `cargo xtask abi` compares every line with `cuda_runtime_api.h`.

use crate::table::{Function, Presence, as_values, presence};

/// Passes every exported function to the macro `$callback`, as
/// [`cudart_functions!`](crate::cudart_functions) does. If a prototype differs between
/// versions of CUDA, the list has that of runtime 13.
#[macro_export]
macro_rules! simulated_runtime_functions {
    ($callback:ident) => {
        $crate::cudart_functions! { simulated_runtime_functions, $callback }
    };
    ($callback:ident $($table:tt)+) => {
        $callback! {
            $($table)+

            optional [12.0] fn cudaGetDriverEntryPoint(symbol: *const c_char, function: *mut *mut c_void, flags: c_ulonglong, status: *mut CUdriverProcAddressQueryResult) -> cudaError_t;
            optional [12.5] fn cudaGetDriverEntryPointByVersion(symbol: *const c_char, function: *mut *mut c_void, cuda_version: c_uint, flags: c_ulonglong, status: *mut CUdriverProcAddressQueryResult) -> cudaError_t;
            optional [11.4] fn cudaDeviceCanAccessPeer(can_access_peer: *mut c_int, device: c_int, peer: c_int) -> cudaError_t;
            optional [11.4] fn cudaProfilerStart() -> cudaError_t;
            optional [11.4] fn cudaProfilerStop() -> cudaError_t;

            optional [11.4] fn cudaGetDevice(device: *mut c_int) -> cudaError_t;
            optional [11.4] fn cudaDeviceReset() -> cudaError_t;
            optional [11.4] fn cudaDeviceGetLimit(value: *mut usize, limit: cudaLimit) -> cudaError_t;
            optional [11.4] fn cudaDeviceSetLimit(limit: cudaLimit, value: usize) -> cudaError_t;
            optional [11.4] fn cudaDeviceGetCacheConfig(config: *mut cudaFuncCache) -> cudaError_t;
            optional [11.4] fn cudaDeviceSetCacheConfig(config: cudaFuncCache) -> cudaError_t;
            optional [11.4] fn cudaGetDeviceFlags(flags: *mut c_uint) -> cudaError_t;
            optional [11.4] fn cudaSetDeviceFlags(flags: c_uint) -> cudaError_t;
            optional [12.0] fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaDeviceGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int) -> cudaError_t;

            optional [11.4] fn cudaMallocManaged(dev_ptr: *mut *mut c_void, size: usize, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaMallocHost(ptr: *mut *mut c_void, size: usize) -> cudaError_t;
            optional [11.4] fn cudaHostAlloc(ptr: *mut *mut c_void, size: usize, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaFreeHost(ptr: *mut c_void) -> cudaError_t;
            optional [11.4] fn cudaMallocPitch(dev_ptr: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> cudaError_t;
            optional [11.4] fn cudaMallocFromPoolAsync(ptr: *mut *mut c_void, size: usize, pool: cudaMemPool_t, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaDeviceGetMemPool(mem_pool: *mut cudaMemPool_t, device: c_int) -> cudaError_t;
            optional [11.4] fn cudaMemcpy(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaMemcpy2D(dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaMemcpy2DAsync(dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize, kind: cudaMemcpyKind, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaMemset2D(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) -> cudaError_t;
            optional [11.4] fn cudaMemset2DAsync(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaGetSymbolAddress(dev_ptr: *mut *mut c_void, symbol: *const c_void) -> cudaError_t;
            optional [11.4] fn cudaGetSymbolSize(size: *mut usize, symbol: *const c_void) -> cudaError_t;
            optional [11.4] fn cudaMemcpyToSymbol(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaMemcpyToSymbolAsync(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaMemcpyFromSymbol(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaMemcpyFromSymbolAsync(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaHostRegister(ptr: *mut c_void, size: usize, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaHostUnregister(ptr: *mut c_void) -> cudaError_t;
            optional [11.4] fn cudaHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaHostGetFlags(flags: *mut c_uint, host: *mut c_void) -> cudaError_t;
            optional [13.0] fn cudaMemPrefetchAsync(ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t) -> cudaError_t;
            optional [13.0] fn cudaMemAdvise(ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, location: cudaMemLocation) -> cudaError_t;
            optional [11.4] fn cudaMemRangeGetAttribute(data: *mut c_void, data_size: usize, attribute: cudaMemRangeAttribute, ptr: *const c_void, count: usize) -> cudaError_t;
            optional [11.4] fn cudaPointerGetAttributes(attributes: *mut cudaPointerAttributes, ptr: *const c_void) -> cudaError_t;
            optional [11.4] fn cudaFuncGetAttributes(attr: *mut cudaFuncAttributes, func: *const c_void) -> cudaError_t;
            optional [11.4] fn cudaFuncSetAttribute(func: *const c_void, attr: cudaFuncAttribute, value: c_int) -> cudaError_t;
            optional [11.4] fn cudaFuncSetCacheConfig(func: *const c_void, config: cudaFuncCache) -> cudaError_t;
            optional [11.4] fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, func: *const c_void, block_size: c_int, dynamic_bytes: usize) -> cudaError_t;
            optional [11.4] fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, func: *const c_void, block_size: c_int, dynamic_bytes: usize, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, func: *const c_void, blocks: c_int, block_size: c_int) -> cudaError_t;
            optional [12.3] fn cudaFuncGetName(name: *mut *const c_char, func: *const c_void) -> cudaError_t;
            optional [11.8] fn cudaLaunchKernelExC(config: *const cudaLaunchConfig_st, func: *const c_void, args: *mut *mut c_void) -> cudaError_t;
            optional [11.4] fn cudaLaunchCooperativeKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem_bytes: usize, stream: cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaMemset(dev_ptr: *mut c_void, value: c_int, count: usize) -> cudaError_t;

            optional [11.4] fn cudaStreamCreate(stream: *mut cudaStream_t) -> cudaError_t;
            optional [11.4] fn cudaStreamCreateWithPriority(stream: *mut cudaStream_t, flags: c_uint, priority: c_int) -> cudaError_t;
            optional [11.4] fn cudaStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) -> cudaError_t;
            optional [11.4] fn cudaStreamGetFlags(stream: cudaStream_t, flags: *mut c_uint) -> cudaError_t;
            optional [11.4] fn cudaEventCreate(event: *mut cudaEvent_t) -> cudaError_t;
            optional [11.4] fn cudaLaunchHostFunc(stream: cudaStream_t, function: CUhostFn, user_data: *mut c_void) -> cudaError_t;

            optional [12.0] fn cudaGraphInstantiate(exec: *mut cudaGraphExec_t, graph: cudaGraph_t, flags: c_ulonglong) -> cudaError_t;
            optional [12.0] fn cudaGraphInstantiateWithParams(exec: *mut cudaGraphExec_t, graph: cudaGraph_t, params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) -> cudaError_t;
            optional [12.0] fn cudaGraphExecUpdate(exec: cudaGraphExec_t, graph: cudaGraph_t, result_info: *mut CUgraphExecUpdateResultInfo) -> cudaError_t;
            optional [12.0] fn cudaGraphExecGetFlags(exec: cudaGraphExec_t, flags: *mut u64) -> cudaError_t;
            optional [11.4] fn cudaGraphDebugDotPrint(graph: cudaGraph_t, path: *const c_char, flags: c_uint) -> cudaError_t;
            optional [11.4] fn cudaGraphGetNodes(graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, num_nodes: *mut usize) -> cudaError_t;
            optional [11.4] fn cudaGraphGetRootNodes(graph: cudaGraph_t, nodes: *mut cudaGraphNode_t, num_nodes: *mut usize) -> cudaError_t;
            optional [13.0] fn cudaGraphGetEdges(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, num_edges: *mut usize) -> cudaError_t;
            optional [11.4] fn cudaGraphNodeGetType(node: cudaGraphNode_t, kind: *mut CUgraphNodeType) -> cudaError_t;
            optional [13.0] fn cudaGraphNodeGetDependencies(node: cudaGraphNode_t, dependencies: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, dependency_count: *mut usize) -> cudaError_t;
            optional [13.0] fn cudaGraphNodeGetDependentNodes(node: cudaGraphNode_t, dependents: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, dependent_count: *mut usize) -> cudaError_t;
            optional [11.4] fn cudaGraphKernelNodeGetParams(node: cudaGraphNode_t, params: *mut cudaKernelNodeParams) -> cudaError_t;
            optional [11.4] fn cudaGraphKernelNodeSetParams(node: cudaGraphNode_t, params: *const cudaKernelNodeParams) -> cudaError_t;
            optional [11.4] fn cudaGraphMemsetNodeGetParams(node: cudaGraphNode_t, params: *mut CUDA_MEMSET_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphMemsetNodeSetParams(node: cudaGraphNode_t, params: *const CUDA_MEMSET_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphMemcpyNodeSetParams1D(node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaGraphHostNodeSetParams(node: cudaGraphNode_t, params: *const CUDA_HOST_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphExecKernelNodeSetParams(exec: cudaGraphExec_t, node: cudaGraphNode_t, params: *const cudaKernelNodeParams) -> cudaError_t;
            optional [11.4] fn cudaGraphExecMemsetNodeSetParams(exec: cudaGraphExec_t, node: cudaGraphNode_t, params: *const CUDA_MEMSET_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphExecMemcpyNodeSetParams1D(exec: cudaGraphExec_t, node: cudaGraphNode_t, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaGraphExecHostNodeSetParams(exec: cudaGraphExec_t, node: cudaGraphNode_t, params: *const CUDA_HOST_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphExecChildGraphNodeSetParams(exec: cudaGraphExec_t, node: cudaGraphNode_t, child: cudaGraph_t) -> cudaError_t;
            optional [11.6] fn cudaGraphNodeSetEnabled(exec: cudaGraphExec_t, node: cudaGraphNode_t, enabled: c_uint) -> cudaError_t;
            optional [11.6] fn cudaGraphNodeGetEnabled(exec: cudaGraphExec_t, node: cudaGraphNode_t, enabled: *mut c_uint) -> cudaError_t;
            optional [11.4] fn cudaGraphHostNodeGetParams(node: cudaGraphNode_t, params: *mut CUDA_HOST_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphChildGraphNodeGetGraph(node: cudaGraphNode_t, graph: *mut cudaGraph_t) -> cudaError_t;
            optional [11.4] fn cudaGraphAddMemcpyNode1D(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> cudaError_t;
            optional [11.4] fn cudaGraphAddMemsetNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *const CUDA_MEMSET_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphAddHostNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *const CUDA_HOST_NODE_PARAMS) -> cudaError_t;
            optional [11.4] fn cudaGraphAddEventRecordNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, event: cudaEvent_t) -> cudaError_t;
            optional [11.4] fn cudaGraphAddEventWaitNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, event: cudaEvent_t) -> cudaError_t;

            optional [11.4] fn cudaPeekAtLastError() -> cudaError_t;

            optional [11.4] fn cudaStreamIsCapturing(stream: cudaStream_t, status: *mut c_uint) -> cudaError_t;
            optional [13.0] fn cudaStreamGetCaptureInfo(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, edge_data: *mut *const c_void, dependency_count: *mut usize) -> cudaError_t;
            optional [13.0] fn cudaStreamUpdateCaptureDependencies(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, flags: c_uint) -> cudaError_t;
            optional [12.3] fn cudaStreamBeginCaptureToGraph(stream: cudaStream_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, mode: cudaStreamCaptureMode) -> cudaError_t;
            optional [11.4] fn cudaThreadExchangeStreamCaptureMode(mode: *mut cudaStreamCaptureMode) -> cudaError_t;

            optional [11.4] fn cudaEventQuery(event: cudaEvent_t) -> cudaError_t;
            optional [11.4] fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: c_uint) -> cudaError_t;

            optional [13.0] fn cudaGraphAddNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_data: *const CUgraphEdgeData, dependency_count: usize, params: *mut CUgraphNodeParams) -> cudaError_t;
            optional [12.3] fn cudaGraphAddNode_v2(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_data: *const CUgraphEdgeData, dependency_count: usize, params: *mut CUgraphNodeParams) -> cudaError_t;
            optional [12.3] fn cuGraphAddNode_v2(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_data: *const CUgraphEdgeData, dependency_count: usize, params: *mut CUgraphNodeParams) -> CUresult;
        }
    };
}

/// Every line of the list.
pub const SIMULATED_RUNTIME_FUNCTIONS: &[Function] = simulated_runtime_functions!(as_values);
