//! Events.

use core::ffi::c_uint;

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::entry::{Needs, as_runtime};

pub(in crate::c_api) unsafe fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventCreateWithFlags(event, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventDestroy(event) }
    })
}

pub(in crate::c_api) unsafe fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventRecord(event, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuEventRecordWithFlags(
    event: CUevent,
    stream: CUstream,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventRecordWithFlags(event, stream, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuEventQuery(event: CUevent) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventQuery(event) }
    })
}

pub(in crate::c_api) unsafe fn cuEventSynchronize(event: CUevent) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventSynchronize(event) }
    })
}

pub(in crate::c_api) unsafe fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaEventElapsedTime(milliseconds, start, end) }
    })
}

pub(in crate::c_api) unsafe fn cuEventElapsedTime_v2(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuEventElapsedTime(milliseconds, start, end) }
}

pub(in crate::c_api) unsafe fn cuEventDestroy(event: CUevent) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuEventDestroy_v2(event) }
}
