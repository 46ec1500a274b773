//! Variants for the per-thread default stream, and other names of functions. NVIDIA's
//! header uses these names if a program is compiled for per-thread default streams, or with
//! CUDA 12.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::calls;
use crate::instance::with_per_thread_default;

/// Exports functions under other names, with the same prototype.
macro_rules! also {
    ($($name:ident = $call:expr => fn $function:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`, which is `", stringify!($function), "`.")]
            ///
            /// # Safety
            ///
            /// The same as for that function.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
            #[allow(non_snake_case, reason = "the C name")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> cudaError_t {
                // SAFETY: the caller of this function guarantees the same.
                $call(|| unsafe { calls::$function($($arg),*) })
            }
        )*

        /// The other names, and the functions for which they stand.
        pub const OTHER_NAMES: &[(&str, &str)] = &[
            $((stringify!($name), stringify!($function)),)*
        ];
    };
}

/// Makes the call without changes.
fn plainly<T>(call: impl FnOnce() -> T) -> T {
    call()
}

also! {
    cudaGetDriverEntryPoint_ptsz = with_per_thread_default => fn cudaGetDriverEntryPoint(symbol: *const c_char, function: *mut *mut c_void, flags: c_ulonglong, status: *mut CUdriverProcAddressQueryResult);
    cudaGetDriverEntryPointByVersion_ptsz = with_per_thread_default => fn cudaGetDriverEntryPointByVersion(symbol: *const c_char, function: *mut *mut c_void, cuda_version: c_uint, flags: c_ulonglong, status: *mut CUdriverProcAddressQueryResult);
    cudaEventRecord_ptsz = with_per_thread_default => fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t);
    cudaEventRecordWithFlags_ptsz = with_per_thread_default => fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: c_uint);
    cudaFreeAsync_ptsz = with_per_thread_default => fn cudaFreeAsync(dev_ptr: *mut c_void, stream: cudaStream_t);
    cudaGraphInstantiateWithParams_ptsz = with_per_thread_default => fn cudaGraphInstantiateWithParams(exec: *mut cudaGraphExec_t, graph: cudaGraph_t, params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS);
    cudaGraphLaunch_ptsz = with_per_thread_default => fn cudaGraphLaunch(exec: cudaGraphExec_t, stream: cudaStream_t);
    cudaGraphUpload_ptsz = with_per_thread_default => fn cudaGraphUpload(exec: cudaGraphExec_t, stream: cudaStream_t);
    cudaLaunchHostFunc_ptsz = with_per_thread_default => fn cudaLaunchHostFunc(stream: cudaStream_t, function: CUhostFn, user_data: *mut c_void);
    cudaLaunchKernel_ptsz = with_per_thread_default => fn cudaLaunchKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem_bytes: usize, stream: cudaStream_t);
    cudaMallocAsync_ptsz = with_per_thread_default => fn cudaMallocAsync(dev_ptr: *mut *mut c_void, size: usize, stream: cudaStream_t);
    cudaMallocFromPoolAsync_ptsz = with_per_thread_default => fn cudaMallocFromPoolAsync(ptr: *mut *mut c_void, size: usize, pool: cudaMemPool_t, stream: cudaStream_t);
    cudaMemcpy_ptds = with_per_thread_default => fn cudaMemcpy(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind);
    cudaMemcpyAsync_ptsz = with_per_thread_default => fn cudaMemcpyAsync(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t);
    cudaMemcpy2D_ptds = with_per_thread_default => fn cudaMemcpy2D(dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize, kind: cudaMemcpyKind);
    cudaMemcpy2DAsync_ptsz = with_per_thread_default => fn cudaMemcpy2DAsync(dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize, kind: cudaMemcpyKind, stream: cudaStream_t);
    cudaMemset2D_ptds = with_per_thread_default => fn cudaMemset2D(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize);
    cudaMemset2DAsync_ptsz = with_per_thread_default => fn cudaMemset2DAsync(dev_ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t);
    cudaMemcpyToSymbol_ptds = with_per_thread_default => fn cudaMemcpyToSymbol(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
    cudaMemcpyToSymbolAsync_ptsz = with_per_thread_default => fn cudaMemcpyToSymbolAsync(symbol: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t);
    cudaMemcpyFromSymbol_ptds = with_per_thread_default => fn cudaMemcpyFromSymbol(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind);
    cudaMemcpyFromSymbolAsync_ptsz = with_per_thread_default => fn cudaMemcpyFromSymbolAsync(dst: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind, stream: cudaStream_t);
    cudaLaunchKernelExC_ptsz = with_per_thread_default => fn cudaLaunchKernelExC(config: *const cudaLaunchConfig_st, func: *const c_void, args: *mut *mut c_void);
    cudaLaunchCooperativeKernel_ptsz = with_per_thread_default => fn cudaLaunchCooperativeKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem_bytes: usize, stream: cudaStream_t);
    cudaMemPrefetchAsync_ptsz = with_per_thread_default => fn cudaMemPrefetchAsync(ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t);
    cudaMemPrefetchAsync_v2 = plainly => fn cudaMemPrefetchAsync_v2(ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t);
    cudaMemPrefetchAsync_v2_ptsz = with_per_thread_default => fn cudaMemPrefetchAsync_v2(ptr: *const c_void, count: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t);
    cudaMemAdvise_v2 = plainly => fn cudaMemAdvise_v2(ptr: *const c_void, count: usize, advice: cudaMemoryAdvise, location: cudaMemLocation);
    cudaMemset_ptds = with_per_thread_default => fn cudaMemset(dev_ptr: *mut c_void, value: c_int, count: usize);
    cudaMemsetAsync_ptsz = with_per_thread_default => fn cudaMemsetAsync(dev_ptr: *mut c_void, value: c_int, count: usize, stream: cudaStream_t);
    cudaStreamBeginCapture_ptsz = with_per_thread_default => fn cudaStreamBeginCapture(stream: cudaStream_t, mode: cudaStreamCaptureMode);
    cudaStreamBeginCaptureToGraph_ptsz = with_per_thread_default => fn cudaStreamBeginCaptureToGraph(stream: cudaStream_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, mode: cudaStreamCaptureMode);
    cudaStreamEndCapture_ptsz = with_per_thread_default => fn cudaStreamEndCapture(stream: cudaStream_t, graph: *mut cudaGraph_t);
    cudaStreamGetCaptureInfo_ptsz = with_per_thread_default => fn cudaStreamGetCaptureInfo(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, edge_data: *mut *const c_void, dependency_count: *mut usize);
    cudaStreamGetFlags_ptsz = with_per_thread_default => fn cudaStreamGetFlags(stream: cudaStream_t, flags: *mut c_uint);
    cudaStreamGetPriority_ptsz = with_per_thread_default => fn cudaStreamGetPriority(stream: cudaStream_t, priority: *mut c_int);
    cudaStreamIsCapturing_ptsz = with_per_thread_default => fn cudaStreamIsCapturing(stream: cudaStream_t, status: *mut c_uint);
    cudaStreamQuery_ptsz = with_per_thread_default => fn cudaStreamQuery(stream: cudaStream_t);
    cudaStreamSynchronize_ptsz = with_per_thread_default => fn cudaStreamSynchronize(stream: cudaStream_t);
    cudaStreamUpdateCaptureDependencies_ptsz = with_per_thread_default => fn cudaStreamUpdateCaptureDependencies(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, flags: c_uint);
    cudaStreamWaitEvent_ptsz = with_per_thread_default => fn cudaStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, flags: c_uint);
    cudaEventElapsedTime_v2 = plainly => fn cudaEventElapsedTime(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t);
    cudaGraphGetEdges_v2 = plainly => fn cudaGraphGetEdges_v2(graph: cudaGraph_t, from: *mut cudaGraphNode_t, to: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, num_edges: *mut usize);
    cudaGraphNodeGetDependencies_v2 = plainly => fn cudaGraphNodeGetDependencies_v2(node: cudaGraphNode_t, dependencies: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, dependency_count: *mut usize);
    cudaGraphNodeGetDependentNodes_v2 = plainly => fn cudaGraphNodeGetDependentNodes_v2(node: cudaGraphNode_t, dependents: *mut cudaGraphNode_t, edge_data: *mut CUgraphEdgeData, dependent_count: *mut usize);
    cudaStreamGetCaptureInfo_v3 = plainly => fn cudaStreamGetCaptureInfo_v3(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, edge_data: *mut *const c_void, dependency_count: *mut usize);
    cudaStreamGetCaptureInfo_v3_ptsz = with_per_thread_default => fn cudaStreamGetCaptureInfo_v3(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, edge_data: *mut *const c_void, dependency_count: *mut usize);
    cudaStreamUpdateCaptureDependencies_v2 = plainly => fn cudaStreamUpdateCaptureDependencies_v2(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, flags: c_uint);
    cudaStreamUpdateCaptureDependencies_v2_ptsz = with_per_thread_default => fn cudaStreamUpdateCaptureDependencies_v2(stream: cudaStream_t, dependencies: *mut cudaGraphNode_t, edge_data: *const c_void, dependency_count: usize, flags: c_uint);
    cudaStreamGetCaptureInfo_v2 = plainly => fn cudaStreamGetCaptureInfo_v2(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, dependency_count: *mut usize);
    cudaStreamGetCaptureInfo_v2_ptsz = with_per_thread_default => fn cudaStreamGetCaptureInfo_v2(stream: cudaStream_t, status: *mut c_uint, id: *mut c_ulonglong, graph: *mut cudaGraph_t, dependencies: *mut *const cudaGraphNode_t, dependency_count: *mut usize);
}
