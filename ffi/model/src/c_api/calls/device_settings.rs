//! Settings of the device.

use core::ffi::{c_int, c_uint};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;

pub(in crate::c_api) unsafe fn cudaDeviceGetLimit(
    value: *mut usize,
    limit: cudaLimit,
) -> cudaError_t {
    run(F::cudaDeviceGetLimit, |call| {
        let out = not_null(value)?;
        let found = call.runtime().settings().limit(limit)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, found as usize) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceSetLimit(limit: cudaLimit, value: usize) -> cudaError_t {
    run(F::cudaDeviceSetLimit, |call| {
        call.runtime().settings().set_limit(limit, value as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceGetCacheConfig(config: *mut cudaFuncCache) -> cudaError_t {
    run(F::cudaDeviceGetCacheConfig, |call| {
        let out = not_null(config)?;
        let found = call.runtime().settings().cache;
        // SAFETY: as above.
        unsafe { write(out, cudaFuncCache(found)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceSetCacheConfig(config: cudaFuncCache) -> cudaError_t {
    run(F::cudaDeviceSetCacheConfig, |call| {
        let known = config.known_name().ok_or(cudaError_t::INVALID_VALUE);
        known.map(|_| call.runtime().settings().cache = config.0)
    })
}

pub(in crate::c_api) unsafe fn cudaGetDeviceFlags(flags: *mut c_uint) -> cudaError_t {
    run(F::cudaGetDeviceFlags, |call| {
        let out = not_null(flags)?;
        let found = call.runtime().settings().flags();
        // SAFETY: as above.
        unsafe { write(out, found) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaSetDeviceFlags(flags: c_uint) -> cudaError_t {
    run(F::cudaSetDeviceFlags, |call| {
        call.runtime().settings().set_flags(flags)
    })
}

/// `cudaInitDeviceFlagsAreValid`: the flags of the device count.
const FLAGS_ARE_VALID: c_uint = 1;

pub(in crate::c_api) unsafe fn cudaInitDevice(
    device: c_int,
    device_flags: c_uint,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaInitDevice, |call| {
        call.runtime().device_end(device)?;
        match flags & FLAGS_ARE_VALID {
            0 => Ok(()),
            _ => call.runtime().settings().set_flags(device_flags),
        }
    })
}
