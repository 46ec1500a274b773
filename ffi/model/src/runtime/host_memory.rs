//! Host memory that CUDA allocates: pinned memory, and managed memory, which kernels and
//! copies on the device can also access.
//!
//! Here, managed memory is ordinary memory of the process: no pages migrate, and it takes
//! no device memory. This is a simplification: on a GPU, free memory (`cudaMemGetInfo`)
//! changes when a kernel accesses managed memory.

use cudart_ffi::cudaError_t;

use super::managed::Said;
use super::{Outcome, Runtime};
use crate::c_api::pointers::HostPages;

/// Host memory that devices can access.
#[derive(Debug)]
pub(super) struct HostAllocation {
    /// Its pages; `None` if the program allocated them. The program writes to them
    /// through its pointer, and the simulation through the same address; this code
    /// never reads or moves them.
    pages: Option<HostPages>,
    bytes: u64,
    /// The flags that `cudaHostGetFlags` returns.
    flags: u32,
    pub(super) managed: bool,
    /// The program's advice about managed memory.
    pub(super) said: Said,
}

/// `cudaHostRegisterMapped` and `cudaHostAllocMapped`. All such memory is mapped.
const MAPPED: u32 = 2;

/// The memory at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    /// 0: not known to CUDA, 1: pinned, 2: device, 3: managed.
    pub kind: u32,
    /// The device.
    pub device: i32,
    /// Whether a device can access it.
    pub on_device: bool,
    /// Whether the host program can access it.
    pub on_host: bool,
}

impl Runtime {
    /// `cudaMallocHost` and `cudaHostAlloc` if there are flags, `cudaMallocManaged` if
    /// there are none.
    ///
    /// # Errors
    ///
    /// 1 for 0 bytes of managed memory, 2 for more bytes than the host has addresses.
    pub fn malloc_host(&mut self, bytes: u64, flags: Option<u32>) -> Outcome<u64> {
        let managed = flags.is_none();
        if bytes == 0 {
            return if managed {
                Err(cudaError_t::INVALID_VALUE)
            } else {
                Ok(0)
            };
        }
        let pages = usize::try_from(bytes).ok().and_then(HostPages::new);
        let pages = pages.ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        let address = pages.address();
        self.host.insert(
            address,
            HostAllocation {
                pages: Some(pages),
                bytes,
                flags: flags.unwrap_or(0) | MAPPED,
                managed,
                said: Said::default(),
            },
        );
        Ok(address)
    }

    /// `cudaFreeHost`, which waits for the devices.
    ///
    /// # Errors
    ///
    /// 1 for an address that is not that of a pinned allocation.
    pub fn free_host(&mut self, address: u64) -> Outcome {
        if address == 0 {
            return Ok(());
        }
        match self.host.get(&address) {
            Some(allocation) if !allocation.managed && allocation.pages.is_some() => {
                self.host.remove(&address);
                Ok(())
            }
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaHostRegister`: from now on, devices can access this memory of the program.
    ///
    /// # Errors
    ///
    /// 1 for null and for memory that CUDA allocated, 712 if a part of the memory is
    /// already registered.
    pub fn register_host(&mut self, address: u64, bytes: u64, flags: u32) -> Outcome {
        let end = address.checked_add(bytes);
        let end = end.filter(|_| address != 0 && bytes != 0);
        let end = end.ok_or(cudaError_t::INVALID_VALUE)?;
        if self.is_device_memory(address) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let below = self.host.range(..end).next_back();
        if let Some((_, found)) = below.filter(|(start, found)| *start + found.bytes > address) {
            return Err(match found.pages {
                Some(_) => cudaError_t::INVALID_VALUE,
                // cudaErrorHostMemoryAlreadyRegistered
                None => cudaError_t(712),
            });
        }
        self.host.insert(
            address,
            HostAllocation {
                pages: None,
                bytes,
                flags: flags | MAPPED,
                managed: false,
                said: Said::default(),
            },
        );
        Ok(())
    }

    /// `cudaHostUnregister`.
    ///
    /// # Errors
    ///
    /// 713 for memory that is not registered; 1 for null, for memory that CUDA
    /// allocated and for an address in the middle of a registered range.
    pub fn unregister_host(&mut self, address: u64) -> Outcome {
        if address == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        match self.host.get(&address) {
            Some(found) if found.pages.is_none() => {
                self.host.remove(&address);
                Ok(())
            }
            _ if self.is_host_memory(address, 1) => Err(cudaError_t::INVALID_VALUE),
            // cudaErrorHostMemoryNotRegistered
            _ => Err(cudaError_t(713)),
        }
    }

    /// `cudaHostGetFlags`.
    ///
    /// # Errors
    ///
    /// 1 for an address that is not in pinned memory.
    pub fn host_flags(&self, address: u64) -> Outcome<u32> {
        let below = self.host.range(..=address).next_back();
        below
            .filter(|(start, found)| address - **start < found.bytes && !found.managed)
            .map(|(_, found)| found.flags)
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaPointerGetAttributes`.
    #[must_use]
    pub fn pointer(&self, address: u64) -> Pointer {
        if let Some(device) = self.device_of(address) {
            return Pointer {
                kind: 2,
                device,
                on_device: true,
                on_host: false,
            };
        }
        let below = self.host.range(..=address).next_back();
        match below.filter(|(start, found)| address - **start < found.bytes) {
            Some((_, found)) => Pointer {
                kind: if found.managed { 3 } else { 1 },
                device: 0,
                on_device: true,
                on_host: true,
            },
            // cudaInvalidDeviceId
            None => Pointer {
                kind: 0,
                device: -2,
                on_device: false,
                on_host: true,
            },
        }
    }

    /// Frees the managed memory that starts at an address. Returns whether there is
    /// any.
    pub(super) fn free_managed(&mut self, address: u64) -> bool {
        let managed = self.host.get(&address).is_some_and(|found| found.managed);
        if managed {
            self.host.remove(&address);
        }
        managed
    }

    /// Whether a range is in pinned or managed memory that was allocated here.
    pub(super) fn is_host_memory(&self, address: u64, bytes: u64) -> bool {
        self.host
            .range(..=address)
            .next_back()
            .is_some_and(|(start, found)| {
                address
                    .checked_add(bytes)
                    .is_some_and(|end| end <= start + found.bytes)
            })
    }

    /// The end address of the host allocation that contains an address.
    pub(super) fn host_memory_end(&self, address: u64) -> Option<u64> {
        let (start, found) = self.host.range(..=address).next_back()?;
        let end = start + found.bytes;
        (address < end).then_some(end)
    }

    /// The first address of the next host allocation above an address.
    pub(super) fn next_host_memory(&self, address: u64) -> Option<u64> {
        let (&start, _) = self.host.range(address.checked_add(1)?..).next()?;
        Some(start)
    }

    /// Whether an address is a device address: of plain or pool memory, or of a segment
    /// that a graph has reserved.
    pub(super) fn is_device_memory(&self, address: u64) -> bool {
        self.is_allocated(address, 1)
            || self
                .devices
                .iter()
                .any(|device| device.segment_of(address).is_some())
    }
}
