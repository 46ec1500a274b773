//! Streams: queues of work in order.

use std::cell::{Cell, RefCell};

use cudart_ffi::{cudaError_t, cudaStream_t, stream_flags};

use crate::error::Result;
use crate::event::Event;
use crate::runtime::Runtime;
use crate::uses::{Use, Uses};

/// A stream that does not wait for the legacy default stream.
///
/// A stream keeps the kernels and buffers that were launched into it until it is seen to
/// have finished: by [`synchronize`](Self::synchronize), by [`is_busy`](Self::is_busy), or
/// by the wait with which it is dropped.
#[derive(Debug)]
pub struct Stream<'rt> {
    pub(crate) runtime: &'rt Runtime,
    pub(crate) raw: cudaStream_t,
    /// A [`Capture`](crate::Capture) of it is under way.
    pub(crate) captured: Cell<bool>,
    /// What launches into it use that may not have finished.
    running: RefCell<Uses<'rt>>,
}

impl<'rt> Stream<'rt> {
    /// Creates a non-blocking stream on the current device.
    ///
    /// # Errors
    ///
    /// 2 `cudaErrorMemoryAllocation`, and any code of earlier asynchronous work.
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
            running: RefCell::default(),
        })
    }

    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`; 900
    /// `cudaErrorStreamCaptureUnsupported` while the stream is captured.
    #[doc(alias = "cudaStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is live as long as this value.
        let code = unsafe { self.runtime.api.cudaStreamSynchronize(self.raw) };
        self.runtime.check("cudaStreamSynchronize", code)?;
        self.all_is_done();
        Ok(())
    }

    /// Whether the stream has unfinished work at this moment.
    ///
    /// # Errors
    ///
    /// Any code but success and 600 `cudaErrorNotReady`, which is the answer yes.
    #[doc(alias = "cudaStreamQuery")]
    pub fn is_busy(&self) -> Result<bool> {
        // SAFETY: the handle is live as long as this value.
        match unsafe { self.runtime.api.cudaStreamQuery(self.raw) } {
            cudaError_t::NOT_READY => Ok(true),
            code => {
                self.runtime.check("cudaStreamQuery", code)?;
                self.all_is_done();
                Ok(false)
            }
        }
    }

    /// Keeps what a launch uses until the stream is seen to have finished.
    pub(crate) fn keep(&self, uses: &Uses<'rt>) {
        self.running.borrow_mut().add_all(uses);
    }

    /// The same for one thing.
    pub(crate) fn keep_one(&self, one: &Use<'rt>) {
        self.running.borrow_mut().add(one);
    }

    fn all_is_done(&self) {
        let done = self.running.take();
        // Here what nothing else uses is unloaded and freed.
        drop(done);
    }

    /// Makes later work in this stream wait for the event.
    ///
    /// # Errors
    ///
    /// 400 `cudaErrorInvalidResourceHandle` for an event of another [`Runtime`].
    #[doc(alias = "cudaStreamWaitEvent")]
    pub fn wait(&self, event: &Event<'rt>) -> Result<()> {
        self.runtime
            .same(event.runtime, "cudaStreamWaitEvent", "event")?;
        // SAFETY: both handles are live as long as the values.
        let code = unsafe { self.runtime.api.cudaStreamWaitEvent(self.raw, event.raw, 0) };
        self.runtime.check("cudaStreamWaitEvent", code)
    }

    /// Destroys the stream and returns what came of that. If kernels or buffers may still
    /// be in use by launches into it, this waits for the stream first.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`.
    #[doc(alias = "cudaStreamDestroy")]
    pub fn destroy(self) -> Result<()> {
        let runtime = self.runtime;
        let (call, code) = self.close();
        // Nothing is left of it: the handle is closed and the list is empty.
        std::mem::forget(self);
        runtime.check(call, code)
    }

    /// Closes the handle, and names the first call that failed.
    fn close(&self) -> (&'static str, cudaError_t) {
        let mut waited = cudaError_t::SUCCESS;
        let running = self.running.take();
        if !running.is_empty() {
            // SAFETY: the handle is live as long as this value.
            waited = unsafe { self.runtime.api.cudaStreamSynchronize(self.raw) };
            if waited.is_success() {
                drop(running);
            } else {
                // Whether the launches have ended is not known, so what they use stays.
                std::mem::forget(running);
            }
        }
        // SAFETY: the handle is live, and both callers end this value's life.
        let code = unsafe { self.runtime.api.cudaStreamDestroy(self.raw) };
        if waited.is_success() {
            ("cudaStreamDestroy", code)
        } else {
            ("cudaStreamSynchronize", waited)
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        let (call, code) = self.close();
        self.runtime.note_closed(call, code);
    }
}
