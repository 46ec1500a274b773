//! The C types of the runtime: `cuda_runtime_api.h`.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::fmt;

use super::{Constant, Field, Layout, Scalar, enums, flags, handles, structs};

handles! {
    HANDLES:
    /// A graph: nodes and their dependencies. Same C type as the driver's `CUgraph`.
    cudaGraph_t;
    /// A node of a graph. Same C type as the driver's `CUgraphNode`.
    cudaGraphNode_t;
    /// An instantiated graph. Same C type as the driver's `CUgraphExec`.
    cudaGraphExec_t;
    /// A stream. Same C type as the driver's `CUstream`.
    cudaStream_t;
    /// An event. Same C type as the driver's `CUevent`.
    cudaEvent_t;
    /// A pool of stream-ordered memory. Same C type as the driver's `CUmemoryPool`.
    cudaMemPool_t;
    /// A loaded library of kernels (12.8 and later).
    cudaLibrary_t;
    /// A kernel of a loaded library; may be given as a kernel node's `func` from 12.8 on.
    cudaKernel_t;
}

enums! {
    ENUMS, CONSTANTS:
    /// The result of a runtime call.
    cudaError_t(c_int) {
        SUCCESS = cudaSuccess = 0,
        INVALID_VALUE = cudaErrorInvalidValue = 1,
        MEMORY_ALLOCATION = cudaErrorMemoryAllocation = 2,
        INITIALIZATION_ERROR = cudaErrorInitializationError = 3,
        CUDART_UNLOADING = cudaErrorCudartUnloading = 4,
        INVALID_CONFIGURATION = cudaErrorInvalidConfiguration = 9,
        STUB_LIBRARY = cudaErrorStubLibrary = 34,
        INSUFFICIENT_DRIVER = cudaErrorInsufficientDriver = 35,
        CALL_REQUIRES_NEWER_DRIVER = cudaErrorCallRequiresNewerDriver = 36,
        DEVICES_UNAVAILABLE = cudaErrorDevicesUnavailable = 46,
        INVALID_DEVICE_FUNCTION = cudaErrorInvalidDeviceFunction = 98,
        NO_DEVICE = cudaErrorNoDevice = 100,
        INVALID_DEVICE = cudaErrorInvalidDevice = 101,
        SOFTWARE_VALIDITY_NOT_ESTABLISHED = cudaErrorSoftwareValidityNotEstablished = 103,
        STARTUP_FAILURE = cudaErrorStartupFailure = 127,
        INVALID_KERNEL_IMAGE = cudaErrorInvalidKernelImage = 200,
        NO_KERNEL_IMAGE_FOR_DEVICE = cudaErrorNoKernelImageForDevice = 209,
        INVALID_PTX = cudaErrorInvalidPtx = 218,
        JIT_COMPILER_NOT_FOUND = cudaErrorJitCompilerNotFound = 221,
        UNSUPPORTED_PTX_VERSION = cudaErrorUnsupportedPtxVersion = 222,
        JIT_COMPILATION_DISABLED = cudaErrorJitCompilationDisabled = 223,
        OPERATING_SYSTEM = cudaErrorOperatingSystem = 304,
        INVALID_RESOURCE_HANDLE = cudaErrorInvalidResourceHandle = 400,
        ILLEGAL_STATE = cudaErrorIllegalState = 401,
        SYMBOL_NOT_FOUND = cudaErrorSymbolNotFound = 500,
        NOT_READY = cudaErrorNotReady = 600,
        ILLEGAL_ADDRESS = cudaErrorIllegalAddress = 700,
        LAUNCH_FAILURE = cudaErrorLaunchFailure = 719,
        NOT_SUPPORTED = cudaErrorNotSupported = 801,
        SYSTEM_NOT_READY = cudaErrorSystemNotReady = 802,
        SYSTEM_DRIVER_MISMATCH = cudaErrorSystemDriverMismatch = 803,
        COMPAT_NOT_SUPPORTED_ON_DEVICE = cudaErrorCompatNotSupportedOnDevice = 804,
        STREAM_CAPTURE_UNSUPPORTED = cudaErrorStreamCaptureUnsupported = 900,
        STREAM_CAPTURE_INVALIDATED = cudaErrorStreamCaptureInvalidated = 901,
        STREAM_CAPTURE_MERGE = cudaErrorStreamCaptureMerge = 902,
        STREAM_CAPTURE_UNMATCHED = cudaErrorStreamCaptureUnmatched = 903,
        STREAM_CAPTURE_UNJOINED = cudaErrorStreamCaptureUnjoined = 904,
        STREAM_CAPTURE_ISOLATION = cudaErrorStreamCaptureIsolation = 905,
        STREAM_CAPTURE_IMPLICIT = cudaErrorStreamCaptureImplicit = 906,
        CAPTURED_EVENT = cudaErrorCapturedEvent = 907,
        STREAM_CAPTURE_WRONG_THREAD = cudaErrorStreamCaptureWrongThread = 908,
        UNKNOWN = cudaErrorUnknown = 999,
    }

    /// The four attributes of a device's graph memory, each a `u64` of bytes (R47).
    cudaGraphMemAttributeType(c_uint) {
        /// Physical bytes mapped by at least one graph now (R48).
        USED_MEM_CURRENT = cudaGraphMemAttrUsedMemCurrent = 0,
        /// The high-water mark of the used bytes; may be set, only to 0 (R49).
        USED_MEM_HIGH = cudaGraphMemAttrUsedMemHigh = 1,
        /// Physical bytes that the driver has allocated for this process's graph
        /// memory (R48).
        RESERVED_MEM_CURRENT = cudaGraphMemAttrReservedMemCurrent = 2,
        /// The high-water mark of the reserved bytes; may be set, only to 0 (R49).
        RESERVED_MEM_HIGH = cudaGraphMemAttrReservedMemHigh = 3,
    }

    /// How the memory of an alloc node is backed; only `PINNED` is accepted (R28).
    cudaMemAllocationType(c_uint) {
        INVALID = cudaMemAllocationTypeInvalid = 0,
        PINNED = cudaMemAllocationTypePinned = 1,
    }

    /// How an allocation could be exported; alloc nodes require `NONE` (R29).
    cudaMemAllocationHandleType(c_uint) {
        NONE = cudaMemHandleTypeNone = 0,
        POSIX_FILE_DESCRIPTOR = cudaMemHandleTypePosixFileDescriptor = 1,
    }

    /// The kind of place that a memory location names.
    cudaMemLocationType(c_uint) {
        INVALID = cudaMemLocationTypeInvalid = 0,
        DEVICE = cudaMemLocationTypeDevice = 1,
    }

    /// The access that a device has to memory.
    cudaMemAccessFlags(c_uint) {
        PROT_NONE = cudaMemAccessFlagsProtNone = 0,
        PROT_READ = cudaMemAccessFlagsProtRead = 1,
        PROT_READ_WRITE = cudaMemAccessFlagsProtReadWrite = 3,
    }

    /// An attribute of a pool of stream-ordered memory; those named here are a `u64`
    /// of bytes.
    cudaMemPoolAttr(c_uint) {
        /// Reserved bytes above this are returned to the device when a stream,
        /// event or context is synchronized. Can be set.
        RELEASE_THRESHOLD = cudaMemPoolAttrReleaseThreshold = 4,
        /// Physical bytes that the pool has allocated.
        RESERVED_MEM_CURRENT = cudaMemPoolAttrReservedMemCurrent = 5,
        /// Bytes of live allocations.
        USED_MEM_CURRENT = cudaMemPoolAttrUsedMemCurrent = 7,
    }

    /// The direction of a copy.
    cudaMemcpyKind(c_uint) {
        HOST_TO_HOST = cudaMemcpyHostToHost = 0,
        HOST_TO_DEVICE = cudaMemcpyHostToDevice = 1,
        DEVICE_TO_HOST = cudaMemcpyDeviceToHost = 2,
        DEVICE_TO_DEVICE = cudaMemcpyDeviceToDevice = 3,
        /// The direction follows from the two addresses.
        DEFAULT = cudaMemcpyDefault = 4,
    }

    /// Which calls are refused while a stream captures, and to which threads.
    cudaStreamCaptureMode(c_uint) {
        /// Calls that cannot be captured are refused to every thread.
        GLOBAL = cudaStreamCaptureModeGlobal = 0,
        /// They are refused to the capturing thread only.
        THREAD_LOCAL = cudaStreamCaptureModeThreadLocal = 1,
        /// They are allowed in every thread.
        RELAXED = cudaStreamCaptureModeRelaxed = 2,
    }

    /// An attribute of a device.
    cudaDeviceAttr(c_uint) {
        /// Nominal SM clock rate, in kHz.
        CLOCK_RATE = cudaDevAttrClockRate = 13,
        MULTI_PROCESSOR_COUNT = cudaDevAttrMultiProcessorCount = 16,
        /// Threads that can be resident on one multiprocessor.
        MAX_THREADS_PER_MULTI_PROCESSOR = cudaDevAttrMaxThreadsPerMultiProcessor = 39,
        COMPUTE_CAPABILITY_MAJOR = cudaDevAttrComputeCapabilityMajor = 75,
        COMPUTE_CAPABILITY_MINOR = cudaDevAttrComputeCapabilityMinor = 76,
        /// Blocks that can be resident on one multiprocessor.
        MAX_BLOCKS_PER_MULTIPROCESSOR = cudaDevAttrMaxBlocksPerMultiprocessor = 106,
        /// Whether graph memory nodes are supported (R54).
        MEMORY_POOLS_SUPPORTED = cudaDevAttrMemoryPoolsSupported = 115,
    }

    /// A limit of a device.
    cudaLimit(c_uint) {
        STACK_SIZE = cudaLimitStackSize = 0,
        PRINTF_FIFO_SIZE = cudaLimitPrintfFifoSize = 1,
        MALLOC_HEAP_SIZE = cudaLimitMallocHeapSize = 2,
        DEV_RUNTIME_SYNC_DEPTH = cudaLimitDevRuntimeSyncDepth = 3,
        DEV_RUNTIME_PENDING_LAUNCH_COUNT = cudaLimitDevRuntimePendingLaunchCount = 4,
        MAX_L2_FETCH_GRANULARITY = cudaLimitMaxL2FetchGranularity = 5,
        PERSISTING_L2_CACHE_SIZE = cudaLimitPersistingL2CacheSize = 6,
    }

    /// Advice about managed memory.
    cudaMemoryAdvise(c_uint) {
        SET_READ_MOSTLY = cudaMemAdviseSetReadMostly = 1,
        UNSET_READ_MOSTLY = cudaMemAdviseUnsetReadMostly = 2,
        SET_PREFERRED_LOCATION = cudaMemAdviseSetPreferredLocation = 3,
        UNSET_PREFERRED_LOCATION = cudaMemAdviseUnsetPreferredLocation = 4,
        SET_ACCESSED_BY = cudaMemAdviseSetAccessedBy = 5,
        UNSET_ACCESSED_BY = cudaMemAdviseUnsetAccessedBy = 6,
    }

    /// An attribute of a range of managed memory.
    cudaMemRangeAttribute(c_uint) {
        READ_MOSTLY = cudaMemRangeAttributeReadMostly = 1,
        PREFERRED_LOCATION = cudaMemRangeAttributePreferredLocation = 2,
        LAST_PREFETCH_LOCATION = cudaMemRangeAttributeLastPrefetchLocation = 4,
    }

    /// An attribute of a kernel that can be set.
    cudaFuncAttribute(c_uint) {
        /// The largest size of dynamic shared memory that a launch may request, in
        /// bytes.
        MAX_DYNAMIC_SHARED_MEMORY_SIZE = cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
        /// The share of the L1 cache that is used as shared memory, in percent; -1:
        /// the driver chooses.
        PREFERRED_SHARED_MEMORY_CARVEOUT = cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    }

    /// How a kernel prefers the L1 cache and shared memory to be divided.
    cudaFuncCache(c_uint) {
        PREFER_NONE = cudaFuncCachePreferNone = 0,
        PREFER_SHARED = cudaFuncCachePreferShared = 1,
        PREFER_L1 = cudaFuncCachePreferL1 = 2,
        PREFER_EQUAL = cudaFuncCachePreferEqual = 3,
    }

    /// An option of a just-in-time compilation; values equal the driver's.
    cudaJitOption(c_uint) {
        /// A buffer into which the compiler's errors are written.
        ERROR_LOG_BUFFER = cudaJitErrorLogBuffer = 5,
        /// That buffer's size in bytes, as a value cast to a pointer.
        ERROR_LOG_BUFFER_SIZE_BYTES = cudaJitErrorLogBufferSizeBytes = 6,
    }
}

flags! {
    FLAGS:
    /// Flags of `cudaStreamCreateWithFlags`.
    stream_flags: u32 {
        DEFAULT = cudaStreamDefault = 0,
        /// The stream does not wait for the legacy default stream.
        NON_BLOCKING = cudaStreamNonBlocking = 1,
    }

    /// Flags of `cudaEventCreateWithFlags`.
    event_flags: u32 {
        DEFAULT = cudaEventDefault = 0,
        DISABLE_TIMING = cudaEventDisableTiming = 2,
    }

    /// Flags of `cudaGraphInstantiateWithFlags`.
    instantiate_flags: u64 {
        /// A launch first frees what the previous launch left allocated (R19).
        AUTO_FREE_ON_LAUNCH = cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
        DEVICE_LAUNCH = cudaGraphInstantiateFlagDeviceLaunch = 4,
    }

    /// Flags of `cudaGraphDebugDotPrint`.
    dot_flags: u32 {
        VERBOSE = cudaGraphDebugDotFlagsVerbose = 1,
    }
}

structs! {
    LAYOUTS:
    /// A place in which memory can be.
    cudaMemLocation: 8 bytes {
        type_ as type: cudaMemLocationType = 0,
        /// The device's ordinal, for a device location.
        id as id: c_int = 4,
    }

    /// Access for one more device (R51).
    cudaMemAccessDesc: 12 bytes {
        location as location: cudaMemLocation = 0,
        flags as flags: cudaMemAccessFlags = 8,
    }

    /// The properties of a memory pool. Newer versions took bytes of `reserved` for new
    /// fields, so the whole struct must be zeroed first.
    cudaMemPoolProps: 88 bytes {
        alloc_type as allocType: cudaMemAllocationType = 0,
        handle_types as handleTypes: cudaMemAllocationHandleType = 4,
        location as location: cudaMemLocation = 8,
        win32_security_attributes as win32SecurityAttributes: *mut c_void = 16,
        reserved as reserved: [u8; 64] = 24,
    }

    /// Parameters of an alloc node, in and out.
    cudaMemAllocNodeParams: 120 bytes {
        pool_props as poolProps: cudaMemPoolProps = 0,
        access_descs as accessDescs: *const cudaMemAccessDesc = 88,
        access_desc_count as accessDescCount: usize = 96,
        /// Requested size in bytes.
        bytesize as bytesize: usize = 104,
        /// Out: the allocation's virtual address, fixed from here on (R1).
        dptr as dptr: *mut c_void = 112,
    }

    /// The result of `cudaPointerGetAttributes`. Releases from 13.0 on have reserved
    /// fields after these.
    cudaPointerAttributes: 24 bytes {
        /// 0: not known to CUDA, 1: pinned host memory, 2: device memory, 3:
        /// managed memory.
        type_ as type: c_uint = 0,
        device as device: c_int = 4,
        device_pointer as devicePointer: *mut c_void = 8,
        host_pointer as hostPointer: *mut c_void = 16,
    }

    /// The result of `cudaFuncGetAttributes`. Releases from 12.0 on have more fields
    /// after these.
    cudaFuncAttributes: 56 bytes {
        shared_size_bytes as sharedSizeBytes: usize = 0,
        const_size_bytes as constSizeBytes: usize = 8,
        local_size_bytes as localSizeBytes: usize = 16,
        max_threads_per_block as maxThreadsPerBlock: c_int = 24,
        num_regs as numRegs: c_int = 28,
        ptx_version as ptxVersion: c_int = 32,
        binary_version as binaryVersion: c_int = 36,
        cache_mode_ca as cacheModeCA: c_int = 40,
        max_dynamic_shared_size_bytes as maxDynamicSharedSizeBytes: c_int = 44,
        preferred_shmem_carveout as preferredShmemCarveout: c_int = 48,
    }

    /// Extents of a grid or a block.
    dim3: 12 bytes {
        x as x: c_uint = 0,
        y as y: c_uint = 4,
        z as z: c_uint = 8,
    }

    /// The configuration of a launch by `cudaLaunchKernelExC`, from 11.8 on.
    cudaLaunchConfig_st: 56 bytes {
        grid_dim as gridDim: dim3 = 0,
        block_dim as blockDim: dim3 = 12,
        dynamic_smem_bytes as dynamicSmemBytes: usize = 24,
        stream as stream: cudaStream_t = 32,
        attrs as attrs: *mut c_void = 40,
        num_attrs as numAttrs: c_uint = 48,
    }

    /// Parameters of a kernel node.
    cudaKernelNodeParams: 56 bytes {
        /// A host stub or, from 12.8 on, a `cudaKernel_t`.
        func as func: *mut c_void = 0,
        grid_dim as gridDim: dim3 = 8,
        block_dim as blockDim: dim3 = 20,
        /// Dynamic shared memory in bytes.
        shared_mem_bytes as sharedMemBytes: c_uint = 32,
        /// One pointer per argument; the values are copied by the call.
        kernel_params as kernelParams: *mut *mut c_void = 40,
        extra as extra: *mut *mut c_void = 48,
    }
}

/// The properties of a device. Only the first field is at the same place in every version,
/// and the sizes differ (728, 1032 and 1008 bytes for 11.x, 12.x and 13.x). This buffer is
/// larger than any of them; only `name` may be read.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct cudaDeviceProp {
    /// The device's name, NUL-terminated.
    pub name: [c_char; 256],
    /// Fields whose offset differs between versions, or that some versions lack.
    pub unstable: [u8; 3840],
}

impl cudaDeviceProp {
    /// All bytes zero.
    #[must_use]
    pub const fn zeroed() -> Self {
        Self {
            name: [0; 256],
            unstable: [0; 3840],
        }
    }

    /// The device's name: the bytes before the first NUL, or the whole field if there
    /// is none.
    #[must_use]
    pub fn name(&self) -> String {
        // `c_char` is signed on some platforms and not on others.
        let bytes = self.name.iter().map(|c| c.to_ne_bytes()[0]);
        let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&name).into_owned()
    }
}

impl fmt::Debug for cudaDeviceProp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cudaDeviceProp {{ name: {:?}, .. }}", self.name())
    }
}

/// An option of a library load. This project passes none, so no constant is declared.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct cudaLibraryOption(pub c_uint);

impl cudaError_t {
    /// Whether the call succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }
}

impl dim3 {
    /// `x` in the first dimension, 1 in the others.
    #[must_use]
    pub const fn linear(x: c_uint) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_code_that_no_header_has_is_carried() {
        let odd = cudaError_t(123_456);
        assert_eq!(odd.known_name(), None);
        assert_eq!(format!("{odd:?}"), "cudaError_t(123456)");
        assert!(!odd.is_success());
    }

    #[test]
    fn attribute_zero_is_used_mem_current() {
        assert_eq!(
            cudaGraphMemAttributeType(0).known_name(),
            Some("cudaGraphMemAttrUsedMemCurrent")
        );
    }

    #[test]
    fn a_device_name_ends_at_a_nul_or_with_its_field() {
        let mut prop = cudaDeviceProp::zeroed();
        assert_eq!(prop.name(), "");
        prop.name[..2].fill(b'G' as core::ffi::c_char);
        assert_eq!(prop.name(), "GG");
        prop.name.fill(b'x' as core::ffi::c_char);
        assert_eq!(prop.name(), "x".repeat(256));
    }

    #[test]
    fn the_device_property_buffer_is_larger_than_any_versions_struct() {
        for version_size in [728, 1032, 1008] {
            assert!(size_of::<cudaDeviceProp>() >= 2 * version_size);
        }
    }
}
