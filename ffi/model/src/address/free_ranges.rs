//! The freed address ranges of one graph, each with the free node that gave
//! it up, indexed for the two questions that adding a node asks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{ControlFlow, Range};

use super::order::{Order, Place, Reach};

/// A freed range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeRange {
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The free node after which the range may be used: the newest of those
    /// whose ranges were joined.
    pub(super) owner: usize,
}

/// All freed ranges. A free node owns at most one: joining gives all to the
/// newest, and an allocation takes the low end, so that one rest remains.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeRanges {
    by_start: BTreeMap<u64, FreeRange>,
    by_size: BTreeSet<(u64, u64)>,
    owners: BTreeSet<usize>,
    by_chain: HashMap<usize, OnChain>,
}

/// The ranges whose owners lie on one chain of the [`Order`].
#[derive(Clone, Debug, Default)]
struct OnChain {
    by_position: BTreeMap<usize, (u64, u64)>,
    by_size: BTreeSet<(u64, u64)>,
}

impl FreeRanges {
    fn insert(&mut self, range: FreeRange, place: Place) {
        let key = (range.bytes, range.start);
        self.by_start.insert(range.start, range);
        self.by_size.insert(key);
        self.owners.insert(range.owner);
        let line = self.by_chain.entry(place.chain).or_default();
        line.by_position.insert(place.position, key);
        line.by_size.insert(key);
    }

    fn remove(&mut self, order: &Order, range: FreeRange) {
        let key = (range.bytes, range.start);
        self.by_start.remove(&range.start);
        self.by_size.remove(&key);
        self.owners.remove(&range.owner);
        let Some(place) = order.place(range.owner) else {
            return;
        };
        if let Some(line) = self.by_chain.get_mut(&place.chain) {
            line.by_position.remove(&place.position);
            line.by_size.remove(&key);
            if line.by_size.is_empty() {
                self.by_chain.remove(&place.chain);
            }
        }
    }

    /// Gives up the range `start..start + bytes` at the free node `owner`,
    /// joined with the neighbours that `owner` is ordered after.
    pub(super) fn give_up(&mut self, order: &Order, owner: usize, start: u64, bytes: u64) {
        let Some(place) = order.place(owner) else {
            return;
        };
        let mut joined = FreeRange {
            start,
            bytes,
            owner,
        };
        let below = self.by_start.range(..start).next_back().map(|(_, &r)| r);
        if let Some(below) = below.filter(|r| r.start + r.bytes == start)
            && order.is_after(owner, below.owner)
        {
            self.remove(order, below);
            joined.start = below.start;
            joined.bytes += below.bytes;
        }
        let above = self.by_start.get(&(start + bytes)).copied();
        if let Some(above) = above.filter(|r| order.is_after(owner, r.owner)) {
            self.remove(order, above);
            joined.bytes += above.bytes;
        }
        self.insert(joined, place);
    }

    /// Takes `bytes` for the alloc node `node` and returns their start, or
    /// `None` when no range that it may use is large enough.
    pub(super) fn take(&mut self, order: &Order, node: usize, bytes: u64) -> Option<u64> {
        let found = self.find(order, node, bytes)?;
        self.remove(order, found);
        if found.bytes > bytes {
            let rest = FreeRange {
                start: found.start + bytes,
                bytes: found.bytes - bytes,
                ..found
            };
            self.insert(rest, order.place(found.owner)?);
        }
        Some(found.start)
    }

    fn find(&self, order: &Order, node: usize, bytes: u64) -> Option<FreeRange> {
        let oldest = *self.owners.first()?;
        let &(largest, _) = self.by_size.last()?;
        if largest < bytes {
            return None;
        }
        let mut best: Option<(u64, u64)> = None;
        let mut reach = Reach::new(order, oldest);
        let mut seen = Seen::default();
        for &dependency in order.dependencies_newest_first(node) {
            let walk = reach.extend(dependency, |chain, positions| {
                if let Some(line) = self.by_chain.get(&chain) {
                    best = [best, line.best_fit(&positions, bytes)]
                        .into_iter()
                        .flatten()
                        .min();
                    seen.add(chain, line.reached_by(positions.end));
                }
                if seen.total == self.owners.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if best.is_some() || walk.is_break() {
                break;
            }
        }
        best.and_then(|(_, start)| self.by_start.get(&start).copied())
    }
}

impl OnChain {
    fn covers(&self, end: usize) -> bool {
        self.by_position
            .last_key_value()
            .is_none_or(|(&last, _)| last < end)
    }

    /// The smallest range, then the lowest, of at least `bytes` among those
    /// owned within `positions`. When the chain is reached up to its last
    /// owner, what lies below `positions` was seen before and may be looked at
    /// again, which saves going through the owners one by one.
    fn best_fit(&self, positions: &Range<usize>, bytes: u64) -> Option<(u64, u64)> {
        if self.covers(positions.end) {
            return self.by_size.range((bytes, 0)..).next().copied();
        }
        let within = self
            .by_position
            .range(positions.clone())
            .map(|(_, &key)| key);
        within.filter(|&(size, _)| size >= bytes).min()
    }

    /// How many owners lie below the position `end`.
    fn reached_by(&self, end: usize) -> usize {
        if self.covers(end) {
            self.by_position.len()
        } else {
            self.by_position.range(..end).count()
        }
    }
}

/// How many of the owners a search has come past, chain by chain.
#[derive(Default)]
struct Seen {
    by_chain: HashMap<usize, usize>,
    total: usize,
}

impl Seen {
    fn add(&mut self, chain: usize, owners: usize) {
        let before = self.by_chain.insert(chain, owners).unwrap_or(0);
        self.total = self.total + owners - before;
    }
}
