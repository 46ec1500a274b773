//! Stream-ordered memory: a device's default pool, and what it allocates.

use std::ffi::c_void;
use std::ptr;

use cudart_ffi::{cudaError_t, cudaMemPool_t, cudaMemPoolAttr};

use crate::address::DeviceAddress;
use crate::device::Device;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// A device's default pool, which belongs to the device. It is not the graphs' pool
/// (R44).
#[derive(Debug, Clone, Copy)]
pub struct MemoryPool<'rt> {
    runtime: &'rt Runtime,
    raw: cudaMemPool_t,
}

/// A pool's release threshold, raised so that the pool keeps what is freed. It is set back
/// when this is dropped.
#[derive(Debug)]
pub struct KeptFreed<'rt> {
    pool: MemoryPool<'rt>,
    threshold_bytes: u64,
}

const SET_ATTRIBUTE: &str = "cudaMemPoolSetAttribute";

impl Drop for KeptFreed<'_> {
    fn drop(&mut self) {
        let code = self.pool.set_release_threshold(self.threshold_bytes);
        self.pool.runtime.note_closed(SET_ATTRIBUTE, code);
    }
}

/// An allocation of a pool. One that is dropped is freed, after a wait for the device.
#[derive(Debug)]
pub struct Pooled<'rt> {
    runtime: &'rt Runtime,
    raw: *mut c_void,
}

impl<'rt> Device<'rt> {
    /// The pool that [`Stream::allocate`] takes memory from.
    ///
    /// # Errors
    ///
    /// 801 `cudaErrorNotSupported` without memory pools, 101 `cudaErrorInvalidDevice` for an
    /// ordinal without a device.
    #[doc(alias = "cudaDeviceGetDefaultMemPool")]
    pub fn default_pool(&self) -> Result<MemoryPool<'rt>> {
        let mut raw = cudaMemPool_t::NULL;
        // SAFETY: the pointer is valid for the write of a handle.
        let code = unsafe {
            self.runtime
                .api
                .cudaDeviceGetDefaultMemPool(&raw mut raw, self.ordinal())
        };
        self.runtime.check("cudaDeviceGetDefaultMemPool", code)?;
        Ok(MemoryPool {
            runtime: self.runtime,
            raw,
        })
    }
}

impl<'rt> MemoryPool<'rt> {
    /// The bytes of it that are allocated.
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` where the driver does not have the attribute.
    pub fn used_bytes(&self) -> Result<u64> {
        self.get(cudaMemPoolAttr::USED_MEM_CURRENT)
    }

    /// The physical bytes that it has reserved.
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` where the driver does not have the attribute.
    pub fn reserved_bytes(&self) -> Result<u64> {
        self.get(cudaMemPoolAttr::RESERVED_MEM_CURRENT)
    }

    /// The pool gives reserved bytes above this back at the next synchronisation; 0 unless
    /// it was changed.
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` where the driver does not have the attribute.
    pub fn release_threshold_bytes(&self) -> Result<u64> {
        self.get(cudaMemPoolAttr::RELEASE_THRESHOLD)
    }

    /// Makes the pool keep what is freed, for as long as the returned value lives.
    ///
    /// # Errors
    ///
    /// As [`release_threshold_bytes`](Self::release_threshold_bytes).
    pub fn keep_freed(self) -> Result<KeptFreed<'rt>> {
        let threshold_bytes = self.release_threshold_bytes()?;
        let code = self.set_release_threshold(u64::MAX);
        self.runtime.check(SET_ATTRIBUTE, code)?;
        Ok(KeptFreed {
            pool: self,
            threshold_bytes,
        })
    }

    #[doc(alias = "cudaMemPoolSetAttribute")]
    fn set_release_threshold(&self, mut bytes: u64) -> cudaError_t {
        // SAFETY: the pool is the device's, and this attribute is a u64, which the
        // pointer is valid for.
        unsafe {
            self.runtime.api.cudaMemPoolSetAttribute(
                self.raw,
                cudaMemPoolAttr::RELEASE_THRESHOLD,
                (&raw mut bytes).cast(),
            )
        }
    }

    /// Gives memory that is not allocated back to the system, until the pool has reserved
    /// `keep` bytes.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work.
    #[doc(alias = "cudaMemPoolTrimTo")]
    pub fn trim_to(&self, keep: u64) -> Result<()> {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        // SAFETY: the pool is the device's, and takes a size.
        let code = unsafe { self.runtime.api.cudaMemPoolTrimTo(self.raw, keep) };
        self.runtime.check("cudaMemPoolTrimTo", code)
    }

    #[doc(alias = "cudaMemPoolGetAttribute")]
    fn get(&self, attribute: cudaMemPoolAttr) -> Result<u64> {
        let mut bytes = 0_u64;
        // SAFETY: the pool is the device's; the attributes that are read here are u64,
        // which the pointer is valid for.
        let code = unsafe {
            self.runtime
                .api
                .cudaMemPoolGetAttribute(self.raw, attribute, (&raw mut bytes).cast())
        };
        self.runtime.check("cudaMemPoolGetAttribute", code)?;
        Ok(bytes)
    }
}

impl<'rt> Stream<'rt> {
    /// Allocates from the default pool, in the order of the stream.
    ///
    /// # Errors
    ///
    /// - 2 `cudaErrorMemoryAllocation` when the device has too little memory.
    /// - 801 `cudaErrorNotSupported` without memory pools.
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured, where
    ///   [`Capture::allocate`](crate::Capture::allocate) allocates.
    #[doc(alias = "cudaMallocAsync")]
    pub fn allocate(&self, bytes: u64) -> Result<Pooled<'rt>> {
        self.not_captured("cudaMallocAsync")?;
        let mut raw = ptr::null_mut();
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the stream is live; the pointer is valid for the write of a pointer.
        let code = unsafe {
            self.runtime
                .api
                .cudaMallocAsync(&raw mut raw, size, self.raw)
        };
        self.runtime.check("cudaMallocAsync", code)?;
        Ok(Pooled {
            runtime: self.runtime,
            raw,
        })
    }
}

impl<'rt> Pooled<'rt> {
    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        DeviceAddress::of(self.raw)
    }

    /// Frees it in the order of the stream.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` for a stream of another [`Runtime`]; the
    ///   allocation is then freed as if it were dropped.
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured; the same,
    ///   and freeing it invalidates the capture.
    #[doc(alias = "cudaFreeAsync")]
    pub fn free_async(mut self, stream: &Stream<'rt>) -> Result<()> {
        self.runtime
            .same(stream.runtime, "cudaFreeAsync", "stream")?;
        stream.not_captured("cudaFreeAsync")?;
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        // SAFETY: the memory is this value's own, which has forgotten it; the stream
        // is live.
        let code = unsafe { self.runtime.api.cudaFreeAsync(raw, stream.raw) };
        self.runtime.check("cudaFreeAsync", code)
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        // SAFETY: the memory is this value's own, whose life ends here.
        let code = unsafe { self.runtime.api.cudaFree(self.raw) };
        self.runtime.note_closed("cudaFree", code);
    }
}
