//! Stream capture: calls in a stream become nodes of a graph (R17).

use std::ptr;

use cudart_ffi::{cudaError_t, cudaGraph_t, cudaStreamCaptureMode};

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::graph::{Frees, Graph};
use crate::kernel::{Argument, Kernel, LaunchConfig};
use crate::region::Region;
use crate::stream::Stream;
use crate::uses::Uses;

/// A stream that is being captured. Its calls become nodes of a graph. Meanwhile the
/// stream itself refuses to allocate, free, copy and launch, since that would become part
/// of the graph too.
///
/// If it is dropped, the capture ends and what was captured is destroyed. The stream
/// outlives its capture:
///
/// ```compile_fail,E0505
/// use cuda_graphs::{Runtime, Stream};
///
/// let runtime = Runtime::built_in_model();
/// let stream = Stream::new(&runtime)?;
/// let capture = stream.capture(0)?;
/// drop(stream);
/// capture.end()?;
/// # Ok::<(), cuda_graphs::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Capture<'s, 'rt> {
    stream: &'s Stream<'rt>,
    device: i32,
    frees: Frees,
    uses: Uses<'rt>,
    is_over: bool,
}

impl<'rt> Stream<'rt> {
    /// Begins to capture the stream. `device` is the ordinal of the stream's device.
    ///
    /// ```
    /// use cuda_graphs::{Runtime, Stream};
    ///
    /// let runtime = Runtime::built_in_model();
    /// let stream = Stream::new(&runtime)?;
    /// let mut capture = stream.capture(0)?;
    /// let scratch = capture.allocate(64 << 20)?;
    /// capture.free(scratch.address())?;
    /// let exec = capture.end()?.instantiate()?;
    /// let launched = exec.launch(&stream)?;
    /// assert!(launched.live.is_empty(), "the graph frees what it allocates");
    /// stream.synchronize()?;
    /// # Ok::<(), cuda_graphs::CudaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// 401 `cudaErrorIllegalState` for a stream that is captured already.
    #[doc(alias = "cudaStreamBeginCapture")]
    pub fn capture(&self, device: i32) -> Result<Capture<'_, 'rt>> {
        if self.captured.get() {
            let why = "the stream is captured already";
            let twice = cudaError_t::ILLEGAL_STATE;
            return Err(self.runtime.refusal("cudaStreamBeginCapture", twice, why));
        }
        // Other threads go on as they like.
        let mode = cudaStreamCaptureMode::THREAD_LOCAL;
        // SAFETY: the stream is live.
        let code = unsafe { self.runtime.api.cudaStreamBeginCapture(self.raw, mode) };
        self.runtime.check("cudaStreamBeginCapture", code)?;
        self.captured.set(true);
        Ok(Capture {
            stream: self,
            device,
            frees: Frees::default(),
            uses: Uses::default(),
            is_over: false,
        })
    }

    /// Refuses a call that is not for a captured stream.
    pub(crate) fn not_captured(&self, call: &'static str) -> Result<()> {
        if !self.captured.get() {
            return Ok(());
        }
        let code = cudaError_t::STREAM_CAPTURE_UNSUPPORTED;
        let why = "the stream is being captured";
        Err(self.runtime.refusal(call, code, why))
    }
}

impl<'rt> Capture<'_, 'rt> {
    /// Captures an allocation: it becomes an alloc node, whose address is fixed from here
    /// on.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_alloc`].
    #[doc(alias = "cudaMallocAsync")]
    pub fn allocate(&mut self, bytes: u64) -> Result<Region<'rt>> {
        let runtime = self.stream.runtime;
        let mut raw = ptr::null_mut();
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the stream is live; the pointer is valid for the write of a pointer.
        let code = unsafe {
            runtime
                .api
                .cudaMallocAsync(&raw mut raw, size, self.stream.raw)
        };
        runtime.check("cudaMallocAsync", code)?;
        let address = DeviceAddress::of(raw);
        runtime.ownership.give(address);
        self.frees.allocated(address, bytes);
        Ok(Region::of_graph(runtime, address, bytes))
    }

    /// Captures a free: it becomes a free node, for this graph's allocation or another's.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_free`].
    #[doc(alias = "cudaFreeAsync")]
    pub fn free(&mut self, address: DeviceAddress) -> Result<()> {
        let runtime = self.stream.runtime;
        // SAFETY: the stream is live. In a captured stream the call adds a free node,
        // which only compares the address with those that alloc nodes were given.
        let code = unsafe { runtime.api.cudaFreeAsync(address.as_ptr(), self.stream.raw) };
        runtime.check("cudaFreeAsync", code)?;
        self.frees.freed(address);
        Ok(())
    }

    /// Captures a launch of a kernel, which stays loaded for as long as the graph, its
    /// execs and their launches need it.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_kernel`].
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`], whenever the graph is launched.
    #[doc(alias = "cudaLaunchKernel")]
    pub unsafe fn launch(
        &mut self,
        kernel: &Kernel<'rt>,
        config: LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        self.stream
            .runtime
            .same(kernel.runtime(), "cudaLaunchKernel", "kernel")?;
        kernel.enqueue(self.stream, config, arguments)?;
        self.uses.add(&kernel.uses());
        Ok(())
    }

    /// Keeps a region's memory for the graph.
    pub(crate) fn keep(&mut self, region: &Region<'rt>) {
        if let Some(one) = region.uses() {
            self.uses.add(&one);
        }
    }

    /// Ends the capture and returns the graph.
    ///
    /// # Errors
    ///
    /// 901 `cudaErrorStreamCaptureInvalidated` if a call in between was not allowed in a
    /// capture.
    #[doc(alias = "cudaStreamEndCapture")]
    pub fn end(mut self) -> Result<Graph<'rt>> {
        let (raw, code) = self.close();
        let runtime = self.stream.runtime;
        runtime.check("cudaStreamEndCapture", code)?;
        Ok(Graph::of(
            runtime,
            raw,
            self.device,
            std::mem::take(&mut self.frees),
            std::mem::take(&mut self.uses),
        ))
    }

    fn close(&mut self) -> (cudaGraph_t, cudaError_t) {
        self.is_over = true;
        self.stream.captured.set(false);
        let mut raw = cudaGraph_t::NULL;
        // SAFETY: the stream is live; the pointer is valid for the write of a handle.
        let code = unsafe {
            self.stream
                .runtime
                .api
                .cudaStreamEndCapture(self.stream.raw, &raw mut raw)
        };
        (raw, code)
    }
}

impl Drop for Capture<'_, '_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (raw, code) = self.close();
        let runtime = self.stream.runtime;
        // A capture that a failed call has invalidated has no graph, and the call has
        // said why.
        if code == cudaError_t::STREAM_CAPTURE_INVALIDATED {
            return;
        }
        runtime.note_closed("cudaStreamEndCapture", code);
        if !raw.is_null() {
            // SAFETY: the graph was just made, and nothing else has its handle.
            let code = unsafe { runtime.api.cudaGraphDestroy(raw) };
            runtime.note_closed("cudaGraphDestroy", code);
        }
    }
}
