//! Attributes of kernels: shared memory, and the number of blocks that can be resident on a
//! multiprocessor.
//!
//! The sizes are those of compute capability 9.0, for every profile.

use cudart_ffi::{cudaError_t, cudaFuncAttribute};

use super::{KernelRequest, Outcome, Runtime};
use crate::kernels::module::KernelCode;
use crate::objects::id::Id;

/// The largest shared memory of a block, static and dynamic, that needs no attribute, in
/// bytes.
const USUAL: u32 = 48 << 10;
/// The largest shared memory of a block. The system itself uses 1 KiB per block.
const MOST: u32 = 227 << 10;
const OF_SYSTEM: u64 = 1 << 10;
/// The possible sizes of a multiprocessor's shared memory, in KiB.
const CARVEOUTS: [u64; 10] = [0, 8, 16, 32, 64, 100, 132, 164, 196, 228];
/// Registers of a thread. Assumed, because machine code is not read.
const REGISTERS: i32 = 32;

/// The attributes of a kernel that the program has set.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KernelSettings {
    most_dynamic: Option<u32>,
    /// In percent.
    carveout: Option<i32>,
}

/// The result of `cudaFuncGetAttributes`.
#[derive(Debug, Clone, Copy)]
pub struct KernelAttributes {
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Constant memory of the module, in bytes.
    pub constant_bytes: u64,
    /// Local memory of a thread, in bytes.
    pub local_bytes: u32,
    /// Registers of a thread.
    pub registers: i32,
    /// The architecture: 90 for 9.0.
    pub architecture: i32,
    /// The largest dynamic shared memory that a launch may request, in bytes.
    pub most_dynamic_bytes: u32,
    /// The preferred share of shared memory in the L1 cache in percent, or -1.
    pub carveout: i32,
}

fn static_shared(code: &KernelCode) -> u32 {
    code.program
        .as_ref()
        .map_or(0, |program| program.shared_bytes())
}

impl Runtime {
    fn kernel_settings(&self, kernel: u64) -> KernelSettings {
        let found = Id::from_handle(kernel).and_then(|id| self.kernels.get(id));
        found.map(|kernel| kernel.settings).unwrap_or_default()
    }

    fn most_dynamic(&self, kernel: u64, code: &KernelCode) -> u32 {
        let usual = USUAL.saturating_sub(static_shared(code));
        self.kernel_settings(kernel).most_dynamic.unwrap_or(usual)
    }

    /// Refuses a launch with more dynamic shared memory than the kernel may use.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one, 1 for too much shared
    /// memory.
    pub(super) fn check_shared(&self, request: &KernelRequest) -> Outcome {
        let code = self.kernel(request.kernel)?;
        let fits = request.shared_bytes <= self.most_dynamic(request.kernel, code);
        fits.then_some(()).ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaFuncGetAttributes`.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one.
    pub fn kernel_attributes(&self, kernel: u64) -> Outcome<KernelAttributes> {
        let code = self.kernel(kernel)?;
        let [major, minor] = self.profile.compute_capability;
        let program = code.program.as_ref();
        Ok(KernelAttributes {
            shared_bytes: static_shared(code),
            constant_bytes: code.variables.as_ref().map_or(0, |v| v.constant_bytes()),
            local_bytes: program.map_or(0, |program| program.local_bytes()),
            registers: REGISTERS,
            architecture: major.saturating_mul(10).saturating_add(minor),
            most_dynamic_bytes: self.most_dynamic(kernel, code),
            carveout: self.kernel_settings(kernel).carveout.unwrap_or(-1),
        })
    }

    /// `cudaFuncSetAttribute`.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one, 1 for an unknown attribute
    /// or an invalid value.
    pub fn set_kernel_attribute(
        &mut self,
        kernel: u64,
        attribute: cudaFuncAttribute,
        value: i32,
    ) -> Outcome {
        let refused = cudaError_t::INVALID_VALUE;
        let most = MOST.saturating_sub(static_shared(self.kernel(kernel)?));
        let kernel = Id::from_handle(kernel).and_then(|id| self.kernels.get_mut(id));
        let settings = &mut kernel.ok_or(refused)?.settings;
        match attribute {
            cudaFuncAttribute::MAX_DYNAMIC_SHARED_MEMORY_SIZE => {
                let value = u32::try_from(value).ok().filter(|&value| value <= most);
                settings.most_dynamic = Some(value.ok_or(refused)?);
            }
            cudaFuncAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(refused);
                }
                settings.carveout = (value >= 0).then_some(value);
            }
            _ => return Err(refused),
        }
        Ok(())
    }

    /// How many blocks of `threads` threads can be resident on a multiprocessor.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one, 1 for 0 threads.
    pub fn resident_blocks(&self, kernel: u64, threads: i32, dynamic: u64) -> Outcome<i32> {
        let code = self.kernel(kernel)?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0);
        let threads = threads.ok_or(cudaError_t::INVALID_VALUE)?;
        if threads > 1024 || dynamic > u64::from(self.most_dynamic(kernel, code)) {
            return Ok(0);
        }
        let profile = &self.profile;
        let by_threads = profile.max_threads_per_multiprocessor / threads.next_multiple_of(32);
        let part = self.shared_of_multiprocessor(kernel);
        let of_block = (u64::from(static_shared(code)) + dynamic + OF_SYSTEM).next_multiple_of(128);
        let by_shared = part / of_block;
        let blocks =
            u64::from(by_threads.min(profile.max_blocks_per_multiprocessor)).min(by_shared);
        Ok(i32::try_from(blocks).unwrap_or(i32::MAX))
    }

    /// The shared memory of a multiprocessor that runs a kernel, in bytes: the smallest
    /// possible size that has the requested percentage, or the largest size if none was
    /// set.
    fn shared_of_multiprocessor(&self, kernel: u64) -> u64 {
        let whole = CARVEOUTS.last().copied().unwrap_or(0);
        let part = self.kernel_settings(kernel).carveout.and_then(|percent| {
            let wanted = u64::from(percent.unsigned_abs()) * whole;
            CARVEOUTS.into_iter().find(|kib| kib * 100 >= wanted)
        });
        part.unwrap_or(whole) << 10
    }

    /// `cudaOccupancyAvailableDynamicSMemPerBlock`: the dynamic shared memory of each
    /// block, in bytes, if `blocks` blocks are resident on a multiprocessor.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one, 1 for 0 blocks or threads.
    pub fn dynamic_shared_of_each(&self, kernel: u64, blocks: i32, threads: i32) -> Outcome<u64> {
        let code = self.kernel(kernel)?;
        let blocks = u64::try_from(blocks).ok().filter(|&blocks| blocks > 0);
        let blocks = blocks.filter(|_| threads > 0);
        let blocks = blocks.ok_or(cudaError_t::INVALID_VALUE)?;
        let each = self.shared_of_multiprocessor(kernel) / blocks;
        let dynamic = each.saturating_sub(static_shared(code).into());
        Ok(dynamic.min(self.most_dynamic(kernel, code).into()))
    }

    /// Refuses a cooperative launch of more blocks than can be resident on the device.
    ///
    /// # Errors
    ///
    /// 98 for a null kernel handle, 400 for an invalid one, 9 for launch dimensions
    /// that no device supports, 720 for too many blocks.
    pub fn fits_at_once(&self, request: &KernelRequest) -> Outcome {
        let (blocks, threads) = request.shape().ok_or(cudaError_t::INVALID_CONFIGURATION)?;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        let resident =
            self.resident_blocks(request.kernel, threads, request.shared_bytes.into())?;
        let at_once = u64::from(resident.unsigned_abs()) * u64::from(self.profile.multiprocessors);
        // cudaErrorCooperativeLaunchTooLarge
        (blocks <= at_once).then_some(()).ok_or(cudaError_t(720))
    }
}
