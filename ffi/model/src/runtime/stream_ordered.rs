//! Memory and kernels in stream order, and the default pools.

use std::sync::Arc;

use cudart_ffi::{cudaError_t, cudaMemPoolAttr};

use super::{KernelRequest, Outcome, Runtime};
use crate::kernels::program::Arguments;
use crate::objects::effects::{Effect, KernelRun};

/// The handle of a device's default pool is this plus the number of the device. All other
/// handles are larger.
const DEFAULT_POOL: u64 = 0x1000;

impl Runtime {
    /// `cudaMallocAsync`: memory of the default pool of the stream's device, or an
    /// alloc node if the stream captures (R17).
    ///
    /// # Errors
    ///
    /// 1 for 0 bytes, 400 for a handle that is not a stream, 2 if the device has not
    /// enough memory, 801 without memory pools.
    pub fn malloc_async(&mut self, bytes: u64, stream: u64, current: i32) -> Outcome<u64> {
        let id = self.working_stream(stream, current)?;
        if !self.profile.memory_pools_supported {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        if self.is_capturing(id) {
            return self.capture_malloc(id, bytes);
        }
        self.refuse_unsafe()?;
        if bytes == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.enqueue(id, 0, 0);
        let now = self.now();
        let device = self.streams.get(id).map_or(0, |stream| stream.device);
        let device = self
            .devices
            .get_mut(device)
            .ok_or(cudaError_t::INVALID_DEVICE)?;
        let room = device.free_bytes(&self.profile);
        device
            .async_pool
            .allocate(bytes, room, now)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cudaMallocFromPoolAsync`. The default pools are the only ones.
    ///
    /// # Errors
    ///
    /// The same as for [`malloc_async`](Self::malloc_async), and 1 for a handle that is
    /// not a pool of the stream's device.
    pub fn malloc_from_pool(
        &mut self,
        bytes: u64,
        pool: u64,
        stream: u64,
        current: i32,
    ) -> Outcome<u64> {
        let id = self.any_stream(stream, current)?;
        let device = self.streams.get(id).map_or(0, |stream| stream.device);
        if pool != DEFAULT_POOL + device as u64 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.malloc_async(bytes, stream, current)
    }

    /// Frees pool memory that starts at an address, at the time `time`. Returns whether
    /// there is any.
    pub(super) fn free_pooled(&mut self, address: u64, time: crate::clock::Nanos) -> bool {
        self.devices
            .iter_mut()
            .any(|device| device.async_pool.free_at(address, time))
    }

    /// Called after a synchronization: pools return the memory above their release
    /// threshold.
    pub fn release_pools(&mut self) {
        let now = self.now();
        for device in &mut self.devices {
            let threshold = device.async_pool.threshold();
            device.async_pool.trim(threshold, now);
        }
    }

    /// `cudaDeviceGetDefaultMemPool`.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist, 801 without memory pools.
    pub fn default_pool(&self, device: i32) -> Outcome<u64> {
        let (index, _) = self.device(device)?;
        if !self.profile.memory_pools_supported {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        Ok(DEFAULT_POOL + index as u64)
    }

    /// `cudaMemPoolTrimTo`. It does not affect graph memory (R44).
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a pool.
    pub fn pool_trim_to(&mut self, pool: u64, keep: u64) -> Outcome {
        let now = self.now();
        self.pool_device(pool)?.async_pool.trim(keep, now);
        Ok(())
    }

    /// `cudaMemPoolGetAttribute`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a pool, and for an attribute that is not in the
    /// table.
    pub fn pool_attribute(&mut self, pool: u64, attr: cudaMemPoolAttr) -> Outcome<u64> {
        let now = self.now();
        let pool = &mut self.pool_device(pool)?.async_pool;
        pool.settle(now);
        match attr {
            cudaMemPoolAttr::RELEASE_THRESHOLD => Ok(pool.threshold()),
            cudaMemPoolAttr::RESERVED_MEM_CURRENT => Ok(pool.reserved()),
            cudaMemPoolAttr::USED_MEM_CURRENT => Ok(pool.used()),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaMemPoolSetAttribute`: the release threshold.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a pool, and for any other attribute.
    pub fn set_pool_attribute(&mut self, pool: u64, attr: cudaMemPoolAttr, value: u64) -> Outcome {
        let pool = &mut self.pool_device(pool)?.async_pool;
        match attr {
            cudaMemPoolAttr::RELEASE_THRESHOLD => {
                pool.set_threshold(value);
                Ok(())
            }
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    fn pool_device(&mut self, pool: u64) -> Outcome<&mut super::Device> {
        pool.checked_sub(DEFAULT_POOL)
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| self.devices.get_mut(index))
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaLaunchKernel`: in the stream, or as a kernel node if the stream captures.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one and for a handle that is not
    /// a stream, 9 for launch dimensions that no device supports.
    pub fn launch_kernel(
        &mut self,
        request: &KernelRequest,
        arguments: Arguments,
        stream: u64,
        current: i32,
    ) -> Outcome {
        let id = self.working_stream(stream, current)?;
        let code = self.kernel(request.kernel)?;
        let (blocks, threads) = request.shape().ok_or(cudaError_t::INVALID_CONFIGURATION)?;
        self.check_shared(request)?;
        if self.is_capturing(id) {
            return self.capture_kernel(id, request, arguments);
        }
        let duration = self.kernel_duration(code, blocks, threads, request.spin_clocks);
        let effect = self.kernel_effect(request, arguments);
        self.enqueue(id, duration, 0);
        self.apply(effect.as_slice());
        Ok(())
    }

    /// The effect of a kernel on memory, if the simulated runtime can execute it.
    pub(super) fn kernel_effect(
        &self,
        request: &KernelRequest,
        arguments: Arguments,
    ) -> Option<Effect> {
        let program = self.kernel(request.kernel).ok()?.program.as_ref()?;
        Some(Effect::Kernel(KernelRun {
            program: Arc::clone(program),
            grid: request.grid,
            block: request.block,
            shared_bytes: request.shared_bytes,
            arguments,
        }))
    }
}
