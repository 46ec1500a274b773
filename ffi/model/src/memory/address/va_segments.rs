//! The virtual addresses that the graphs of a process share.
//!
//! These rules were found from recordings of an H200 (driver 580, CUDA 13.0) in which
//! graphs are built alternately and destroyed. A graph reserves *segments* of whole blocks.
//! The segments of destroyed graphs are kept in the order in which they were returned, and
//! are not merged. The first one that is large enough is used again, from its low end. Only
//! if none is large enough are neighbours merged, also with addresses that were never used.
//! Then the lowest merged range that is large enough is used, or else new addresses.
//!
//! These rules determine which addresses are used again, but for many graphs not in which
//! order. On the H200, after `n` equal graphs were destroyed in the order in which they
//! were made, the next graphs get the addresses of number n-3, then of n-7 to n-4, 0 to
//! n-8, n-2 and n-1 (12, 16, 24 and 32 graphs). If all were launched and there was a trim,
//! they get those of n-7, n-15 to n-8, 0 to n-16, n-6 to n-1 (24, 31, 32, 40, 48 and 64
//! graphs). If the graphs are destroyed in the opposite order, their addresses are used
//! again in ascending order. The result is the same in every run, whatever else the process
//! allocates on the host. No rule was found that also explains the other recorded orders,
//! such as 1, 2, 0, 3, ... of eight graphs, or 0, 18, 2, 3, 1, 4, ... of 33.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The virtual addresses of a device that its graphs can reserve, in whole blocks.
#[derive(Clone, Debug)]
pub struct VaSegments {
    block_bytes: u64,
    /// The ranges that destroyed graphs returned. The key counts the returns.
    free: BTreeMap<u64, Range<u64>>,
    /// For each size in bytes, the keys of the ranges of that size.
    by_size: BTreeMap<u64, BTreeSet<u64>>,
    /// The key of the next return.
    next: u64,
    /// Whether nothing was returned since the last merge.
    is_merged: bool,
    /// The addresses that were never reserved.
    unused: Range<u64>,
}

impl VaSegments {
    /// An instance in which nothing is reserved. The first graph gets the first
    /// addresses (M2).
    pub fn new(addresses: Range<u64>, block_bytes: u64) -> Self {
        Self {
            block_bytes: block_bytes.max(1),
            free: BTreeMap::new(),
            by_size: BTreeMap::new(),
            next: 0,
            is_merged: true,
            unused: addresses,
        }
    }

    /// Reserves `bytes` bytes of addresses and returns their start. `None` if no range
    /// is large enough.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(self.block_bytes)?;
        if let Some(start) = self.take_free(bytes) {
            return Some(start);
        }
        if !self.is_merged {
            self.merge();
            if let Some(start) = self.take_free(bytes) {
                return Some(start);
            }
        }
        let start = self.unused.start;
        let end = start
            .checked_add(bytes)
            .filter(|&end| end <= self.unused.end)?;
        self.unused.start = end;
        Some(start)
    }

    /// Returns the segments of a destroyed graph.
    pub fn give_back(&mut self, segments: &[Range<u64>]) {
        for segment in segments {
            let number = self.next;
            self.next += 1;
            self.insert(number, segment.clone());
        }
        self.is_merged = false;
    }

    /// Merges neighbouring ranges, and ranges that adjoin the unused addresses with
    /// these. A trim also does this.
    pub fn merge(&mut self) {
        if self.is_merged {
            return;
        }
        let mut free: Vec<Range<u64>> = std::mem::take(&mut self.free).into_values().collect();
        self.by_size.clear();
        free.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in free {
            match merged.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => merged.push(range),
            }
        }
        if let Some(last) = merged.last()
            && last.end == self.unused.start
        {
            self.unused.start = last.start;
            merged.pop();
        }
        self.give_back(&merged);
        self.is_merged = true;
    }

    fn insert(&mut self, number: u64, range: Range<u64>) {
        let size = range.end - range.start;
        self.by_size.entry(size).or_default().insert(number);
        self.free.insert(number, range);
    }

    /// Takes the low end of the oldest range that is large enough. The remainder keeps
    /// its place in the order.
    fn take_free(&mut self, bytes: u64) -> Option<u64> {
        let oldest = |(_, numbers): (&u64, &BTreeSet<u64>)| numbers.first().copied();
        let number = self.by_size.range(bytes..).filter_map(oldest).min()?;
        let range = self.free.remove(&number)?;
        let size = range.end - range.start;
        if let Some(numbers) = self.by_size.get_mut(&size) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_size.remove(&size);
            }
        }
        if size > bytes {
            self.insert(number, range.start + bytes..range.end);
        }
        Some(range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn va_segments() -> VaSegments {
        VaSegments::new(100..1100, 10)
    }

    #[test]
    fn new_segments_follow_one_another_in_whole_blocks() {
        let mut va_segments = va_segments();
        assert_eq!(va_segments.take(15), Some(100));
        assert_eq!(va_segments.take(10), Some(120));
        assert_eq!(va_segments.take(u64::MAX - 5), None);
        assert_eq!(va_segments.take(971), None);
        assert_eq!(va_segments.take(970), Some(130));
        assert_eq!(va_segments.take(1), None);
    }

    #[test]
    fn the_segment_returned_first_is_used_first_and_its_remainder_keeps_its_place() {
        let mut va_segments = va_segments();
        let all: Vec<u64> = (0..3).filter_map(|_| va_segments.take(20)).collect();
        assert_eq!(all, [100, 120, 140]);
        for start in [120, 100, 140] {
            va_segments.give_back(std::slice::from_ref(&(start..start + 20)));
        }
        assert_eq!(va_segments.take(10), Some(120));
        assert_eq!(va_segments.take(20), Some(100));
        assert_eq!(va_segments.take(10), Some(130));
        assert_eq!(va_segments.take(20), Some(140));
    }

    #[test]
    fn neighbouring_segments_are_merged_only_when_no_other_one_fits() {
        let mut va_segments = va_segments();
        for _ in 0..3 {
            va_segments.take(20);
        }
        va_segments.give_back(&[100..120, 120..140]);
        assert_eq!(va_segments.take(40), Some(100));
        va_segments.give_back(std::slice::from_ref(&(140..160)));
        assert_eq!(
            va_segments.take(100),
            Some(140),
            "merged with addresses that were never used"
        );
    }

    #[test]
    fn after_a_merge_the_lowest_address_is_used_first() {
        let mut va_segments = va_segments();
        for _ in 0..2 {
            va_segments.take(20);
        }
        va_segments.give_back(&[120..140, 100..120]);
        va_segments.merge();
        assert_eq!(va_segments.take(20), Some(100));
    }
}
