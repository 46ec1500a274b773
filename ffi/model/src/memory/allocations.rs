//! The allocations of a device's heap or of its stream-ordered pool, by address. Each is
//! freed at once, or at a later time in the order of a stream.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Nanos;
use crate::memory::contents::Contents;

/// Addresses are multiples of this, in bytes. An allocation includes the rest of its last
/// step, which was not requested.
pub(super) const STEP: u64 = 512;

#[derive(Debug)]
struct Allocation {
    /// The requested size in bytes.
    bytes: u64,
    /// The time from which it is free, if it was freed in stream order
    /// (`cudaFreeAsync`).
    freed_at: Option<Nanos>,
    contents: Contents,
}

/// Allocations by address. One that is freed in stream order stays here until that time,
/// but can no longer be used or freed.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    by_address: BTreeMap<u64, Allocation>,
    /// The time and the address of each free whose time has not been reached.
    due: BTreeSet<(Nanos, u64)>,
}

impl Allocations {
    /// The number of allocations, with those whose free has not been reached.
    pub(super) fn count(&self) -> usize {
        self.by_address.len()
    }

    /// The number of allocations that are not freed.
    pub(super) fn unfreed_count(&self) -> usize {
        self.by_address.len() - self.due.len()
    }

    /// Adds an allocation.
    pub(super) fn insert(&mut self, address: u64, bytes: u64) {
        self.by_address.insert(
            address,
            Allocation {
                bytes,
                freed_at: None,
                contents: Contents::default(),
            },
        );
    }

    /// Removes the allocation that starts at the address, and returns its size.
    pub(super) fn remove(&mut self, address: u64) -> Option<u64> {
        let allocation = self.by_address.remove(&address)?;
        if let Some(time) = allocation.freed_at {
            self.due.remove(&(time, address));
        }
        Some(allocation.bytes)
    }

    /// Frees the allocation that starts at the address, at the time `time`. Returns
    /// whether there is one that was not freed before.
    pub(super) fn free_at(&mut self, address: u64, time: Nanos) -> bool {
        match self.by_address.get_mut(&address) {
            Some(allocation) if allocation.freed_at.is_none() => {
                allocation.freed_at = Some(time);
                self.due.insert((time, address));
                true
            }
            _ => false,
        }
    }

    /// The address of an allocation whose free has been reached.
    pub(super) fn due(&self, now: Nanos) -> Option<u64> {
        let &(time, address) = self.due.first()?;
        (time <= now).then_some(address)
    }

    /// Whether an allocation that is not freed starts at the address.
    pub(super) fn starts_at(&self, address: u64) -> bool {
        let at = self.by_address.get(&address);
        at.is_some_and(|allocation| allocation.freed_at.is_none())
    }

    /// Whether the bytes lie in one allocation that is not freed.
    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.unfreed_before(address).is_some_and(|(start, one)| {
            let end = address.checked_add(bytes);
            end.is_some_and(|end| end <= start + one.bytes)
        })
    }

    /// The allocation that contains an address, if it is not freed: its first address, its
    /// size and its contents.
    pub(super) fn find(&self, address: u64) -> Option<(u64, u64, &Contents)> {
        let (start, one) = self.unfreed_before(address)?;
        let bytes = one.bytes.next_multiple_of(STEP);
        (address - start < bytes).then_some((start, bytes, &one.contents))
    }

    fn unfreed_before(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (&start, one) = self.by_address.range(..=address).next_back()?;
        one.freed_at.is_none().then_some((start, one))
    }

    /// The first address of the next allocation above an address.
    pub(super) fn next_above(&self, address: u64) -> Option<u64> {
        let (&start, _) = self.by_address.range(address.checked_add(1)?..).next()?;
        Some(start)
    }
}
