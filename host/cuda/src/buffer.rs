//! Plain device memory, outside every graph and pool.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use cudart_ffi::cudaError_t;

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::region::Region;
use crate::runtime::Runtime;

/// Plain device memory on the current device.
///
/// It is freed when the value and every graph, exec and unfinished launch that uses its
/// [region](Self::region) is gone.
#[derive(Debug)]
pub struct Buffer<'rt> {
    memory: Rc<Memory<'rt>>,
}

/// The memory itself, freed when the last owner is gone.
#[derive(Debug)]
pub(crate) struct Memory<'rt> {
    runtime: &'rt Runtime,
    raw: *mut c_void,
    bytes: u64,
}

impl<'rt> Buffer<'rt> {
    /// Allocates memory.
    ///
    /// # Errors
    ///
    /// 2 `cudaErrorMemoryAllocation` when the device has too little memory. Before the
    /// call returns that, it gives back what the graph pool has reserved and does not use.
    #[doc(alias = "cudaMalloc")]
    pub fn new(runtime: &'rt Runtime, bytes: u64) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // On a 32-bit host a size beyond its range is more than any device has.
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the pointer is valid for the write of a pointer.
        let code = unsafe { runtime.api.cudaMalloc(&raw mut raw, size) };
        runtime.check("cudaMalloc", code)?;
        Ok(Self {
            memory: Rc::new(Memory {
                runtime,
                raw,
                bytes,
            }),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.memory.address()
    }

    /// Its size in bytes, as requested.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.bytes
    }

    /// The memory, to copy to and from and to use in a graph.
    #[must_use]
    pub fn region(&self) -> Region<'rt> {
        Region::of_buffer(&self.memory)
    }

    /// Frees it and returns what came of that. The call waits for the device. Memory that
    /// a graph, an exec or an unfinished launch still uses is freed when the last of them
    /// is gone, and this returns success.
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` for memory that CUDA did not allocate, which does not happen
    /// to memory of this type; any code of earlier asynchronous work.
    #[doc(alias = "cudaFree")]
    pub fn free(self) -> Result<()> {
        match Rc::try_unwrap(self.memory) {
            Ok(mut memory) => {
                let code = memory.release();
                memory.runtime.check("cudaFree", code)
            }
            Err(_shared) => Ok(()),
        }
    }
}

impl<'rt> Memory<'rt> {
    pub(crate) fn runtime(&self) -> &'rt Runtime {
        self.runtime
    }

    pub(crate) fn address(&self) -> DeviceAddress {
        DeviceAddress::of(self.raw)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn release(&mut self) -> cudaError_t {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        if raw.is_null() {
            return cudaError_t::SUCCESS;
        }
        // SAFETY: the memory is this value's own, which has just forgotten it. No graph,
        // exec or unfinished launch names it, for each keeps the value live.
        unsafe { self.runtime.api.cudaFree(raw) }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        let code = self.release();
        self.runtime.note_closed("cudaFree", code);
    }
}
