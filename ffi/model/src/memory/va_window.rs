//! A range of virtual addresses for the allocations of one kind.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A range of virtual addresses. Addresses that were never used are given first, so that a
/// pointer to freed memory stays invalid for long. When there are none left, the smallest
/// free range that is large enough is used again.
#[derive(Debug)]
pub struct VaWindow {
    /// The free ranges: the end address by the start address.
    free: BTreeMap<u64, u64>,
    /// The size in bytes and the start address of each free range.
    by_size: BTreeSet<(u64, u64)>,
    /// The addresses from here on were never used.
    unused: u64,
}

impl VaWindow {
    /// A range of addresses of which none is used.
    #[must_use]
    pub fn new(range: Range<u64>) -> Self {
        let mut window = Self {
            free: BTreeMap::new(),
            by_size: BTreeSet::new(),
            unused: range.start,
        };
        window.insert(range);
        window
    }

    fn insert(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.free.insert(range.start, range.end);
            self.by_size.insert((range.end - range.start, range.start));
        }
    }

    fn remove(&mut self, start: u64) -> Option<u64> {
        let end = self.free.remove(&start)?;
        self.by_size.remove(&(end - start, start));
        Some(end)
    }

    /// Takes `bytes` bytes of addresses and returns the first address. `None` if no
    /// free range is large enough.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let unused = self.free.range(..=self.unused).next_back();
        let fresh = unused.is_some_and(|(_, &end)| {
            end.checked_sub(self.unused)
                .is_some_and(|left| left >= bytes)
        });
        if fresh {
            let (&start, _) = unused?;
            let end = self.remove(start)?;
            let taken = self.unused;
            self.unused = taken + bytes;
            self.insert(start..taken);
            self.insert(self.unused..end);
            return Some(taken);
        }
        let &(_, start) = self.by_size.range((bytes, 0)..).next()?;
        let end = self.remove(start)?;
        self.insert(start + bytes..end);
        self.unused = self.unused.max(start + bytes);
        Some(start)
    }

    /// Returns addresses that were taken.
    pub fn release(&mut self, start: u64, bytes: u64) {
        let mut range = start..start + bytes;
        let below = self.free.range(..start).next_back();
        if let Some((&below, &end)) = below
            && end == start
        {
            self.remove(below);
            range.start = below;
        }
        if let Some(end) = self.remove(range.end) {
            range.end = end;
        }
        self.insert(range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_addresses_are_reused_only_when_no_new_ones_are_left() {
        let mut window = VaWindow::new(100..200);
        assert_eq!([window.take(30), window.take(30)], [Some(100), Some(130)]);
        window.release(100, 30);
        assert_eq!(window.take(40), Some(160));
        assert_eq!(window.take(31), None);
        assert_eq!(window.take(30), Some(100));
        assert_eq!(window.take(1), None);
        for (start, bytes) in [(100, 30), (160, 40), (130, 30)] {
            window.release(start, bytes);
        }
        assert_eq!(
            window.take(100),
            Some(100),
            "neighbouring ranges are merged"
        );
    }

    #[test]
    fn taken_ranges_are_in_the_window_and_do_not_overlap() {
        let mut noise = 5_u64;
        let mut below = |bound: u64| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (noise >> 33) % bound
        };
        let mut window = VaWindow::new(1000..1500);
        let mut taken: Vec<Range<u64>> = Vec::new();
        for _ in 0..20_000 {
            if below(2) == 0 && !taken.is_empty() {
                let range = taken.swap_remove(below(taken.len() as u64) as usize);
                window.release(range.start, range.end - range.start);
            } else {
                let bytes = 1 + below(40);
                let Some(start) = window.take(bytes) else {
                    continue;
                };
                assert!(start >= 1000 && start + bytes <= 1500);
                taken.push(start..start + bytes);
            }
            let mut sorted = taken.clone();
            sorted.sort_unstable_by_key(|range| range.start);
            assert!(sorted.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
