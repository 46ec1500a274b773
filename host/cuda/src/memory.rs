//! A device's graph memory: the four attributes, their high marks, and trim.

use std::ffi::c_void;

use cudart_ffi::cudaGraphMemAttributeType as Attribute;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::runtime::Runtime;

/// The graph memory of one device in this process (R45).
#[derive(Debug, Clone, Copy)]
pub struct GraphMemory<'rt> {
    runtime: &'rt Runtime,
    device: i32,
}

/// All that can be seen of a device's memory at one moment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Physical bytes mapped by at least one graph: `UsedMemCurrent`, attribute 0 (R48).
    pub used_bytes: u64,
    /// Its high mark: `UsedMemHigh`, attribute 1.
    pub used_high_bytes: u64,
    /// Physical bytes reserved for graph allocations: `ReservedMemCurrent`, attribute 2 (R48).
    pub reserved_bytes: u64,
    /// Its high mark: `ReservedMemHigh`, attribute 3.
    pub reserved_high_bytes: u64,
    /// What `cudaMemGetInfo` calls free: the whole device, all processes.
    pub device_free_bytes: u64,
    /// What `cudaMemGetInfo` calls total.
    pub device_total_bytes: u64,
}

impl<'rt> GraphMemory<'rt> {
    pub(crate) fn new(runtime: &'rt Runtime, device: i32) -> Self {
        Self { runtime, device }
    }

    /// Reads all four attributes, and the free and total memory of the current device.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device, and any code of earlier
    /// asynchronous work.
    #[doc(alias = "cudaDeviceGetGraphMemAttribute")]
    pub fn snapshot(&self) -> Result<Snapshot> {
        let (device_free_bytes, device_total_bytes) = self.device_memory()?;
        Ok(Snapshot {
            used_bytes: self.get(Attribute::USED_MEM_CURRENT)?,
            used_high_bytes: self.get(Attribute::USED_MEM_HIGH)?,
            reserved_bytes: self.get(Attribute::RESERVED_MEM_CURRENT)?,
            reserved_high_bytes: self.get(Attribute::RESERVED_MEM_HIGH)?,
            device_free_bytes,
            device_total_bytes,
        })
    }

    /// Reads the bytes in use alone: one call, where [`snapshot`](Self::snapshot) makes
    /// five.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    #[doc(alias = "cudaDeviceGetGraphMemAttribute")]
    pub fn used_bytes(&self) -> Result<u64> {
        self.get(Attribute::USED_MEM_CURRENT)
    }

    /// Sets both high marks back to what is used and reserved now (R49).
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    #[doc(alias = "cudaDeviceSetGraphMemAttribute")]
    pub fn reset_high_marks(&self) -> Result<()> {
        for mark in [Attribute::USED_MEM_HIGH, Attribute::RESERVED_MEM_HIGH] {
            let mut zero = 0_u64;
            let value: *mut c_void = (&raw mut zero).cast();
            // SAFETY: the attribute's value is a u64, which the pointer is valid for.
            let code = unsafe {
                self.runtime
                    .api
                    .cudaDeviceSetGraphMemAttribute(self.device, mark, value)
            };
            self.runtime.check("cudaDeviceSetGraphMemAttribute", code)?;
        }
        Ok(())
    }

    /// Returns to the system the memory that no graph has mapped while it runs and that no
    /// live allocation needs (R42).
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    #[doc(alias = "cudaDeviceGraphMemTrim")]
    pub fn trim(&self) -> Result<()> {
        // SAFETY: takes an integer.
        let code = unsafe { self.runtime.api.cudaDeviceGraphMemTrim(self.device) };
        self.runtime.check("cudaDeviceGraphMemTrim", code)
    }

    #[doc(alias = "cudaDeviceGetGraphMemAttribute")]
    fn get(&self, attribute: Attribute) -> Result<u64> {
        let mut bytes = 0_u64;
        let value: *mut c_void = (&raw mut bytes).cast();
        // SAFETY: the attribute's value is a u64, which the pointer is valid for.
        let code = unsafe {
            self.runtime
                .api
                .cudaDeviceGetGraphMemAttribute(self.device, attribute, value)
        };
        self.runtime.check("cudaDeviceGetGraphMemAttribute", code)?;
        Ok(bytes)
    }

    #[doc(alias = "cudaMemGetInfo")]
    fn device_memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are valid for the write of a size.
        let code = unsafe {
            self.runtime
                .api
                .cudaMemGetInfo(&raw mut free, &raw mut total)
        };
        self.runtime.check("cudaMemGetInfo", code)?;
        Ok((free as u64, total as u64))
    }
}
