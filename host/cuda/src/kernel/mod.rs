//! Kernels: loading them, and launching them into streams and graphs.
//!
//! A kernel is code that runs on the device and can write to any memory that the device
//! can reach, so [launching](Kernel::launch) one is unsafe. Three kernels are part of this
//! crate, and launching those is safe: [`SpinKernel`], [`NegatedSquares`] and [`NextRound`].

mod arguments;
mod cubin;
mod jit_log;
mod load;
mod negated_squares;
mod next_round;
mod spin;

use std::ptr;
use std::rc::Rc;

use cudart_ffi::ptx::{Parameter, PtxError, PtxHeader};
use cudart_ffi::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUresult, cudaError_t, cudaGraph_t, cudaGraphNode_t,
    cudaKernelNodeParams, dim3,
};

use arguments::Marshalled;
pub use arguments::{Argument, LaunchConfig};
pub(crate) use load::Module;
use load::{Function, Image, Way};
pub use load::{KernelRoute, RouteChoice};
pub use negated_squares::NegatedSquares;
pub use next_round::NextRound;
pub use spin::SpinKernel;

use crate::error::{CudaError, Result};
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::uses::Use;

/// A kernel could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A call refused it.
    #[error("{error}{}", jit_text(.log))]
    Cuda {
        /// The call's error.
        error: CudaError,
        /// What the just-in-time compiler wrote, if anything.
        log: String,
    },
    /// Neither way of loading it is there.
    #[error("this CUDA runtime cannot load PTX itself (12.8 and later can), and {0}")]
    NoRoute(String),
    /// The text or the name contains a NUL byte.
    #[error("the {0} contains a NUL byte")]
    Nul(&'static str),
    /// The text is not PTX, or its kernels' parameters cannot be read.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The text has no kernel of this name.
    #[error("the PTX has no kernel `{0}`")]
    NoEntry(String),
    /// It is not the kind of kernel that the function loads.
    #[error("the kernel `{name}` {why}")]
    Unsuitable {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

fn jit_text(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("; the compiler said: {log}")
    }
}

/// A loaded kernel.
///
/// The code stays loaded for as long as this value, a graph or exec that launches it, or an
/// unfinished launch needs it.
///
/// Launching it is unsafe, whatever it does:
///
/// ```compile_fail,E0133
/// use cuda_graphs::{Argument, Kernel, LaunchConfig, Result, Stream};
///
/// fn launch<'rt>(kernel: &Kernel<'rt>, stream: &Stream<'rt>) -> Result<()> {
///     kernel.launch(stream, LaunchConfig::new(1, 32), &[Argument::from(0_u64)])
/// }
/// ```
#[derive(Debug)]
pub struct Kernel<'rt> {
    module: Rc<Module<'rt>>,
    function: Function,
    name: String,
    parameters: Vec<Parameter>,
    is_machine_code: bool,
}

impl<'rt> Kernel<'rt> {
    /// Loads the kernel of this name from PTX. The device's context must be current
    /// ([`Device::make_current`](crate::Device::make_current)). No code runs on the device.
    ///
    /// The kernel's parameters are read from the PTX, and every launch is checked against
    /// them.
    ///
    /// # Errors
    ///
    /// - [`KernelError::Ptx`] for text that is not PTX, or whose kernels have parameters of
    ///   no known form.
    /// - [`KernelError::NoEntry`] for a name that is not there.
    /// - [`KernelError::NoRoute`] where neither the runtime nor the driver can load it.
    /// - [`KernelError::Cuda`] with 218 `cudaErrorInvalidPtx` for text that the driver
    ///   cannot compile, 222 `cudaErrorUnsupportedPtxVersion` for PTX newer than the
    ///   driver, 209 `cudaErrorNoKernelImageForDevice` for a target that the device is not.
    #[doc(alias = "cudaLibraryLoadData")]
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load(
        runtime: &'rt Runtime,
        ptx: &str,
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        let mut header = PtxHeader::parse(ptx)?;
        let entry = header.entries.iter().position(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| KernelError::NoEntry(name.to_owned()))?;
        let parameters = std::mem::take(&mut header.entries[entry].parameters);
        // A NUL at the end is no part of the text, for the reader above as for CUDA.
        let text = std::ffi::CString::new(ptx.trim_end_matches('\0'))
            .map_err(|_| KernelError::Nul("PTX"))?;
        Self::load_image(runtime, Image::Ptx(&text), name, parameters, choice)
    }

    /// Loads a kernel that is part of this crate.
    pub(crate) fn load_built_in(
        runtime: &'rt Runtime,
        ptx: &str,
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self> {
        match Self::load(runtime, ptx, name, choice) {
            Ok(kernel) => Ok(kernel),
            Err(KernelError::Cuda { error, log }) => {
                if !log.is_empty() {
                    log::error!("the PTX compiler said: {log}");
                }
                Err(error)
            }
            Err(other) => {
                let code = cudaError_t::NOT_SUPPORTED;
                Err(runtime.refusal("cudaLibraryLoadData", code, other.to_string()))
            }
        }
    }

    /// Loads the kernel of this name from machine code: a cubin as ptxas writes it. The
    /// device's context must be current. Nothing is compiled.
    ///
    /// Machine code does not say in a documented form what parameters its kernels have, so
    /// the caller does, and launches are checked against that. That it is true is not
    /// checked.
    ///
    /// # Errors
    ///
    /// - [`KernelError::NoRoute`] where neither the runtime nor the driver can load it.
    /// - [`KernelError::Cuda`] with 200 `cudaErrorInvalidKernelImage` or 209
    ///   `cudaErrorNoKernelImageForDevice` for code of another architecture or from a ptxas
    ///   newer than the driver, 500 `cudaErrorSymbolNotFound` for a name that is not there.
    ///
    /// # Safety
    ///
    /// `cubin` must be a whole ELF file that a compiler of NVIDIA's wrote: the driver reads
    /// as far as the file's own tables say. Its kernel must have these parameters.
    #[doc(alias = "cudaLibraryLoadData")]
    #[doc(alias = "cuModuleLoadDataEx")]
    pub unsafe fn load_cubin(
        runtime: &'rt Runtime,
        cubin: &[u8],
        name: &str,
        parameters: Vec<Parameter>,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        Self::load_image(runtime, Image::Cubin(cubin), name, parameters, choice)
    }

    fn load_image(
        runtime: &'rt Runtime,
        image: Image<'_>,
        name: &str,
        parameters: Vec<Parameter>,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        let c_name = std::ffi::CString::new(name).map_err(|_| KernelError::Nul("kernel's name"))?;
        let way = Way::choose(runtime, choice)?;
        let (module, function) = Module::load(runtime, way, image, &c_name)
            .map_err(|(error, log)| KernelError::Cuda { error, log })?;
        Ok(Self {
            module: Rc::new(module),
            function,
            name: name.to_owned(),
            parameters,
            is_machine_code: matches!(image, Image::Cubin(_)),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters in order. A launch passes one argument for each.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The way in which it was loaded.
    #[must_use]
    pub fn route(&self) -> KernelRoute {
        self.module.route()
    }

    /// How it was loaded, as text: `cudaLibraryLoadData`, or `cudaLibraryLoadData, as
    /// machine code`.
    #[must_use]
    pub fn loaded_by(&self) -> String {
        let form = if self.is_machine_code {
            ", as machine code"
        } else {
            ""
        };
        format!("{}{form}", self.route())
    }

    /// Launches the kernel into a stream. It stays loaded until the launch has ended, also
    /// if this value is dropped before.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` if the arguments are not those that the kernel's
    ///   parameters require.
    /// - 9 `cudaErrorInvalidConfiguration` for a grid or a block that the device does not
    ///   allow.
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`].
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where
    ///   [`Capture::launch`](crate::Capture::launch) launches.
    ///
    /// # Safety
    ///
    /// With these arguments the kernel must access only memory of the device, within what
    /// is allocated there for as long as the kernel runs. What it writes must be memory
    /// that its caller may change. A kernel can reach the host's memory too: what is pinned
    /// or managed, and all of it on systems with heterogeneous memory management.
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "cuLaunchKernel")]
    pub unsafe fn launch(
        &self,
        stream: &Stream<'rt>,
        config: LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        const CALL: &str = "cudaLaunchKernel";
        self.runtime().same(stream.runtime, CALL, "stream")?;
        stream.not_captured(CALL)?;
        stream.keep_one(&self.uses());
        self.enqueue(stream, config, arguments)
    }

    pub(crate) fn runtime(&self) -> &'rt Runtime {
        self.module.runtime()
    }

    /// What has to stay loaded for as long as something names the kernel.
    pub(crate) fn uses(&self) -> Use<'rt> {
        Use::Code(Rc::clone(&self.module))
    }

    /// Launches the kernel into a stream of this runtime, or into its capture. The caller
    /// keeps what it [uses](Self::uses).
    pub(crate) fn enqueue(
        &self,
        stream: &Stream<'rt>,
        config: LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let mut marshalled = self.marshal("cudaLaunchKernel", arguments)?;
        let mut pointers = marshalled.pointers();
        let (grid, block) = (config.grid, config.block);
        let (call, code) = match self.function {
            Function::Runtime(kernel) => {
                // SAFETY: the kernel is loaded and the stream is live. The arguments are
                // those of the kernel's parameters, in number and in size, and the call
                // copies them. What the kernel accesses is the promise of whoever launches.
                let code = unsafe {
                    self.runtime().api.cudaLaunchKernel(
                        kernel.0.cast_const(),
                        dimensions(grid),
                        dimensions(block),
                        pointers.as_mut_ptr(),
                        config.shared_bytes as usize,
                        stream.raw,
                    )
                };
                ("cudaLaunchKernel", code)
            }
            Function::Driver(driver, function) => {
                // SAFETY: as above; a runtime stream is a driver stream.
                let code = unsafe {
                    driver.cuLaunchKernel(
                        function,
                        grid[0],
                        grid[1],
                        grid[2],
                        block[0],
                        block[1],
                        block[2],
                        config.shared_bytes,
                        stream.raw,
                        pointers.as_mut_ptr(),
                        ptr::null_mut(),
                    )
                };
                ("cuLaunchKernel", same_code(code))
            }
        };
        self.runtime()
            .check(call, code)
            .inspect_err(|_| self.module.report_log())
    }

    /// Adds a node to a graph of this runtime, after nodes of it. The caller keeps what the
    /// kernel [uses](Self::uses).
    pub(crate) fn add_node(
        &self,
        graph: cudaGraph_t,
        after: &[cudaGraphNode_t],
        config: LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<cudaGraphNode_t> {
        let mut marshalled = self.marshal("cudaGraphAddKernelNode", arguments)?;
        let mut pointers = marshalled.pointers();
        let mut raw = cudaGraphNode_t::NULL;
        let (grid, block) = (config.grid, config.block);
        let (call, code) = match self.function {
            Function::Runtime(kernel) => {
                let params = cudaKernelNodeParams {
                    func: kernel.0,
                    grid_dim: dimensions(grid),
                    block_dim: dimensions(block),
                    shared_mem_bytes: config.shared_bytes,
                    kernel_params: pointers.as_mut_ptr(),
                    extra: ptr::null_mut(),
                };
                // SAFETY: the graph is live and the dependencies are nodes of it. The
                // kernel is loaded; the arguments are those of its parameters, in number
                // and in size, and the call copies them. The pointers are valid for its
                // reads and writes.
                let code = unsafe {
                    self.runtime().api.cudaGraphAddKernelNode(
                        &raw mut raw,
                        graph,
                        after.as_ptr(),
                        after.len(),
                        &raw const params,
                    )
                };
                ("cudaGraphAddKernelNode", code)
            }
            Function::Driver(driver, func) => {
                let params = CUDA_KERNEL_NODE_PARAMS_v1 {
                    func,
                    grid_dim_x: grid[0],
                    grid_dim_y: grid[1],
                    grid_dim_z: grid[2],
                    block_dim_x: block[0],
                    block_dim_y: block[1],
                    block_dim_z: block[2],
                    shared_mem_bytes: config.shared_bytes,
                    kernel_params: pointers.as_mut_ptr(),
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
        self.runtime()
            .check(call, code)
            .inspect_err(|_| self.module.report_log())?;
        Ok(raw)
    }

    fn marshal<'a>(
        &self,
        call: &'static str,
        arguments: &'a [Argument<'_>],
    ) -> Result<Marshalled<'a>> {
        Marshalled::new(arguments, &self.parameters).map_err(|why| {
            let why = format!("{}: {why}", self.name);
            self.runtime()
                .refusal(call, cudaError_t::INVALID_VALUE, why)
        })
    }
}

fn dimensions([x, y, z]: [u32; 3]) -> dim3 {
    dim3 { x, y, z }
}

/// The driver's codes for these calls have the runtime's numbers.
fn same_code(code: CUresult) -> cudaError_t {
    cudaError_t(code.0)
}
