//! The addresses that the graphs of a process share, and who has set aside what.

use std::collections::BTreeMap;
use std::ops::Range;

/// Where graphs set address space aside, in whole blocks.
#[derive(Clone, Debug)]
pub struct Ground {
    block_bytes: u64,
    /// Start and end of each stretch that is set aside; they never overlap.
    taken: BTreeMap<u64, u64>,
    /// Everything from the base to here is set aside: where looking for a gap
    /// begins, so that many graphs one behind the other cost no search.
    full_to: u64,
}

impl Ground {
    /// Nothing set aside yet; the first graph starts at `base` (M2).
    pub fn new(base: u64, block_bytes: u64) -> Self {
        Self {
            block_bytes: block_bytes.max(1),
            taken: BTreeMap::new(),
            full_to: base,
        }
    }

    /// Sets `bytes` aside: right at `end`, the end of what the graph has already,
    /// if nobody else has that, and otherwise in the lowest gap that is large
    /// enough. `None`: the addresses are used up.
    pub fn take(&mut self, end: Option<u64>, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(self.block_bytes)?;
        let start = match end {
            Some(end) if self.is_vacant(end, bytes) => end,
            _ => self.lowest_gap(bytes)?,
        };
        self.taken.insert(start, start.checked_add(bytes)?);
        while let Some(end) = self.taken.get(&self.full_to) {
            self.full_to = *end;
        }
        Some(start)
    }

    /// Gives a graph's stretches back.
    pub fn give_back(&mut self, stretches: &[Range<u64>]) {
        for stretch in stretches {
            // A stretch that grew in place was taken in several pieces.
            while let Some((&start, _)) = self.taken.range(stretch.clone()).next() {
                self.taken.remove(&start);
            }
            self.full_to = self.full_to.min(stretch.start);
        }
    }

    fn is_vacant(&self, start: u64, bytes: u64) -> bool {
        let Some(end) = start.checked_add(bytes) else {
            return false;
        };
        // The last stretch that begins before the end is the only one that could
        // reach into it.
        self.taken
            .range(..end)
            .next_back()
            .is_none_or(|(_, taken_to)| *taken_to <= start)
    }

    fn lowest_gap(&self, bytes: u64) -> Option<u64> {
        let mut start = self.full_to;
        for (taken_from, taken_to) in self.taken.range(start..) {
            if taken_from
                .checked_sub(start)
                .is_some_and(|gap| gap >= bytes)
            {
                break;
            }
            start = start.max(*taken_to);
        }
        start.checked_add(bytes).map(|_| start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_in_place_while_they_can_and_gaps_are_used_again() {
        let mut ground = Ground::new(100, 10);
        let first = ground.take(None, 15).unwrap();
        assert_eq!(first, 100);
        assert_eq!(ground.take(Some(120), 10), Some(120));
        assert_eq!(ground.take(None, 10), Some(130));
        assert_eq!(ground.take(Some(130), 10), Some(140), "someone is at 130");
        ground.give_back(std::slice::from_ref(&(100..130)));
        assert_eq!(ground.take(None, 40), Some(150), "the gap is too small");
        assert_eq!(ground.take(None, 30), Some(100));
        assert_eq!(ground.take(None, u64::MAX - 5), None);
    }
}
