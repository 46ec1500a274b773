//! Driver functions by name, and calls that have no effect here.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::loaded_as;
use super::super::pointers::{not_null, write};
use super::write_if;
use crate::c_api::driver::search;
use crate::functions::FunctionId as F;

/// The flags of a search. If there are none, a program that was compiled for per-thread
/// default streams gets the functions for those.
fn search_flags(flags: c_ulonglong, call: &Call<'_>) -> c_ulonglong {
    match flags {
        proc_address_flags::DEFAULT if call.thread.per_thread_default => {
            proc_address_flags::PER_THREAD_DEFAULT_STREAM
        }
        flags => flags,
    }
}

pub(in crate::c_api) unsafe fn cudaGetDriverEntryPoint(
    symbol: *const c_char,
    function: *mut *mut c_void,
    flags: c_ulonglong,
    status: *mut CUdriverProcAddressQueryResult,
) -> cudaError_t {
    run(F::cudaGetDriverEntryPoint, |call| {
        let (driver, runtime) = {
            let profile = call.runtime().profile();
            (profile.driver_version, profile.runtime_version)
        };
        // The version with which the program was built is that in the library's
        // name.
        let version = match loaded_as::major() {
            11 => 11080,
            12 => 12090,
            _ => runtime,
        };
        let version = version.min(driver);
        let flags = search_flags(flags, call);
        // SAFETY: the program guarantees a C string and a pointer that can be
        // written.
        let result = unsafe { search(symbol, function, version, flags, driver, true)? };
        // Before 12 there is no fourth argument, and an unknown name is an error.
        if loaded_as::major() < 12 {
            return match result {
                CUdriverProcAddressQueryResult::SUCCESS => Ok(()),
                _ => Err(cudaError_t::SYMBOL_NOT_FOUND),
            };
        }
        // SAFETY: null, or a pointer that the program guarantees to be writable.
        unsafe { write_if(status, result) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGetDriverEntryPointByVersion(
    symbol: *const c_char,
    function: *mut *mut c_void,
    cuda_version: c_uint,
    flags: c_ulonglong,
    status: *mut CUdriverProcAddressQueryResult,
) -> cudaError_t {
    run(F::cudaGetDriverEntryPointByVersion, |call| {
        let driver = call.runtime().profile().driver_version;
        let version = c_int::try_from(cuda_version).map_err(|_| cudaError_t::INVALID_VALUE)?;
        let flags = search_flags(flags, call);
        // SAFETY: as above.
        let result = unsafe { search(symbol, function, version, flags, driver, true)? };
        // SAFETY: as above.
        unsafe { write_if(status, result) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceCanAccessPeer(
    can_access_peer: *mut c_int,
    device: c_int,
    peer: c_int,
) -> cudaError_t {
    run(F::cudaDeviceCanAccessPeer, |call| {
        let out = not_null(can_access_peer)?;
        call.runtime().check_device(device)?;
        call.runtime().check_device(peer)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, c_int::from(device != peer)) };
        Ok(())
    })
}

/// Has no effect: profilers cannot observe the simulation.
pub(in crate::c_api) unsafe fn cudaProfilerStart() -> cudaError_t {
    run(F::cudaProfilerStart, |_| Ok(()))
}

/// Has no effect: profilers cannot observe the simulation.
pub(in crate::c_api) unsafe fn cudaProfilerStop() -> cudaError_t {
    run(F::cudaProfilerStop, |_| Ok(()))
}
