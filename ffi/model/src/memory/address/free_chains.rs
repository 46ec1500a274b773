//! The free nodes of one graph, sorted into chains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::order::{Order, Place, Reach};

/// Chains of free nodes. A free node is added to a chain whose last node it is ordered
/// after, and otherwise starts a chain. Only ranges that were freed by one chain are
/// joined.
///
/// Where a free node could be added to several chains, it is added to the longest one,
/// and of chains of the same length to the oldest one.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeChains {
    /// The oldest first.
    chains: Vec<FreeChain>,
    /// The last nodes of the chains.
    last: BTreeSet<usize>,
    /// The chain of each last node, by that node's place in the order of the graph: by
    /// the chain of the order, then by the position in it.
    last_at: BTreeMap<usize, BTreeMap<usize, usize>>,
    /// How many places were looked at so far.
    steps: u64,
}

/// A chain: its last free node, and how many it has.
#[derive(Clone, Copy, Debug)]
struct FreeChain {
    last: usize,
    length: usize,
}

impl FreeChains {
    /// Adds the free node `node`, which lies at `place`, to a chain, and returns the
    /// number of that chain.
    pub(super) fn add(&mut self, order: &Order, node: usize, place: Place) -> usize {
        let number = match self.chain_for(order, node) {
            Some(number) => number,
            None => {
                if self.chains.is_empty() {
                    self.chains.reserve_exact(1);
                }
                self.chains.push(FreeChain {
                    last: node,
                    length: 0,
                });
                self.chains.len() - 1
            }
        };
        if let Some(chain) = self.chains.get_mut(number) {
            self.last.remove(&chain.last);
            if let Some(at) = order.place(chain.last)
                && let Some(positions) = self.last_at.get_mut(&at.chain)
            {
                positions.remove(&at.position);
                if positions.is_empty() {
                    self.last_at.remove(&at.chain);
                }
            }
            chain.last = node;
            chain.length += 1;
        }
        self.last.insert(node);
        let positions = self.last_at.entry(place.chain).or_default();
        positions.insert(place.position, number);
        number
    }

    /// How many places were looked at so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// How many free nodes a chain has.
    pub(super) fn length(&self, number: usize) -> usize {
        self.chains.get(number).map_or(0, |chain| chain.length)
    }

    /// The chain that the free node `node` is added to. `None`: it starts one.
    fn chain_for(&mut self, order: &Order, node: usize) -> Option<usize> {
        let oldest = *self.last.first()?;
        let mut best = None;
        let mut found = 0;
        let mut reach = Reach::new(order, oldest);
        for &dependency in order.dependencies_as_listed(node) {
            let walk = reach.extend(dependency, |chain, positions| {
                if let Some(last) = self.last_at.get(&chain) {
                    for (_, &number) in last.range(positions) {
                        found += 1;
                        best = best.max(Some((self.length(number), Reverse(number))));
                    }
                }
                if found == self.last.len() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if walk.is_break() {
                break;
            }
        }
        self.steps += reach.steps;
        best.map(|(_, Reverse(number))| number)
    }
}
