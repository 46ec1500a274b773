//! Physical memory and address ranges.

use core::ffi::c_ulonglong;

use cudart_ffi::types::*;

use super::super::pointers::{not_null, write};
use super::entry::{Needs, run};
use crate::runtime::{Outcome, PHYSICAL_GRANULARITY};

/// # Safety
///
/// `prop` must be null or readable.
unsafe fn device_of(prop: *const CUmemAllocationProp) -> Outcome<i32> {
    let prop = not_null(prop.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    let prop = unsafe { prop.read_unaligned() };
    if prop.type_ != CUmemAllocationType::PINNED {
        return Err(cudaError_t::INVALID_VALUE);
    }
    // Only device memory is simulated.
    if prop.location.type_ != CUmemLocationType::DEVICE {
        return Err(cudaError_t::NOT_SUPPORTED);
    }
    Ok(prop.location.id)
}

pub(in crate::c_api) unsafe fn cuMemGetAllocationGranularity(
    granularity: *mut usize,
    prop: *const CUmemAllocationProp,
    option: CUmemAllocationGranularity_flags,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(granularity)?;
        if option.known_name().is_none() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // SAFETY: the program promises properties that can be read.
        let device = unsafe { device_of(prop)? };
        call.runtime().check_device(device)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, PHYSICAL_GRANULARITY as usize) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuMemCreate(
    handle: *mut CUmemGenericAllocationHandle,
    size: usize,
    prop: *const CUmemAllocationProp,
    flags: c_ulonglong,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(handle)?;
        if flags != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // SAFETY: as above.
        let device = unsafe { device_of(prop)? };
        let made = call.runtime().physical_create(size as u64, device)?;
        // SAFETY: as above.
        unsafe { write(out, made) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> CUresult {
    run(Needs::Init, |call| call.runtime().physical_release(handle))
}

pub(in crate::c_api) unsafe fn cuMemAddressReserve(
    ptr: *mut CUdeviceptr,
    size: usize,
    alignment: usize,
    _addr: CUdeviceptr,
    flags: c_ulonglong,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(ptr)?;
        if flags != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // The address that a program requests is only a hint, which is not used
        // here.
        let address = call
            .runtime()
            .address_reserve(size as u64, alignment as u64)?;
        // SAFETY: as above.
        unsafe { write(out, address) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuMemAddressFree(ptr: CUdeviceptr, size: usize) -> CUresult {
    run(Needs::Init, |call| {
        call.runtime().address_free(ptr, size as u64)
    })
}

pub(in crate::c_api) unsafe fn cuMemMap(
    ptr: CUdeviceptr,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> CUresult {
    run(Needs::Init, |call| {
        // As with the driver so far, only a whole allocation can be mapped.
        if flags != 0 || offset != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        call.runtime().map(ptr, size as u64, handle)
    })
}

pub(in crate::c_api) unsafe fn cuMemUnmap(ptr: CUdeviceptr, size: usize) -> CUresult {
    run(Needs::Init, |call| call.runtime().unmap(ptr, size as u64))
}

pub(in crate::c_api) unsafe fn cuMemSetAccess(
    ptr: CUdeviceptr,
    size: usize,
    desc: *const CUmemAccessDesc,
    count: usize,
) -> CUresult {
    run(Needs::Init, |call| {
        if desc.is_null() || count == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        call.runtime().check_mapped(ptr, size as u64)
    })
}
