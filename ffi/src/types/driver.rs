//! The C types of the driver: `cuda.h`.
//!
//! A handle that has the same C type as one of the runtime's handles is an alias of it.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_ushort, c_void};
use core::fmt;

use super::{
    Constant, Field, Layout, Scalar, cudaEvent_t, cudaGraph_t, cudaGraphExec_t, cudaGraphNode_t,
    cudaKernel_t, cudaLibrary_t, cudaMemPool_t, cudaStream_t, enums, flags, handles, structs,
};

handles! {
    DRIVER_HANDLES:
    /// A context: the state of a process on one device.
    CUcontext;
    /// A loaded module of kernels.
    CUmodule;
    /// A kernel of a loaded module.
    CUfunction;
    /// An array (texture memory).
    CUarray;
}

/// The driver's name for [`cudaGraph_t`].
pub type CUgraph = cudaGraph_t;
/// The driver's name for [`cudaGraphNode_t`].
pub type CUgraphNode = cudaGraphNode_t;
/// The driver's name for [`cudaGraphExec_t`].
pub type CUgraphExec = cudaGraphExec_t;
/// The driver's name for [`cudaStream_t`].
pub type CUstream = cudaStream_t;
/// The driver's name for [`cudaEvent_t`].
pub type CUevent = cudaEvent_t;
/// The driver's name for [`cudaMemPool_t`].
pub type CUmemoryPool = cudaMemPool_t;
/// The driver's name for [`cudaLibrary_t`]; 12.0 and later.
pub type CUlibrary = cudaLibrary_t;
/// The driver's name for [`cudaKernel_t`]; 12.0 and later.
pub type CUkernel = cudaKernel_t;
/// A device's ordinal.
pub type CUdevice = c_int;
/// An address in a device's memory.
pub type CUdeviceptr = c_ulonglong;
/// A physical allocation made by `cuMemCreate`. It is not an address.
pub type CUmemGenericAllocationHandle = c_ulonglong;
/// A function that a host node or `cuLaunchHostFunc` calls.
pub type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;

enums! {
    DRIVER_ENUMS, DRIVER_CONSTANTS:
    /// The result of a driver call.
    CUresult(c_int) {
        SUCCESS = CUDA_SUCCESS = 0,
        INVALID_VALUE = CUDA_ERROR_INVALID_VALUE = 1,
        OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY = 2,
        NOT_INITIALIZED = CUDA_ERROR_NOT_INITIALIZED = 3,
        DEINITIALIZED = CUDA_ERROR_DEINITIALIZED = 4,
        STUB_LIBRARY = CUDA_ERROR_STUB_LIBRARY = 34,
        DEVICE_UNAVAILABLE = CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
        NO_DEVICE = CUDA_ERROR_NO_DEVICE = 100,
        INVALID_DEVICE = CUDA_ERROR_INVALID_DEVICE = 101,
        INVALID_IMAGE = CUDA_ERROR_INVALID_IMAGE = 200,
        INVALID_CONTEXT = CUDA_ERROR_INVALID_CONTEXT = 201,
        NO_BINARY_FOR_GPU = CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
        INVALID_PTX = CUDA_ERROR_INVALID_PTX = 218,
        JIT_COMPILER_NOT_FOUND = CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
        UNSUPPORTED_PTX_VERSION = CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
        JIT_COMPILATION_DISABLED = CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
        OPERATING_SYSTEM = CUDA_ERROR_OPERATING_SYSTEM = 304,
        INVALID_HANDLE = CUDA_ERROR_INVALID_HANDLE = 400,
        ILLEGAL_STATE = CUDA_ERROR_ILLEGAL_STATE = 401,
        NOT_FOUND = CUDA_ERROR_NOT_FOUND = 500,
        NOT_READY = CUDA_ERROR_NOT_READY = 600,
        ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS = 700,
        LAUNCH_FAILED = CUDA_ERROR_LAUNCH_FAILED = 719,
        NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED = 801,
        SYSTEM_NOT_READY = CUDA_ERROR_SYSTEM_NOT_READY = 802,
        SYSTEM_DRIVER_MISMATCH = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
        COMPAT_NOT_SUPPORTED_ON_DEVICE = CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
        STREAM_CAPTURE_UNSUPPORTED = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
        STREAM_CAPTURE_INVALIDATED = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
        STREAM_CAPTURE_MERGE = CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
        STREAM_CAPTURE_UNMATCHED = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
        STREAM_CAPTURE_UNJOINED = CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
        STREAM_CAPTURE_ISOLATION = CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
        STREAM_CAPTURE_IMPLICIT = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
        CAPTURED_EVENT = CUDA_ERROR_CAPTURED_EVENT = 907,
        STREAM_CAPTURE_WRONG_THREAD = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
        GRAPH_EXEC_UPDATE_FAILURE = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
        UNKNOWN = CUDA_ERROR_UNKNOWN = 999,
    }

    /// The type of a node.
    CUgraphNodeType(c_uint) {
        KERNEL = CU_GRAPH_NODE_TYPE_KERNEL = 0,
        MEMCPY = CU_GRAPH_NODE_TYPE_MEMCPY = 1,
        MEMSET = CU_GRAPH_NODE_TYPE_MEMSET = 2,
        HOST = CU_GRAPH_NODE_TYPE_HOST = 3,
        GRAPH = CU_GRAPH_NODE_TYPE_GRAPH = 4,
        EMPTY = CU_GRAPH_NODE_TYPE_EMPTY = 5,
        WAIT_EVENT = CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6,
        EVENT_RECORD = CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7,
        EXT_SEMAS_SIGNAL = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL = 8,
        EXT_SEMAS_WAIT = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT = 9,
        MEM_ALLOC = CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10,
        MEM_FREE = CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
        BATCH_MEM_OP = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12,
        CONDITIONAL = CU_GRAPH_NODE_TYPE_CONDITIONAL = 13,
    }

    /// The four attributes of a device's graph memory, each a `u64` of bytes.
    CUgraphMem_attribute(c_uint) {
        USED_MEM_CURRENT = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0,
        USED_MEM_HIGH = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1,
        RESERVED_MEM_CURRENT = CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2,
        RESERVED_MEM_HIGH = CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3,
    }

    /// Which calls are refused while a stream captures, and to which threads.
    CUstreamCaptureMode(c_uint) {
        GLOBAL = CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
        THREAD_LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
        RELAXED = CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    }

    /// Whether a stream is being captured.
    CUstreamCaptureStatus(c_uint) {
        NONE = CU_STREAM_CAPTURE_STATUS_NONE = 0,
        ACTIVE = CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
        INVALIDATED = CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    }

    /// How a conditional node chooses its bodies (12.3 and later).
    CUgraphConditionalNodeType(c_uint) {
        IF = CU_GRAPH_COND_TYPE_IF = 0,
        WHILE = CU_GRAPH_COND_TYPE_WHILE = 1,
        SWITCH = CU_GRAPH_COND_TYPE_SWITCH = 2,
    }

    /// Whether `cuGetProcAddress_v2` found a function, and if not, why.
    CUdriverProcAddressQueryResult(c_uint) {
        SUCCESS = CU_GET_PROC_ADDRESS_SUCCESS = 0,
        SYMBOL_NOT_FOUND = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
        VERSION_NOT_SUFFICIENT = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
    }

    /// An attribute of a device.
    CUdevice_attribute(c_uint) {
        CLOCK_RATE = CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
        MULTIPROCESSOR_COUNT = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        COMPUTE_CAPABILITY_MAJOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        COMPUTE_CAPABILITY_MINOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        MEMORY_POOLS_SUPPORTED = CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    }

    /// An attribute of a pool of stream-ordered memory. The first three are an `int`,
    /// the others a `u64` of bytes.
    CUmemPool_attribute(c_uint) {
        REUSE_FOLLOW_EVENT_DEPENDENCIES = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
        REUSE_ALLOW_OPPORTUNISTIC = CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
        REUSE_ALLOW_INTERNAL_DEPENDENCIES = CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
        RELEASE_THRESHOLD = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        RESERVED_MEM_CURRENT = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        RESERVED_MEM_HIGH = CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
        USED_MEM_CURRENT = CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
        USED_MEM_HIGH = CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
    }

    /// How the memory of an allocation is backed.
    CUmemAllocationType(c_uint) {
        INVALID = CU_MEM_ALLOCATION_TYPE_INVALID = 0,
        PINNED = CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    }

    /// How an allocation can be exported.
    CUmemAllocationHandleType(c_uint) {
        NONE = CU_MEM_HANDLE_TYPE_NONE = 0,
        POSIX_FILE_DESCRIPTOR = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    }

    /// The kind of place that a memory location names.
    CUmemLocationType(c_uint) {
        INVALID = CU_MEM_LOCATION_TYPE_INVALID = 0,
        DEVICE = CU_MEM_LOCATION_TYPE_DEVICE = 1,
    }

    /// The access that a device has to memory.
    CUmemAccess_flags(c_uint) {
        PROT_NONE = CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
        PROT_READ = CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
        PROT_READWRITE = CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    }

    /// Which granularity of `cuMemCreate` is queried: the minimum or the recommended
    /// one.
    CUmemAllocationGranularity_flags(c_uint) {
        MINIMUM = CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
        RECOMMENDED = CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    }

    /// The kind of memory of one side of a copy.
    CUmemorytype(c_uint) {
        HOST = CU_MEMORYTYPE_HOST = 1,
        DEVICE = CU_MEMORYTYPE_DEVICE = 2,
        ARRAY = CU_MEMORYTYPE_ARRAY = 3,
        UNIFIED = CU_MEMORYTYPE_UNIFIED = 4,
    }

    /// Why an instantiation failed (12.0 and later).
    CUgraphInstantiateResult(c_uint) {
        SUCCESS = CUDA_GRAPH_INSTANTIATE_SUCCESS = 0,
        ERROR = CUDA_GRAPH_INSTANTIATE_ERROR = 1,
        INVALID_STRUCTURE = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2,
        NODE_OPERATION_NOT_SUPPORTED = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3,
        MULTIPLE_CTXS_NOT_SUPPORTED = CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
    }

    /// Why an update of an executable graph was refused.
    CUgraphExecUpdateResult(c_uint) {
        SUCCESS = CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
        ERROR = CU_GRAPH_EXEC_UPDATE_ERROR = 1,
        TOPOLOGY_CHANGED = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
        NODE_TYPE_CHANGED = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
        FUNCTION_CHANGED = CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED = 4,
        PARAMETERS_CHANGED = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5,
        NOT_SUPPORTED = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED = 6,
    }

    /// When kernels are loaded: at once or at their first use (11.7 and later).
    CUmoduleLoadingMode(c_uint) {
        EAGER = CU_MODULE_EAGER_LOADING = 1,
        LAZY = CU_MODULE_LAZY_LOADING = 2,
    }

    /// An option of a library load (12.0 and later).
    CUlibraryOption(c_uint) {
        BINARY_IS_PRESERVED = CU_LIBRARY_BINARY_IS_PRESERVED = 1,
    }

    /// An option of a just-in-time compilation.
    CUjit_option(c_uint) {
        ERROR_LOG_BUFFER = CU_JIT_ERROR_LOG_BUFFER = 5,
        ERROR_LOG_BUFFER_SIZE_BYTES = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
}

flags! {
    DRIVER_FLAGS:
    /// Flags of `cuGetProcAddress`.
    proc_address_flags: u64 {
        DEFAULT = CU_GET_PROC_ADDRESS_DEFAULT = 0,
        LEGACY_STREAM = CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
        /// For functions with a stream, return the `_ptsz` or `_ptds` variant.
        PER_THREAD_DEFAULT_STREAM = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
    }

    /// Flags of `cuGraphInstantiateWithFlags` and `cuGraphInstantiateWithParams`.
    graph_instantiate_flags: u64 {
        AUTO_FREE_ON_LAUNCH = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1,
        /// Accepted only by `cuGraphInstantiateWithParams`; 12.0 and later.
        UPLOAD = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2,
        DEVICE_LAUNCH = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 4,
        USE_NODE_PRIORITY = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8,
    }
}

structs! {
    DRIVER_LAYOUTS:
    /// The parameters of a kernel node for `cuGraphAddKernelNode` (without suffix);
    /// byte-compatible with `cudaKernelNodeParams`.
    CUDA_KERNEL_NODE_PARAMS_v1: 56 bytes {
        func as func: CUfunction = 0,
        grid_dim_x as gridDimX: c_uint = 8,
        grid_dim_y as gridDimY: c_uint = 12,
        grid_dim_z as gridDimZ: c_uint = 16,
        block_dim_x as blockDimX: c_uint = 20,
        block_dim_y as blockDimY: c_uint = 24,
        block_dim_z as blockDimZ: c_uint = 28,
        /// Dynamic shared memory in bytes.
        shared_mem_bytes as sharedMemBytes: c_uint = 32,
        /// One pointer per argument; the values are copied by the call.
        kernel_params as kernelParams: *mut *mut c_void = 40,
        extra as extra: *mut *mut c_void = 48,
    }

    /// The parameters of a kernel node for `cuGraphAddKernelNode_v2` (12.0 and later).
    CUDA_KERNEL_NODE_PARAMS_v2: 72 bytes {
        func as func: CUfunction = 0,
        grid_dim_x as gridDimX: c_uint = 8,
        grid_dim_y as gridDimY: c_uint = 12,
        grid_dim_z as gridDimZ: c_uint = 16,
        block_dim_x as blockDimX: c_uint = 20,
        block_dim_y as blockDimY: c_uint = 24,
        block_dim_z as blockDimZ: c_uint = 28,
        /// Dynamic shared memory in bytes.
        shared_mem_bytes as sharedMemBytes: c_uint = 32,
        /// One pointer per argument; the values are copied by the call.
        kernel_params as kernelParams: *mut *mut c_void = 40,
        extra as extra: *mut *mut c_void = 48,
        /// Read only if `func` is null.
        kern as kern: CUkernel = 56,
        /// The context of the node; if null, the current one.
        ctx as ctx: CUcontext = 64,
    }

    /// A place in which memory can be.
    CUmemLocation: 8 bytes {
        type_ as type: CUmemLocationType = 0,
        /// The device's ordinal, for a device location.
        id as id: c_int = 4,
    }

    /// Access for one more device.
    CUmemAccessDesc: 12 bytes {
        location as location: CUmemLocation = 0,
        flags as flags: CUmemAccess_flags = 8,
    }

    /// The properties of a memory pool; byte-compatible with `cudaMemPoolProps`, and
    /// must be zeroed for the same reason.
    CUmemPoolProps: 88 bytes {
        alloc_type as allocType: CUmemAllocationType = 0,
        handle_types as handleTypes: CUmemAllocationHandleType = 4,
        location as location: CUmemLocation = 8,
        win32_security_attributes as win32SecurityAttributes: *mut c_void = 16,
        reserved as reserved: [u8; 64] = 24,
    }

    /// Parameters of an alloc node, in and out; byte-compatible with
    /// `cudaMemAllocNodeParams`.
    CUDA_MEM_ALLOC_NODE_PARAMS: 120 bytes {
        pool_props as poolProps: CUmemPoolProps = 0,
        access_descs as accessDescs: *const CUmemAccessDesc = 88,
        access_desc_count as accessDescCount: usize = 96,
        /// Requested size in bytes.
        bytesize as bytesize: usize = 104,
        /// Out: the allocation's virtual address.
        dptr as dptr: CUdeviceptr = 112,
    }

    /// Parameters of a memset node.
    CUDA_MEMSET_NODE_PARAMS: 40 bytes {
        dst as dst: CUdeviceptr = 0,
        /// The distance from one row to the next, in bytes; not used for a single
        /// row.
        pitch as pitch: usize = 8,
        value as value: c_uint = 16,
        /// The size of an element: 1, 2 or 4 bytes.
        element_size as elementSize: c_uint = 20,
        /// The number of elements in a row.
        width as width: usize = 24,
        /// The number of rows.
        height as height: usize = 32,
    }

    /// A copy in up to three dimensions.
    CUDA_MEMCPY3D: 200 bytes {
        src_x_in_bytes as srcXInBytes: usize = 0,
        src_y as srcY: usize = 8,
        src_z as srcZ: usize = 16,
        src_lod as srcLOD: usize = 24,
        src_memory_type as srcMemoryType: CUmemorytype = 32,
        src_host as srcHost: *const c_void = 40,
        src_device as srcDevice: CUdeviceptr = 48,
        src_array as srcArray: CUarray = 56,
        reserved0 as reserved0: *mut c_void = 64,
        src_pitch as srcPitch: usize = 72,
        src_height as srcHeight: usize = 80,
        dst_x_in_bytes as dstXInBytes: usize = 88,
        dst_y as dstY: usize = 96,
        dst_z as dstZ: usize = 104,
        dst_lod as dstLOD: usize = 112,
        dst_memory_type as dstMemoryType: CUmemorytype = 120,
        dst_host as dstHost: *mut c_void = 128,
        dst_device as dstDevice: CUdeviceptr = 136,
        dst_array as dstArray: CUarray = 144,
        reserved1 as reserved1: *mut c_void = 152,
        dst_pitch as dstPitch: usize = 160,
        dst_height as dstHeight: usize = 168,
        width_in_bytes as WidthInBytes: usize = 176,
        height as Height: usize = 184,
        depth as Depth: usize = 192,
    }

    /// Parameters of a host node.
    CUDA_HOST_NODE_PARAMS: 16 bytes {
        function as fn: CUhostFn = 0,
        user_data as userData: *mut c_void = 8,
    }

    /// Parameters of `cuGraphInstantiateWithParams` (12.0 and later).
    CUDA_GRAPH_INSTANTIATE_PARAMS: 32 bytes {
        flags as flags: u64 = 0,
        upload_stream as hUploadStream: CUstream = 8,
        /// Out: the node at which instantiation failed.
        error_node as hErrNode_out: CUgraphNode = 16,
        /// Out: why it failed.
        result as result_out: CUgraphInstantiateResult = 24,
    }

    /// The result of `cuGraphExecUpdate_v2` in detail (12.0 and later).
    CUgraphExecUpdateResultInfo: 24 bytes {
        result as result: CUgraphExecUpdateResult = 0,
        error_node as errorNode: CUgraphNode = 8,
        error_from_node as errorFromNode: CUgraphNode = 16,
    }

    /// Parameters of a conditional node, in and out (12.3 and later).
    CUDA_CONDITIONAL_NODE_PARAMS: 32 bytes {
        /// The conditional handle, made by `cudaGraphConditionalHandleCreate` for
        /// the graph that gets the node.
        handle as handle: c_ulonglong = 0,
        type_ as type: CUgraphConditionalNodeType = 8,
        /// The number of bodies.
        size as size: c_uint = 12,
        /// Out: the bodies, an array that belongs to the driver and is valid while
        /// the node exists.
        bodies as phGraph_out: *mut CUgraph = 16,
        context as ctx: CUcontext = 24,
    }

    /// The data of an edge, in addition to its two nodes (12.3 and later). All zero for
    /// an ordinary edge.
    CUgraphEdgeData: 8 bytes {
        from_port as from_port: u8 = 0,
        to_port as to_port: u8 = 1,
        type_ as type: u8 = 2,
        reserved as reserved: [u8; 5] = 3,
    }

    /// The properties of an allocation by `cuMemCreate`.
    CUmemAllocationProp: 32 bytes {
        type_ as type: CUmemAllocationType = 0,
        requested_handle_types as requestedHandleTypes: CUmemAllocationHandleType = 4,
        location as location: CUmemLocation = 8,
        win32_handle_meta_data as win32HandleMetaData: *mut c_void = 16,
        alloc_flags as allocFlags: CUmemAllocationFlags = 24,
    }

    /// An execution affinity of a context.
    CUexecAffinityParam: 8 bytes {
        type_ as type: c_uint = 0,
        param as param: [u8; 4] = 4,
    }

    /// Parameters of `cuCtxCreate_v4` (12.5 and later).
    CUctxCreateParams: 24 bytes {
        exec_affinity_params as execAffinityParams: *mut c_void = 0,
        exec_affinity_param_count as numExecAffinityParams: c_int = 8,
        cig_params as cigParams: *mut c_void = 16,
    }

    /// The UUID of a device.
    CUuuid: 16 bytes {
        bytes as bytes: [c_char; 16] = 0,
    }
}

/// Parameters of a node of any type, for `cuGraphAddNode_v2` (12.3 and later). In C, the
/// parameters of all types are members of a union. Here only those of a conditional node
/// are declared.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUgraphNodeParams {
    /// The node type, which determines how the union is read.
    pub type_: CUgraphNodeType,
    /// Zero.
    pub reserved0: [c_int; 3],
    /// The parameters of a conditional node.
    pub conditional: CUDA_CONDITIONAL_NODE_PARAMS,
    /// Zero: the part of the union that only other types use.
    pub unused: [u64; 25],
    /// Zero.
    pub reserved2: u64,
}

const _: () = assert!(size_of::<CUgraphNodeParams>() == 256);
const _: () = assert!(core::mem::offset_of!(CUgraphNodeParams, conditional) == 16);
const _: () = assert!(core::mem::offset_of!(CUgraphNodeParams, reserved2) == 248);

/// The flags in a [`CUmemAllocationProp`], which have no C name of their own.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CUmemAllocationFlags {
    /// Not 0 for compressible memory.
    pub compression_type: u8,
    /// Not 0 if other devices can access the memory directly (GPUDirect RDMA).
    pub gpu_direct_rdma_capable: u8,
    /// What the memory is used for.
    pub usage: c_ushort,
    /// Zero.
    pub reserved: [u8; 4],
}

impl CUresult {
    /// Whether the call succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }
}
