//! Devices: their properties, and the four attributes of their graph memory.

use cudart_ffi::{cudaDeviceAttr, cudaError_t, cudaGraphMemAttributeType};

use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::profile::Profile;

/// The values that `cudaGetDeviceProperties` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// The device's name.
    pub name: String,
    /// The size of its memory in bytes.
    pub total_bytes: u64,
    /// The compute capability: major and minor version.
    pub compute_capability: [i32; 2],
    /// The nominal clock rate of the multiprocessors, in kHz.
    pub clock_rate_khz: i32,
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
}

/// The value of a device attribute; `None` for attributes that are not simulated.
fn attribute_value(attribute: cudaDeviceAttr, profile: &Profile) -> Option<i32> {
    let to_int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    Some(match attribute {
        cudaDeviceAttr::CLOCK_RATE => to_int(profile.clock_rate_khz),
        cudaDeviceAttr::MULTI_PROCESSOR_COUNT => to_int(profile.multiprocessors),
        cudaDeviceAttr::COMPUTE_CAPABILITY_MAJOR => profile.compute_capability[0],
        cudaDeviceAttr::COMPUTE_CAPABILITY_MINOR => profile.compute_capability[1],
        cudaDeviceAttr::MEMORY_POOLS_SUPPORTED => i32::from(profile.memory_pools_supported),
        // Threads per block, and the largest extents of a block. The extents of a
        // grid follow.
        cudaDeviceAttr(1..=3) => 1024,
        cudaDeviceAttr(4) => 64,
        cudaDeviceAttr(5) => i32::MAX,
        cudaDeviceAttr(6 | 7) => 65_535,
        // Warp size.
        cudaDeviceAttr(10) => 32,
        // Integrated, compute mode.
        cudaDeviceAttr(18 | 20) => 0,
        // Concurrent kernels, unified addressing, managed memory.
        cudaDeviceAttr(31 | 41 | 83) => 1,
        cudaDeviceAttr::MAX_THREADS_PER_MULTI_PROCESSOR => {
            to_int(profile.max_threads_per_multiprocessor)
        }
        cudaDeviceAttr::MAX_BLOCKS_PER_MULTIPROCESSOR => {
            to_int(profile.max_blocks_per_multiprocessor)
        }
        _ => return None,
    })
}

impl Runtime {
    /// `cudaGetDeviceCount`.
    #[must_use]
    pub fn device_count(&self) -> i32 {
        i32::try_from(self.devices.len()).unwrap_or(i32::MAX)
    }

    /// Whether `cudaSetDevice` accepts the ordinal.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn check_device(&self, device: i32) -> Outcome {
        self.device(device)?;
        self.has_context()
    }

    /// `cudaDeviceGetAttribute`.
    ///
    /// # Errors
    ///
    /// 101 for the device, 1 for an attribute that is not simulated.
    pub fn device_attribute(&self, attribute: cudaDeviceAttr, device: i32) -> Outcome<i32> {
        self.device(device)?;
        attribute_value(attribute, &self.profile).ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaGetDeviceProperties`.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn properties(&self, device: i32) -> Outcome<Properties> {
        self.device(device)?;
        Ok(Properties {
            name: self.profile.device_name.clone(),
            total_bytes: self.profile.total_bytes(),
            compute_capability: self.profile.compute_capability,
            clock_rate_khz: i32::try_from(self.profile.clock_rate_khz).unwrap_or(i32::MAX),
            multiprocessors: i32::try_from(self.profile.multiprocessors).unwrap_or(i32::MAX),
        })
    }

    /// A UUID of the device that is the same in every process. It is made from the
    /// profile's name of the device.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn device_uuid(&self, device: i32) -> Outcome<[u8; 16]> {
        self.device(device)?;
        let mut uuid = [0; 16];
        for (byte, from) in uuid
            .iter_mut()
            .zip(self.profile.device_name.bytes().cycle())
        {
            *byte = from;
        }
        if let Some(last) = uuid.last_mut() {
            *last = u8::try_from(device).unwrap_or(u8::MAX);
        }
        Ok(uuid)
    }

    /// The time at which `cudaDeviceSynchronize` on the device returns.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn device_end(&self, device: i32) -> Outcome<Nanos> {
        Ok(self.device(device)?.1.end)
    }

    /// `cudaDeviceGetGraphMemAttribute`: the value in bytes (R47, R48).
    ///
    /// # Errors
    ///
    /// 101 for the device, 1 for the attribute (R49, M12).
    pub fn graph_mem_attribute(
        &self,
        device: i32,
        attribute: cudaGraphMemAttributeType,
    ) -> Outcome<u64> {
        let (_, found) = self.device(device)?;
        let blocks = match attribute {
            cudaGraphMemAttributeType::USED_MEM_CURRENT => found.pool.used(),
            cudaGraphMemAttributeType::USED_MEM_HIGH => found.pool.used_high(),
            cudaGraphMemAttributeType::RESERVED_MEM_CURRENT => found.pool.reserved(),
            cudaGraphMemAttributeType::RESERVED_MEM_HIGH => found.pool.reserved_high(),
            _ => return Err(cudaError_t::INVALID_VALUE),
        };
        Ok(blocks.saturating_mul(self.profile.block_bytes()))
    }

    /// `cudaDeviceSetGraphMemAttribute`: only the two high-water marks can be set, and
    /// only to 0 (R49).
    ///
    /// # Errors
    ///
    /// 101 for the device, 1 for anything else that R49 does not allow.
    pub fn set_graph_mem_attribute(
        &mut self,
        device: i32,
        attribute: cudaGraphMemAttributeType,
        value: u64,
    ) -> Outcome {
        let found = self.device_mut(device)?;
        if value != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        match attribute {
            cudaGraphMemAttributeType::USED_MEM_HIGH => found.pool.reset_used_high(),
            cudaGraphMemAttributeType::RESERVED_MEM_HIGH => found.pool.reset_reserved_high(),
            _ => return Err(cudaError_t::INVALID_VALUE),
        }
        Ok(())
    }

    /// `cudaDeviceGraphMemTrim` (R42, R43).
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn trim(&mut self, device: i32) -> Outcome {
        let now = self.now();
        let found = self.device_mut(device)?;
        let unmapped = found.pool.trim(now);
        found.va_segments.merge();
        self.charge_each(self.profile.costs_us.unmap_block, unmapped);
        Ok(())
    }
}
