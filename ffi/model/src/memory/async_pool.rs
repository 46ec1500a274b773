//! Stream-ordered memory: the default pool of a device, from which `cudaMallocAsync`
//! allocates.
//!
//! It is simpler than the driver's pool: each allocation gets new addresses as long as
//! there are any, and only the sizes of the allocations determine how much memory the pool
//! has reserved. It is separate from graph memory (R44).

use std::ops::Range;

use crate::clock::Nanos;
use crate::memory::allocations::{Allocations, STEP};
use crate::memory::contents::Contents;
use crate::memory::va_window::VaWindow;

/// The pool allocates physical memory in multiples of this, in bytes. Assumed to be the
/// block size of graph memory on the H200 (M1).
const UNIT: u64 = 32 << 20;

/// The pool.
#[derive(Debug)]
pub struct AsyncPool {
    /// Their sizes are multiples of [`STEP`].
    allocations: Allocations,
    addresses: VaWindow,
    used: u64,
    reserved: u64,
    threshold: u64,
}

impl AsyncPool {
    /// An empty pool with these addresses.
    #[must_use]
    pub fn new(addresses: Range<u64>) -> Self {
        Self {
            allocations: Allocations::default(),
            addresses: VaWindow::new(addresses),
            used: 0,
            reserved: 0,
            threshold: 0,
        }
    }

    /// Bytes of live allocations.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Physical bytes that the pool has reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The release threshold in bytes: at a synchronization, reserved bytes above it
    /// are returned to the device.
    #[must_use]
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Sets the release threshold.
    pub fn set_threshold(&mut self, bytes: u64) {
        self.threshold = bytes;
    }

    /// The number of allocations that are not freed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.allocations.unfreed_count()
    }

    /// Allocates `bytes` bytes, with `room` bytes free on the device, and returns the
    /// address. `None` if that is not enough.
    pub fn allocate(&mut self, bytes: u64, room: u64, now: Nanos) -> Option<u64> {
        self.settle(now);
        let bytes = bytes.checked_next_multiple_of(STEP)?;
        let wanted = self
            .used
            .checked_add(bytes)?
            .checked_next_multiple_of(UNIT)?;
        if wanted.saturating_sub(self.reserved) > room {
            return None;
        }
        let address = self.addresses.take(bytes)?;
        self.used += bytes;
        self.reserved = self.reserved.max(wanted);
        self.allocations.insert(address, bytes);
        Some(address)
    }

    /// Frees the allocation that starts at the address, at the time `time`. Returns
    /// whether there is one.
    pub fn free_at(&mut self, address: u64, time: Nanos) -> bool {
        self.allocations.free_at(address, time)
    }

    /// Whether the range is within one allocation that is not freed.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.allocations.contains(address, bytes)
    }

    /// Carries out the frees whose time has been reached.
    pub fn settle(&mut self, now: Nanos) {
        while let Some(address) = self.allocations.due(now) {
            if let Some(bytes) = self.allocations.remove(address) {
                self.used -= bytes;
                self.addresses.release(address, bytes);
            }
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

    /// Returns unused memory to the device, until `keep` bytes are left.
    pub fn trim(&mut self, keep: u64, now: Nanos) {
        self.settle(now);
        let needed = self.used.next_multiple_of(UNIT);
        let kept = keep.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX);
        self.reserved = self.reserved.min(needed.max(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn freed_memory_stays_reserved_until_a_trim() {
        let mut pool = AsyncPool::new(UNIT..1 << 40);
        let a = pool.allocate(40 * MIB, u64::MAX, 0).expect("room");
        assert_eq!((pool.used(), pool.reserved()), (40 * MIB, 64 * MIB));
        assert!(pool.contains(a + MIB, MIB));
        assert!(pool.free_at(a, 10) && !pool.free_at(a, 10));
        pool.trim(0, 9);
        assert_eq!((pool.used(), pool.reserved()), (40 * MIB, 64 * MIB));
        pool.trim(33 * MIB, 10);
        assert_eq!((pool.used(), pool.reserved()), (0, 64 * MIB));
        pool.trim(0, 10);
        assert_eq!((pool.used(), pool.reserved(), pool.count()), (0, 0, 0));
    }

    #[test]
    fn an_allocation_that_is_too_large_changes_nothing() {
        let mut pool = AsyncPool::new(UNIT..1 << 40);
        assert_eq!(pool.allocate(UNIT + 1, UNIT, 0), None);
        assert_eq!(pool.allocate(u64::MAX, u64::MAX, 0), None);
        assert_eq!((pool.used(), pool.reserved()), (0, 0));
    }
}
