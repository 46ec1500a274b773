//! Stream-ordered memory: a device's default pool, what `cudaMallocAsync` takes from.
//!
//! It is simpler than the driver's: each allocation gets new addresses while there are
//! any, and only the sizes decide what the pool holds. It is apart from the graphs'
//! memory (R44).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::clock::Nanos;
use crate::memory::contents::Contents;
use crate::memory::va_window::VaWindow;

/// Physical memory comes to the pool in these units. Assumed: the graphs' block on
/// the H200 (M1).
const UNIT: u64 = 32 << 20;

/// What sizes and addresses are multiples of.
const STEP: u64 = 512;

/// One allocation.
#[derive(Debug)]
struct Pooled {
    bytes: u64,
    /// Freed in stream order at this time.
    freed_at: Option<Nanos>,
    contents: Contents,
}

/// The pool.
#[derive(Debug)]
pub struct AsyncPool {
    allocations: BTreeMap<u64, Pooled>,
    /// Time and address of frees whose time has not come.
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

    /// Bytes that are allocated.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Physical bytes that the pool holds.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Reserved bytes above this are given back when something is waited for.
    #[must_use]
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Sets it.
    pub fn set_threshold(&mut self, bytes: u64) {
        self.threshold = bytes;
    }

    /// How many allocations are not freed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.allocations.len() - self.due.len()
    }

    /// Allocates, with `room` bytes left on the device. `None`: not enough.
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

    /// Frees what starts at the address, once the time has come. Whether anything did.
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

    /// Whether the bytes lie in one allocation that is not freed.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let before = self.allocations.range(..=address).next_back();
        before.is_some_and(|(start, pooled)| {
            let end = address.checked_add(bytes);
            pooled.freed_at.is_none() && end.is_some_and(|end| end <= start + pooled.bytes)
        })
    }

    /// Carries out the frees whose time has come.
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

    /// The allocation that an address is in: its first address, its bytes and what it
    /// holds.
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

    /// Gives back what is not allocated, down to `keep` bytes.
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
