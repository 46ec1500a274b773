//! An allocation that outlived the launch that made it.

use std::mem::ManuallyDrop;

use super::error::Result;
use super::graph::DeviceAddress;
use super::runtime::Runtime;
use super::stream::Stream;

/// A graph allocation that no free node frees (R14). Its owner frees it; one that
/// is merely dropped is freed too, but counted as lost and logged.
#[derive(Debug)]
#[must_use = "an unfreed allocation keeps its memory from every other graph"]
pub struct LiveAllocation<'rt> {
    runtime: &'rt Runtime,
    address: DeviceAddress,
}

impl<'rt> LiveAllocation<'rt> {
    pub(super) fn new(runtime: &'rt Runtime, address: DeviceAddress) -> Self {
        Self { runtime, address }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Frees it at once, for any stream (R9).
    ///
    /// # Errors
    ///
    /// 1 if its graph never ran or it is freed already (M6, M8).
    #[doc(alias = "cudaFree")]
    pub fn free(self) -> Result<()> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the address is one that an alloc node returned, and this value,
        // which alone may free it, ends here.
        let code = unsafe { this.runtime.api.cudaFree(this.address.as_ptr()) };
        this.runtime.check("cudaFree", code)
    }

    /// Frees it in the order of the stream (R9).
    ///
    /// # Errors
    ///
    /// As [`LiveAllocation::free`].
    #[doc(alias = "cudaFreeAsync")]
    pub fn free_async(self, stream: &Stream<'rt>) -> Result<()> {
        let this = ManuallyDrop::new(self);
        // SAFETY: as in `free`; the stream is alive as long as its value.
        let code = unsafe {
            this.runtime
                .api
                .cudaFreeAsync(this.address.as_ptr(), stream.raw)
        };
        this.runtime.check("cudaFreeAsync", code)
    }
}

impl Drop for LiveAllocation<'_> {
    fn drop(&mut self) {
        let runtime = self.runtime;
        runtime
            .lost_allocations
            .set(runtime.lost_allocations.get() + 1);
        log::warn!(
            "the graph allocation at {} was dropped, not freed; freeing it",
            self.address
        );
        // SAFETY: the address is one that an alloc node returned, and this value,
        // which alone may free it, ends here.
        let code = unsafe { runtime.api.cudaFree(self.address.as_ptr()) };
        if let Err(error) = runtime.check("cudaFree", code) {
            log::warn!("{error}");
        }
    }
}
