//! A kernel that keeps a stream busy for a given time.

use cudart_ffi::ptx::{Parameter, PtxHeader, Scalar};

use super::{Argument, Kernel, KernelError, KernelRoute, LaunchConfig, RouteChoice, cubin};
use crate::capture::Capture;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::runtime::Runtime;
use crate::stream::Stream;

/// One warp: many such kernels run at once on any device.
const ONE_WARP: LaunchConfig = LaunchConfig::new(1, 32);

/// A kernel that spins for at least as many clocks of its multiprocessor as its argument
/// says, in one block of 32 threads.
///
/// It accesses no memory, so launching it is safe. [`load`](Self::load) checks this for PTX
/// that somebody else has written.
///
/// ```
/// use cuda_graphs::{Device, RouteChoice, Runtime, SpinKernel, Stream};
///
/// let runtime = Runtime::built_in_model();
/// Device::new(&runtime, 0).make_current()?;
/// let spin = SpinKernel::load(&runtime, SpinKernel::PTX, SpinKernel::NAME, RouteChoice::Auto)?;
/// let stream = Stream::new(&runtime)?;
/// spin.launch(&stream, 1_000_000)?;
/// assert!(stream.is_busy()?);
/// drop(spin); // It is unloaded when the stream has finished.
/// stream.synchronize()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SpinKernel<'rt>(Kernel<'rt>);

impl<'rt> SpinKernel<'rt> {
    /// The PTX of such a kernel: for every device from compute capability 6.0 and every
    /// driver from CUDA 11.4 on.
    pub const PTX: &'static str = include_str!("../../../../kernels-rs/ptx/clock_block.ptx");

    /// The kernel's name in [`PTX`](Self::PTX).
    pub const NAME: &'static str = "clock_block";

    /// Loads the kernel of this name, which takes one 64-bit integer and accesses no
    /// memory. The device's context must be current.
    ///
    /// # Errors
    ///
    /// As [`Kernel::load`]; [`KernelError::Unsuitable`] for a kernel with other parameters,
    /// or one that could access memory: only instructions that work on registers are
    /// allowed.
    pub fn load(
        runtime: &'rt Runtime,
        ptx: &str,
        name: &str,
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        Self::check(&PtxHeader::parse(ptx)?, name)?;
        Kernel::load(runtime, ptx, name, choice).map(Self)
    }

    /// Whether the PTX with this header has a kernel of this name that [`load`](Self::load)
    /// takes, without loading it.
    ///
    /// # Errors
    ///
    /// [`KernelError::NoEntry`] and [`KernelError::Unsuitable`], as for [`load`](Self::load).
    pub fn check(header: &PtxHeader, name: &str) -> Result<(), KernelError> {
        let entry = header.entry(name);
        let entry = entry.ok_or_else(|| KernelError::NoEntry(name.to_owned()))?;
        let unsuitable = |why| {
            Err(KernelError::Unsuitable {
                name: name.to_owned(),
                why,
            })
        };
        match entry.parameters.as_slice() {
            [only] if only.is_64_bit_integer() => {}
            _ => return unsuitable("does not take one 64-bit integer"),
        }
        if !entry.accesses_no_memory() {
            return unsuitable(
                "has instructions that could access memory, which a kernel that only spins has not",
            );
        }
        Ok(())
    }

    /// Loads the kernel of [`PTX`](Self::PTX) on a device of this compute capability, which
    /// is current: from machine code that is part of this crate, where there is some that
    /// the device and the driver take, else from the PTX. Machine code saves the driver the
    /// compilation, a tenth of a second where no cache has it.
    ///
    /// # Errors
    ///
    /// As [`Kernel::load`].
    pub fn load_ready(
        runtime: &'rt Runtime,
        capability: (i32, i32),
        choice: RouteChoice,
    ) -> Result<Self, KernelError> {
        // The simulated runtime reads PTX alone.
        let code = match runtime.model_description() {
            None => cubin::clock_block(capability, runtime.driver_version()),
            Some(_) => None,
        };
        if let Some(code) = code {
            let clocks = Parameter {
                name: "clocks".to_owned(),
                scalar: Scalar::Unsigned(64),
                elements: None,
                align: None,
            };
            // SAFETY: the files are whole, and `cargo xtask ptxas` checks that they are
            // what ptxas makes of the PTX, whose kernel has this parameter.
            let kernel = unsafe {
                Kernel::load_cubin(runtime, code.cubin, Self::NAME, vec![clocks], choice)
            };
            match kernel {
                Ok(kernel) => return Ok(Self(kernel)),
                Err(error) => log::info!(
                    "the machine code for sm_{} was refused, so the driver compiles the PTX: {error}",
                    code.sm
                ),
            }
        }
        Self::load(runtime, Self::PTX, Self::NAME, choice)
    }

    /// The way in which it was loaded.
    #[must_use]
    pub fn route(&self) -> KernelRoute {
        self.0.route()
    }

    /// How it was loaded, as text: `cudaLibraryLoadData`, or `cudaLibraryLoadData, as
    /// machine code`.
    #[must_use]
    pub fn loaded_by(&self) -> String {
        self.0.loaded_by()
    }

    /// Launches the kernel into a stream.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`].
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where
    ///   [`Capture::spin`] launches.
    #[doc(alias = "cudaLaunchKernel")]
    pub fn launch(&self, stream: &Stream<'rt>, clocks: i64) -> Result<()> {
        // SAFETY: the kernel accesses no memory.
        unsafe { self.0.launch(stream, ONE_WARP, &[Argument::from(clocks)]) }
    }
}

impl<'rt> Graph<'rt> {
    /// Adds a node that spins for this many clocks.
    ///
    /// # Errors
    ///
    /// As [`Graph::add_kernel`].
    #[doc(alias = "cudaGraphAddKernelNode")]
    pub fn add_spin<'g>(
        &'g self,
        after: &[Node<'g>],
        spin: &SpinKernel<'rt>,
        clocks: i64,
    ) -> Result<Node<'g>> {
        // SAFETY: the kernel accesses no memory.
        unsafe { self.add_kernel(after, &spin.0, ONE_WARP, &[Argument::from(clocks)]) }
    }
}

impl<'rt> Capture<'_, 'rt> {
    /// Captures a launch of the kernel that spins for this many clocks.
    ///
    /// # Errors
    ///
    /// As [`Graph::add_kernel`].
    pub fn spin(&mut self, spin: &SpinKernel<'rt>, clocks: i64) -> Result<()> {
        // SAFETY: the kernel accesses no memory.
        unsafe { self.launch(&spin.0, ONE_WARP, &[Argument::from(clocks)]) }
    }
}
