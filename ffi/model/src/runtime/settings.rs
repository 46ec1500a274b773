//! Settings of a device, which have no effect except that they can be read. Simplification:
//! all devices have the same settings.

use cudart_ffi::{cudaError_t, cudaLimit};

use super::{Outcome, Runtime};

/// `cudaErrorUnsupportedLimit`
const UNSUPPORTED: cudaError_t = cudaError_t(215);
/// The stack size of a thread is a multiple of this, in bytes. The granularity and the
/// largest accepted size are assumed.
const STACK_STEP: u64 = 16;
const MOST_STACK: u64 = 512 << 10;
/// The smallest heap for `malloc` in kernels, in bytes.
const LEAST_HEAP: u64 = 4 << 20;
/// The flags that set how threads of the program wait. At most one may be set.
const SCHEDULES: u32 = 1 | 2 | 4;
/// `cudaDeviceMapHost`, which is always set.
const MAP_HOST: u32 = 8;
/// `cudaDeviceLmemResizeToMax`, `cudaDeviceSyncMemops`.
const OTHER_FLAGS: u32 = 0x10 | 0x80;

/// The settings.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// By number, with the initial values of the H200.
    limits: [u64; 9],
    flags: u32,
    /// How the L1 cache and shared memory are divided.
    pub cache: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: [
                1024,
                8_650_752,
                8 << 20,
                0,
                2048,
                64,
                11_796_480,
                232_448,
                0,
            ],
            flags: 0,
            cache: 0,
        }
    }
}

impl Settings {
    /// `cudaDeviceGetLimit`.
    ///
    /// # Errors
    ///
    /// 215 for the synchronization depth, which devices of compute capability 9.0 and
    /// later do not have; 1 for an unknown limit.
    pub fn limit(&self, limit: cudaLimit) -> Outcome<u64> {
        if limit == cudaLimit::DEV_RUNTIME_SYNC_DEPTH {
            return Err(UNSUPPORTED);
        }
        let found = self.limits.get(limit.0 as usize).copied();
        found.ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaDeviceSetLimit`.
    ///
    /// # Errors
    ///
    /// The same as for [`limit`](Self::limit), and 1 for a stack that is too large and
    /// for a limit without a name.
    pub fn set_limit(&mut self, limit: cudaLimit, value: u64) -> Outcome {
        self.limit(limit)?;
        let invalid = cudaError_t::INVALID_VALUE;
        if limit.known_name().is_none() {
            return Err(invalid);
        }
        let value = match limit {
            cudaLimit::STACK_SIZE if value > MOST_STACK => return Err(invalid),
            cudaLimit::STACK_SIZE => value.next_multiple_of(STACK_STEP),
            cudaLimit::MALLOC_HEAP_SIZE => value.max(LEAST_HEAP),
            _ => value,
        };
        let room = self.limits.get_mut(limit.0 as usize);
        *room.ok_or(invalid)? = value;
        Ok(())
    }

    /// `cudaGetDeviceFlags`.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags | MAP_HOST
    }

    /// `cudaSetDeviceFlags`.
    ///
    /// # Errors
    ///
    /// 1 for unknown flags, and for two flags that set how threads wait.
    pub fn set_flags(&mut self, flags: u32) -> Outcome {
        let known = SCHEDULES | MAP_HOST | OTHER_FLAGS;
        if flags & !known != 0 || (flags & SCHEDULES).count_ones() > 1 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.flags = flags;
        Ok(())
    }
}

impl Runtime {
    /// The settings of the devices.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }
}
