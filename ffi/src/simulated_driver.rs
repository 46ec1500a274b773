//! The driver functions that the simulated runtime exports, one line each.
//!
//! Each line is `name [version] fn exported(arguments)`: `cuGetProcAddress` returns
//! `exported` for `name` from that CUDA version on, until the version of the next line with
//! the same name. The versions are those of `cudaTypedefs.h`. The name after a plus is the
//! variant for the per-thread default stream. `cargo xtask abi` compares every line with
//! `cuda.h`.

/// Passes the list to the macro `$callback`.
#[macro_export]
macro_rules! simulated_driver_functions {
    ($callback:ident) => {
        $callback! {
            cuInit [2000] fn cuInit(flags: c_uint) -> CUresult;
            cuDriverGetVersion [2020] fn cuDriverGetVersion(driver_version: *mut c_int) -> CUresult;
            cuGetErrorName [6000] fn cuGetErrorName(error: CUresult, str: *mut *const c_char) -> CUresult;
            cuGetErrorString [6000] fn cuGetErrorString(error: CUresult, str: *mut *const c_char) -> CUresult;
            cuGetProcAddress [11030] fn cuGetProcAddress(symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: u64) -> CUresult;
            cuGetProcAddress [12000] fn cuGetProcAddress_v2(symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: u64, symbol_status: *mut CUdriverProcAddressQueryResult) -> CUresult;

            cuDeviceGet [2000] fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult;
            cuDeviceGetCount [2000] fn cuDeviceGetCount(count: *mut c_int) -> CUresult;
            cuDeviceGetName [2000] fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice) -> CUresult;
            cuDeviceGetUuid [9020] fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice) -> CUresult;
            cuDeviceGetUuid [11040] fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) -> CUresult;
            cuDeviceTotalMem [3020] fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) -> CUresult;
            cuDeviceGetAttribute [2000] fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice) -> CUresult;
            cuDeviceComputeCapability [2000] fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice) -> CUresult;
            cuDeviceCanAccessPeer [4000] fn cuDeviceCanAccessPeer(can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice) -> CUresult;
            cuDeviceGetDefaultMemPool [11020] fn cuDeviceGetDefaultMemPool(pool_out: *mut CUmemoryPool, dev: CUdevice) -> CUresult;
            cuDeviceGetMemPool [11020] fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, dev: CUdevice) -> CUresult;

            cuDevicePrimaryCtxRetain [7000] fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice) -> CUresult;
            cuDevicePrimaryCtxRelease [7000] fn cuDevicePrimaryCtxRelease(dev: CUdevice) -> CUresult;
            cuDevicePrimaryCtxRelease [11000] fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> CUresult;
            cuDevicePrimaryCtxSetFlags [7000] fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: c_uint) -> CUresult;
            cuDevicePrimaryCtxSetFlags [11000] fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint) -> CUresult;
            cuDevicePrimaryCtxGetState [7000] fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int) -> CUresult;
            cuDevicePrimaryCtxReset [7000] fn cuDevicePrimaryCtxReset(dev: CUdevice) -> CUresult;
            cuDevicePrimaryCtxReset [11000] fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> CUresult;
            cuCtxCreate [3020] fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice) -> CUresult;
            cuCtxCreate [11040] fn cuCtxCreate_v3(pctx: *mut CUcontext, params_array: *mut CUexecAffinityParam, num_params: c_int, flags: c_uint, dev: CUdevice) -> CUresult;
            cuCtxCreate [12050] fn cuCtxCreate_v4(pctx: *mut CUcontext, ctx_create_params: *mut CUctxCreateParams, flags: c_uint, dev: CUdevice) -> CUresult;
            cuCtxDestroy [2000] fn cuCtxDestroy(ctx: CUcontext) -> CUresult;
            cuCtxDestroy [4000] fn cuCtxDestroy_v2(ctx: CUcontext) -> CUresult;
            cuCtxPushCurrent [2000] fn cuCtxPushCurrent(ctx: CUcontext) -> CUresult;
            cuCtxPushCurrent [4000] fn cuCtxPushCurrent_v2(ctx: CUcontext) -> CUresult;
            cuCtxPopCurrent [2000] fn cuCtxPopCurrent(pctx: *mut CUcontext) -> CUresult;
            cuCtxPopCurrent [4000] fn cuCtxPopCurrent_v2(pctx: *mut CUcontext) -> CUresult;
            cuCtxSetCurrent [4000] fn cuCtxSetCurrent(ctx: CUcontext) -> CUresult;
            cuCtxGetCurrent [4000] fn cuCtxGetCurrent(pctx: *mut CUcontext) -> CUresult;
            cuCtxGetDevice [2000] fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult;
            cuCtxGetFlags [7000] fn cuCtxGetFlags(flags: *mut c_uint) -> CUresult;
            cuCtxGetApiVersion [3020] fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint) -> CUresult;
            cuCtxSynchronize [2000] fn cuCtxSynchronize() -> CUresult;
            cuCtxGetStreamPriorityRange [5050] fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int) -> CUresult;

            cuMemGetInfo [3020] fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult;
            cuMemAlloc [3020] fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize) -> CUresult;
            cuMemAllocPitch [3020] fn cuMemAllocPitch_v2(dptr: *mut CUdeviceptr, pitch: *mut usize, width_in_bytes: usize, height: usize, element_size_bytes: c_uint) -> CUresult;
            cuMemFree [3020] fn cuMemFree_v2(dptr: CUdeviceptr) -> CUresult;
            cuMemAllocHost [3020] fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize) -> CUresult;
            cuMemHostAlloc [2020] fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: c_uint) -> CUresult;
            cuMemFreeHost [2000] fn cuMemFreeHost(p: *mut c_void) -> CUresult;
            cuMemAllocManaged [6000] fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint) -> CUresult;
            cuMemAllocAsync [11020] fn cuMemAllocAsync + cuMemAllocAsync_ptsz(dptr: *mut CUdeviceptr, bytesize: usize, stream: CUstream) -> CUresult;
            cuMemAllocFromPoolAsync [11020] fn cuMemAllocFromPoolAsync + cuMemAllocFromPoolAsync_ptsz(dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, stream: CUstream) -> CUresult;
            cuMemFreeAsync [11020] fn cuMemFreeAsync + cuMemFreeAsync_ptsz(dptr: CUdeviceptr, stream: CUstream) -> CUresult;
            cuMemPoolTrimTo [11020] fn cuMemPoolTrimTo(pool: CUmemoryPool, min_bytes_to_keep: usize) -> CUresult;
            cuMemPoolGetAttribute [11020] fn cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void) -> CUresult;
            cuMemPoolSetAttribute [11020] fn cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void) -> CUresult;

            cuMemGetAllocationGranularity [10020] fn cuMemGetAllocationGranularity(granularity: *mut usize, prop: *const CUmemAllocationProp, option: CUmemAllocationGranularity_flags) -> CUresult;
            cuMemCreate [10020] fn cuMemCreate(handle: *mut CUmemGenericAllocationHandle, size: usize, prop: *const CUmemAllocationProp, flags: c_ulonglong) -> CUresult;
            cuMemRelease [10020] fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> CUresult;
            cuMemAddressReserve [10020] fn cuMemAddressReserve(ptr: *mut CUdeviceptr, size: usize, alignment: usize, addr: CUdeviceptr, flags: c_ulonglong) -> CUresult;
            cuMemAddressFree [10020] fn cuMemAddressFree(ptr: CUdeviceptr, size: usize) -> CUresult;
            cuMemMap [10020] fn cuMemMap(ptr: CUdeviceptr, size: usize, offset: usize, handle: CUmemGenericAllocationHandle, flags: c_ulonglong) -> CUresult;
            cuMemUnmap [10020] fn cuMemUnmap(ptr: CUdeviceptr, size: usize) -> CUresult;
            cuMemSetAccess [10020] fn cuMemSetAccess(ptr: CUdeviceptr, size: usize, desc: *const CUmemAccessDesc, count: usize) -> CUresult;

            cuMemcpy [4000] fn cuMemcpy + cuMemcpy_ptds(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) -> CUresult;
            cuMemcpyAsync [4000] fn cuMemcpyAsync + cuMemcpyAsync_ptsz(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, stream: CUstream) -> CUresult;
            cuMemcpyHtoD [3020] fn cuMemcpyHtoD_v2 + cuMemcpyHtoD_v2_ptds(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize) -> CUresult;
            cuMemcpyDtoH [3020] fn cuMemcpyDtoH_v2 + cuMemcpyDtoH_v2_ptds(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize) -> CUresult;
            cuMemcpyDtoD [3020] fn cuMemcpyDtoD_v2 + cuMemcpyDtoD_v2_ptds(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize) -> CUresult;
            cuMemcpyHtoDAsync [3020] fn cuMemcpyHtoDAsync_v2 + cuMemcpyHtoDAsync_v2_ptsz(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, stream: CUstream) -> CUresult;
            cuMemcpyDtoHAsync [3020] fn cuMemcpyDtoHAsync_v2 + cuMemcpyDtoHAsync_v2_ptsz(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, stream: CUstream) -> CUresult;
            cuMemcpyDtoDAsync [3020] fn cuMemcpyDtoDAsync_v2 + cuMemcpyDtoDAsync_v2_ptsz(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, stream: CUstream) -> CUresult;
            cuMemsetD8 [3020] fn cuMemsetD8_v2 + cuMemsetD8_v2_ptds(dst_device: CUdeviceptr, uc: c_uchar, n: usize) -> CUresult;
            cuMemsetD16 [3020] fn cuMemsetD16_v2 + cuMemsetD16_v2_ptds(dst_device: CUdeviceptr, us: c_ushort, n: usize) -> CUresult;
            cuMemsetD32 [3020] fn cuMemsetD32_v2 + cuMemsetD32_v2_ptds(dst_device: CUdeviceptr, ui: c_uint, n: usize) -> CUresult;
            cuMemsetD8Async [3020] fn cuMemsetD8Async + cuMemsetD8Async_ptsz(dst_device: CUdeviceptr, uc: c_uchar, n: usize, stream: CUstream) -> CUresult;
            cuMemsetD16Async [3020] fn cuMemsetD16Async + cuMemsetD16Async_ptsz(dst_device: CUdeviceptr, us: c_ushort, n: usize, stream: CUstream) -> CUresult;
            cuMemsetD32Async [3020] fn cuMemsetD32Async + cuMemsetD32Async_ptsz(dst_device: CUdeviceptr, ui: c_uint, n: usize, stream: CUstream) -> CUresult;

            cuStreamCreate [2000] fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult;
            cuStreamCreateWithPriority [5050] fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) -> CUresult;
            cuStreamDestroy [2000] fn cuStreamDestroy(stream: CUstream) -> CUresult;
            cuStreamDestroy [4000] fn cuStreamDestroy_v2(stream: CUstream) -> CUresult;
            cuStreamSynchronize [2000] fn cuStreamSynchronize + cuStreamSynchronize_ptsz(stream: CUstream) -> CUresult;
            cuStreamQuery [2000] fn cuStreamQuery + cuStreamQuery_ptsz(stream: CUstream) -> CUresult;
            cuStreamWaitEvent [3020] fn cuStreamWaitEvent + cuStreamWaitEvent_ptsz(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult;
            cuStreamGetPriority [5050] fn cuStreamGetPriority + cuStreamGetPriority_ptsz(stream: CUstream, priority: *mut c_int) -> CUresult;
            cuStreamGetFlags [5050] fn cuStreamGetFlags + cuStreamGetFlags_ptsz(stream: CUstream, flags: *mut c_uint) -> CUresult;
            cuStreamGetCtx [9020] fn cuStreamGetCtx + cuStreamGetCtx_ptsz(stream: CUstream, pctx: *mut CUcontext) -> CUresult;
            cuLaunchHostFunc [10000] fn cuLaunchHostFunc + cuLaunchHostFunc_ptsz(stream: CUstream, function: CUhostFn, user_data: *mut c_void) -> CUresult;

            cuStreamBeginCapture [10010] fn cuStreamBeginCapture_v2 + cuStreamBeginCapture_v2_ptsz(stream: CUstream, mode: CUstreamCaptureMode) -> CUresult;
            cuStreamBeginCaptureToGraph [12030] fn cuStreamBeginCaptureToGraph + cuStreamBeginCaptureToGraph_ptsz(stream: CUstream, graph: CUgraph, dependencies: *const CUgraphNode, dependency_data: *const CUgraphEdgeData, dependency_count: usize, mode: CUstreamCaptureMode) -> CUresult;
            cuStreamEndCapture [10000] fn cuStreamEndCapture + cuStreamEndCapture_ptsz(stream: CUstream, graph: *mut CUgraph) -> CUresult;
            cuStreamIsCapturing [10000] fn cuStreamIsCapturing + cuStreamIsCapturing_ptsz(stream: CUstream, capture_status: *mut CUstreamCaptureStatus) -> CUresult;
            cuStreamGetCaptureInfo [11030] fn cuStreamGetCaptureInfo_v2 + cuStreamGetCaptureInfo_v2_ptsz(stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut u64, graph_out: *mut CUgraph, dependencies: *mut *const CUgraphNode, dependency_count_out: *mut usize) -> CUresult;
            cuStreamGetCaptureInfo [12030] fn cuStreamGetCaptureInfo_v3 + cuStreamGetCaptureInfo_v3_ptsz(stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut u64, graph_out: *mut CUgraph, dependencies: *mut *const CUgraphNode, edge_data_out: *mut *const CUgraphEdgeData, dependency_count_out: *mut usize) -> CUresult;
            cuStreamUpdateCaptureDependencies [11030] fn cuStreamUpdateCaptureDependencies + cuStreamUpdateCaptureDependencies_ptsz(stream: CUstream, dependencies: *mut CUgraphNode, dependency_count: usize, flags: c_uint) -> CUresult;
            cuStreamUpdateCaptureDependencies [12030] fn cuStreamUpdateCaptureDependencies_v2 + cuStreamUpdateCaptureDependencies_v2_ptsz(stream: CUstream, dependencies: *mut CUgraphNode, dependency_data: *const CUgraphEdgeData, dependency_count: usize, flags: c_uint) -> CUresult;
            cuThreadExchangeStreamCaptureMode [10010] fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) -> CUresult;

            cuEventCreate [2000] fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult;
            cuEventDestroy [2000] fn cuEventDestroy(event: CUevent) -> CUresult;
            cuEventDestroy [4000] fn cuEventDestroy_v2(event: CUevent) -> CUresult;
            cuEventRecord [2000] fn cuEventRecord + cuEventRecord_ptsz(event: CUevent, stream: CUstream) -> CUresult;
            cuEventRecordWithFlags [11010] fn cuEventRecordWithFlags + cuEventRecordWithFlags_ptsz(event: CUevent, stream: CUstream, flags: c_uint) -> CUresult;
            cuEventQuery [2000] fn cuEventQuery(event: CUevent) -> CUresult;
            cuEventSynchronize [2000] fn cuEventSynchronize(event: CUevent) -> CUresult;
            cuEventElapsedTime [2000] fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> CUresult;
            cuEventElapsedTime [12080] fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent) -> CUresult;

            cuGraphCreate [10000] fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) -> CUresult;
            cuGraphDestroy [10000] fn cuGraphDestroy(graph: CUgraph) -> CUresult;
            cuGraphClone [10000] fn cuGraphClone(graph_clone: *mut CUgraph, original_graph: CUgraph) -> CUresult;
            cuGraphDestroyNode [10000] fn cuGraphDestroyNode(node: CUgraphNode) -> CUresult;
            cuGraphAddKernelNode [10000] fn cuGraphAddKernelNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> CUresult;
            cuGraphAddKernelNode [12000] fn cuGraphAddKernelNode_v2(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS_v2) -> CUresult;
            cuGraphAddMemcpyNode [10000] fn cuGraphAddMemcpyNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, copy_params: *const CUDA_MEMCPY3D, ctx: CUcontext) -> CUresult;
            cuGraphAddMemsetNode [10000] fn cuGraphAddMemsetNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, memset_params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext) -> CUresult;
            cuGraphAddHostNode [10000] fn cuGraphAddHostNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, node_params: *const CUDA_HOST_NODE_PARAMS) -> CUresult;
            cuGraphAddChildGraphNode [10000] fn cuGraphAddChildGraphNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, child_graph: CUgraph) -> CUresult;
            cuGraphAddEmptyNode [10000] fn cuGraphAddEmptyNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize) -> CUresult;
            cuGraphAddEventRecordNode [11010] fn cuGraphAddEventRecordNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, event: CUevent) -> CUresult;
            cuGraphAddEventWaitNode [11010] fn cuGraphAddEventWaitNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, event: CUevent) -> CUresult;
            cuGraphAddMemAllocNode [11040] fn cuGraphAddMemAllocNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, node_params: *mut CUDA_MEM_ALLOC_NODE_PARAMS) -> CUresult;
            cuGraphAddMemFreeNode [11040] fn cuGraphAddMemFreeNode(graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, dependency_count: usize, dptr: CUdeviceptr) -> CUresult;

            cuGraphGetNodes [10000] fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize) -> CUresult;
            cuGraphGetRootNodes [10000] fn cuGraphGetRootNodes(graph: CUgraph, root_nodes: *mut CUgraphNode, num_root_nodes: *mut usize) -> CUresult;
            cuGraphGetEdges [10000] fn cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, num_edges: *mut usize) -> CUresult;
            cuGraphGetEdges [12030] fn cuGraphGetEdges_v2(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, num_edges: *mut usize) -> CUresult;
            cuGraphNodeGetType [10000] fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) -> CUresult;
            cuGraphNodeGetDependencies [10000] fn cuGraphNodeGetDependencies(node: CUgraphNode, dependencies: *mut CUgraphNode, dependency_count: *mut usize) -> CUresult;
            cuGraphNodeGetDependencies [12030] fn cuGraphNodeGetDependencies_v2(node: CUgraphNode, dependencies: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, dependency_count: *mut usize) -> CUresult;
            cuGraphNodeGetDependentNodes [10000] fn cuGraphNodeGetDependentNodes(node: CUgraphNode, dependent_nodes: *mut CUgraphNode, num_dependent_nodes: *mut usize) -> CUresult;
            cuGraphNodeGetDependentNodes [12030] fn cuGraphNodeGetDependentNodes_v2(node: CUgraphNode, dependent_nodes: *mut CUgraphNode, edge_data: *mut CUgraphEdgeData, num_dependent_nodes: *mut usize) -> CUresult;
            cuGraphKernelNodeGetParams [10000] fn cuGraphKernelNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS_v1) -> CUresult;
            cuGraphKernelNodeGetParams [12000] fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS_v2) -> CUresult;
            cuGraphKernelNodeSetParams [10000] fn cuGraphKernelNodeSetParams(node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> CUresult;
            cuGraphKernelNodeSetParams [12000] fn cuGraphKernelNodeSetParams_v2(node: CUgraphNode, node_params: *const CUDA_KERNEL_NODE_PARAMS_v2) -> CUresult;
            cuGraphMemAllocNodeGetParams [11040] fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params_out: *mut CUDA_MEM_ALLOC_NODE_PARAMS) -> CUresult;
            cuGraphMemFreeNodeGetParams [11040] fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, dptr_out: *mut CUdeviceptr) -> CUresult;
            cuGraphMemsetNodeGetParams [10000] fn cuGraphMemsetNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_MEMSET_NODE_PARAMS) -> CUresult;
            cuGraphHostNodeGetParams [10000] fn cuGraphHostNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_HOST_NODE_PARAMS) -> CUresult;
            cuGraphChildGraphNodeGetGraph [10000] fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: *mut CUgraph) -> CUresult;
            cuGraphDebugDotPrint [11030] fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) -> CUresult;

            cuGraphInstantiate [10000] fn cuGraphInstantiate(exec: *mut CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, log_buffer: *mut c_char, buffer_size: usize) -> CUresult;
            cuGraphInstantiate [11000] fn cuGraphInstantiate_v2(exec: *mut CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, log_buffer: *mut c_char, buffer_size: usize) -> CUresult;
            cuGraphInstantiateWithFlags [11040] fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) -> CUresult;
            cuGraphInstantiateWithParams [12000] fn cuGraphInstantiateWithParams + cuGraphInstantiateWithParams_ptsz(exec: *mut CUgraphExec, graph: CUgraph, instantiate_params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) -> CUresult;
            cuGraphExecDestroy [10000] fn cuGraphExecDestroy(exec: CUgraphExec) -> CUresult;
            cuGraphExecGetFlags [12000] fn cuGraphExecGetFlags(exec: CUgraphExec, flags: *mut u64) -> CUresult;
            cuGraphExecUpdate [10020] fn cuGraphExecUpdate(exec: CUgraphExec, graph: CUgraph, error_node_out: *mut CUgraphNode, update_result_out: *mut CUgraphExecUpdateResult) -> CUresult;
            cuGraphExecUpdate [12000] fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, result_info: *mut CUgraphExecUpdateResultInfo) -> CUresult;
            cuGraphLaunch [10000] fn cuGraphLaunch + cuGraphLaunch_ptsz(exec: CUgraphExec, stream: CUstream) -> CUresult;
            cuGraphUpload [11010] fn cuGraphUpload + cuGraphUpload_ptsz(exec: CUgraphExec, stream: CUstream) -> CUresult;

            cuDeviceGetGraphMemAttribute [11040] fn cuDeviceGetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: *mut c_void) -> CUresult;
            cuDeviceSetGraphMemAttribute [11040] fn cuDeviceSetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: *mut c_void) -> CUresult;
            cuDeviceGraphMemTrim [11040] fn cuDeviceGraphMemTrim(device: CUdevice) -> CUresult;

            cuModuleLoadData [2000] fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult;
            cuModuleLoadDataEx [2010] fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void) -> CUresult;
            cuModuleUnload [2000] fn cuModuleUnload(module: CUmodule) -> CUresult;
            cuModuleGetFunction [2000] fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
            cuModuleGetLoadingMode [11070] fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) -> CUresult;
            cuLibraryLoadData [12000] fn cuLibraryLoadData(library: *mut CUlibrary, code: *const c_void, jit_options: *mut CUjit_option, jit_options_values: *mut *mut c_void, num_jit_options: c_uint, library_options: *mut CUlibraryOption, library_option_values: *mut *mut c_void, num_library_options: c_uint) -> CUresult;
            cuLibraryUnload [12000] fn cuLibraryUnload(library: CUlibrary) -> CUresult;
            cuLibraryGetKernel [12000] fn cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char) -> CUresult;
            cuLibraryGetModule [12000] fn cuLibraryGetModule(loaded: *mut CUmodule, library: CUlibrary) -> CUresult;
            cuKernelGetFunction [12000] fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) -> CUresult;
            cuFuncGetName [12030] fn cuFuncGetName(name: *mut *const c_char, function: CUfunction) -> CUresult;
            cuKernelGetName [12030] fn cuKernelGetName(name: *mut *const c_char, function: CUkernel) -> CUresult;
            cuLaunchKernel [4000] fn cuLaunchKernel + cuLaunchKernel_ptsz(function: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, stream: CUstream, kernel_params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
        }
    };
}

/// One line of the list.
#[derive(Debug, Clone, Copy)]
pub struct DriverFunction {
    /// The name that `cuGetProcAddress` takes.
    pub api: &'static str,
    /// The first CUDA version for which `cuGetProcAddress` returns this function, as
    /// 1000 * major + 10 * minor.
    pub version: u32,
    /// The exported C name.
    pub name: &'static str,
    /// The exported name of the variant for the per-thread default stream.
    pub twin: Option<&'static str>,
    /// The argument names and types, as Rust source.
    pub arguments: &'static [(&'static str, &'static str)],
}

macro_rules! twin {
    () => {
        None
    };
    ($twin:ident) => {
        Some(stringify!($twin))
    };
}

macro_rules! list {
    ($($api:ident [$version:literal] fn $name:ident $(+ $twin:ident)? ($($arg:ident: $ty:ty),* $(,)?) -> CUresult;)*) => {
        /// Every line of the list.
        pub const SIMULATED_DRIVER_FUNCTIONS: &[DriverFunction] = &[
            $(DriverFunction {
                api: stringify!($api),
                version: $version,
                name: stringify!($name),
                twin: twin!($($twin)?),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
            },)*
        ];
    };
}

simulated_driver_functions!(list);
