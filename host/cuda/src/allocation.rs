//! An allocation that a launch left allocated.

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::ownership::Life;
use crate::region::Region;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// A graph allocation that no free node of its graph frees (R14). Its owner frees
/// it; one that is merely dropped is freed too, and logged: the first as a warning.
///
/// A launch can free it first: an AutoFree relaunch of its exec, or a graph with a
/// free node for it. Then it is no longer [live](Self::is_live), and neither
/// freeing nor dropping it calls anything.
#[derive(Debug)]
#[must_use = "an unfreed allocation keeps its memory from every other graph"]
pub struct LiveAllocation<'rt> {
    runtime: &'rt Runtime,
    address: DeviceAddress,
    bytes: u64,
    life: Life,
}

impl<'rt> LiveAllocation<'rt> {
    /// The allocation that a launch just made at this address.
    pub(crate) fn new(runtime: &'rt Runtime, address: DeviceAddress, bytes: u64) -> Self {
        Self {
            runtime,
            address,
            bytes,
            life: runtime.ownership.begin(address, bytes),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Its memory, to copy to and from and to use in other graphs while it is live.
    #[must_use]
    pub fn region(&self) -> Region<'rt> {
        Region::of_graph(self.runtime, self.address, self.bytes)
    }

    /// Whether no launch has freed it.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.life.is_live()
    }

    /// Frees it at once, for any stream (R9). Does nothing if a launch freed it.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`.
    #[doc(alias = "cudaFree")]
    pub fn free(self) -> Result<()> {
        if !self.end() {
            return Ok(());
        }
        // SAFETY: a launch made this allocation, and it was live until `end`, which
        // says so once.
        let code = unsafe { self.runtime.api.cudaFree(self.address.as_ptr()) };
        self.runtime.check("cudaFree", code)
    }

    /// Frees it in the order of the stream (R9). Does nothing if a launch freed it.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`]; the
    ///   allocation is then freed as if it were dropped.
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where the
    ///   free would become a node and free nothing yet; the same, and freeing it
    ///   invalidates the capture.
    #[doc(alias = "cudaFreeAsync")]
    pub fn free_async(self, stream: &Stream<'rt>) -> Result<()> {
        self.runtime
            .same(stream.runtime, "cudaFreeAsync", "stream")?;
        stream.not_captured("cudaFreeAsync")?;
        if !self.end() {
            return Ok(());
        }
        // SAFETY: as in `free`; the stream is live as long as its value.
        let code = unsafe {
            self.runtime
                .api
                .cudaFreeAsync(self.address.as_ptr(), stream.raw)
        };
        self.runtime.check("cudaFreeAsync", code)
    }

    /// Ends it. Whether it was live, and so is this value's to free.
    fn end(&self) -> bool {
        self.life.is_live() && self.runtime.ownership.end(self.address)
    }
}

impl Drop for LiveAllocation<'_> {
    fn drop(&mut self) {
        if !self.end() {
            return;
        }
        let runtime = self.runtime;
        // An error may drop thousands at once.
        let level = match runtime.has_lost_allocations.replace(true) {
            false => log::Level::Warn,
            true => log::Level::Debug,
        };
        log::log!(
            level,
            "the graph allocation at {} was dropped, not freed; freeing it (-vv logs each)",
            self.address
        );
        // SAFETY: as in `free`.
        let code = unsafe { runtime.api.cudaFree(self.address.as_ptr()) };
        runtime.note_closed("cudaFree", code);
    }
}
