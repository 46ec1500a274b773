//! A kernel that reads and writes, to see that data arrives.

use super::{Argument, Kernel, LaunchConfig, RouteChoice};
use crate::capture::Capture;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::region::Region;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// Threads of each block.
const THREADS: u32 = 32;

/// A kernel that reads `x` and writes `-(x * x)`, for each of so many 32-bit integers at the
/// beginning of a region, one thread each.
///
/// Launching it is safe: the regions are checked to have room for the integers.
#[derive(Debug)]
pub struct NegatedSquares<'rt>(Kernel<'rt>);

impl<'rt> NegatedSquares<'rt> {
    const PTX: &'static str = include_str!("../../../../kernels-rs/ptx/negated_squares.ptx");

    /// Loads the kernel. The device's context must be current.
    ///
    /// # Errors
    ///
    /// The calls' errors that [`Kernel::load`] names, and 801 `cudaErrorNotSupported` where
    /// neither the runtime nor the driver can load PTX.
    pub fn load(runtime: &'rt Runtime, choice: RouteChoice) -> Result<Self> {
        Kernel::load_built_in(runtime, Self::PTX, "negated_squares", choice).map(Self)
    }

    /// Launches the kernel into a stream.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` where a region has no room for so many integers, or is
    ///   graph memory that is not allocated now.
    /// - 400 `cudaErrorInvalidResourceHandle` for a handle of another [`Runtime`].
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where
    ///   [`Capture::negated_squares`] launches.
    #[doc(alias = "cudaLaunchKernel")]
    pub fn launch(
        &self,
        stream: &Stream<'rt>,
        from: &Region<'rt>,
        to: &Region<'rt>,
        count: u32,
    ) -> Result<()> {
        for region in [from, to] {
            region.check_now(self.0.runtime(), "cudaLaunchKernel", bytes(count))?;
            if let Some(memory) = region.uses() {
                stream.keep_one(&memory);
            }
        }
        // SAFETY: the kernel reads and writes so many integers of regions that have room
        // for them; the stream keeps buffers until the launch has ended, and graph memory
        // is allocated now and freed in the order of a stream.
        unsafe {
            let arguments = arguments(from, to, count);
            self.0.launch(stream, config(count), &arguments)
        }
    }
}

impl<'rt> Graph<'rt> {
    /// Adds a node that launches the kernel. The graph keeps the memory of buffers.
    ///
    /// # Errors
    ///
    /// As [`Graph::add_kernel`]; 1 `cudaErrorInvalidValue` where a region has no room for
    /// so many integers.
    #[doc(alias = "cudaGraphAddKernelNode")]
    pub fn add_negated_squares<'g>(
        &'g self,
        after: &[Node<'g>],
        kernel: &NegatedSquares<'rt>,
        (from, to): (&Region<'rt>, &Region<'rt>),
        count: u32,
    ) -> Result<Node<'g>> {
        for region in [from, to] {
            region.check(self.runtime, "cudaGraphAddKernelNode", bytes(count))?;
            if let Some(memory) = region.uses() {
                self.keep(&memory);
            }
        }
        // SAFETY: the kernel reads and writes so many integers of regions that have room
        // for them. The graph keeps buffers. Graph memory that is not allocated when the
        // kernel runs is at an address of the device that the driver reserves for such
        // memory: using it is error 700, and never touches the host's memory.
        unsafe {
            let arguments = arguments(from, to, count);
            self.add_kernel(after, &kernel.0, config(count), &arguments)
        }
    }
}

impl<'rt> Capture<'_, 'rt> {
    /// Captures a launch of the kernel. The graph keeps the memory of buffers.
    ///
    /// # Errors
    ///
    /// As [`Graph::add_negated_squares`].
    pub fn negated_squares(
        &mut self,
        kernel: &NegatedSquares<'rt>,
        (from, to): (&Region<'rt>, &Region<'rt>),
        count: u32,
    ) -> Result<()> {
        for region in [from, to] {
            region.check(kernel.0.runtime(), "cudaLaunchKernel", bytes(count))?;
            self.keep(region);
        }
        // SAFETY: as for a node of a graph.
        unsafe {
            let arguments = arguments(from, to, count);
            self.launch(&kernel.0, config(count), &arguments)
        }
    }
}

fn bytes(count: u32) -> u64 {
    u64::from(count) * size_of::<i32>() as u64
}

fn config(count: u32) -> LaunchConfig {
    LaunchConfig::new(count.div_ceil(THREADS), THREADS)
}

fn arguments(from: &Region<'_>, to: &Region<'_>, count: u32) -> [Argument<'static>; 3] {
    [
        Argument::from(from.address()),
        Argument::from(to.address()),
        Argument::from(u64::from(count)),
    ]
}
