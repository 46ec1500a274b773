//! A kernel from PTX text, and its way into a runtime graph.
//!
//! Runtimes of 12.8 and later load PTX themselves and take the kernel's handle
//! as a node's function. Before that the driver loads it, and adds the node to
//! the same graph handle.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::fmt;
use std::ptr;

use cudart_ffi::driver::{DriverFunctions, load_driver};
use cudart_ffi::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUfunction, CUmodule, CUresult, cudaError_t, cudaGraph_t,
    cudaGraphNode_t, cudaKernel_t, cudaKernelNodeParams, cudaLibrary_t, dim3,
};

use super::error::{CudaError, Result};
use super::jit_log::JitLog;
use super::runtime::Runtime;
use super::stream::Stream;

/// Threads of each block that is launched: a single warp, so that many kernels can run
/// at once on any device.
pub const BLOCK_THREADS: u32 = 32;

/// Which way to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouteChoice {
    /// The runtime's own where it has one, else the driver's.
    #[default]
    Auto,
    /// `cudaLibraryLoadData` or nothing.
    Runtime,
    /// The driver's calls, also where the runtime has its own.
    Driver,
}

/// The way that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelRoute {
    /// `cudaLibraryLoadData` and `cudaGraphAddKernelNode`.
    Runtime,
    /// `cuModuleLoadDataEx` and the plain `cuGraphAddKernelNode`.
    Driver,
}

impl fmt::Display for KernelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runtime => "cudaLibraryLoadData",
            Self::Driver => "cuModuleLoadDataEx",
        })
    }
}

/// What of a kernel is loaded.
#[derive(Debug, Clone, Copy)]
enum Image<'i> {
    /// Text, which the driver compiles or finds compiled in its cache.
    Ptx(&'i CStr),
    /// Machine code, an ELF file of NVIDIA's.
    Cubin(&'i [u8]),
}

impl Image<'_> {
    /// Either form tells its own length.
    fn as_ptr(self) -> *const c_void {
        match self {
            Self::Ptx(text) => text.as_ptr().cast(),
            Self::Cubin(file) => file.as_ptr().cast(),
        }
    }
}

/// A kernel could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A call refused it.
    #[error("{error}{}", jit_text(.log))]
    Cuda {
        /// The call's error.
        error: CudaError,
        /// What the just-in-time compiler wrote, if anything.
        log: String,
    },
    /// Neither way is there.
    #[error("this CUDA runtime cannot load PTX itself (12.8 and later can), and {0}")]
    NoRoute(String),
    /// The text or the name cannot be passed on.
    #[error("the {0} contains a NUL byte")]
    Nul(&'static str),
}

fn jit_text(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("; the compiler said: {log}")
    }
}

/// What a kernel is launched with.
#[derive(Debug, Clone, Copy)]
pub struct KernelLaunch<'a> {
    /// Blocks of [`BLOCK_THREADS`] threads.
    pub blocks: u32,
    /// One value a parameter.
    pub arguments: &'a [u64],
}

/// A loaded kernel whose parameters have 64 bits each.
#[derive(Debug)]
pub struct Kernel<'rt> {
    runtime: &'rt Runtime,
    loaded: Loaded,
    is_machine_code: bool,
    parameters: usize,
    log: JitLog,
}

#[derive(Debug)]
enum Loaded {
    Runtime {
        library: cudaLibrary_t,
        kernel: cudaKernel_t,
    },
    Driver {
        driver: DriverFunctions,
        module: CUmodule,
        function: CUfunction,
    },
}

impl<'rt> Kernel<'rt> {
    /// Loads the kernel of this name, which takes one 64-bit integer, from PTX. The
    /// device's context must be current.
    ///
    /// # Errors
    ///
    /// 218 for text that is no PTX, 222 for a PTX version newer than the driver,
    /// 209 for a target that the device is not, 500 for a name that is not there.
    pub fn load(
        runtime: &'rt Runtime,
        ptx: &str,
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        let ptx = CString::new(ptx).map_err(|_| KernelError::Nul("PTX"))?;
        Self::load_image(runtime, Image::Ptx(&ptx), name, choice)
    }

    /// Loads the kernel of this name, which takes one 64-bit integer, from machine
    /// code for this device: a cubin as ptxas writes it, whole. The device's context
    /// must be current. Nothing is compiled.
    ///
    /// # Errors
    ///
    /// 200 or 209 for code of another architecture or from a ptxas newer than the
    /// driver, 500 for a name that is not there.
    pub fn load_cubin(
        runtime: &'rt Runtime,
        cubin: &[u8],
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        Self::load_image(runtime, Image::Cubin(cubin), name, choice)
    }

    fn load_image(
        runtime: &'rt Runtime,
        image: Image<'_>,
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        let name = CString::new(name).map_err(|_| KernelError::Nul("kernel's name"))?;
        let log = JitLog::new();
        let has_own = runtime.api.exports("cudaLibraryLoadData")
            && runtime.api.exports("cudaLibraryGetKernel")
            && runtime.api.exports("cudaLibraryUnload");
        let loaded = match choice {
            RouteChoice::Runtime | RouteChoice::Auto if has_own => {
                load_with_runtime(runtime, image, &name, &log)
            }
            RouteChoice::Runtime => {
                return Err(KernelError::NoRoute(
                    "the driver's way was not to be taken".to_owned(),
                ));
            }
            RouteChoice::Auto | RouteChoice::Driver => {
                let driver = load_driver().map_err(KernelError::NoRoute)?;
                load_with_driver(runtime, driver, image, &name, &log)
            }
        };
        match loaded {
            Ok(loaded) => Ok(Self {
                runtime,
                loaded,
                is_machine_code: matches!(image, Image::Cubin(_)),
                parameters: 1,
                log,
            }),
            Err(error) => Err(KernelError::Cuda {
                error,
                log: log.text(),
            }),
        }
    }

    /// The way that was taken.
    #[must_use]
    pub fn route(&self) -> KernelRoute {
        match self.loaded {
            Loaded::Runtime { .. } => KernelRoute::Runtime,
            Loaded::Driver { .. } => KernelRoute::Driver,
        }
    }

    /// The way that was taken, and with what, for people: `cudaLibraryLoadData`, or
    /// `cudaLibraryLoadData, as machine code`.
    #[must_use]
    pub fn loaded_by(&self) -> String {
        let form = if self.is_machine_code {
            ", as machine code"
        } else {
            ""
        };
        format!("{}{form}", self.route())
    }

    /// Loads another kernel the way that this one was loaded.
    ///
    /// # Errors
    ///
    /// As [`Kernel::load`].
    pub fn load_beside(&self, ptx: &CStr, name: &CStr, parameters: usize) -> Result<Self> {
        let log = JitLog::new();
        let loaded = match &self.loaded {
            Loaded::Runtime { .. } => load_with_runtime(self.runtime, Image::Ptx(ptx), name, &log),
            Loaded::Driver { driver, .. } => {
                load_with_driver(self.runtime, *driver, Image::Ptx(ptx), name, &log)
            }
        };
        let loaded = loaded.inspect_err(|_| log.report())?;
        Ok(Self {
            runtime: self.runtime,
            loaded,
            is_machine_code: false,
            parameters,
            log,
        })
    }

    /// Launches the kernel into a stream.
    ///
    /// # Errors
    ///
    /// 1 for more or fewer arguments than the kernel has parameters, 900 while the
    /// stream is captured: [`Capture::launch`](super::Capture::launch) does that.
    #[doc(alias = "cudaLaunchKernel")]
    pub fn launch(&self, stream: &Stream<'rt>, launch: KernelLaunch<'_>) -> Result<()> {
        if stream.is_captured() {
            return Err(stream.captured("cudaLaunchKernel"));
        }
        self.launch_into(stream, launch)
    }

    /// Launches the kernel into a stream, or into its capture.
    pub(super) fn launch_into(&self, stream: &Stream<'rt>, launch: KernelLaunch<'_>) -> Result<()> {
        let mut values = self.values("cudaLaunchKernel", launch)?;
        let mut arguments = pointers(&mut values);
        let (call, code) = match &self.loaded {
            Loaded::Runtime { kernel, .. } => {
                // SAFETY: the kernel is loaded as long as this value and has as many
                // 64-bit parameters as there are arguments, which the call copies;
                // the stream is alive.
                let code = unsafe {
                    self.runtime.api.cudaLaunchKernel(
                        kernel.0.cast_const(),
                        dim3::linear(launch.blocks),
                        dim3::linear(BLOCK_THREADS),
                        arguments.as_mut_ptr(),
                        0,
                        stream.raw,
                    )
                };
                ("cudaLaunchKernel", code)
            }
            Loaded::Driver {
                driver, function, ..
            } => {
                // SAFETY: as above; a runtime stream is a driver stream.
                let code = unsafe {
                    driver.cuLaunchKernel(
                        *function,
                        launch.blocks,
                        1,
                        1,
                        BLOCK_THREADS,
                        1,
                        1,
                        0,
                        stream.raw,
                        arguments.as_mut_ptr(),
                        ptr::null_mut(),
                    )
                };
                ("cuLaunchKernel", same_code(code))
            }
        };
        self.runtime
            .check(call, code)
            .inspect_err(|_| self.log.report())
    }

    /// The arguments, as many as there are parameters.
    fn values(&self, call: &'static str, launch: KernelLaunch<'_>) -> Result<Vec<u64>> {
        if launch.arguments.len() == self.parameters {
            Ok(launch.arguments.to_vec())
        } else {
            Err(self.runtime.failure(call, cudaError_t::INVALID_VALUE))
        }
    }

    pub(super) fn add_node(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        launch: KernelLaunch<'_>,
    ) -> Result<cudaGraphNode_t> {
        let mut values = self.values("cudaGraphAddKernelNode", launch)?;
        let mut arguments = pointers(&mut values);
        let mut raw = cudaGraphNode_t::NULL;
        let (call, code) = match &self.loaded {
            Loaded::Runtime { kernel, .. } => {
                let params = cudaKernelNodeParams {
                    func: kernel.0,
                    grid_dim: dim3::linear(launch.blocks),
                    block_dim: dim3::linear(BLOCK_THREADS),
                    shared_mem_bytes: 0,
                    kernel_params: arguments.as_mut_ptr(),
                    extra: ptr::null_mut(),
                };
                // SAFETY: graph and dependencies are alive; the kernel is loaded as
                // long as this value and has as many 64-bit parameters as there are
                // arguments, which the call copies; the pointers are valid for its
                // reads and writes.
                let code = unsafe {
                    self.runtime.api.cudaGraphAddKernelNode(
                        &raw mut raw,
                        graph,
                        after.as_ptr(),
                        after.len(),
                        &raw const params,
                    )
                };
                ("cudaGraphAddKernelNode", code)
            }
            Loaded::Driver {
                driver, function, ..
            } => {
                let params = CUDA_KERNEL_NODE_PARAMS_v1 {
                    func: *function,
                    grid_dim_x: launch.blocks,
                    grid_dim_y: 1,
                    grid_dim_z: 1,
                    block_dim_x: BLOCK_THREADS,
                    block_dim_y: 1,
                    block_dim_z: 1,
                    shared_mem_bytes: 0,
                    kernel_params: arguments.as_mut_ptr(),
                    extra: ptr::null_mut(),
                };
                // SAFETY: as above; a runtime graph is a driver graph.
                let code = unsafe {
                    driver.cuGraphAddKernelNode(
                        &raw mut raw,
                        graph,
                        after.as_ptr(),
                        after.len(),
                        &raw const params,
                    )
                };
                ("cuGraphAddKernelNode", same_code(code))
            }
        };
        self.runtime
            .check(call, code)
            .inspect_err(|_| self.log.report())?;
        Ok(raw)
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        let (call, code) = match &self.loaded {
            Loaded::Runtime { library, .. } => {
                // SAFETY: the library is loaded, and this ends its life. Graphs and
                // execs borrow the kernels that they launch, so none is left.
                let code = unsafe { self.runtime.api.cudaLibraryUnload(*library) };
                ("cudaLibraryUnload", code.unwrap_or(cudaError_t::SUCCESS))
            }
            Loaded::Driver { driver, module, .. } => {
                // SAFETY: as above.
                let code = unsafe { driver.cuModuleUnload(*module) };
                ("cuModuleUnload", same_code(code))
            }
        };
        if code != cudaError_t::SUCCESS {
            self.log.leave();
        }
        self.runtime.note_closed(call, code);
    }
}

fn load_with_runtime(
    runtime: &Runtime,
    image: Image<'_>,
    name: &CStr,
    log: &JitLog,
) -> Result<Loaded> {
    let (mut options, mut values) = log.options();
    let mut library = cudaLibrary_t::NULL;
    // SAFETY: the code is NUL-terminated PTX or a whole ELF file; options and values
    // are as many as said, and the log's buffer lives longer than the library.
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
    let mut kernel = cudaKernel_t::NULL;
    // SAFETY: the library is loaded; the name is NUL-terminated.
    let code = unsafe {
        runtime
            .api
            .cudaLibraryGetKernel(&raw mut kernel, library, name.as_ptr())
    };
    match check_optional(runtime, "cudaLibraryGetKernel", code) {
        Ok(()) => Ok(Loaded::Runtime { library, kernel }),
        Err(error) => {
            // SAFETY: the library is loaded, and nothing uses it.
            unsafe { runtime.api.cudaLibraryUnload(library) };
            Err(error)
        }
    }
}

fn load_with_driver(
    runtime: &Runtime,
    driver: DriverFunctions,
    image: Image<'_>,
    name: &CStr,
    log: &JitLog,
) -> Result<Loaded> {
    let (mut options, mut values) = log.options();
    let mut module = CUmodule(ptr::null_mut());
    // SAFETY: the image is NUL-terminated PTX or a whole ELF file; options and values
    // are as many as said; the caller made the primary context current.
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
    let mut function = CUfunction(ptr::null_mut());
    let name: *const c_char = name.as_ptr();
    // SAFETY: the module is loaded; the name is NUL-terminated.
    let code = unsafe { driver.cuModuleGetFunction(&raw mut function, module, name) };
    match runtime.check("cuModuleGetFunction", same_code(code)) {
        Ok(()) => Ok(Loaded::Driver {
            driver,
            module,
            function,
        }),
        Err(error) => {
            // SAFETY: the module is loaded, and nothing uses it.
            unsafe { driver.cuModuleUnload(module) };
            Err(error)
        }
    }
}

/// One pointer a value, as the calls take them.
fn pointers(values: &mut [u64]) -> Vec<*mut c_void> {
    values
        .iter_mut()
        .map(|value| (&raw mut *value).cast())
        .collect()
}

fn check_optional(runtime: &Runtime, call: &'static str, code: Option<cudaError_t>) -> Result<()> {
    runtime.check(call, code.unwrap_or(cudaError_t::NOT_SUPPORTED))
}

/// The driver's codes for these calls have the runtime's numbers.
fn same_code(code: CUresult) -> cudaError_t {
    cudaError_t(code.0)
}
