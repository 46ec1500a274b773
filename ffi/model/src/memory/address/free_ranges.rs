//! The freed address ranges of one graph, each with the free node that freed it. They are
//! indexed for the two searches that adding a memory node needs.
//!
//! The free nodes are sorted into chains: see [`FreeChains`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use super::free_chains::FreeChains;
use super::order::{Order, Place, Reach};

/// A freed range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeRange {
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The free node after which the range may be used. If ranges were joined, it is
    /// the newest of their free nodes.
    pub(super) owner: usize,
    /// Where the owner lies in the [`Order`].
    place: Place,
    /// The number of the owner's chain of free nodes.
    chain: usize,
}

/// All freed ranges. A free node owns at most one range: joined ranges belong to the newest
/// owner, and an allocation takes the low end of a range, so that one piece remains.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeRanges {
    by_start: BTreeMap<u64, FreeRange>,
    /// The size and the start of each range.
    by_size: BTreeSet<(u64, u64)>,
    owners: BTreeSet<usize>,
    /// By chain of the [`Order`]; within one, sorted by chain of free nodes.
    by_chain: BTreeMap<usize, Vec<OnChain>>,
    chains: FreeChains,
    /// The number of places that were examined so far.
    steps: u64,
}

/// The ranges of one chain of free nodes whose owners are on one chain of the [`Order`].
#[derive(Clone, Debug)]
struct OnChain {
    free_chain: usize,
    by_position: BTreeMap<usize, (u64, u64)>,
    by_size: BTreeMap<(u64, u64), usize>,
}

impl FreeRanges {
    fn insert(&mut self, range: FreeRange) {
        let key = (range.bytes, range.start);
        self.by_start.insert(range.start, range);
        self.by_size.insert(key);
        self.owners.insert(range.owner);
        let on_chain = self.by_chain.entry(range.place.chain).or_default();
        let known = on_chain.binary_search_by_key(&range.chain, |ranges| ranges.free_chain);
        let at = known.unwrap_or_else(|at| {
            on_chain.insert(at, OnChain::of(range.chain));
            at
        });
        on_chain[at].insert(range.place.position, key);
    }

    fn remove(&mut self, range: FreeRange) {
        let key = (range.bytes, range.start);
        self.by_start.remove(&range.start);
        self.by_size.remove(&key);
        self.owners.remove(&range.owner);
        let Entry::Occupied(mut entry) = self.by_chain.entry(range.place.chain) else {
            return;
        };
        let on_chain = entry.get_mut();
        if let Ok(at) = on_chain.binary_search_by_key(&range.chain, |ranges| ranges.free_chain) {
            let ranges = &mut on_chain[at];
            ranges.by_position.remove(&range.place.position);
            ranges.by_size.remove(&key);
            if ranges.by_size.is_empty() {
                on_chain.remove(at);
            }
        }
        if on_chain.is_empty() {
            entry.remove();
        }
    }

    /// The number of places that searching and sorting have examined so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps + self.chains.steps()
    }

    /// Frees the range `start..start + bytes` at the free node `owner`, and joins it with
    /// the adjacent ranges that its chain of free nodes freed.
    pub(super) fn add(&mut self, order: &Order, owner: usize, start: u64, bytes: u64) {
        let Some(place) = order.place(owner) else {
            return;
        };
        let chain = self.chains.add(order, owner, place);
        let mut joined = FreeRange {
            start,
            bytes,
            owner,
            place,
            chain,
        };
        let below = self.by_start.range(..start).next_back().map(|(_, &r)| r);
        if let Some(below) = below.filter(|r| r.start + r.bytes == start)
            && below.chain == chain
        {
            self.remove(below);
            joined.start = below.start;
            joined.bytes += below.bytes;
        }
        let above = self.by_start.get(&(start + bytes)).copied();
        if let Some(above) = above.filter(|r| r.chain == chain) {
            self.remove(above);
            joined.bytes += above.bytes;
        }
        self.insert(joined);
    }

    /// Takes `bytes` for the alloc node `node` and returns their start, or
    /// `None` when no range that it may use is large enough.
    pub(super) fn take(&mut self, order: &Order, node: usize, bytes: u64) -> Option<u64> {
        let found = self.find(order, node, bytes)?;
        self.remove(found);
        if found.bytes > bytes {
            let rest = FreeRange {
                start: found.start + bytes,
                bytes: found.bytes - bytes,
                ..found
            };
            self.insert(rest);
        }
        Some(found.start)
    }

    fn find(&mut self, order: &Order, node: usize, bytes: u64) -> Option<FreeRange> {
        let oldest = *self.owners.first()?;
        let &(largest, _) = self.by_size.last()?;
        if largest < bytes {
            return None;
        }
        // The best fit in each part of a chain that the search reaches, with its
        // chain of free nodes.
        let mut fits: Vec<(usize, (u64, u64))> = Vec::new();
        let mut reach = Reach::new(order, oldest);
        // The number of owners that the search has reached.
        let mut seen = 0;
        let mut steps = 0;
        for &dependency in order.dependencies_as_listed(node) {
            let walk = reach.extend(dependency, |chain, positions| {
                for ranges in self.by_chain.get(&chain).into_iter().flatten() {
                    steps += 1;
                    if let Some(fit) = ranges.best_fit(&positions, bytes, &mut steps) {
                        fits.push((ranges.free_chain, fit));
                    }
                    seen += ranges.all_reached_by(&positions);
                }
                if seen == self.owners.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if walk.is_break() {
                break;
            }
        }
        self.steps += steps + reach.steps;
        fits.sort_unstable();
        let best_of_chains = fits.chunk_by(|(one, _), (other, _)| one == other);
        let of_longest = best_of_chains
            .filter_map(|of_chain| of_chain.first())
            .map(|&(chain, (_, start))| (self.chains.length(chain), start));
        let (_, start) = of_longest.max()?;
        self.by_start.get(&start).copied()
    }
}

impl OnChain {
    fn of(free_chain: usize) -> Self {
        Self {
            free_chain,
            by_position: BTreeMap::new(),
            by_size: BTreeMap::new(),
        }
    }

    fn insert(&mut self, position: usize, key: (u64, u64)) {
        self.by_position.insert(position, key);
        self.by_size.insert(key, position);
    }

    /// The smallest range of at least `bytes` bytes whose owner is at one of
    /// `positions`, and among equal sizes the lowest. The search has already reached
    /// the owners before these positions, so a range of one of them may also be
    /// returned.
    fn best_fit(
        &self,
        positions: &Range<usize>,
        bytes: u64,
        steps: &mut u64,
    ) -> Option<(u64, u64)> {
        let mut ascending = self.by_size.range((bytes, 0)..);
        let (&smallest, &position) = ascending.next()?;
        if position < positions.end {
            return Some(smallest);
        }
        // Two searches run in alternation: one goes through the owners at
        // `positions`, the other through the ranges by size until the owner of one
        // is reached. The first is short if few owners are reached, the second if
        // few are not.
        let mut best = None;
        let mut reached = self.by_position.range(positions.clone());
        loop {
            *steps += 1;
            match reached.next() {
                Some((_, &key)) if key.0 >= bytes => {
                    best = Some(best.map_or(key, |best| key.min(best)));
                }
                Some(_) => {}
                None => return best,
            }
            let (&key, &position) = ascending.next()?;
            if position < positions.end {
                return Some(key);
            }
        }
    }

    /// The number of owners if `positions` includes the last of them, otherwise 0. As
    /// long as one owner is not reached, the search cannot end early, so no count is
    /// needed.
    fn all_reached_by(&self, positions: &Range<usize>) -> usize {
        match self.by_position.last_key_value() {
            Some((last, _)) if positions.contains(last) => self.by_position.len(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_fit_is_the_smallest_of_those_that_are_reached() {
        let mut noise = 1_u64;
        let mut below = |bound: u64| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (noise >> 33) % bound
        };
        for _ in 0..400 {
            let count = 1 + below(80);
            let ranges: Vec<(usize, (u64, u64))> = (0..count)
                .map(|owner| (3 * owner as usize, (512 * (1 + below(12)), owner << 20)))
                .collect();
            let mut on_chain = OnChain::of(1);
            for &(position, key) in &ranges {
                on_chain.insert(position, key);
            }
            for _ in 0..20 {
                let (end, bytes) = (below(3 * count + 2) as usize, 512 * (1 + below(13)));
                let reached = ranges.iter().filter(|(position, _)| *position < end);
                let fits = reached.map(|(_, key)| *key).filter(|key| key.0 >= bytes);
                let found = on_chain.best_fit(&(0..end), bytes, &mut 0);
                assert_eq!(found, fits.min(), "{bytes} bytes up to {end} of {ranges:?}");
                let all = ranges.iter().all(|(position, _)| *position < end);
                let seen = if all { ranges.len() } else { 0 };
                assert_eq!(on_chain.all_reached_by(&(0..end)), seen);
            }
        }
    }
}
