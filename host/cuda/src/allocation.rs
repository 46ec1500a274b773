//! An allocation that outlived the launch that made it.

use super::error::Result;
use super::graph::DeviceAddress;
use super::ownership::Life;
use super::runtime::Runtime;
use super::stream::Stream;

/// A graph allocation that no free node of its graph frees (R14). Its owner frees
/// it; one that is merely dropped is freed too, and logged: the first as a warning.
///
/// A launch can free it first: an AutoFree relaunch of its exec, or a graph with a
/// free node for it. Then it is no longer [alive](Self::is_alive), and neither
/// freeing nor dropping it calls anything.
#[derive(Debug)]
#[must_use = "an unfreed allocation keeps its memory from every other graph"]
pub struct LiveAllocation<'rt> {
    runtime: &'rt Runtime,
    address: DeviceAddress,
    life: Life,
}

impl<'rt> LiveAllocation<'rt> {
    /// The allocation that a launch just made at this address.
    pub(super) fn new(runtime: &'rt Runtime, address: DeviceAddress) -> Self {
        Self {
            runtime,
            address,
            life: runtime.ownership.begin(address),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Whether no launch has freed it.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.life.is_alive()
    }

    /// Frees it at once, for any stream (R9). Does nothing if a launch freed it.
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaFree")]
    pub fn free(self) -> Result<()> {
        if !self.end() {
            return Ok(());
        }
        // SAFETY: a launch made this allocation, and it was alive until `end`, which
        // says so once.
        let code = unsafe { self.runtime.api.cudaFree(self.address.as_ptr()) };
        self.runtime.check("cudaFree", code)
    }

    /// Frees it in the order of the stream (R9). Does nothing if a launch freed it.
    ///
    /// # Errors
    ///
    /// Those of the call; 900 while the stream is captured, where it would become a
    /// node and free nothing yet.
    #[doc(alias = "cudaFreeAsync")]
    pub fn free_async(self, stream: &Stream<'rt>) -> Result<()> {
        if stream.is_captured() {
            return Err(stream.captured("cudaFreeAsync"));
        }
        if !self.end() {
            return Ok(());
        }
        // SAFETY: as in `free`; the stream is alive as long as its value.
        let code = unsafe {
            self.runtime
                .api
                .cudaFreeAsync(self.address.as_ptr(), stream.raw)
        };
        self.runtime.check("cudaFreeAsync", code)
    }

    /// Ends it. Whether it was alive, and so is this value's to free.
    fn end(&self) -> bool {
        self.life.is_alive() && self.runtime.ownership.end(self.address)
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
            "the graph allocation at {} was dropped, not freed; freeing it (-vv tells of each)",
            self.address
        );
        // SAFETY: as in `free`.
        let code = unsafe { runtime.api.cudaFree(self.address.as_ptr()) };
        runtime.note_closed("cudaFree", code);
    }
}
