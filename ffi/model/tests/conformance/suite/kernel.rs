//! The kernel with a spin time, loaded in a way that the runtime supports.

use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use std::ffi::CString;

use cudart_ffi::driver::{DriverFunctions, load_driver};
use cudart_ffi::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUfunction, CUmodule, Cudart, cudaDeviceAttr, cudaError_t,
    cudaGraph_t, cudaGraphNode_t, cudaKernel_t, cudaKernelNodeParams, cudaLibrary_t, dim3,
};

use super::program;

const PTX: &str = include_str!("../../../../../kernels-rs/ptx/clock_block.ptx");
const ENTRY: &CStr = c"clock_block";

/// The kernel `clock_block`, which can be added to graphs.
#[derive(Debug)]
pub struct BusyKernel {
    route: Route,
    clock_khz: i64,
}

#[derive(Debug)]
enum Route {
    /// Through `cudaLibraryLoadData`, with runtimes from 12.8 on.
    Runtime(cudaKernel_t),
    /// Through a module of the driver, which shares its graphs with the runtime.
    Driver(DriverFunctions, CUfunction),
}

impl BusyKernel {
    /// Loads the kernel for the current device. The device must be set and its context
    /// must exist.
    ///
    /// # Errors
    ///
    /// One line with the call that failed and its code.
    pub fn load(cudart: &Cudart, device: i32) -> Result<Self, String> {
        let mut clock_khz = 0;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe {
            cudart.cudaDeviceGetAttribute(&raw mut clock_khz, cudaDeviceAttr::CLOCK_RATE, device)
        };
        accept("cudaDeviceGetAttribute(clock rate)", code)?;
        let ptx = CString::new(PTX).map_err(|error| format!("the PTX: {error}"))?;
        let route = match load_library(cudart, &ptx)? {
            Some(kernel) => Route::Runtime(kernel),
            None => load_module(&ptx)?,
        };
        Ok(Self {
            route,
            clock_khz: clock_khz.into(),
        })
    }

    /// The way in which the kernel was loaded, for the recording's header.
    pub fn route(&self) -> &'static str {
        match self.route {
            Route::Runtime(_) => "cudaLibraryLoadData",
            Route::Driver(..) => "cuGraphAddKernelNode",
        }
    }

    /// Adds a kernel node. The code is that of the call.
    pub fn add_node(
        &self,
        cudart: &Cudart,
        node: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        (dependencies, dependency_count): (*const cudaGraphNode_t, usize),
        wanted: &program::Kernel,
    ) -> cudaError_t {
        let spin_us = i64::try_from(wanted.spin_us).unwrap_or(i64::MAX);
        let mut clocks = self.clock_khz.saturating_mul(spin_us) / 1000;
        let mut arguments = [(&raw mut clocks).cast::<c_void>()];
        let [grid, block] = [wanted.grid, wanted.block];
        match &self.route {
            Route::Runtime(kernel) => {
                let params = cudaKernelNodeParams {
                    func: if wanted.without_function {
                        null_mut()
                    } else {
                        kernel.0
                    },
                    grid_dim: dim3 {
                        x: grid[0],
                        y: grid[1],
                        z: grid[2],
                    },
                    block_dim: dim3 {
                        x: block[0],
                        y: block[1],
                        z: block[2],
                    },
                    shared_mem_bytes: wanted.shared,
                    kernel_params: arguments.as_mut_ptr(),
                    extra: null_mut(),
                };
                let params = if wanted.without_params {
                    null()
                } else {
                    &raw const params
                };
                // SAFETY: the parameters are null or point to local
                // variables that exist during the call, which copies the
                // argument. The handles are the program's.
                unsafe {
                    cudart.cudaGraphAddKernelNode(
                        node,
                        graph,
                        dependencies,
                        dependency_count,
                        params,
                    )
                }
            }
            Route::Driver(driver, function) => {
                let params = CUDA_KERNEL_NODE_PARAMS_v1 {
                    func: if wanted.without_function {
                        CUfunction(null_mut())
                    } else {
                        *function
                    },
                    grid_dim_x: grid[0],
                    grid_dim_y: grid[1],
                    grid_dim_z: grid[2],
                    block_dim_x: block[0],
                    block_dim_y: block[1],
                    block_dim_z: block[2],
                    shared_mem_bytes: wanted.shared,
                    kernel_params: arguments.as_mut_ptr(),
                    extra: null_mut(),
                };
                let params = if wanted.without_params {
                    null()
                } else {
                    &raw const params
                };
                // SAFETY: as above; the driver's codes are the same as the
                // runtime's here.
                cudaError_t(unsafe {
                    driver
                        .cuGraphAddKernelNode(node, graph, dependencies, dependency_count, params)
                        .0
                })
            }
        }
    }
}

fn accept(call: &str, code: cudaError_t) -> Result<(), String> {
    if code.is_success() {
        Ok(())
    } else {
        Err(format!("{call} -> {code:?}"))
    }
}

/// Loads the kernel through the runtime. `None` if this runtime cannot load PTX.
fn load_library(cudart: &Cudart, ptx: &CStr) -> Result<Option<cudaKernel_t>, String> {
    let mut library = cudaLibrary_t::NULL;
    // SAFETY: the PTX is NUL-terminated; no option is given.
    let loaded = unsafe {
        cudart.cudaLibraryLoadData(
            &raw mut library,
            ptx.as_ptr().cast(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0,
        )
    };
    let Some(code) = loaded else {
        return Ok(None);
    };
    accept("cudaLibraryLoadData", code)?;
    let mut kernel = cudaKernel_t::NULL;
    // SAFETY: the library was just loaded and the name is NUL-terminated.
    let code = unsafe { cudart.cudaLibraryGetKernel(&raw mut kernel, library, ENTRY.as_ptr()) };
    accept(
        "cudaLibraryGetKernel",
        code.unwrap_or(cudaError_t::SYMBOL_NOT_FOUND),
    )?;
    Ok(Some(kernel))
}

fn load_module(ptx: &CStr) -> Result<Route, String> {
    // SAFETY: the library of this name is the driver that the runtime uses.
    let driver = unsafe { load_driver() }?;
    let mut module = CUmodule(null_mut());
    // SAFETY: the PTX is NUL-terminated, no option is given, and the caller made
    // the primary context current.
    let code = unsafe {
        driver.cuModuleLoadDataEx(
            &raw mut module,
            ptx.as_ptr().cast(),
            0,
            null_mut(),
            null_mut(),
        )
    };
    accept("cuModuleLoadDataEx", cudaError_t(code.0))?;
    let mut function = CUfunction(null_mut());
    // SAFETY: the module was just loaded and the name is NUL-terminated.
    let code = unsafe { driver.cuModuleGetFunction(&raw mut function, module, ENTRY.as_ptr()) };
    accept("cuModuleGetFunction", cudaError_t(code.0))?;
    Ok(Route::Driver(driver, function))
}
