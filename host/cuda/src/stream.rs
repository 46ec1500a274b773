//! Streams: queues of work in order.

use std::cell::Cell;

use cudart_ffi::{cudaError_t, cudaStream_t, stream_flags};

use super::error::Result;
use super::event::Event;
use super::runtime::Runtime;

/// A stream that does not wait for the legacy default stream.
#[derive(Debug)]
pub struct Stream<'rt> {
    pub(super) runtime: &'rt Runtime,
    pub(super) raw: cudaStream_t,
    /// A [`Capture`](super::Capture) of it is under way.
    pub(super) captured: Cell<bool>,
}

impl<'rt> Stream<'rt> {
    /// Creates a non-blocking stream on the current device.
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaStreamCreateWithFlags")]
    pub fn new(runtime: &'rt Runtime) -> Result<Self> {
        let mut raw = cudaStream_t::NULL;
        // SAFETY: the pointer is valid for the write of a handle.
        let code = unsafe {
            runtime
                .api
                .cudaStreamCreateWithFlags(&raw mut raw, stream_flags::NON_BLOCKING)
        };
        runtime.check("cudaStreamCreateWithFlags", code)?;
        Ok(Self {
            runtime,
            raw,
            captured: Cell::new(false),
        })
    }

    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    ///
    /// Also those of earlier asynchronous work.
    #[doc(alias = "cudaStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is alive as long as this value.
        let code = unsafe { self.runtime.api.cudaStreamSynchronize(self.raw) };
        self.runtime.check("cudaStreamSynchronize", code)
    }

    /// Whether work in the stream is still to be done, at this moment.
    ///
    /// # Errors
    ///
    /// Any code but success and 600.
    #[doc(alias = "cudaStreamQuery")]
    pub fn is_busy(&self) -> Result<bool> {
        // SAFETY: the handle is alive as long as this value.
        match unsafe { self.runtime.api.cudaStreamQuery(self.raw) } {
            cudaError_t::NOT_READY => Ok(true),
            code => self.runtime.check("cudaStreamQuery", code).map(|()| false),
        }
    }

    /// Makes later work in this stream wait for the event.
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaStreamWaitEvent")]
    pub fn wait(&self, event: &Event<'rt>) -> Result<()> {
        // SAFETY: both handles are alive as long as the values.
        let code = unsafe { self.runtime.api.cudaStreamWaitEvent(self.raw, event.raw, 0) };
        self.runtime.check("cudaStreamWaitEvent", code)
    }

    /// Destroys the stream and tells whether that worked. Work in it still runs.
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaStreamDestroy")]
    pub fn destroy(self) -> Result<()> {
        let code = self.close();
        let runtime = self.runtime;
        std::mem::forget(self);
        runtime.check("cudaStreamDestroy", code)
    }

    fn close(&self) -> cudaError_t {
        // SAFETY: the handle is alive, and both callers end this value's life.
        unsafe { self.runtime.api.cudaStreamDestroy(self.raw) }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        let code = self.close();
        self.runtime.note_closed("cudaStreamDestroy", code);
    }
}
