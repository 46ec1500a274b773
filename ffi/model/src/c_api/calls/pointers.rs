//! The attributes of addresses, and memory of the program that devices can access.

use core::ffi::{c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;

pub(in crate::c_api) unsafe fn cudaHostRegister(
    ptr: *mut c_void,
    size: usize,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaHostRegister, |call| {
        // The flags are portable, mapped, I/O memory, and read-only.
        const KNOWN: c_uint = 1 | 2 | 4 | 8;
        if flags & !KNOWN != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        call.runtime().register_host(ptr as u64, size as u64, flags)
    })
}

pub(in crate::c_api) unsafe fn cudaHostUnregister(ptr: *mut c_void) -> cudaError_t {
    run(F::cudaHostUnregister, |call| {
        call.runtime().unregister_host(ptr as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaHostGetDevicePointer(
    device: *mut *mut c_void,
    host: *mut c_void,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaHostGetDevicePointer, |call| {
        let out = not_null(device)?;
        let known = flags == 0 && call.runtime().host_flags(host as u64).is_ok();
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, if known { host } else { core::ptr::null_mut() }) };
        known.then_some(()).ok_or(cudaError_t::INVALID_VALUE)
    })
}

pub(in crate::c_api) unsafe fn cudaHostGetFlags(
    flags: *mut c_uint,
    host: *mut c_void,
) -> cudaError_t {
    run(F::cudaHostGetFlags, |call| {
        let out = not_null(flags)?;
        let found = call.runtime().host_flags(host as u64)?;
        // SAFETY: as above.
        unsafe { write(out, found) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaPointerGetAttributes(
    attributes: *mut cudaPointerAttributes,
    ptr: *const c_void,
) -> cudaError_t {
    run(F::cudaPointerGetAttributes, |call| {
        let out = not_null(attributes)?;
        let found = call.runtime().pointer(ptr as u64);
        let at = |known: bool| match known {
            true => ptr.cast_mut(),
            false => core::ptr::null_mut(),
        };
        let mut attributes = cudaPointerAttributes::zeroed();
        attributes.type_ = found.kind;
        attributes.device = found.device;
        attributes.device_pointer = at(found.on_device);
        attributes.host_pointer = at(found.on_host);
        // SAFETY: as above; every release has these 24 bytes.
        unsafe { write(out, attributes) };
        Ok(())
    })
}
