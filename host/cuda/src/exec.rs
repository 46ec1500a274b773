//! Instantiated graphs: launch, upload, and what a launch leaves allocated.

use cudart_ffi::{cudaError_t, cudaGraphExec_t};

use super::allocation::LiveAllocation;
use super::error::Result;
use super::graph::DeviceAddress;
use super::runtime::Runtime;
use super::stream::Stream;

/// An executable graph.
#[derive(Debug)]
pub struct GraphExec<'rt> {
    runtime: &'rt Runtime,
    raw: cudaGraphExec_t,
    unfreed: Vec<DeviceAddress>,
    frees_elsewhere: Vec<DeviceAddress>,
}

/// A launch that was accepted, and the allocations that outlive it (R14).
#[derive(Debug)]
#[must_use = "the allocations that a launch leaves alive must be freed"]
pub struct Launched<'rt> {
    /// In the order of their alloc nodes; empty for a graph that frees all it allocates.
    pub live: Vec<LiveAllocation<'rt>>,
}

impl<'rt> GraphExec<'rt> {
    pub(super) fn new(
        runtime: &'rt Runtime,
        raw: cudaGraphExec_t,
        unfreed: Vec<DeviceAddress>,
        frees_elsewhere: Vec<DeviceAddress>,
    ) -> Self {
        Self {
            runtime,
            raw,
            unfreed,
            frees_elsewhere,
        }
    }

    /// Launches the graph into a stream. Its memory is mapped now if it is not yet (R32).
    ///
    /// What the launch frees, as an AutoFree relaunch or by free nodes for other
    /// graphs' allocations, is no longer its owner's to free.
    ///
    /// # Errors
    ///
    /// 1 while an allocation of an earlier launch is alive (R18) or one that a free
    /// node names is not, 2 when the device has too little memory (M13), 900 while
    /// the stream is captured, where it would become a node and launch nothing yet.
    #[doc(alias = "cudaGraphLaunch")]
    pub fn launch(&self, stream: &Stream<'rt>) -> Result<Launched<'rt>> {
        if stream.is_captured() {
            return Err(stream.captured("cudaGraphLaunch"));
        }
        // SAFETY: both handles are alive as long as the values.
        let code = unsafe { self.runtime.api.cudaGraphLaunch(self.raw, stream.raw) };
        self.runtime.check("cudaGraphLaunch", code)?;
        for &address in &self.frees_elsewhere {
            self.runtime.ownership.end(address);
        }
        let live = self
            .unfreed
            .iter()
            .map(|&a| LiveAllocation::new(self.runtime, a))
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
        // SAFETY: both handles are alive as long as the values.
        let code = unsafe { self.runtime.api.cudaGraphUpload(self.raw, stream.raw) };
        self.runtime.check("cudaGraphUpload", code)
    }

    /// Destroys the exec and tells whether that worked. Live allocations stay (R16),
    /// and the memory it mapped stays reserved (R41).
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaGraphExecDestroy")]
    pub fn destroy(self) -> Result<()> {
        let code = self.close();
        let runtime = self.runtime;
        // The lists of addresses are all else that the value owns.
        let mut this = std::mem::ManuallyDrop::new(self);
        drop(std::mem::take(&mut this.unfreed));
        drop(std::mem::take(&mut this.frees_elsewhere));
        runtime.check("cudaGraphExecDestroy", code)
    }

    fn close(&self) -> cudaError_t {
        // SAFETY: the handle is alive, and both callers end this value's life.
        unsafe { self.runtime.api.cudaGraphExecDestroy(self.raw) }
    }
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        let code = self.close();
        self.runtime.note_closed("cudaGraphExecDestroy", code);
    }
}
