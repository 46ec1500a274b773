//! Memory functions that are not in the table.

use core::ffi::{c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use super::nodes::host_call;
use crate::functions::FunctionId as F;
use crate::objects::effects::{CopyRequest, Fill};

pub(in crate::c_api) unsafe fn cudaMemcpy(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    run(F::cudaMemcpy, |call| {
        if count == 0 {
            return Ok(());
        }
        let device = call.thread.device;
        let (to, from) = (not_null(dst)? as u64, not_null(src.cast_mut())? as u64);
        let runtime = call.runtime();
        let (to, from) = runtime.sides(kind, to, from)?;
        let copy = CopyRequest {
            to,
            from,
            bytes: count as u64,
        };
        let end = runtime.copy_async(copy, 0, device)?;
        call.wait_until(end);
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMemset(
    dev_ptr: *mut c_void,
    value: c_int,
    count: usize,
) -> cudaError_t {
    run(F::cudaMemset, |call| {
        let device = call.thread.device;
        let fill = Fill::bytes(dev_ptr as u64, value as u8, count as u64);
        call.runtime().set_async(fill, 0, device)
    })
}

/// `cudaMemAttachGlobal`, `cudaMemAttachHost`.
const ATTACH_FLAGS: [c_uint; 2] = [1, 2];

pub(in crate::c_api) unsafe fn cudaMallocManaged(
    dev_ptr: *mut *mut c_void,
    size: usize,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaMallocManaged, |call| {
        let out = not_null(dev_ptr)?;
        if !ATTACH_FLAGS.contains(&flags) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let address = call.runtime().malloc_host(size as u64, None)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMallocHost(ptr: *mut *mut c_void, size: usize) -> cudaError_t {
    run(F::cudaMallocHost, |call| {
        let out = not_null(ptr)?;
        let address = call.runtime().malloc_host(size as u64, Some(0))?;
        // SAFETY: as above.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaHostAlloc(
    ptr: *mut *mut c_void,
    size: usize,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaHostAlloc, |call| {
        // The flags are portable, mapped, and write-combined.
        const KNOWN: c_uint = 1 | 2 | 4;
        let out = not_null(ptr)?;
        if flags & !KNOWN != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let address = call.runtime().malloc_host(size as u64, Some(flags))?;
        // SAFETY: as above.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaFreeHost(ptr: *mut c_void) -> cudaError_t {
    run(F::cudaFreeHost, |call| {
        let device = call.thread.device;
        call.runtime().free_host(ptr as u64)?;
        let end = call.runtime().device_end(device)?;
        call.wait_until(end);
        Ok(())
    })
}

/// The pitch of `cudaMallocPitch` is a multiple of this, as on the H200.
const PITCH: usize = 512;

pub(in crate::c_api) unsafe fn cudaMallocPitch(
    dev_ptr: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> cudaError_t {
    run(F::cudaMallocPitch, |call| {
        let (out, pitch_out) = (not_null(dev_ptr)?, not_null(pitch)?);
        let device = call.thread.device;
        let too_long = cudaError_t::INVALID_VALUE;
        if width == 0 || height == 0 {
            // SAFETY: not null, and the program promises that they can be written.
            unsafe {
                write(out, core::ptr::null_mut());
                write(pitch_out, 0);
            }
            return Ok(());
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(too_long)?;
        let bytes = row.checked_mul(height).ok_or(too_long)?;
        let address = call.runtime().malloc(bytes as u64, device)?;
        // SAFETY: as above, for both.
        unsafe {
            write(out, address as *mut c_void);
            write(pitch_out, row);
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMallocFromPoolAsync(
    ptr: *mut *mut c_void,
    size: usize,
    pool: cudaMemPool_t,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaMallocFromPoolAsync, |call| {
        let out = not_null(ptr)?;
        let device = call.thread.device;
        let runtime = call.runtime();
        let address =
            runtime.malloc_from_pool(size as u64, pool.0 as u64, stream.0 as u64, device)?;
        // SAFETY: as above.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceGetMemPool(
    mem_pool: *mut cudaMemPool_t,
    device: c_int,
) -> cudaError_t {
    run(F::cudaDeviceGetMemPool, |call| {
        let out = not_null(mem_pool)?;
        let handle = call.runtime().default_pool(device)?;
        // SAFETY: as above.
        unsafe { write(out, cudaMemPool_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaLaunchHostFunc(
    stream: cudaStream_t,
    function: CUhostFn,
    user_data: *mut c_void,
) -> cudaError_t {
    run(F::cudaLaunchHostFunc, |call| {
        let device = call.thread.device;
        let host = host_call(function, user_data);
        call.runtime()
            .launch_host_function(host, stream.0 as u64, device)
    })
}
