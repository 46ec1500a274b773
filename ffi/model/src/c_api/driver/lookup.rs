//! `cuGetProcAddress`: functions by name, version and default stream.

use core::ffi::{c_char, c_int, c_void};

use cudart_ffi::simulated_driver::SIMULATED_DRIVER_FUNCTIONS;
use cudart_ffi::types::*;

use super::super::pointers::{not_null, string, write};
use super::entry::{Needs, run};
use crate::runtime::Outcome;

/// One exported function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) function: *const c_void,
    pub(super) twin: Option<*const c_void>,
}

/// Looks up a name: the address, or the reason why there is none.
fn find(
    symbol: &str,
    version: u32,
    per_thread: bool,
) -> Result<*const c_void, CUdriverProcAddressQueryResult> {
    let entries = super::entries();
    let mut known = false;
    let newest = SIMULATED_DRIVER_FUNCTIONS
        .iter()
        .zip(entries)
        .filter(|(line, _)| line.api == symbol)
        .inspect(|_| known = true)
        .filter(|(line, _)| line.version <= version)
        .max_by_key(|(line, _)| line.version);
    match newest {
        Some((_, entry)) => Ok(entry.twin.filter(|_| per_thread).unwrap_or(entry.function)),
        None if known => Err(CUdriverProcAddressQueryResult::VERSION_NOT_SUFFICIENT),
        None => Err(CUdriverProcAddressQueryResult::SYMBOL_NOT_FOUND),
    }
}

/// The common part of both versions of the function. If nothing is found, the second
/// version writes null, and the first writes nothing (H200, driver 580).
///
/// # Safety
///
/// `symbol` must be null or a C string, `pfn` null or valid for a write.
pub(in crate::c_api) unsafe fn search(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cuda_version: c_int,
    flags: u64,
    driver_version: c_int,
    writes_null: bool,
) -> Outcome<CUdriverProcAddressQueryResult> {
    const KNOWN: u64 =
        proc_address_flags::LEGACY_STREAM | proc_address_flags::PER_THREAD_DEFAULT_STREAM;
    let out = not_null(pfn)?;
    // SAFETY: the caller guarantees it.
    let symbol = unsafe { string(symbol)? };
    let version = u32::try_from(cuda_version).map_err(|_| cudaError_t::INVALID_VALUE)?;
    if flags & !KNOWN != 0 || cuda_version > driver_version {
        return Err(cudaError_t::INVALID_VALUE);
    }
    let per_thread = flags & proc_address_flags::PER_THREAD_DEFAULT_STREAM != 0;
    let found = find(&symbol, version, per_thread);
    if found.is_ok() || writes_null {
        let address = found.unwrap_or(core::ptr::null());
        // SAFETY: not null, and valid as the caller guarantees.
        unsafe { write(out, address.cast_mut()) };
    }
    Ok(found
        .err()
        .unwrap_or(CUdriverProcAddressQueryResult::SUCCESS))
}

pub(in crate::c_api) unsafe fn cuGetProcAddress(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cuda_version: c_int,
    flags: u64,
) -> CUresult {
    run(Needs::Nothing, |call| {
        let driver_version = call.runtime().profile().driver_version;
        // SAFETY: the program guarantees a C string and a pointer that can be
        // written.
        let result = unsafe { search(symbol, pfn, cuda_version, flags, driver_version, false)? };
        match result {
            CUdriverProcAddressQueryResult::SUCCESS => Ok(()),
            _ => Err(cudaError_t::SYMBOL_NOT_FOUND),
        }
    })
}

pub(in crate::c_api) unsafe fn cuGetProcAddress_v2(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cuda_version: c_int,
    flags: u64,
    symbol_status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    run(Needs::Nothing, |call| {
        let driver_version = call.runtime().profile().driver_version;
        // SAFETY: as above.
        let result = unsafe { search(symbol, pfn, cuda_version, flags, driver_version, true)? };
        if !symbol_status.is_null() {
            // SAFETY: not null, and the program promises that it can be written.
            unsafe { write(symbol_status, result) };
        }
        Ok(())
    })
}
