//! The freed address ranges of one graph, each with the free node that gave
//! it up, indexed for the two questions that adding a node asks.
//!
//! The free nodes are sorted into lines: see [`Lines`].

use std::collections::{BTreeMap, HashMap};
use std::ops::{ControlFlow, Range};

use super::few::Few;
use super::lines::Lines;
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
    by_start: Few<u64, FreeRange>,
    by_size: Few<(u64, u64), ()>,
    owners: Few<usize, ()>,
    /// By chain of the [`Order`], then by line.
    by_chain: Few<(usize, usize), OnChain>,
    lines: Lines,
}

/// The ranges of one line whose owners lie on one chain of the [`Order`].
#[derive(Clone, Debug, Default)]
struct OnChain {
    by_position: Few<usize, (u64, u64)>,
    by_size: Few<(u64, u64), ()>,
}

impl FreeRanges {
    fn insert(&mut self, range: FreeRange, place: Place) {
        let key = (range.bytes, range.start);
        self.by_start.insert(range.start, range);
        self.by_size.insert(key, ());
        self.owners.insert(range.owner, ());
        let line = self.lines.line(range.owner);
        if let Some(ranges) = self.by_chain.or_default((place.chain, line)) {
            ranges.by_position.insert(place.position, key);
            ranges.by_size.insert(key, ());
        }
    }

    fn remove(&mut self, order: &Order, range: FreeRange) {
        let key = (range.bytes, range.start);
        self.by_start.remove(&range.start);
        self.by_size.remove(&key);
        self.owners.remove(&range.owner);
        let Some(place) = order.place(range.owner) else {
            return;
        };
        let at = (place.chain, self.lines.line(range.owner));
        if let Some(ranges) = self.by_chain.get_mut(&at) {
            ranges.by_position.remove(&place.position);
            ranges.by_size.remove(&key);
            if ranges.by_size.is_empty() {
                self.by_chain.remove(&at);
            }
        }
    }

    /// Gives up the range `start..start + bytes` at the free node `owner`,
    /// joined with the neighbours that its line of free nodes gave up.
    pub(super) fn give_up(&mut self, order: &Order, owner: usize, start: u64, bytes: u64) {
        let Some(place) = order.place(owner) else {
            return;
        };
        self.lines.add(order, owner, place);
        let line = self.lines.line(owner);
        let mut joined = FreeRange {
            start,
            bytes,
            owner,
        };
        let below = self.by_start.range(..start).next_back().map(|(_, &r)| r);
        if let Some(below) = below.filter(|r| r.start + r.bytes == start)
            && self.lines.line(below.owner) == line
        {
            self.remove(order, below);
            joined.start = below.start;
            joined.bytes += below.bytes;
        }
        let above = self.by_start.get(&(start + bytes)).copied();
        if let Some(above) = above.filter(|r| self.lines.line(r.owner) == line) {
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
        let oldest = self.owners.first()?;
        let (largest, _) = self.by_size.last()?;
        if largest < bytes {
            return None;
        }
        let mut best: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        let mut reach = Reach::new(order, oldest);
        let mut seen = Seen::default();
        for &dependency in order.dependencies_as_listed(node) {
            let walk = reach.extend(dependency, |chain, positions| {
                let mut reached = 0;
                let lines = self.by_chain.range((chain, 0)..=(chain, usize::MAX));
                for ((_, line), ranges) in lines {
                    if let Some(fit) = ranges.best_fit(&positions, bytes) {
                        let best = best.entry(line).or_insert(fit);
                        *best = fit.min(*best);
                    }
                    reached += ranges.reached_by(positions.end);
                }
                seen.add(chain, reached);
                if seen.total == self.owners.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if walk.is_break() {
                break;
            }
        }
        let of_longest = best
            .into_iter()
            .map(|(line, (_, start))| (self.lines.length(line), start));
        let (_, start) = of_longest.max()?;
        self.by_start.get(&start).copied()
    }
}

impl OnChain {
    fn covers(&self, end: usize) -> bool {
        self.by_position.last().is_none_or(|last| last < end)
    }

    /// The smallest range, then the lowest, of at least `bytes` among those
    /// owned within `positions`. When the chain is reached up to its last
    /// owner, what lies below `positions` was seen before and may be looked at
    /// again, which saves going through the owners one by one.
    fn best_fit(&self, positions: &Range<usize>, bytes: u64) -> Option<(u64, u64)> {
        if self.covers(positions.end) {
            return self.by_size.range((bytes, 0)..).next().map(|(key, ())| key);
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
