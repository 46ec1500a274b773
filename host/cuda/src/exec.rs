//! Instantiated graphs: launch, upload, and what a launch leaves allocated.

use cudart_ffi::{cudaError_t, cudaGraphExec_t};

use crate::allocation::LiveAllocation;
use crate::error::Result;
use crate::graph::Frees;
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::uses::Uses;

/// An executable graph.
///
/// It may be destroyed, or dropped, while a launch of it still runs: "If the executable
/// graph is in-flight, it will not be terminated, but rather freed asynchronously on
/// completion" (CUDA driver API, `cuGraphExecDestroy`, which `cudaGraphExecDestroy`
/// calls). Measured on an H200: the call returns at once, and the memory that the launch
/// maps stays until a trim (M14). CUDA does not keep the kernels loaded that such a launch
/// still runs; the [`Stream`] that it was launched into does.
#[derive(Debug)]
pub struct GraphExec<'rt> {
    runtime: &'rt Runtime,
    raw: cudaGraphExec_t,
    frees: Frees,
    uses: Uses<'rt>,
}

/// A launch that was accepted, and the allocations that it leaves allocated (R14).
#[derive(Debug)]
#[must_use = "the allocations that a launch leaves allocated must be freed"]
pub struct Launched<'rt> {
    /// In the order of their alloc nodes; empty for a graph that frees all it allocates.
    pub live: Vec<LiveAllocation<'rt>>,
}

impl<'rt> GraphExec<'rt> {
    pub(crate) fn new(
        runtime: &'rt Runtime,
        raw: cudaGraphExec_t,
        frees: Frees,
        uses: Uses<'rt>,
    ) -> Self {
        Self {
            runtime,
            raw,
            frees,
            uses,
        }
    }

    /// Launches the graph into a stream. Its memory is mapped now if it is not yet (R32).
    ///
    /// What the launch frees, as an AutoFree relaunch or by free nodes for other
    /// graphs' allocations, is no longer its owner's to free.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` while an allocation of an earlier launch is live (R18),
    ///   or one that a free node names is not.
    /// - 2 `cudaErrorMemoryAllocation` when the device has too little memory (M13).
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`].
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where the
    ///   launch would become a node and launch nothing yet.
    #[doc(alias = "cudaGraphLaunch")]
    pub fn launch(&self, stream: &Stream<'rt>) -> Result<Launched<'rt>> {
        const CALL: &str = "cudaGraphLaunch";
        self.runtime.same(stream.runtime, CALL, "stream")?;
        stream.not_captured(CALL)?;
        stream.keep(&self.uses);
        // SAFETY: both handles are live as long as the values. What the graph's nodes
        // use is live, and the stream keeps it until the launch has ended.
        let code = unsafe { self.runtime.api.cudaGraphLaunch(self.raw, stream.raw) };
        self.runtime.check(CALL, code)?;
        for &address in &self.frees.elsewhere {
            self.runtime.ownership.end(address);
        }
        let unfreed = self.frees.unfreed.iter();
        let live = unfreed
            .map(|&(address, bytes)| LiveAllocation::new(self.runtime, address, bytes))
            .collect();
        Ok(Launched { live })
    }

    /// Maps the graph's memory for a launch into this stream, without launching (R32).
    ///
    /// # Errors
    ///
    /// As [`GraphExec::launch`].
    #[doc(alias = "cudaGraphUpload")]
    pub fn upload(&self, stream: &Stream<'rt>) -> Result<()> {
        const CALL: &str = "cudaGraphUpload";
        self.runtime.same(stream.runtime, CALL, "stream")?;
        stream.not_captured(CALL)?;
        stream.keep(&self.uses);
        // SAFETY: both handles are live as long as the values, and so is what the
        // graph's nodes use.
        let code = unsafe { self.runtime.api.cudaGraphUpload(self.raw, stream.raw) };
        self.runtime.check(CALL, code)
    }

    /// Destroys the exec and returns what came of that. Live allocations stay (R16), and
    /// the memory that it mapped stays reserved (R41). A launch that still runs goes on.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`.
    #[doc(alias = "cudaGraphExecDestroy")]
    pub fn destroy(self) -> Result<()> {
        let code = self.close();
        let runtime = self.runtime;
        // The rest of what the value owns.
        let mut this = std::mem::ManuallyDrop::new(self);
        drop(std::mem::take(&mut this.frees));
        drop(std::mem::take(&mut this.uses));
        runtime.check("cudaGraphExecDestroy", code)
    }

    fn close(&self) -> cudaError_t {
        // SAFETY: the handle is live, and both callers end this value's life. A launch
        // that still runs keeps what it needs of the exec (see the type).
        unsafe { self.runtime.api.cudaGraphExecDestroy(self.raw) }
    }
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        let code = self.close();
        self.runtime.note_closed("cudaGraphExecDestroy", code);
    }
}
