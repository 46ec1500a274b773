//! Modules, libraries, kernels, and the parameters of kernel nodes.

use core::ffi::{c_char, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::entry::Call;
use super::super::pointers::{not_null, string, write};
use super::entry::{Needs, as_runtime, run};
use crate::runtime::Outcome;

/// `CUDA_ERROR_INVALID_IMAGE`.
const INVALID_IMAGE: cudaError_t = cudaError_t(200);

pub(in crate::c_api) unsafe fn cuModuleLoadData(
    module: *mut CUmodule,
    image: *const c_void,
) -> CUresult {
    let (options, values) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: the caller guarantees it.
    unsafe { cuModuleLoadDataEx(module, image, 0, options, values) }
}

pub(in crate::c_api) unsafe fn cuModuleLoadDataEx(
    module: *mut CUmodule,
    image: *const c_void,
    num_options: c_uint,
    options: *mut CUjit_option,
    option_values: *mut *mut c_void,
) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(module)?;
        // SAFETY: the program promises code that can be read.
        let ptx = unsafe { runtime::ptx_of(image)? };
        // A text without a PTX directive counts as an invalid image (H200, driver
        // 580).
        if !ptx.contains(".version") {
            return Err(INVALID_IMAGE);
        }
        match call.runtime().module_load(&ptx) {
            Ok(handle) => {
                // SAFETY: not null, and the program promises that it can be written.
                unsafe { write(out, CUmodule(handle as *mut c_void)) };
                Ok(())
            }
            Err(refused) => {
                // SAFETY: the program guarantees arrays of this length, and
                // the buffer to which they point. The options have the same
                // values as the runtime's.
                unsafe {
                    runtime::log_error(options.cast(), option_values, num_options, &refused.log);
                }
                Err(refused.code)
            }
        }
    })
}

pub(in crate::c_api) unsafe fn cuModuleUnload(module: CUmodule) -> CUresult {
    run(Needs::Context, |call| {
        call.runtime().module_unload(module.0 as u64)
    })
}

pub(in crate::c_api) unsafe fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(function)?;
        // SAFETY: the program promises a NUL-terminated name.
        let name = unsafe { string(name)? };
        let found = call.runtime().module_function(module.0 as u64, &name);
        // If there is no such function, null is written (H200, driver 580).
        let handle = found.unwrap_or(0);
        // SAFETY: as above.
        unsafe { write(out, CUfunction(handle as *mut c_void)) };
        found.map(|_| ())
    })
}

pub(in crate::c_api) unsafe fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) -> CUresult {
    run(Needs::Init, |_| {
        let out = not_null(mode)?;
        // SAFETY: as above.
        unsafe { write(out, CUmoduleLoadingMode::LAZY) };
        Ok(())
    })
}

#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub(in crate::c_api) unsafe fn cuLibraryLoadData(
    library: *mut CUlibrary,
    code: *const c_void,
    jit_options: *mut CUjit_option,
    jit_options_values: *mut *mut c_void,
    num_jit_options: c_uint,
    library_options: *mut CUlibraryOption,
    library_option_values: *mut *mut c_void,
    num_library_options: c_uint,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it; the options are the same integers.
        unsafe {
            runtime::cudaLibraryLoadData(
                library,
                code,
                jit_options.cast(),
                jit_options_values,
                num_jit_options,
                library_options.cast(),
                library_option_values,
                num_library_options,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuLibraryUnload(library: CUlibrary) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaLibraryUnload(library) }
    })
}

pub(in crate::c_api) unsafe fn cuLibraryGetKernel(
    kernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaLibraryGetKernel(kernel, library, name) }
    })
}

pub(in crate::c_api) unsafe fn cuLibraryGetModule(
    loaded: *mut CUmodule,
    library: CUlibrary,
) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(loaded)?;
        let handle = call.runtime().library_module(library.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, CUmodule(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuKernelGetFunction(
    function: *mut CUfunction,
    kernel: CUkernel,
) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(function)?;
        let (handle, _) = call.runtime().kernel_function(kernel.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, CUfunction(handle as *mut c_void)) };
        Ok(())
    })
}

/// Writes the name of a kernel. The string is valid while its module is loaded.
///
/// # Safety
///
/// `name` must be null or valid for a write.
unsafe fn name_of(name: *mut *const c_char, handle: u64) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(name)?;
        let kernel = call.runtime().driver_kernel(handle)?;
        let text = call.runtime().kernel_name(kernel)?.as_ptr();
        // SAFETY: as above.
        unsafe { write(out, text) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuFuncGetName(
    name: *mut *const c_char,
    function: CUfunction,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { name_of(name, function.0 as u64) }
}

pub(in crate::c_api) unsafe fn cuKernelGetName(
    name: *mut *const c_char,
    function: CUkernel,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { name_of(name, function.0 as u64) }
}

#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub(in crate::c_api) unsafe fn cuLaunchKernel(
    function: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    stream: CUstream,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    let mut kernel = 0;
    let found = run(Needs::Context, |call| {
        if !extra.is_null() {
            // A packed argument buffer is not simulated.
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        kernel = call.runtime().driver_kernel(function.0 as u64)?;
        Ok(())
    });
    if !found.is_success() {
        return found;
    }
    let grid = dim3 {
        x: grid_dim_x,
        y: grid_dim_y,
        z: grid_dim_z,
    };
    let block = dim3 {
        x: block_dim_x,
        y: block_dim_y,
        z: block_dim_z,
    };
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaLaunchKernel(
                kernel as *const c_void,
                grid,
                block,
                kernel_params,
                shared_mem_bytes as usize,
                stream,
            )
        }
    })
}

/// Converts parameters of a kernel node in the driver's first version to those of the
/// runtime.
///
/// # Safety
///
/// `params` must be null or readable.
pub(super) unsafe fn given_params(
    call: &mut Call<'_>,
    params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Outcome<cudaKernelNodeParams> {
    let params = not_null(params.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    let given = unsafe { params.read_unaligned() };
    let mut all = CUDA_KERNEL_NODE_PARAMS_v2::zeroed();
    all.func = given.func;
    [all.grid_dim_x, all.grid_dim_y, all.grid_dim_z] =
        [given.grid_dim_x, given.grid_dim_y, given.grid_dim_z];
    [all.block_dim_x, all.block_dim_y, all.block_dim_z] =
        [given.block_dim_x, given.block_dim_y, given.block_dim_z];
    all.shared_mem_bytes = given.shared_mem_bytes;
    all.kernel_params = given.kernel_params;
    all.extra = given.extra;
    // SAFETY: the pointer is to a local variable.
    unsafe { given_params_v2(call, &raw const all) }
}

/// Converts parameters of a kernel node in the driver's second version to those of the
/// runtime.
///
/// # Safety
///
/// `params` must be null or readable.
pub(super) unsafe fn given_params_v2(
    call: &mut Call<'_>,
    params: *const CUDA_KERNEL_NODE_PARAMS_v2,
) -> Outcome<cudaKernelNodeParams> {
    let params = not_null(params.cast_mut())?;
    // SAFETY: not null, and valid as the caller guarantees.
    let given = unsafe { params.read_unaligned() };
    let handle = if given.func.is_null() {
        given.kern.0
    } else {
        given.func.0
    };
    let kernel = call.runtime().driver_kernel(handle as u64)?;
    Ok(cudaKernelNodeParams {
        func: kernel as *mut c_void,
        grid_dim: dim3 {
            x: given.grid_dim_x,
            y: given.grid_dim_y,
            z: given.grid_dim_z,
        },
        block_dim: dim3 {
            x: given.block_dim_x,
            y: given.block_dim_y,
            z: given.block_dim_z,
        },
        shared_mem_bytes: given.shared_mem_bytes,
        kernel_params: given.kernel_params,
        extra: given.extra,
    })
}

pub(in crate::c_api) unsafe fn cuGraphKernelNodeGetParams(
    node: CUgraphNode,
    node_params: *mut CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult {
    let mut all = CUDA_KERNEL_NODE_PARAMS_v2::zeroed();
    if node_params.is_null() {
        return CUresult::INVALID_VALUE;
    }
    // SAFETY: the pointer is to a local variable.
    let code = unsafe { cuGraphKernelNodeGetParams_v2(node, &raw mut all) };
    if code.is_success() {
        let params = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: all.func,
            grid_dim_x: all.grid_dim_x,
            grid_dim_y: all.grid_dim_y,
            grid_dim_z: all.grid_dim_z,
            block_dim_x: all.block_dim_x,
            block_dim_y: all.block_dim_y,
            block_dim_z: all.block_dim_z,
            shared_mem_bytes: all.shared_mem_bytes,
            kernel_params: all.kernel_params,
            extra: all.extra,
        };
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(node_params, params) };
    }
    code
}

pub(in crate::c_api) unsafe fn cuGraphKernelNodeGetParams_v2(
    node: CUgraphNode,
    node_params: *mut CUDA_KERNEL_NODE_PARAMS_v2,
) -> CUresult {
    let mut found = cudaKernelNodeParams::zeroed();
    let code = as_runtime(Needs::Init, || {
        // SAFETY: the pointer is to a local variable.
        unsafe { runtime::cudaGraphKernelNodeGetParams(node, &raw mut found) }
    });
    if !code.is_success() {
        return code;
    }
    run(Needs::Init, |call| {
        let out = not_null(node_params)?;
        let thread = call.thread.number;
        let runtime = call.runtime();
        let (function, of_library) = runtime.kernel_function(found.func as u64)?;
        let mut params = CUDA_KERNEL_NODE_PARAMS_v2::zeroed();
        params.func = CUfunction(function as *mut c_void);
        [params.grid_dim_x, params.grid_dim_y, params.grid_dim_z] =
            [found.grid_dim.x, found.grid_dim.y, found.grid_dim.z];
        [params.block_dim_x, params.block_dim_y, params.block_dim_z] =
            [found.block_dim.x, found.block_dim.y, found.block_dim.z];
        params.shared_mem_bytes = found.shared_mem_bytes;
        params.kernel_params = found.kernel_params;
        if of_library {
            params.kern = cudaKernel_t(found.func);
        }
        params.ctx = CUcontext(runtime.context_current(thread) as *mut c_void);
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, params) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuGraphKernelNodeSetParams(
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult {
    let mut params = cudaKernelNodeParams::zeroed();
    let read = run(Needs::Init, |call| {
        // SAFETY: the program promises parameters that can be read.
        params = unsafe { given_params(call, node_params)? };
        Ok(())
    });
    if !read.is_success() {
        return read;
    }
    let params = &raw const params;
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphKernelNodeSetParams(node, params) }
    })
}

pub(in crate::c_api) unsafe fn cuGraphKernelNodeSetParams_v2(
    node: CUgraphNode,
    node_params: *const CUDA_KERNEL_NODE_PARAMS_v2,
) -> CUresult {
    let mut params = cudaKernelNodeParams::zeroed();
    let read = run(Needs::Init, |call| {
        // SAFETY: the program promises parameters that can be read.
        params = unsafe { given_params_v2(call, node_params)? };
        Ok(())
    });
    if !read.is_success() {
        return read;
    }
    let params = &raw const params;
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaGraphKernelNodeSetParams(node, params) }
    })
}
