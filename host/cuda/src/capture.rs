//! Stream capture: calls in a stream become nodes of a graph (R17).

use std::ptr;

use cudart_ffi::{cudaError_t, cudaGraph_t, cudaStreamCaptureMode};

use super::error::{CudaError, Result};
use super::graph::{DeviceAddress, Graph};
use super::kernel::{Kernel, KernelLaunch};
use super::stream::Stream;

/// A stream while it is captured. Calls for it are made here; the stream itself refuses
/// to allocate and free meanwhile, since what it then gave would belong to the graph.
///
/// One that is dropped ends the capture and destroys what was captured.
#[derive(Debug)]
pub struct Capture<'s, 'rt> {
    stream: &'s Stream<'rt>,
    device: i32,
    unfreed: Vec<DeviceAddress>,
    frees_elsewhere: Vec<DeviceAddress>,
    is_over: bool,
}

impl<'rt> Stream<'rt> {
    /// Begins to capture the stream; allocations are on the device of this ordinal,
    /// which must be the stream's.
    ///
    /// # Errors
    ///
    /// Those of the call; 401 for a stream that is captured already.
    #[doc(alias = "cudaStreamBeginCapture")]
    pub fn capture(&self, device: i32) -> Result<Capture<'_, 'rt>> {
        if self.is_captured() {
            let twice = cudaError_t::ILLEGAL_STATE;
            return Err(self.runtime.failure("cudaStreamBeginCapture", twice));
        }
        // Other threads go on as they like.
        let mode = cudaStreamCaptureMode::THREAD_LOCAL;
        // SAFETY: the stream is alive.
        let code = unsafe { self.runtime.api.cudaStreamBeginCapture(self.raw, mode) };
        self.runtime.check("cudaStreamBeginCapture", code)?;
        self.captured.set(true);
        Ok(Capture {
            stream: self,
            device,
            unfreed: Vec::new(),
            frees_elsewhere: Vec::new(),
            is_over: false,
        })
    }

    pub(super) fn is_captured(&self) -> bool {
        self.captured.get()
    }

    /// The refusal of a call that is not for a captured stream.
    pub(super) fn captured(&self, call: &'static str) -> CudaError {
        self.runtime
            .failure(call, cudaError_t::STREAM_CAPTURE_UNSUPPORTED)
    }
}

impl<'rt> Capture<'_, 'rt> {
    /// Captures an allocation: an alloc node, whose address is fixed from here on.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_alloc`].
    #[doc(alias = "cudaMallocAsync")]
    pub fn allocate(&mut self, bytes: u64) -> Result<DeviceAddress> {
        let runtime = self.stream.runtime;
        let mut raw = ptr::null_mut();
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the stream is alive; the pointer is valid for the write of a pointer.
        let code = unsafe {
            runtime
                .api
                .cudaMallocAsync(&raw mut raw, size, self.stream.raw)
        };
        runtime.check("cudaMallocAsync", code)?;
        let address = DeviceAddress(raw.addr() as u64);
        self.unfreed.push(address);
        Ok(address)
    }

    /// Captures a free: a free node, for this graph's allocation or another's.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_free`].
    #[doc(alias = "cudaFreeAsync")]
    pub fn free(&mut self, address: DeviceAddress) -> Result<()> {
        let runtime = self.stream.runtime;
        // SAFETY: the stream is alive; the address is only compared with those that
        // alloc nodes returned.
        let code = unsafe { runtime.api.cudaFreeAsync(address.as_ptr(), self.stream.raw) };
        runtime.check("cudaFreeAsync", code)?;
        match self.unfreed.iter().position(|&own| own == address) {
            Some(own) => {
                self.unfreed.remove(own);
            }
            None => self.frees_elsewhere.push(address),
        }
        Ok(())
    }

    /// Captures a kernel, which stays loaded as long as the graph.
    ///
    /// # Errors
    ///
    /// As for [`Graph::add_launch`].
    pub fn launch(&mut self, kernel: &'rt Kernel<'rt>, launch: KernelLaunch<'_>) -> Result<()> {
        kernel.launch_into(self.stream, launch)
    }

    /// Ends the capture: the graph.
    ///
    /// # Errors
    ///
    /// 901 if a call in between was not for a captured stream.
    #[doc(alias = "cudaStreamEndCapture")]
    pub fn end(mut self) -> Result<Graph<'rt>> {
        let (raw, code) = self.close();
        let runtime = self.stream.runtime;
        runtime.check("cudaStreamEndCapture", code)?;
        Ok(Graph::captured(
            runtime,
            raw,
            self.device,
            std::mem::take(&mut self.unfreed),
            std::mem::take(&mut self.frees_elsewhere),
        ))
    }

    fn close(&mut self) -> (cudaGraph_t, cudaError_t) {
        self.is_over = true;
        self.stream.captured.set(false);
        let mut raw = cudaGraph_t::NULL;
        // SAFETY: the stream is alive; the pointer is valid for the write of a handle.
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
            // SAFETY: the graph was just made, and nothing else knows it.
            let code = unsafe { runtime.api.cudaGraphDestroy(raw) };
            runtime.note_closed("cudaGraphDestroy", code);
        }
    }
}
