//! Events: points in a stream, with times.

use cudart_ffi::{cudaError_t, cudaEvent_t, event_flags};

use crate::error::Result;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// A timed event.
#[derive(Debug)]
pub struct Event<'rt> {
    pub(crate) runtime: &'rt Runtime,
    pub(crate) raw: cudaEvent_t,
}

impl<'rt> Event<'rt> {
    /// Creates an event on the current device.
    ///
    /// # Errors
    ///
    /// 2 `cudaErrorMemoryAllocation`, and any code of earlier asynchronous work.
    #[doc(alias = "cudaEventCreateWithFlags")]
    pub fn new(runtime: &'rt Runtime) -> Result<Self> {
        let mut raw = cudaEvent_t::NULL;
        // SAFETY: the pointer is valid for the write of a handle.
        let code = unsafe {
            runtime
                .api
                .cudaEventCreateWithFlags(&raw mut raw, event_flags::DEFAULT)
        };
        runtime.check("cudaEventCreateWithFlags", code)?;
        Ok(Self { runtime, raw })
    }

    /// Records the event: it completes when the work that is in the stream now has.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`].
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured: a stream
    ///   that waits for such an event joins the capture, and what is allocated there
    ///   belongs to the graph.
    #[doc(alias = "cudaEventRecord")]
    pub fn record(&self, stream: &Stream<'rt>) -> Result<()> {
        self.runtime
            .same(stream.runtime, "cudaEventRecord", "stream")?;
        stream.not_captured("cudaEventRecord")?;
        // SAFETY: both handles are live as long as the values.
        let code = unsafe { self.runtime.api.cudaEventRecord(self.raw, stream.raw) };
        self.runtime.check("cudaEventRecord", code)
    }

    /// Waits until the event has completed. An event that was never recorded has.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`.
    #[doc(alias = "cudaEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is live as long as this value.
        let code = unsafe { self.runtime.api.cudaEventSynchronize(self.raw) };
        self.runtime.check("cudaEventSynchronize", code)
    }

    /// Milliseconds on the device from `start` to this event.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` if one was never recorded, or is of another
    ///   [`Runtime`].
    /// - 600 `cudaErrorNotReady` if either has not completed.
    #[doc(alias = "cudaEventElapsedTime")]
    pub fn elapsed_ms_since(&self, start: &Self) -> Result<f32> {
        self.runtime
            .same(start.runtime, "cudaEventElapsedTime", "event")?;
        let mut ms = 0.0;
        // SAFETY: both handles are live; the pointer is valid for the write of a float.
        let code = unsafe {
            self.runtime
                .api
                .cudaEventElapsedTime(&raw mut ms, start.raw, self.raw)
        };
        self.runtime.check("cudaEventElapsedTime", code)?;
        Ok(ms)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and this ends its life. CUDA lets an event be
        // destroyed before it has completed.
        let code: cudaError_t = unsafe { self.runtime.api.cudaEventDestroy(self.raw) };
        self.runtime.note_closed("cudaEventDestroy", code);
    }
}
