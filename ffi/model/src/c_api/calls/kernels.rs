//! Attributes of kernels, and the number of blocks that can be resident at the same time.

use core::ffi::{c_char, c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::nvcc::kernel_of;
use super::super::pointers::{not_null, write};
use super::{kernel_request, launch_params};
use crate::functions::FunctionId as F;
use crate::runtime::Outcome;

fn kernel(call: &mut Call<'_>, func: *const c_void) -> Outcome<u64> {
    let kernel = kernel_of(call.runtime(), func as u64);
    call.runtime().kernel(kernel)?;
    Ok(kernel)
}

pub(in crate::c_api) unsafe fn cudaFuncGetAttributes(
    attr: *mut cudaFuncAttributes,
    func: *const c_void,
) -> cudaError_t {
    run(F::cudaFuncGetAttributes, |call| {
        let out = not_null(attr)?;
        let kernel = kernel(call, func)?;
        let found = call.runtime().kernel_attributes(kernel)?;
        let mut attributes = cudaFuncAttributes::zeroed();
        attributes.shared_size_bytes = found.shared_bytes as usize;
        attributes.const_size_bytes = found.constant_bytes as usize;
        attributes.local_size_bytes = found.local_bytes as usize;
        attributes.max_threads_per_block = 1024;
        attributes.num_regs = found.registers;
        attributes.ptx_version = found.architecture;
        attributes.binary_version = found.architecture;
        attributes.max_dynamic_shared_size_bytes = found.most_dynamic_bytes as c_int;
        attributes.preferred_shmem_carveout = found.carveout;
        // SAFETY: not null, and the program promises that it can be written; every release
        // has these 56 bytes.
        unsafe { write(out, attributes) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaFuncSetAttribute(
    func: *const c_void,
    attr: cudaFuncAttribute,
    value: c_int,
) -> cudaError_t {
    run(F::cudaFuncSetAttribute, |call| {
        let kernel = kernel(call, func)?;
        call.runtime().set_kernel_attribute(kernel, attr, value)
    })
}

pub(in crate::c_api) unsafe fn cudaFuncSetCacheConfig(
    func: *const c_void,
    config: cudaFuncCache,
) -> cudaError_t {
    run(F::cudaFuncSetCacheConfig, |call| {
        kernel(call, func)?;
        let known = config.known_name().is_some();
        known.then_some(()).ok_or(cudaError_t::INVALID_VALUE)
    })
}

fn occupancy(
    call: &mut Call<'_>,
    blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    dynamic_bytes: usize,
) -> Outcome {
    let out = not_null(blocks)?;
    let kernel = kernel(call, func)?;
    let found = call
        .runtime()
        .resident_blocks(kernel, block_size, dynamic_bytes as u64)?;
    // SAFETY: as above.
    unsafe { write(out, found) };
    Ok(())
}

pub(in crate::c_api) unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    dynamic_bytes: usize,
) -> cudaError_t {
    run(F::cudaOccupancyMaxActiveBlocksPerMultiprocessor, |call| {
        occupancy(call, blocks, func, block_size, dynamic_bytes)
    })
}

pub(in crate::c_api) unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    dynamic_bytes: usize,
    flags: c_uint,
) -> cudaError_t {
    run(
        F::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        |call| {
            // The flag says whether the caches of multiprocessors are
            // considered.
            if flags > 1 {
                return Err(cudaError_t::INVALID_VALUE);
            }
            occupancy(call, blocks, func, block_size, dynamic_bytes)
        },
    )
}

pub(in crate::c_api) unsafe fn cudaOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    func: *const c_void,
    blocks: c_int,
    block_size: c_int,
) -> cudaError_t {
    run(F::cudaOccupancyAvailableDynamicSMemPerBlock, |call| {
        let out = not_null(bytes)?;
        let kernel = kernel(call, func)?;
        let found = call
            .runtime()
            .dynamic_shared_of_each(kernel, blocks, block_size)?;
        // SAFETY: as above.
        unsafe { write(out, found as usize) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaFuncGetName(
    name: *mut *const c_char,
    func: *const c_void,
) -> cudaError_t {
    run(F::cudaFuncGetName, |call| {
        let out = not_null(name)?;
        let kernel = kernel(call, func)?;
        let found = call.runtime().kernel_name(kernel)?.as_ptr();
        // SAFETY: as above.
        unsafe { write(out, found) };
        Ok(())
    })
}

/// Attributes of the launch, such as clusters and priorities, have no effect here.
pub(in crate::c_api) unsafe fn cudaLaunchKernelExC(
    config: *const cudaLaunchConfig_st,
    func: *const c_void,
    args: *mut *mut c_void,
) -> cudaError_t {
    run(F::cudaLaunchKernelExC, |call| {
        let device = call.thread.device;
        let config = not_null(config.cast_mut())?;
        // SAFETY: not null, and the program promises that it can be read.
        let config = unsafe { config.read_unaligned() };
        let given = cudaKernelNodeParams {
            func: func.cast_mut(),
            grid_dim: config.grid_dim,
            block_dim: config.block_dim,
            shared_mem_bytes: u32::try_from(config.dynamic_smem_bytes).unwrap_or(u32::MAX),
            kernel_params: args,
            extra: core::ptr::null_mut(),
        };
        // SAFETY: the program guarantees one pointer for each parameter.
        let (request, arguments) = unsafe { kernel_request(call, given)? };
        // Other launch functions return 9 for invalid launch dimensions.
        request.shape().ok_or(cudaError_t::INVALID_VALUE)?;
        call.runtime()
            .launch_kernel(&request, arguments, config.stream.0 as u64, device)
    })
}

pub(in crate::c_api) unsafe fn cudaLaunchCooperativeKernel(
    func: *const c_void,
    grid_dim: dim3,
    block_dim: dim3,
    args: *mut *mut c_void,
    shared_mem_bytes: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaLaunchCooperativeKernel, |call| {
        let device = call.thread.device;
        let given = launch_params(func, grid_dim, block_dim, shared_mem_bytes, args);
        // SAFETY: the program guarantees one pointer for each parameter.
        let (request, arguments) = unsafe { kernel_request(call, given)? };
        call.runtime().fits_at_once(&request)?;
        call.runtime()
            .launch_kernel(&request, arguments, stream.0 as u64, device)
    })
}
