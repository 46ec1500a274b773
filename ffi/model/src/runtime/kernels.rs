//! Libraries of kernels.

use std::ffi::{CStr, CString};

use cudart_ffi::cudaError_t;

use super::kernel_attributes::KernelSettings;
use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::kernels::module::{self, KernelCode, Refused};
use crate::objects::id::{Id, KernelId};
use crate::profile::nanos;

/// A loaded library.
#[derive(Debug)]
pub struct Library {
    kernels: Vec<KernelId>,
}

/// A kernel of a loaded library.
#[derive(Debug)]
pub struct Kernel {
    code: KernelCode,
    /// Its name as a C string, for the program.
    name: CString,
    /// The attributes that the program has set.
    pub(super) settings: KernelSettings,
}

/// The parameters of a kernel launch or a kernel node.
#[derive(Debug, Clone, Copy)]
pub struct KernelRequest {
    /// The kernel's handle.
    pub kernel: u64,
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The number of threads per block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The value of the kernel's spin time parameter in clock cycles, if it has one.
    pub spin_clocks: i64,
}

/// The largest extents of a block. The first is also the largest number of threads.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;
/// The largest extents of a grid (M11).
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65_535, 65_535];

impl KernelRequest {
    /// The number of blocks, and of threads per block; `None` for launch dimensions
    /// that no device supports.
    #[must_use]
    pub fn shape(&self) -> Option<(u64, u32)> {
        let fits = |extents: [u32; 3], most: [u32; 3]| {
            extents
                .iter()
                .zip(most)
                .all(|(&extent, most)| (1..=most).contains(&extent))
        };
        let threads: u64 = self.block.iter().map(|&n| u64::from(n)).product();
        let block_fits = fits(self.block, MAX_BLOCK) && threads <= MAX_THREADS;
        if !fits(self.grid, MAX_GRID) || !block_fits {
            return None;
        }
        let blocks = self
            .grid
            .iter()
            .fold(1_u64, |all, &n| all.saturating_mul(u64::from(n)));
        Some((blocks, u32::try_from(threads).unwrap_or(u32::MAX)))
    }
}

impl Library {
    /// Whether a kernel belongs to this library.
    pub(super) fn has(&self, kernel: KernelId) -> bool {
        self.kernels.contains(&kernel)
    }
}

impl Runtime {
    /// `cudaLibraryLoadData` with a PTX text.
    ///
    /// # Errors
    ///
    /// 218, 222 or 209, with a line for the error log.
    pub fn library_load(&mut self, ptx: &str) -> Result<u64, Refused> {
        let full = |_| Refused {
            code: cudaError_t::MEMORY_ALLOCATION,
            log: "no handles are left".to_owned(),
        };
        let codes = module::load(ptx, &self.profile)?;
        let mut kernels = Vec::with_capacity(codes.len());
        for code in codes {
            self.add_variables(&code);
            kernels.push(
                self.kernels
                    .insert(Kernel {
                        name: CString::new(code.name.as_str()).unwrap_or_default(),
                        code,
                        settings: KernelSettings::default(),
                    })
                    .ok_or(())
                    .map_err(full)?,
            );
        }
        self.libraries
            .insert(Library { kernels })
            .map(Id::to_handle)
            .ok_or(())
            .map_err(full)
    }

    /// Adds a kernel that the program registered. `None` if no handles are left.
    pub fn add_kernel(&mut self, code: KernelCode) -> Option<u64> {
        self.add_variables(&code);
        let name = CString::new(code.name.as_str()).unwrap_or_default();
        let added = self.kernels.insert(Kernel {
            code,
            name,
            settings: KernelSettings::default(),
        });
        added.map(Id::to_handle)
    }

    /// `cudaLibraryGetKernel`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a library, 500 if it has no kernel with that name.
    pub fn library_kernel(&self, library: u64, name: &str) -> Outcome<u64> {
        let library = Id::from_handle(library)
            .and_then(|id| self.libraries.get(id))
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        library
            .kernels
            .iter()
            .find(|id| {
                self.kernels
                    .get(**id)
                    .is_some_and(|kernel| kernel.code.name == name)
            })
            .map(|id| id.to_handle())
            .ok_or(cudaError_t::SYMBOL_NOT_FOUND)
    }

    /// `cudaLibraryUnload`. The handles of its kernels become invalid.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a library.
    pub fn library_unload(&mut self, library: u64) -> Outcome {
        let library = Id::from_handle(library)
            .and_then(|id| self.libraries.remove(id))
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        for kernel in library.kernels {
            self.kernels.remove(kernel);
        }
        Ok(())
    }

    /// The code of a kernel handle.
    ///
    /// # Errors
    ///
    /// 98 for null, 400 for a handle that is not a kernel. The real runtime also
    /// returns 400 for a driver's function.
    pub fn kernel(&self, handle: u64) -> Outcome<&KernelCode> {
        if handle == 0 {
            return Err(cudaError_t::INVALID_DEVICE_FUNCTION);
        }
        Id::from_handle(handle)
            .and_then(|id| self.kernels.get(id))
            .map(|kernel| &kernel.code)
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)
    }

    /// `cuFuncGetName` of a kernel handle.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a kernel.
    pub fn kernel_name(&self, handle: u64) -> Outcome<&CStr> {
        Id::from_handle(handle)
            .and_then(|id| self.kernels.get(id))
            .map(|kernel| kernel.name.as_c_str())
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)
    }

    /// The duration of a kernel. A kernel with a spin time takes that many SM clock
    /// cycles for each wave of blocks; a wave is the number of blocks that can be
    /// resident on the device.
    pub(super) fn kernel_duration(
        &self,
        code: &KernelCode,
        blocks: u64,
        threads_per_block: u32,
        spin_clocks: i64,
    ) -> Nanos {
        let profile = &self.profile;
        if let Some(us) = profile.kernel_us(&code.name) {
            return nanos(us);
        }
        if code.spin_parameter().is_none() {
            return nanos(profile.costs_us.kernel_on_device);
        }
        let resident = (profile.max_threads_per_multiprocessor / threads_per_block.max(1))
            .clamp(1, profile.max_blocks_per_multiprocessor);
        let at_once = u64::from(resident) * u64::from(profile.multiprocessors);
        let waves = blocks.div_ceil(at_once);
        let clocks = u64::try_from(spin_clocks).unwrap_or(0);
        let one = u128::from(clocks) * 1_000_000 / u128::from(profile.clock_rate_khz);
        let all = one.saturating_mul(u128::from(waves));
        nanos(profile.costs_us.kernel_on_device)
            .saturating_add(u64::try_from(all).unwrap_or(u64::MAX / 4).min(u64::MAX / 4))
    }
}
