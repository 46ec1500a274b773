//! Stream-ordered memory, copies and kernel launches.

use core::ffi::{c_int, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use super::{kernel_request, launch_params};
use crate::functions::FunctionId as F;
use crate::kernels::program::Arguments;
use crate::objects::effects::CopyRequest;
use crate::runtime::Outcome;

// Pools

pub(in crate::c_api) unsafe fn cudaMallocAsync(
    dev_ptr: *mut *mut c_void,
    size: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaMallocAsync, |call| {
        let out = not_null(dev_ptr)?;
        let device = call.thread.device;
        let address = call
            .runtime()
            .malloc_async(size as u64, stream.0 as u64, device)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceGetDefaultMemPool(
    mem_pool: *mut cudaMemPool_t,
    device: c_int,
) -> cudaError_t {
    run(F::cudaDeviceGetDefaultMemPool, |call| {
        let out = not_null(mem_pool)?;
        let handle = call.runtime().default_pool(device)?;
        // SAFETY: as above.
        unsafe { write(out, cudaMemPool_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMemPoolTrimTo(
    mem_pool: cudaMemPool_t,
    min_bytes_to_keep: usize,
) -> cudaError_t {
    run(F::cudaMemPoolTrimTo, |call| {
        call.runtime()
            .pool_trim_to(mem_pool.0 as u64, min_bytes_to_keep as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaMemPoolGetAttribute(
    mem_pool: cudaMemPool_t,
    attr: cudaMemPoolAttr,
    pool_value: *mut c_void,
) -> cudaError_t {
    run(F::cudaMemPoolGetAttribute, |call| {
        let out = not_null(pool_value)?.cast::<u64>();
        let value = call.runtime().pool_attribute(mem_pool.0 as u64, attr)?;
        // SAFETY: not null, and the program guarantees a u64. Every attribute that
        // the simulated runtime supports is a u64.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMemPoolSetAttribute(
    mem_pool: cudaMemPool_t,
    attr: cudaMemPoolAttr,
    pool_value: *mut c_void,
) -> cudaError_t {
    run(F::cudaMemPoolSetAttribute, |call| {
        let value = not_null(pool_value)?.cast::<u64>();
        if attr != cudaMemPoolAttr::RELEASE_THRESHOLD {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // SAFETY: not null, and the program guarantees a u64, which is the type of
        // this attribute.
        let value = unsafe { value.read_unaligned() };
        call.runtime()
            .set_pool_attribute(mem_pool.0 as u64, attr, value)
    })
}

// Copies

pub(in crate::c_api) unsafe fn cudaMemcpyAsync(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaMemcpyAsync, |call| {
        let device = call.thread.device;
        let stream = stream.0 as u64;
        if count == 0 {
            return Ok(());
        }
        let (to, from) = (not_null(dst)? as u64, not_null(src.cast_mut())? as u64);
        // No allocation can be larger.
        if count > isize::MAX as usize {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let (to, from) = call.runtime().sides(kind, to, from)?;
        let copy = CopyRequest {
            to,
            from,
            bytes: count as u64,
        };
        call.runtime().copy_async(copy, stream, device)?;
        Ok(())
    })
}

// Launch

pub(in crate::c_api) unsafe fn cudaLaunchKernel(
    func: *const c_void,
    grid_dim: dim3,
    block_dim: dim3,
    args: *mut *mut c_void,
    shared_mem_bytes: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaLaunchKernel, |call| {
        let device = call.thread.device;
        let given = launch_params(func, grid_dim, block_dim, shared_mem_bytes, args);
        // SAFETY: the program guarantees one pointer for each parameter.
        let (request, arguments) = unsafe { kernel_request(call, given)? };
        call.runtime()
            .launch_kernel(&request, arguments, stream.0 as u64, device)
    })
}

/// The values of a kernel's arguments.
///
/// # Safety
///
/// `arguments` must be null or point to one pointer for each parameter. Each must be null
/// or point to a value of the parameter's size.
pub(in crate::c_api) unsafe fn kernel_arguments(
    sizes: &[usize],
    arguments: *mut *mut c_void,
) -> Outcome<Arguments> {
    let mut values = Arguments::default();
    if sizes.is_empty() {
        return Ok(values);
    }
    let arguments = not_null(arguments)?;
    for (index, &bytes) in sizes.iter().enumerate() {
        // SAFETY: the caller guarantees it; the index is below the count.
        let argument = not_null(unsafe { arguments.add(index).read_unaligned() })?;
        let room = values.add(bytes);
        // SAFETY: the caller guarantees a value of this size, and the words have at
        // least as many bytes.
        unsafe {
            argument
                .cast::<u8>()
                .copy_to_nonoverlapping(room.as_mut_ptr().cast(), bytes);
        }
    }
    Ok(values)
}
