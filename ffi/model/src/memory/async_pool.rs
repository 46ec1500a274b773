//! Stream-ordered memory: the default pool of a device, from which `cudaMallocAsync`
//! allocates.
//!
//! It is simpler than the driver's pool: each allocation gets new addresses as long as
//! there are any, and only the sizes of the allocations determine how much memory the pool
//! has reserved. It is separate from graph memory (R44).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::clock::Nanos;
use crate::memory::contents::Contents;
use crate::memory::va_window::VaWindow;

/// The pool allocates physical memory in multiples of this, in bytes. Assumed to be the
/// block size of graph memory on the H200 (M1).
const UNIT: u64 = 32 << 20;

/// Sizes and addresses are multiples of this, in bytes.
const STEP: u64 = 512;

/// One allocation.
#[derive(Debug)]
struct Pooled {
    bytes: u64,
    /// The time from which it is free, if it was freed in stream order.
    freed_at: Option<Nanos>,
    contents: Contents,
}

/// The pool.
#[derive(Debug)]
pub struct AsyncPool {
    allocations: BTreeMap<u64, Pooled>,
    /// The time and the address of each free whose time has not been reached.
    due: BTreeSet<(Nanos, u64)>,
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
            allocations: BTreeMap::new(),
            due: BTreeSet::new(),
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
        self.allocations.len() - self.due.len()
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
        self.allocations.insert(
            address,
            Pooled {
                bytes,
                freed_at: None,
                contents: Contents::default(),
            },
        );
        Some(address)
    }

    /// Frees the allocation that starts at the address, at the time `time`. Returns
    /// whether there is one.
    pub fn free_at(&mut self, address: u64, time: Nanos) -> bool {
        match self.allocations.get_mut(&address) {
            Some(pooled) if pooled.freed_at.is_none() => {
                pooled.freed_at = Some(time);
                self.due.insert((time, address));
                true
            }
            _ => false,
        }
    }

    /// Whether the range is within one allocation that is not freed.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let before = self.allocations.range(..=address).next_back();
        before.is_some_and(|(start, pooled)| {
            let end = address.checked_add(bytes);
            pooled.freed_at.is_none() && end.is_some_and(|end| end <= start + pooled.bytes)
        })
    }

    /// Carries out the frees whose time has been reached.
    pub fn settle(&mut self, now: Nanos) {
        while let Some(&(time, address)) = self.due.first()
            && time <= now
        {
            self.due.pop_first();
            if let Some(pooled) = self.allocations.remove(&address) {
                self.used -= pooled.bytes;
                self.addresses.release(address, pooled.bytes);
            }
        }
    }

    /// The allocation that contains an address: its first address, its size in bytes
    /// and its contents.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<(u64, u64, &Contents)> {
        let (&start, pooled) = self.allocations.range(..=address).next_back()?;
        let is_in = pooled.freed_at.is_none() && address - start < pooled.bytes;
        is_in.then_some((start, pooled.bytes, &pooled.contents))
    }

    /// The first address of the next allocation above an address.
    #[must_use]
    pub fn next_above(&self, address: u64) -> Option<u64> {
        let (&start, _) = self.allocations.range(address.checked_add(1)?..).next()?;
        Some(start)
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
    fn what_does_not_fit_changes_nothing() {
        let mut pool = AsyncPool::new(UNIT..1 << 40);
        assert_eq!(pool.allocate(UNIT + 1, UNIT, 0), None);
        assert_eq!(pool.allocate(u64::MAX, u64::MAX, 0), None);
        assert_eq!((pool.used(), pool.reserved()), (0, 0));
    }
}
