//! The two ways to load a kernel, and the code that is loaded.
//!
//! Runtimes of 12.8 and later load PTX themselves and take the kernel's handle as a node's
//! function. Before that the driver loads it, and adds the node to the same graph handle.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::fmt;
use std::ptr;

use cudart_ffi::driver::{DriverFunctions, load_driver};
use cudart_ffi::{CUfunction, CUmodule, cudaError_t, cudaKernel_t, cudaLibrary_t};

use super::jit_log::JitLog;
use super::{KernelError, same_code};
use crate::error::{CudaError, Result};
use crate::runtime::Runtime;

/// The way in which a kernel is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouteChoice {
    /// By the runtime where it can, else by the driver.
    #[default]
    Auto,
    /// By the runtime (`cudaLibraryLoadData`) or not at all.
    Runtime,
    /// By the driver, also where the runtime can.
    Driver,
}

/// The way in which a kernel was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelRoute {
    /// `cudaLibraryLoadData` and `cudaGraphAddKernelNode`.
    Runtime,
    /// `cuModuleLoadDataEx` and the plain `cuGraphAddKernelNode`.
    Driver,
}

impl From<KernelRoute> for RouteChoice {
    fn from(route: KernelRoute) -> Self {
        match route {
            KernelRoute::Runtime => Self::Runtime,
            KernelRoute::Driver => Self::Driver,
        }
    }
}

impl fmt::Display for KernelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runtime => "cudaLibraryLoadData",
            Self::Driver => "cuModuleLoadDataEx",
        })
    }
}

/// The form of the code that is loaded. CUDA finds the end of either form by itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum Image<'i> {
    /// PTX, which the driver compiles or finds compiled in its cache. It has been read as
    /// PTX, so it does not begin like one of the driver's binary formats.
    Ptx(&'i CStr),
    /// Machine code: a whole ELF file of NVIDIA's.
    Cubin(&'i [u8]),
}

impl Image<'_> {
    fn as_ptr(self) -> *const c_void {
        match self {
            Self::Ptx(text) => text.as_ptr().cast(),
            Self::Cubin(file) => file.as_ptr().cast(),
        }
    }
}

/// A way that is there.
#[derive(Debug)]
pub(super) enum Way {
    Runtime,
    Driver(DriverFunctions),
}

impl Way {
    pub(super) fn choose(runtime: &Runtime, choice: RouteChoice) -> Result<Self, KernelError> {
        let has_own = runtime.api.exports("cudaLibraryLoadData")
            && runtime.api.exports("cudaLibraryGetKernel")
            && runtime.api.exports("cudaLibraryUnload");
        let no_route = |why: &str| Err(KernelError::NoRoute(why.to_owned()));
        match choice {
            RouteChoice::Runtime | RouteChoice::Auto if has_own => Ok(Self::Runtime),
            RouteChoice::Runtime => no_route("loading it by the driver was not allowed"),
            // The driver would take the simulated runtime's handles for its own.
            RouteChoice::Auto | RouteChoice::Driver if runtime.model_description().is_some() => {
                no_route("the simulated runtime has no driver")
            }
            RouteChoice::Auto | RouteChoice::Driver => {
                // SAFETY: the runtime has loaded the library of this name, or would.
                let driver = unsafe { load_driver() }.map_err(KernelError::NoRoute)?;
                Ok(Self::Driver(driver))
            }
        }
    }
}

/// Loaded code, until the last owner drops it.
///
/// The compiler may run as late as the first launch, so the log's buffer lives as long as
/// the code is loaded.
#[derive(Debug)]
pub(crate) struct Module<'rt> {
    runtime: &'rt Runtime,
    handle: Handle,
    log: JitLog,
}

#[derive(Debug)]
enum Handle {
    Runtime(cudaLibrary_t),
    Driver(DriverFunctions, CUmodule),
}

/// A kernel of a module, as the way in which it was loaded names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    Runtime(cudaKernel_t),
    Driver(DriverFunctions, CUfunction),
}

impl<'rt> Module<'rt> {
    /// Loads the code and looks the kernel up. If that fails, what was loaded is unloaded;
    /// the error comes with the compiler's log.
    pub(super) fn load(
        runtime: &'rt Runtime,
        way: Way,
        image: Image<'_>,
        name: &CStr,
    ) -> Result<(Self, Function), (CudaError, String)> {
        let log = JitLog::new();
        let handle = match way {
            Way::Runtime => load_library(runtime, image, &log),
            Way::Driver(driver) => load_module(runtime, driver, image, &log),
        };
        let handle = match handle {
            Ok(handle) => handle,
            // Nothing is loaded, so nothing writes to the log any more.
            Err(error) => return Err((error, log.text())),
        };
        let module = Self {
            runtime,
            handle,
            log,
        };
        match module.function(name) {
            Ok(function) => Ok((module, function)),
            Err(error) => {
                let log = module.log.text();
                Err((error, log))
            }
        }
    }

    pub(crate) fn runtime(&self) -> &'rt Runtime {
        self.runtime
    }

    pub(super) fn route(&self) -> KernelRoute {
        match self.handle {
            Handle::Runtime(_) => KernelRoute::Runtime,
            Handle::Driver(..) => KernelRoute::Driver,
        }
    }

    pub(super) fn report_log(&self) {
        self.log.report();
    }

    fn function(&self, name: &CStr) -> Result<Function> {
        let name: *const c_char = name.as_ptr();
        match self.handle {
            Handle::Runtime(library) => {
                let mut kernel = cudaKernel_t::NULL;
                let api = &self.runtime.api;
                // SAFETY: the library is loaded; the name is NUL-terminated.
                let code = unsafe { api.cudaLibraryGetKernel(&raw mut kernel, library, name) };
                check_optional(self.runtime, "cudaLibraryGetKernel", code)?;
                Ok(Function::Runtime(kernel))
            }
            Handle::Driver(driver, module) => {
                let mut function = CUfunction(ptr::null_mut());
                // SAFETY: the module is loaded; the name is NUL-terminated.
                let code = unsafe { driver.cuModuleGetFunction(&raw mut function, module, name) };
                self.runtime.check("cuModuleGetFunction", same_code(code))?;
                Ok(Function::Driver(driver, function))
            }
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let (call, code) = match self.handle {
            Handle::Runtime(library) => {
                // SAFETY: the library is loaded, and this ends its life. Every graph, exec
                // and stream that uses its kernels is an owner, so none is left.
                let code = unsafe { self.runtime.api.cudaLibraryUnload(library) };
                ("cudaLibraryUnload", code.unwrap_or(cudaError_t::SUCCESS))
            }
            Handle::Driver(driver, module) => {
                // SAFETY: as above.
                let code = unsafe { driver.cuModuleUnload(module) };
                ("cuModuleUnload", same_code(code))
            }
        };
        if !code.is_success() {
            // It may still be loaded, and with it the log's buffer in use.
            self.log.leave();
        }
        self.runtime.note_closed(call, code);
    }
}

fn load_library(runtime: &Runtime, image: Image<'_>, log: &JitLog) -> Result<Handle> {
    let (mut options, mut values) = log.options();
    let mut library = cudaLibrary_t::NULL;
    // SAFETY: the image is NUL-terminated PTX or a whole ELF file; options and values are
    // as many as said, and the log's buffer lives longer than the library.
    let code = unsafe {
        runtime.api.cudaLibraryLoadData(
            &raw mut library,
            image.as_ptr(),
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            options.len() as c_uint,
            ptr::null_mut(),
            ptr::null_mut(),
            0,
        )
    };
    check_optional(runtime, "cudaLibraryLoadData", code)?;
    Ok(Handle::Runtime(library))
}

fn load_module(
    runtime: &Runtime,
    driver: DriverFunctions,
    image: Image<'_>,
    log: &JitLog,
) -> Result<Handle> {
    let (mut options, mut values) = log.options();
    let mut module = CUmodule(ptr::null_mut());
    // SAFETY: the image is NUL-terminated PTX or a whole ELF file; options and values are
    // as many as said, and the log's buffer lives longer than the module. Without a current
    // context the call returns an error.
    let code = unsafe {
        driver.cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    runtime.check("cuModuleLoadDataEx", same_code(code))?;
    Ok(Handle::Driver(driver, module))
}

fn check_optional(runtime: &Runtime, call: &'static str, code: Option<cudaError_t>) -> Result<()> {
    runtime.check(call, code.unwrap_or(cudaError_t::NOT_SUPPORTED))
}
