//! Sorts the free nodes of one graph into chains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::order::{Order, Place, Reach};

/// Chains of free nodes. A free node is added to a chain if it is ordered after the chain's
/// last node; otherwise it starts a new chain. Freed ranges are joined only if nodes of the
/// same chain freed them.
///
/// If a free node could be added to several chains, it is added to the longest one, and
/// among chains of equal length to the oldest one.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeChains {
    /// Ordered by age, the oldest first.
    chains: Vec<FreeChain>,
    /// The last nodes of the chains.
    last: BTreeSet<usize>,
    /// The chain of free nodes for each last node. The keys are the place of the node
    /// in the [`Order`]: its chain there, and its position in that chain.
    last_at: BTreeMap<usize, BTreeMap<usize, usize>>,
    /// The number of places that were examined so far.
    steps: u64,
}

/// A chain: its last free node, and its number of free nodes.
#[derive(Clone, Copy, Debug)]
struct FreeChain {
    last: usize,
    length: usize,
}

impl FreeChains {
    /// Adds the free node `node`, whose place in the order is `place`, to a chain, and
    /// returns the number of that chain.
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
        let chain = &mut self.chains[number];
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
        self.last.insert(node);
        let positions = self.last_at.entry(place.chain).or_default();
        positions.insert(place.position, number);
        number
    }

    /// The number of places that were examined so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The number of free nodes in a chain.
    pub(super) fn length(&self, number: usize) -> usize {
        self.chains[number].length
    }

    /// The chain to which the free node `node` is added. `None` if it starts a new one.
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
