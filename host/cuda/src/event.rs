//! Events: marks in a stream, with times.

use cudart_ffi::{cudaError_t, cudaEvent_t, event_flags};

use super::error::Result;
use super::runtime::Runtime;
use super::stream::Stream;

/// A timed event.
#[derive(Debug)]
pub struct Event<'rt> {
    runtime: &'rt Runtime,
    pub(super) raw: cudaEvent_t,
}

impl<'rt> Event<'rt> {
    /// Creates an event on the current device.
    ///
    /// # Errors
    ///
    /// Those of the call.
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

    /// Marks this place in the stream.
    ///
    /// # Errors
    ///
    /// Those of the call; 900 while the stream is captured: a stream that waits for
    /// such an event joins the capture, and what is allocated there is the graph's.
    #[doc(alias = "cudaEventRecord")]
    pub fn record(&self, stream: &Stream<'rt>) -> Result<()> {
        if stream.is_captured() {
            return Err(stream.captured("cudaEventRecord"));
        }
        // SAFETY: both handles are alive as long as the values.
        let code = unsafe { self.runtime.api.cudaEventRecord(self.raw, stream.raw) };
        self.runtime.check("cudaEventRecord", code)
    }

    /// Waits until the stream has passed the mark.
    ///
    /// # Errors
    ///
    /// Also those of earlier asynchronous work.
    #[doc(alias = "cudaEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is alive as long as this value.
        let code = unsafe { self.runtime.api.cudaEventSynchronize(self.raw) };
        self.runtime.check("cudaEventSynchronize", code)
    }

    /// Milliseconds on the device from `start` to this event.
    ///
    /// # Errors
    ///
    /// 600 if either has not been passed, 400 if one was never recorded.
    #[doc(alias = "cudaEventElapsedTime")]
    pub fn elapsed_ms_since(&self, start: &Self) -> Result<f32> {
        let mut ms = 0.0;
        // SAFETY: both handles are alive; the pointer is valid for the write of a float.
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
        // SAFETY: the handle is alive, and this ends its life.
        let code: cudaError_t = unsafe { self.runtime.api.cudaEventDestroy(self.raw) };
        self.runtime.note_closed("cudaEventDestroy", code);
    }
}
