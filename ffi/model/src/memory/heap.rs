//! Plain device memory: `cudaMalloc`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::clock::Nanos;
use crate::memory::allocations::{Allocations, STEP};
use crate::memory::contents::Contents;
use crate::memory::va_window::VaWindow;

/// Physical memory for plain allocations is allocated in multiples of this, in bytes.
const UNIT: u64 = 2 << 20;

/// A unit of 2 MiB that small allocations share.
#[derive(Debug, Clone, Copy)]
struct Unit {
    next: u64,
    live: u32,
}

/// The plain allocations of a device.
#[derive(Debug)]
pub struct Heap {
    allocations: Allocations,
    units: BTreeMap<u64, Unit>,
    /// The unit in which the next small allocation is tried.
    filling: u64,
    addresses: VaWindow,
    physical: u64,
}

impl Heap {
    /// An empty heap with these addresses.
    #[must_use]
    pub fn new(addresses: Range<u64>) -> Self {
        Self {
            allocations: Allocations::default(),
            units: BTreeMap::new(),
            filling: 0,
            addresses: VaWindow::new(addresses),
            physical: 0,
        }
    }

    /// Physical bytes of all allocations.
    #[must_use]
    pub fn physical_bytes(&self) -> u64 {
        self.physical
    }

    /// The number of allocations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.allocations.count()
    }

    /// Allocates `bytes` bytes, with `room` bytes free on the device, and returns the
    /// address. `None` if that is not enough.
    pub fn allocate(&mut self, bytes: u64, room: u64) -> Option<u64> {
        let rounded = bytes.checked_next_multiple_of(STEP)?;
        if rounded < UNIT
            && let Some(unit) = self.units.get_mut(&self.filling)
            && unit.next + rounded <= self.filling + UNIT
        {
            let address = unit.next;
            unit.next += rounded;
            unit.live += 1;
            self.allocations.insert(address, bytes);
            return Some(address);
        }
        let physical = bytes.checked_next_multiple_of(UNIT)?;
        if physical > room {
            return None;
        }
        let address = self.addresses.take(physical)?;
        self.physical += physical;
        if rounded < UNIT {
            self.filling = address;
            self.units.insert(
                address,
                Unit {
                    next: address + rounded,
                    live: 1,
                },
            );
        }
        self.allocations.insert(address, bytes);
        Some(address)
    }

    /// Whether an allocation that is not yet freed starts at the address.
    #[must_use]
    pub fn starts_at(&self, address: u64) -> bool {
        self.allocations.starts_at(address)
    }

    /// Whether the range is within one allocation that is not yet freed.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.allocations.contains(address, bytes)
    }

    /// Frees the allocation that starts at the address. Returns whether there is one.
    pub fn free(&mut self, address: u64) -> bool {
        let Some(bytes) = self.allocations.remove(address) else {
            return false;
        };
        if bytes.next_multiple_of(STEP) >= UNIT {
            let physical = bytes.next_multiple_of(UNIT);
            self.physical -= physical;
            self.addresses.release(address, physical);
        } else if let Some((&start, unit)) = self.units.range_mut(..=address).next_back() {
            unit.live -= 1;
            if unit.live == 0 {
                self.units.remove(&start);
                self.physical -= UNIT;
                self.addresses.release(start, UNIT);
            }
        }
        true
    }

    /// Frees the allocation that starts at the address, at the time `time`.
    pub fn free_at(&mut self, address: u64, time: Nanos) -> bool {
        self.allocations.free_at(address, time)
    }

    /// Carries out the frees whose time has been reached.
    pub fn settle(&mut self, now: Nanos) {
        while let Some(address) = self.allocations.due(now) {
            self.free(address);
        }
    }

    /// The allocation that contains an address: its first address, its size in bytes
    /// and its contents.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<(u64, u64, &Contents)> {
        self.allocations.find(address)
    }

    /// The first address of the next allocation above an address.
    #[must_use]
    pub fn next_above(&self, address: u64) -> Option<u64> {
        self.allocations.next_above(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_allocations_share_a_unit_and_the_last_free_returns_it() {
        let mut heap = Heap::new(UNIT..1 << 40);
        let a = heap.allocate(1, u64::MAX).unwrap();
        let b = heap.allocate(513, u64::MAX).unwrap();
        assert_eq!(b - a, 512);
        assert_eq!(heap.physical_bytes(), UNIT);
        assert!(heap.free(a));
        assert!(!heap.free(a));
        assert_eq!(heap.physical_bytes(), UNIT);
        assert!(heap.free(b));
        assert_eq!(heap.physical_bytes(), 0);
    }

    #[test]
    fn contains_is_true_for_inner_ranges_up_to_the_end() {
        let mut heap = Heap::new(UNIT..1 << 40);
        let a = heap.allocate(1000, u64::MAX).unwrap();
        assert!(heap.contains(a + 10, 990));
        assert!(!heap.contains(a + 10, 991));
        assert!(!heap.contains(a - 1, 1));
        assert!(!heap.contains(a + 1, u64::MAX));
    }

    #[test]
    fn an_allocation_that_does_not_fit_changes_nothing() {
        let mut heap = Heap::new(UNIT..1 << 40);
        assert_eq!(heap.allocate(UNIT + 1, UNIT), None);
        assert_eq!(heap.allocate(u64::MAX, u64::MAX), None);
        assert_eq!((heap.physical_bytes(), heap.count()), (0, 0));
        assert!(heap.allocate(UNIT, UNIT).is_some());
    }
}
