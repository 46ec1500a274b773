//! Sets of physical blocks, stored as ranges of block numbers.

use std::ops::Range;

/// The blocks that a set of address ranges touches, as sorted ranges of block numbers. The
/// ranges neither overlap nor adjoin. The number of a block is its first address divided by
/// the block size.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockSet {
    runs: Vec<Range<u64>>,
}

impl BlockSet {
    /// The blocks of `block_bytes` bytes that `ranges` touch. Empty ranges touch no
    /// block. A block size of 0 is replaced by 1.
    pub fn touched(ranges: impl IntoIterator<Item = Range<u64>>, block_bytes: u64) -> Self {
        let block = block_bytes.max(1);
        let mut blocks: Vec<Range<u64>> = ranges
            .into_iter()
            .filter(|range| !range.is_empty())
            .map(|range| range.start / block..range.end.div_ceil(block))
            .collect();
        blocks.sort_unstable_by_key(|run| run.start);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for run in blocks {
            match runs.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => runs.push(run),
            }
        }
        Self { runs }
    }

    /// The ranges of block numbers, in ascending order.
    pub fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }

    /// Number of blocks.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// Whether the block numbered `block` is in the set.
    pub fn contains(&self, block: u64) -> bool {
        let after = self.runs.partition_point(|run| run.start <= block);
        after
            .checked_sub(1)
            .and_then(|i| self.runs.get(i))
            .is_some_and(|run| run.contains(&block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_once_however_many_ranges_touch_it() {
        let set = BlockSet::touched([0..1, 9..10, 10..11, 35..61, 40..40], 10);
        assert_eq!(set.runs(), [0..2, 3..7]);
        assert_eq!(set.count(), 6);
        let listed: Vec<u64> = (0..9).filter(|&block| set.contains(block)).collect();
        assert_eq!(listed, [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn an_empty_range_touches_no_block() {
        assert_eq!(BlockSet::touched(Some(5..5), 10).count(), 0);
        assert!(!BlockSet::default().contains(0));
    }
}
