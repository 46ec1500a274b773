//! Names and texts of error codes, as `cudaGetErrorName` and `cudaGetErrorString` return
//! them.

use core::ffi::CStr;

/// The result of both calls for an unknown code.
pub const UNKNOWN: &CStr = c"unrecognized error code";

/// Codes that the simulated runtime can return, by itself or as an injected fault, with
/// name and text.
const ERRORS: &[(i32, &CStr, &CStr)] = &[
    (0, c"cudaSuccess", c"no error"),
    (1, c"cudaErrorInvalidValue", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    (9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    (34, c"cudaErrorStubLibrary", c"CUDA driver is a stub library"),
    (35, c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
    (36, c"cudaErrorCallRequiresNewerDriver", c"API call is not supported in the installed CUDA driver"),
    (46, c"cudaErrorDevicesUnavailable", c"CUDA-capable device(s) is/are busy or unavailable"),
    (98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    (100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    (101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (103, c"cudaErrorSoftwareValidityNotEstablished", c"integrity checks failed"),
    (
        127,
        c"cudaErrorStartupFailure",
        c"startup failure in cuda runtime",
    ),
    (200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid"),
    (201, c"cudaErrorDeviceUninitialized", c"invalid device context"),
    (209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device"),
    (214, c"cudaErrorECCUncorrectable", c"uncorrectable ECC error encountered"),
    (218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed"),
    (221, c"cudaErrorJitCompilerNotFound", c"PTX JIT compiler library not found"),
    (222, c"cudaErrorUnsupportedPtxVersion", c"the provided PTX was compiled with an unsupported toolchain."),
    (223, c"cudaErrorJitCompilationDisabled", c"PTX JIT compilation was disabled"),
    (304, c"cudaErrorOperatingSystem", c"OS call failed or operation not supported on this OS"),
    (400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    (401, c"cudaErrorIllegalState", c"the operation cannot be performed in the present state"),
    (500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"device not ready"),
    (700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    (701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch"),
    (702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated"),
    (710, c"cudaErrorAssert", c"device-side assert triggered"),
    (714, c"cudaErrorHardwareStackError", c"hardware stack error"),
    (715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered"),
    (716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    (717, c"cudaErrorInvalidAddressSpace", c"operation not supported on global/shared address space"),
    (718, c"cudaErrorInvalidPc", c"invalid program counter"),
    (719, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    (801, c"cudaErrorNotSupported", c"operation not supported"),
    (802, c"cudaErrorSystemNotReady", c"system not yet initialized"),
    (803, c"cudaErrorSystemDriverMismatch", c"system has unsupported display driver / cuda driver combination"),
    (804, c"cudaErrorCompatNotSupportedOnDevice", c"forward compatibility was attempted on non supported HW"),
    (900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    (901, c"cudaErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture"),
    (902, c"cudaErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences"),
    (903, c"cudaErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began"),
    (904, c"cudaErrorStreamCaptureUnjoined", c"capturing stream has unjoined work"),
    (905, c"cudaErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream"),
    (906, c"cudaErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream"),
    (907, c"cudaErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream"),
    (908, c"cudaErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread"),
    (910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (999, c"cudaErrorUnknown", c"unknown error"),
];

/// The driver's names, from `cuda.h`.
const DRIVER_NAMES: &[(i32, &CStr)] = &[
    (0, c"CUDA_SUCCESS"),
    (1, c"CUDA_ERROR_INVALID_VALUE"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED"),
    (4, c"CUDA_ERROR_DEINITIALIZED"),
    (34, c"CUDA_ERROR_STUB_LIBRARY"),
    (46, c"CUDA_ERROR_DEVICE_UNAVAILABLE"),
    (100, c"CUDA_ERROR_NO_DEVICE"),
    (101, c"CUDA_ERROR_INVALID_DEVICE"),
    (200, c"CUDA_ERROR_INVALID_IMAGE"),
    (201, c"CUDA_ERROR_INVALID_CONTEXT"),
    (209, c"CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (214, c"CUDA_ERROR_ECC_UNCORRECTABLE"),
    (218, c"CUDA_ERROR_INVALID_PTX"),
    (221, c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
    (222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (223, c"CUDA_ERROR_JIT_COMPILATION_DISABLED"),
    (304, c"CUDA_ERROR_OPERATING_SYSTEM"),
    (400, c"CUDA_ERROR_INVALID_HANDLE"),
    (401, c"CUDA_ERROR_ILLEGAL_STATE"),
    (500, c"CUDA_ERROR_NOT_FOUND"),
    (600, c"CUDA_ERROR_NOT_READY"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS"),
    (702, c"CUDA_ERROR_LAUNCH_TIMEOUT"),
    (709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED"),
    (802, c"CUDA_ERROR_SYSTEM_NOT_READY"),
    (803, c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    (804, c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    (902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE"),
    (903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"),
    (904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
    (905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION"),
    (906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"),
    (907, c"CUDA_ERROR_CAPTURED_EVENT"),
    (908, c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"),
    (910, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"),
    (999, c"CUDA_ERROR_UNKNOWN"),
];

fn find(code: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    ERRORS.iter().find(|(known, _, _)| *known == code)
}

/// The name of a code; [`UNKNOWN`] if it is not in the list.
#[must_use]
pub fn name(code: i32) -> &'static CStr {
    find(code).map_or(UNKNOWN, |(_, name, _)| name)
}

/// The text of a code; [`UNKNOWN`] if it is not in the list.
#[must_use]
pub fn text(code: i32) -> &'static CStr {
    find(code).map_or(UNKNOWN, |(_, _, text)| text)
}

/// The driver's name of a code; `None` if the driver does not have it.
#[must_use]
pub fn driver_name(code: i32) -> Option<&'static CStr> {
    DRIVER_NAMES
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, name)| *name)
}

/// The driver's text of a code, which is mostly the runtime's.
#[must_use]
pub fn driver_text(code: i32) -> Option<&'static CStr> {
    driver_name(code).map(|_| match code {
        // Codes for which the runtime has another text.
        709 => c"context is destroyed",
        _ => text(code),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudart_ffi::cudaError_t;

    #[test]
    fn every_code_of_the_table_has_its_own_name_here() {
        for constant in cudart_ffi::types::CONSTANTS {
            if constant.type_name != "cudaError_t" {
                continue;
            }
            let code = i32::try_from(constant.value).unwrap();
            assert_eq!(name(code).to_str(), Ok(constant.name));
        }
        assert_eq!(cudaError_t(1).known_name(), name(1).to_str().ok());
    }

    #[test]
    fn every_code_of_the_drivers_table_has_its_own_name_here() {
        for constant in cudart_ffi::types::DRIVER_CONSTANTS {
            if constant.type_name != "CUresult" {
                continue;
            }
            let code = i32::try_from(constant.value).unwrap();
            let name = driver_name(code).map(|name| name.to_str().unwrap());
            assert_eq!(name, Some(constant.name));
            assert!(driver_text(code).is_some());
        }
        assert_eq!(driver_name(123_456), None);
        assert_eq!(driver_text(123_456), None);
    }

    #[test]
    fn an_unknown_code_has_the_text_for_unknown_codes() {
        assert_eq!(name(123_456), UNKNOWN);
        assert_eq!(text(-1), UNKNOWN);
    }
}
