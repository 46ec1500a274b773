//! Devices: their properties, and whether they support graph memory.

use std::ffi::c_int;

use cudart_ffi::{cudaDeviceAttr, cudaDeviceProp};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::memory::GraphMemory;
use crate::runtime::Runtime;

/// A device of the runtime, by its ordinal.
#[derive(Debug, Clone, Copy)]
pub struct Device<'rt> {
    pub(crate) runtime: &'rt Runtime,
    ordinal: c_int,
}

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The ordinal.
    pub ordinal: i32,
    /// The name.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
    /// Nominal SM clock rate in kHz.
    pub clock_rate_khz: i32,
}

impl<'rt> Device<'rt> {
    /// The device of this ordinal. Whether there is one shows at the first call.
    #[must_use]
    pub fn new(runtime: &'rt Runtime, ordinal: i32) -> Self {
        Self { runtime, ordinal }
    }

    /// The ordinal.
    #[must_use]
    pub fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// Makes this the thread's device and its primary context current.
    ///
    /// Runtimes of 12.0 and later do both in one call; earlier ones do the latter at
    /// the first call that needs it, so this frees a null pointer, which needs it.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device, 46
    /// `cudaErrorDevicesUnavailable` for one that another process has to itself, 2
    /// `cudaErrorMemoryAllocation` for one without memory for a context.
    #[doc(alias = "cudaSetDevice")]
    pub fn make_current(&self) -> Result<()> {
        // SAFETY: takes an integer.
        let code = unsafe { self.runtime.api.cudaSetDevice(self.ordinal) };
        self.runtime.check("cudaSetDevice", code)?;
        // SAFETY: a null pointer names no memory.
        let code = unsafe { self.runtime.api.cudaFree(std::ptr::null_mut()) };
        self.runtime.check("cudaFree", code)
    }

    /// Whether graph memory nodes are supported here (R54).
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    #[doc(alias = "cudaDeviceGetAttribute")]
    pub fn supports_memory_pools(&self) -> Result<bool> {
        Ok(self.attribute(cudaDeviceAttr::MEMORY_POOLS_SUPPORTED)? != 0)
    }

    /// The properties of the device. Only the name comes from the properties, whose
    /// struct differs from version to version; the rest are attributes.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    #[doc(alias = "cudaGetDeviceProperties")]
    #[doc(alias = "cudaDeviceGetAttribute")]
    pub fn info(&self) -> Result<DeviceInfo> {
        Ok(DeviceInfo {
            ordinal: self.ordinal,
            name: self.name()?,
            compute_capability: (
                self.attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MAJOR)?,
                self.attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: self.attribute(cudaDeviceAttr::MULTI_PROCESSOR_COUNT)?,
            clock_rate_khz: self.clock_rate_khz()?,
        })
    }

    /// Nominal SM clock rate in kHz.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    pub fn clock_rate_khz(&self) -> Result<i32> {
        self.attribute(cudaDeviceAttr::CLOCK_RATE)
    }

    /// Threads and blocks that one multiprocessor can hold at once.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    pub fn multiprocessor_limits(&self) -> Result<(i32, i32)> {
        Ok((
            self.attribute(cudaDeviceAttr::MAX_THREADS_PER_MULTI_PROCESSOR)?,
            self.attribute(cudaDeviceAttr::MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        ))
    }

    /// A rough measure of speed, for choosing among devices: multiprocessors times
    /// clock rate.
    ///
    /// # Errors
    ///
    /// 101 `cudaErrorInvalidDevice` for an ordinal without a device.
    pub fn throughput(&self) -> Result<i64> {
        let multiprocessors = self.attribute(cudaDeviceAttr::MULTI_PROCESSOR_COUNT)?;
        Ok(i64::from(multiprocessors) * i64::from(self.clock_rate_khz()?))
    }

    /// The device's graph memory.
    #[must_use]
    pub fn graph_memory(&self) -> GraphMemory<'rt> {
        GraphMemory::new(self.runtime, self.ordinal)
    }

    fn name(&self) -> Result<String> {
        let api = &self.runtime.api;
        let mut prop = Box::new(cudaDeviceProp::zeroed());
        // On 12.x the struct of the headers goes with the `_v2` spelling.
        // SAFETY: the buffer is larger than any version's struct.
        let (call, code) =
            match unsafe { api.cudaGetDeviceProperties_v2(&raw mut *prop, self.ordinal) } {
                Some(code) => ("cudaGetDeviceProperties_v2", code),
                // SAFETY: as above.
                None => ("cudaGetDeviceProperties", unsafe {
                    api.cudaGetDeviceProperties(&raw mut *prop, self.ordinal)
                }),
            };
        self.runtime.check(call, code)?;
        Ok(prop.name())
    }

    fn attribute(&self, attribute: cudaDeviceAttr) -> Result<i32> {
        let mut value: c_int = 0;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe {
            self.runtime
                .api
                .cudaDeviceGetAttribute(&raw mut value, attribute, self.ordinal)
        };
        self.runtime.check("cudaDeviceGetAttribute", code)?;
        Ok(value)
    }
}
