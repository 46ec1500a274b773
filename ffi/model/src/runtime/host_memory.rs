//! Memory of the host that CUDA gives out: pinned memory, and managed memory, which
//! kernels and copies on the device reach as well.
//!
//! Managed memory is ordinary memory of the process here: nothing migrates, and it
//! takes nothing of the device. Policy: `cudaMemGetInfo` of a GPU changes when a kernel
//! touches managed memory.

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::c_api::pointers::HostPages;

/// An allocation of the host's memory.
#[derive(Debug)]
pub(super) struct HostAllocation {
    /// Its pages. The program writes to them through its pointer, the simulation through
    /// the same address; nothing here reads or moves them.
    #[allow(dead_code, reason = "it owns what the address points at")]
    pages: HostPages,
    bytes: u64,
    managed: bool,
}

impl Runtime {
    /// `cudaMallocHost`, `cudaHostAlloc`, and with `managed` `cudaMallocManaged`.
    ///
    /// # Errors
    ///
    /// 1 for no bytes of managed memory, 2 for more than the host has addresses.
    pub fn malloc_host(&mut self, bytes: u64, managed: bool) -> Outcome<u64> {
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
                pages,
                bytes,
                managed,
            },
        );
        Ok(address)
    }

    /// `cudaFreeHost`: once the devices have finished.
    ///
    /// # Errors
    ///
    /// 1 for what is no allocation of pinned memory.
    pub fn free_host(&mut self, address: u64) -> Outcome {
        if address == 0 {
            return Ok(());
        }
        match self.host.get(&address) {
            Some(allocation) if !allocation.managed => {
                self.host.remove(&address);
                Ok(())
            }
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// Frees managed memory that starts at an address. Whether any does.
    pub(super) fn free_managed(&mut self, address: u64) -> bool {
        let managed = self.host.get(&address).is_some_and(|found| found.managed);
        if managed {
            self.host.remove(&address);
        }
        managed
    }

    /// Whether a range is in pinned or managed memory that was allocated here.
    pub(crate) fn is_host_memory(&self, address: u64, bytes: u64) -> bool {
        self.host
            .range(..=address)
            .next_back()
            .is_some_and(|(start, found)| {
                address
                    .checked_add(bytes)
                    .is_some_and(|end| end <= start + found.bytes)
            })
    }

    /// The address after the last of the host allocation that an address is in.
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

    /// Whether an address is one of a device: of plain or pool memory, or of a segment
    /// that a graph has reserved.
    pub(super) fn is_device_memory(&self, address: u64) -> bool {
        self.is_allocated(address, 1)
            || self
                .devices
                .iter()
                .any(|device| device.segment_of(address).is_some())
    }
}
