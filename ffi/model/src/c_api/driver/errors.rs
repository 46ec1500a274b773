//! Initialisation, versions, and the driver's names of codes.

use core::ffi::{c_char, c_int, c_uint};

use cudart_ffi::types::*;

use super::super::pointers::{not_null, write};
use super::entry::{Needs, run};
use crate::errors;

pub(in crate::c_api) unsafe fn cuInit(flags: c_uint) -> CUresult {
    let code = run(Needs::Nothing, |call| {
        if let Some(code) = call.broken() {
            return Err(code);
        }
        call.runtime().driver_init(flags)
    });
    if code.is_success() {
        super::load_injection();
    }
    code
}

pub(in crate::c_api) unsafe fn cuDriverGetVersion(driver_version: *mut c_int) -> CUresult {
    run(Needs::Nothing, |call| {
        let out = not_null(driver_version)?;
        let version = call.runtime().profile().driver_version;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, version) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuGetErrorName(
    error: CUresult,
    str: *mut *const c_char,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { text(str, errors::driver_name(error.0)) }
}

pub(in crate::c_api) unsafe fn cuGetErrorString(
    error: CUresult,
    str: *mut *const c_char,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { text(str, errors::driver_text(error.0)) }
}

/// # Safety
///
/// `out` must be null or valid for a write.
unsafe fn text(out: *mut *const c_char, text: Option<&'static core::ffi::CStr>) -> CUresult {
    run(Needs::Nothing, |_| {
        let out = not_null(out)?;
        let pointer = text.map_or(core::ptr::null(), core::ffi::CStr::as_ptr);
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, pointer) };
        text.map(|_| ()).ok_or(cudaError_t::INVALID_VALUE)
    })
}
