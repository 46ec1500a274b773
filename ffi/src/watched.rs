//! The driver functions that `libgraph_memory_watch.so` wraps, and those that it
//! calls itself.
//!
//! [`watched_functions!`](crate::watched_functions) is the only list of these functions.
//! The library's wrappers and its bindings are generated from it, and `cargo xtask abi`
//! compares each prototype with the `cuda.h` of many releases. A driver never changes the
//! prototype of an exported name, so one build serves all drivers. A program never looks up
//! a name that its driver lacks.

use core::ffi::{c_uint, c_void};

use crate::table::{Function, Presence};

/// A handle of a mipmapped array; the library only passes it on.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct CUmipmappedArray(pub *mut c_void);

/// Defines structs that the library only passes on by pointer.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _opaque: [u8; 0],
        }
    )*};
}

opaque! {
    /// The description of an array; the library only passes it on.
    CUDA_ARRAY_DESCRIPTOR;
    /// The description of a 3D array; the library only passes it on.
    CUDA_ARRAY3D_DESCRIPTOR;
    /// The configuration of a kernel launch; the library only passes it on.
    CUlaunchConfig;
}

/// A limit of a context; the library only passes it on.
pub type CUlimit = c_uint;

/// Passes the table to the macro `$callback`, one function per line:
///
/// `wrap(HOOK) [first release] fn name(argument: type, …) -> CUresult;` or
/// `own [first release] fn …`.
///
/// `HOOK` is the library's function that handles the call: a path, or a path with
/// arguments. It can use the names of the arguments on its line. Further arguments of the
/// macro are passed to `$callback` before the table.
#[macro_export]
macro_rules! watched_functions {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! {
            $($($extra)*)?
            wrap(start::init) [11.4] fn cuInit(flags: c_uint) -> CUresult;
            wrap(start::proc_address, symbol, pfn) [11.4] fn cuGetProcAddress(symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: u64) -> CUresult;
            wrap(start::proc_address, symbol, pfn) [12.0] fn cuGetProcAddress_v2(symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: u64, status: *mut CUdriverProcAddressQueryResult) -> CUresult;

            wrap(context::created, context, true) [11.4] fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CUresult;
            wrap(context::released, device) [11.4] fn cuDevicePrimaryCtxRelease(device: CUdevice) -> CUresult;
            wrap(context::released, device) [11.4] fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult;
            wrap(context::released, device) [11.4] fn cuDevicePrimaryCtxReset(device: CUdevice) -> CUresult;
            wrap(context::released, device) [11.4] fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CUresult;
            wrap(context::created, context, false) [11.4] fn cuCtxCreate_v2(context: *mut CUcontext, flags: c_uint, device: CUdevice) -> CUresult;
            wrap(context::created, context, false) [11.4] fn cuCtxCreate_v3(context: *mut CUcontext, params: *mut CUexecAffinityParam, count: c_int, flags: c_uint, device: CUdevice) -> CUresult;
            wrap(context::created, context, false) [12.5] fn cuCtxCreate_v4(context: *mut CUcontext, params: *mut CUctxCreateParams, flags: c_uint, device: CUdevice) -> CUresult;
            wrap(context::destroyed, context) [11.4] fn cuCtxDestroy(context: CUcontext) -> CUresult;
            wrap(context::destroyed, context) [11.4] fn cuCtxDestroy_v2(context: CUcontext) -> CUresult;
            wrap(account::other, Category::Context) [11.4] fn cuCtxSetLimit(limit: CUlimit, value: usize) -> CUresult;

            wrap(account::taken, Category::Plain, address, size) [11.4] fn cuMemAlloc_v2(address: *mut CUdeviceptr, size: usize) -> CUresult;
            wrap(account::taken_in_rows, address, pitch, height) [11.4] fn cuMemAllocPitch_v2(address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element_size: c_uint) -> CUresult;
            wrap(account::taken, Category::Plain, address, size) [11.4] fn cuMemAllocManaged(address: *mut CUdeviceptr, size: usize, flags: c_uint) -> CUresult;
            wrap(account::returned, Category::Plain, address) [11.4] fn cuMemFree_v2(address: CUdeviceptr) -> CUresult;
            wrap(account::taken, Category::Virtual, handle, size) [11.4] fn cuMemCreate(handle: *mut CUmemGenericAllocationHandle, size: usize, prop: *const CUmemAllocationProp, flags: c_ulonglong) -> CUresult;
            wrap(account::returned, Category::Virtual, handle) [11.4] fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> CUresult;
            wrap(account::returned, Category::Virtual, address) [11.4] fn cuMemUnmap(address: CUdeviceptr, size: usize) -> CUresult;
            wrap(account::other, Category::Array) [11.4] fn cuArrayCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY_DESCRIPTOR) -> CUresult;
            wrap(account::other, Category::Array) [11.4] fn cuArray3DCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR) -> CUresult;
            wrap(account::other, Category::Array) [11.4] fn cuArrayDestroy(array: CUarray) -> CUresult;
            wrap(account::other, Category::Array) [11.4] fn cuMipmappedArrayCreate(array: *mut CUmipmappedArray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR, levels: c_uint) -> CUresult;
            wrap(account::other, Category::Array) [11.4] fn cuMipmappedArrayDestroy(array: CUmipmappedArray) -> CUresult;
            wrap(account::other, Category::Host) [11.4] fn cuMemHostAlloc(address: *mut *mut c_void, size: usize, flags: c_uint) -> CUresult;
            wrap(account::other, Category::Host) [11.4] fn cuMemAllocHost_v2(address: *mut *mut c_void, size: usize) -> CUresult;
            wrap(account::other, Category::Host) [11.4] fn cuMemFreeHost(address: *mut c_void) -> CUresult;
            wrap(account::other, Category::Host) [11.4] fn cuMemHostRegister_v2(address: *mut c_void, size: usize, flags: c_uint) -> CUresult;

            wrap(pool::allocated, address, size, CUmemoryPool::NULL, stream, false) [11.4] fn cuMemAllocAsync(address: *mut CUdeviceptr, size: usize, stream: CUstream) -> CUresult;
            wrap(pool::allocated, address, size, CUmemoryPool::NULL, stream, true) [11.4] fn cuMemAllocAsync_ptsz(address: *mut CUdeviceptr, size: usize, stream: CUstream) -> CUresult;
            wrap(pool::allocated, address, size, pool, stream, false) [11.4] fn cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, size: usize, pool: CUmemoryPool, stream: CUstream) -> CUresult;
            wrap(pool::allocated, address, size, pool, stream, true) [11.4] fn cuMemAllocFromPoolAsync_ptsz(address: *mut CUdeviceptr, size: usize, pool: CUmemoryPool, stream: CUstream) -> CUresult;
            wrap(account::other, Category::StreamOrdered) [11.4] fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) -> CUresult;
            wrap(pool::destroyed, pool) [11.4] fn cuMemPoolDestroy(pool: CUmemoryPool) -> CUresult;

            wrap(account::other, Category::Stream) [11.4] fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult;
            wrap(account::other, Category::Stream) [11.4] fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) -> CUresult;
            wrap(account::other, Category::Stream) [11.4] fn cuStreamDestroy(stream: CUstream) -> CUresult;
            wrap(account::other, Category::Stream) [11.4] fn cuStreamDestroy_v2(stream: CUstream) -> CUresult;

            wrap(account::other, Category::Module) [11.4] fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) -> CUresult;
            wrap(account::other, Category::Module) [11.4] fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult;
            wrap(account::other, Category::Module) [11.4] fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void) -> CUresult;
            wrap(account::other, Category::Module) [11.4] fn cuModuleLoadFatBinary(module: *mut CUmodule, image: *const c_void) -> CUresult;
            wrap(account::other, Category::Module) [11.4] fn cuModuleUnload(module: CUmodule) -> CUresult;
            wrap(account::other, Category::Module) [11.4] fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
            wrap(account::other, Category::Module) [12.0] fn cuLibraryLoadData(library: *mut CUlibrary, code: *const c_void, jit_options: *mut CUjit_option, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut CUlibraryOption, values: *mut *mut c_void, count: c_uint) -> CUresult;
            wrap(account::other, Category::Module) [12.0] fn cuLibraryLoadFromFile(library: *mut CUlibrary, path: *const c_char, jit_options: *mut CUjit_option, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut CUlibraryOption, values: *mut *mut c_void, count: c_uint) -> CUresult;
            wrap(account::other, Category::Module) [12.0] fn cuLibraryUnload(library: CUlibrary) -> CUresult;
            wrap(account::other, Category::Module) [12.0] fn cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary) -> CUresult;
            wrap(account::other, Category::Module) [12.0] fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) -> CUresult;
            wrap(account::other, Category::Module) [12.4] fn cuFuncLoad(function: CUfunction) -> CUresult;

            wrap(kernel::launched, function) [11.4] fn cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            wrap(kernel::launched, function) [11.4] fn cuLaunchKernel_ptsz(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            wrap(kernel::launched, function) [11.8] fn cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            wrap(kernel::launched, function) [11.8] fn cuLaunchKernelEx_ptsz(config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            wrap(kernel::launched, function) [11.4] fn cuLaunchCooperativeKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, params: *mut *mut c_void) -> CUresult;
            wrap(kernel::launched, function) [11.4] fn cuLaunchCooperativeKernel_ptsz(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, params: *mut *mut c_void) -> CUresult;

            wrap(account::on_device, Category::Graph, device) [11.4] fn cuDeviceGraphMemTrim(device: CUdevice) -> CUresult;
            wrap(account::on_device, Category::Graph, device) [11.4] fn cuDeviceSetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) -> CUresult;

            wrap(capture::began, stream, 0, false) [11.4] fn cuStreamBeginCapture(stream: CUstream) -> CUresult;
            wrap(capture::began, stream, 0, true) [11.4] fn cuStreamBeginCapture_ptsz(stream: CUstream) -> CUresult;
            wrap(capture::began, stream, mode.0, false) [11.4] fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) -> CUresult;
            wrap(capture::began, stream, mode.0, true) [11.4] fn cuStreamBeginCapture_v2_ptsz(stream: CUstream, mode: CUstreamCaptureMode) -> CUresult;
            wrap(capture::began, stream, mode.0, false) [12.3] fn cuStreamBeginCaptureToGraph(stream: CUstream, graph: CUgraph, dependencies: *const CUgraphNode, edges: *const CUgraphEdgeData, count: usize, mode: CUstreamCaptureMode) -> CUresult;
            wrap(capture::began, stream, mode.0, true) [12.3] fn cuStreamBeginCaptureToGraph_ptsz(stream: CUstream, graph: CUgraph, dependencies: *const CUgraphNode, edges: *const CUgraphEdgeData, count: usize, mode: CUstreamCaptureMode) -> CUresult;
            wrap(capture::ended, stream, graph, false) [11.4] fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> CUresult;
            wrap(capture::ended, stream, graph, true) [11.4] fn cuStreamEndCapture_ptsz(stream: CUstream, graph: *mut CUgraph) -> CUresult;

            wrap(graph::created, graph) [11.4] fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) -> CUresult;
            wrap(graph::cloned, clone, original) [11.4] fn cuGraphClone(clone: *mut CUgraph, original: CUgraph) -> CUresult;
            wrap(graph::destroyed, graph) [11.4] fn cuGraphDestroy(graph: CUgraph) -> CUresult;
            wrap(graph::instantiated, exec, graph, Flags::Value(0)) [11.4] fn cuGraphInstantiate(exec: *mut CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, log: *mut c_char, log_size: usize) -> CUresult;
            wrap(graph::instantiated, exec, graph, Flags::Value(0)) [11.4] fn cuGraphInstantiate_v2(exec: *mut CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, log: *mut c_char, log_size: usize) -> CUresult;
            wrap(graph::instantiated, exec, graph, Flags::Value(flags)) [11.4] fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) -> CUresult;
            wrap(graph::instantiated, exec, graph, Flags::Params(params)) [12.0] fn cuGraphInstantiateWithParams(exec: *mut CUgraphExec, graph: CUgraph, params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) -> CUresult;
            wrap(graph::instantiated, exec, graph, Flags::Params(params)) [12.0] fn cuGraphInstantiateWithParams_ptsz(exec: *mut CUgraphExec, graph: CUgraph, params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) -> CUresult;

            wrap(launch::launched, exec, stream, false) [11.4] fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> CUresult;
            wrap(launch::launched, exec, stream, true) [11.4] fn cuGraphLaunch_ptsz(exec: CUgraphExec, stream: CUstream) -> CUresult;
            wrap(launch::uploaded, exec, stream, false) [11.4] fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> CUresult;
            wrap(launch::uploaded, exec, stream, true) [11.4] fn cuGraphUpload_ptsz(exec: CUgraphExec, stream: CUstream) -> CUresult;
            wrap(launch::updated, exec, graph) [11.4] fn cuGraphExecUpdate(exec: CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, result: *mut CUgraphExecUpdateResult) -> CUresult;
            wrap(launch::updated, exec, graph) [12.0] fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut CUgraphExecUpdateResultInfo) -> CUresult;
            wrap(launch::destroyed, exec) [11.4] fn cuGraphExecDestroy(exec: CUgraphExec) -> CUresult;

            own [11.4] fn cuDriverGetVersion(version: *mut c_int) -> CUresult;
            own [11.4] fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice) -> CUresult;
            own [11.4] fn cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice) -> CUresult;
            own [11.4] fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> CUresult;
            own [11.4] fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice) -> CUresult;
            own [11.4] fn cuMemGetAllocationGranularity(granularity: *mut usize, prop: *const CUmemAllocationProp, option: CUmemAllocationGranularity_flags) -> CUresult;
            own [11.4] fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult;
            own [11.4] fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) -> CUresult;
            own [11.4] fn cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) -> CUresult;
            own [11.4] fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void) -> CUresult;
            own [11.4] fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice) -> CUresult;
            own [11.4] fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) -> CUresult;
            own [11.4] fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int) -> CUresult;
            own [11.4] fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult;
            own [11.4] fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult;
            own [11.4] fn cuCtxPushCurrent_v2(context: CUcontext) -> CUresult;
            own [11.4] fn cuCtxPopCurrent_v2(context: *mut CUcontext) -> CUresult;
            own [11.4] fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) -> CUresult;
            own [11.4] fn cuStreamIsCapturing_ptsz(stream: CUstream, status: *mut CUstreamCaptureStatus) -> CUresult;
            own [11.4] fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) -> CUresult;
            own [11.4] fn cuGraphNodeGetType(node: CUgraphNode, node_type: *mut CUgraphNodeType) -> CUresult;
            own [11.4] fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params: *mut CUDA_MEM_ALLOC_NODE_PARAMS) -> CUresult;
            own [11.4] fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: *mut CUdeviceptr) -> CUresult;
            own [11.4] fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: *mut CUgraph) -> CUresult;
            own [11.4] fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) -> CUresult;
        }
    };
}

macro_rules! list {
    ($($kind:ident $(($($hook:tt)*))? [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The table's functions with their arguments and results, as Rust source.
        pub const WATCHED_FUNCTIONS: &[Function] = &[
            $(Function {
                name: stringify!($name),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
                returns: stringify!($ret),
                presence: Presence::Optional,
                since: stringify!($since),
            },)*
        ];
    };
}

watched_functions!(list);
