//! Plain device memory, outside every graph and pool.

use std::ffi::c_void;
use std::ptr;

use super::error::Result;
use super::graph::DeviceAddress;
use super::runtime::Runtime;

/// Plain device memory on the current device; freed when it goes out of scope.
#[derive(Debug)]
pub struct Buffer<'rt> {
    runtime: &'rt Runtime,
    raw: *mut c_void,
    bytes: u64,
}

impl<'rt> Buffer<'rt> {
    /// Allocates.
    ///
    /// # Errors
    ///
    /// 2 when the device has not enough. Before it says so it gives back what the
    /// graph pool holds and does not use.
    #[doc(alias = "cudaMalloc")]
    pub fn new(runtime: &'rt Runtime, bytes: u64) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // On a 32-bit host a size beyond its range is more than any device has.
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the pointer is valid for the write of a pointer.
        let code = unsafe { runtime.api.cudaMalloc(&raw mut raw, size) };
        runtime.check("cudaMalloc", code)?;
        Ok(Self {
            runtime,
            raw,
            bytes,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        DeviceAddress(self.raw.addr() as u64)
    }

    /// Bytes asked for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frees it and tells whether that worked. Waits for the device.
    ///
    /// # Errors
    ///
    /// Also those of earlier asynchronous work.
    #[doc(alias = "cudaFree")]
    pub fn free(mut self) -> Result<()> {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        // SAFETY: the memory is this value's own, which has forgotten it.
        let code = unsafe { self.runtime.api.cudaFree(raw) };
        self.runtime.check("cudaFree", code)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        if raw.is_null() {
            return;
        }
        // SAFETY: the memory is this value's own, whose life ends here.
        let code = unsafe { self.runtime.api.cudaFree(raw) };
        self.runtime.note_closed("cudaFree", code);
    }
}
