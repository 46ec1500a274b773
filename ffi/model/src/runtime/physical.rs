//! Physical memory that a program creates and maps itself: `cuMemCreate`,
//! `cuMemAddressReserve`, `cuMemMap`.

use std::collections::BTreeMap;

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::memory::contents::Contents;
use crate::objects::id::{Id, PhysicalId, kind};
use crate::objects::slab::Slab;

/// Sizes and addresses must be multiples of this, in bytes.
pub const GRANULARITY: u64 = 2 << 20;
/// The first reserved address. All other addresses of the simulated runtime are far from
/// it.
const FIRST_ADDRESS: u64 = 0x0100_0000_0000;

/// A physical allocation.
#[derive(Debug)]
pub(super) struct Physical {
    device: i32,
    bytes: u64,
    /// The number of ranges to which it is mapped.
    mapped: u32,
    /// Whether the program has released its handle.
    released: bool,
    contents: Contents,
}

/// A mapped range.
#[derive(Debug, Clone, Copy)]
struct Mapped {
    bytes: u64,
    physical: PhysicalId,
}

/// Physical allocations, reserved and mapped address ranges.
#[derive(Debug, Default)]
pub(super) struct PhysicalMemory {
    all: Slab<kind::Physical, Physical>,
    /// The size in bytes of each reserved range, by its address.
    reserved: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, Mapped>,
    next: u64,
}

impl PhysicalMemory {
    /// Bytes of physical memory that it uses on a device.
    pub(super) fn bytes_on(&self, device: i32) -> u64 {
        self.all
            .iter()
            .filter(|(_, physical)| physical.device == device)
            .map(|(_, physical)| physical.bytes)
            .sum()
    }

    /// The mapping that contains an address: its first address, its size in bytes, and
    /// its contents.
    pub(super) fn find(&self, address: u64) -> Option<(u64, u64, &Contents)> {
        let (&start, mapped) = self.mapped.range(..=address).next_back()?;
        if address - start >= mapped.bytes {
            return None;
        }
        let physical = self.all.get(mapped.physical)?;
        Some((start, mapped.bytes, &physical.contents))
    }

    /// The first address of the next mapping above an address.
    pub(super) fn next_above(&self, address: u64) -> Option<u64> {
        let above = (
            core::ops::Bound::Excluded(address),
            core::ops::Bound::Unbounded,
        );
        self.mapped.range(above).next().map(|(&start, _)| start)
    }

    /// Whether a range is mapped, possibly by several adjacent mappings.
    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else {
            return false;
        };
        let mut at = address;
        while at < end {
            let Some((start, found)) = self.mapped.range(..=at).next_back() else {
                return false;
            };
            let next = start + found.bytes;
            if next <= at {
                return false;
            }
            at = next;
        }
        bytes > 0
    }

    fn drop_if_over(&mut self, id: PhysicalId) {
        let over = |physical: &Physical| physical.released && physical.mapped == 0;
        if self.all.get(id).is_some_and(over) {
            self.all.remove(id);
        }
    }
}

impl Runtime {
    /// `cuMemCreate`.
    ///
    /// # Errors
    ///
    /// 1 for a size that is not a multiple of the granularity, 101 for the device, 2 if
    /// the device has not enough memory.
    pub fn physical_create(&mut self, bytes: u64, device: i32) -> Outcome<u64> {
        if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let (free, _) = self.mem_info(device)?;
        if bytes > free {
            return Err(cudaError_t::MEMORY_ALLOCATION);
        }
        let physical = Physical {
            device,
            bytes,
            mapped: 0,
            released: false,
            contents: Contents::default(),
        };
        let made = self.physical.all.insert(physical);
        self.count_physical();
        made.map(Id::to_handle)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cuMemRelease`: the memory is freed once no range is mapped to it.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a physical allocation, or was already released.
    pub fn physical_release(&mut self, handle: u64) -> Outcome {
        let id: PhysicalId = Id::from_handle(handle).ok_or(cudaError_t::INVALID_VALUE)?;
        let found = self.physical.all.get_mut(id);
        let physical = found.ok_or(cudaError_t::INVALID_VALUE)?;
        if core::mem::replace(&mut physical.released, true) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.physical.drop_if_over(id);
        self.count_physical();
        Ok(())
    }

    /// Stores for each device how much is allocated on it.
    fn count_physical(&mut self) {
        for (number, device) in (0..).zip(&mut self.devices) {
            device.created_bytes = self.physical.bytes_on(number);
        }
    }

    /// `cuMemAddressReserve`.
    ///
    /// # Errors
    ///
    /// 1 for a size that is not a multiple of the granularity and for an alignment that
    /// is not a power of two, 2 if no addresses are left.
    pub fn address_reserve(&mut self, bytes: u64, alignment: u64) -> Outcome<u64> {
        let alignment = alignment.max(GRANULARITY);
        if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) || !alignment.is_power_of_two() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let memory = &mut self.physical;
        let address = memory
            .next
            .max(FIRST_ADDRESS)
            .checked_next_multiple_of(alignment)
            .filter(|address| address.checked_add(bytes).is_some_and(|end| end < 1 << 45))
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        memory.next = address + bytes;
        memory.reserved.insert(address, bytes);
        Ok(address)
    }

    /// `cuMemAddressFree`.
    ///
    /// # Errors
    ///
    /// 1 unless the range is exactly one reserved range and nothing is mapped in it.
    pub fn address_free(&mut self, address: u64, bytes: u64) -> Outcome {
        let memory = &mut self.physical;
        let end = address.saturating_add(bytes);
        let whole = memory.reserved.get(&address) == Some(&bytes);
        if !whole || memory.mapped.range(address..end).next().is_some() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        memory.reserved.remove(&address);
        Ok(())
    }

    /// `cuMemMap`.
    ///
    /// # Errors
    ///
    /// 1 for a range that is not reserved, in which something is mapped, or that is
    /// longer than the allocation; 801 for a range that is shorter.
    pub fn map(&mut self, address: u64, bytes: u64, handle: u64) -> Outcome {
        let refused = cudaError_t::INVALID_VALUE;
        let id: PhysicalId = Id::from_handle(handle).ok_or(refused)?;
        let memory = &mut self.physical;
        let end = address.checked_add(bytes).ok_or(refused)?;
        let (start, reserved) = memory
            .reserved
            .range(..=address)
            .next_back()
            .ok_or(refused)?;
        let inside = end <= start + reserved && address.is_multiple_of(GRANULARITY);
        let before = memory.mapped.range(..end).next_back();
        let taken = before.is_some_and(|(start, found)| start + found.bytes > address);
        let physical = memory.all.get_mut(id).ok_or(refused)?;
        if !inside || taken || physical.released || bytes > physical.bytes {
            return Err(refused);
        }
        // The driver cannot map a part of an allocation (H200, driver 580).
        if bytes != physical.bytes {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        physical.mapped += 1;
        let mapped = Mapped {
            bytes,
            physical: id,
        };
        memory.mapped.insert(address, mapped);
        Ok(())
    }

    /// `cuMemUnmap`: removes every mapping in the range.
    ///
    /// # Errors
    ///
    /// 1 for a range that does not consist of whole mappings.
    pub fn unmap(&mut self, address: u64, bytes: u64) -> Outcome {
        let refused = cudaError_t::INVALID_VALUE;
        let end = address.checked_add(bytes).ok_or(refused)?;
        let memory = &mut self.physical;
        let inside: Vec<(u64, Mapped)> = memory
            .mapped
            .range(address..end)
            .map(|(&start, &mapped)| (start, mapped))
            .collect();
        let length: u64 = inside.iter().map(|(_, mapped)| mapped.bytes).sum();
        if inside.is_empty() || length != bytes {
            return Err(refused);
        }
        for (start, mapped) in inside {
            memory.mapped.remove(&start);
            if let Some(physical) = memory.all.get_mut(mapped.physical) {
                physical.mapped -= 1;
            }
            memory.drop_if_over(mapped.physical);
        }
        self.count_physical();
        Ok(())
    }

    /// `cuMemSetAccess`. Simplification: every device can access all mapped memory.
    ///
    /// # Errors
    ///
    /// 1 for a range that is not mapped.
    pub fn check_mapped(&self, address: u64, bytes: u64) -> Outcome {
        self.physical
            .contains(address, bytes)
            .then_some(())
            .ok_or(cudaError_t::INVALID_VALUE)
    }
}
