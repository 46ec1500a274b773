//! Which node of a graph is ordered after which, asked while the graph grows.
//!
//! The nodes are laid out on chains: a node that depends on the last node of
//! a chain prolongs it, any other starts a chain. Two nodes of one chain are
//! ordered by their positions, so only dependencies *between* chains have to
//! be walked. In a chain (a captured single stream) every question takes
//! constant time; in general it takes time in the number of such cross
//! dependencies among the node's ancestors, cut off at the oldest node that
//! the question is about.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::{ControlFlow, Range};

/// The partial order of a graph's nodes. Nodes are numbered from 0 in the
/// order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Order {
    places: Vec<Place>,
    chains: Vec<Chain>,
    /// Some dependency points from a newer node to an older one, so that an
    /// ancestor may be newer than its descendant.
    has_backward: bool,
}

/// Where a node lies: its chain, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) chain: usize,
    pub(super) position: usize,
}

#[derive(Clone, Debug, Default)]
struct Chain {
    nodes: Vec<usize>,
    /// Dependencies of this chain's nodes on nodes of other chains:
    /// (position of the dependent node, the node it depends on).
    cross: BTreeSet<(usize, usize)>,
}

/// A dependency named a node that was never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownNode {
    /// The number that names no node.
    pub node: usize,
}

impl fmt::Display for UnknownNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} is not in the graph", self.node)
    }
}

impl std::error::Error for UnknownNode {}

impl Order {
    /// The order of a graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the graph has no node yet.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a node that depends on `dependencies`, and returns its number.
    /// Naming a dependency twice is the same as naming it once.
    ///
    /// # Errors
    ///
    /// [`UnknownNode`] when a dependency names no node; nothing is added.
    pub fn add_node(&mut self, dependencies: &[usize]) -> Result<usize, UnknownNode> {
        let mut prolonged = None;
        for &node in dependencies {
            let place = self.place(node).ok_or(UnknownNode { node })?;
            if self.is_last_of_its_chain(place) {
                prolonged = prolonged.or(Some(place.chain));
            }
        }
        let node = self.places.len();
        let chain = prolonged.unwrap_or_else(|| {
            self.chains.push(Chain::default());
            self.chains.len() - 1
        });
        if let Some(line) = self.chains.get_mut(chain) {
            let position = line.nodes.len();
            for &dependency in dependencies {
                let on_chain = self
                    .places
                    .get(dependency)
                    .is_some_and(|p| p.chain == chain);
                if !on_chain {
                    line.cross.insert((position, dependency));
                }
            }
            line.nodes.push(node);
            self.places.push(Place { chain, position });
        }
        Ok(node)
    }

    /// Adds a dependency between two nodes: `to` runs after `from`.
    ///
    /// # Errors
    ///
    /// [`UnknownNode`] when one of them names no node.
    pub fn add_dependency(&mut self, from: usize, to: usize) -> Result<(), UnknownNode> {
        self.place(from).ok_or(UnknownNode { node: from })?;
        let place = self.place(to).ok_or(UnknownNode { node: to })?;
        self.has_backward |= from >= to;
        if let Some(chain) = self.chains.get_mut(place.chain) {
            chain.cross.insert((place.position, from));
        }
        Ok(())
    }

    /// Whether `later` is ordered after `earlier`, directly or through other
    /// nodes. A node is not ordered after itself (unless the graph has a
    /// cycle); a number that names no node is ordered after nothing.
    pub fn is_after(&self, later: usize, earlier: usize) -> bool {
        let Some(target) = self.place(earlier) else {
            return false;
        };
        let mut reach = Reach::new(self, earlier);
        for node in self.dependencies_newest_first(later) {
            let found = reach.extend(node, |chain, positions| {
                if chain == target.chain && positions.contains(&target.position) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if found.is_break() {
                return true;
            }
        }
        false
    }

    /// The nodes that `node` depends on directly, the newest first.
    pub fn dependencies_newest_first(&self, node: usize) -> Vec<usize> {
        let Some(place) = self.place(node) else {
            return Vec::new();
        };
        let Some(chain) = self.chains.get(place.chain) else {
            return Vec::new();
        };
        let before = place
            .position
            .checked_sub(1)
            .and_then(|p| chain.nodes.get(p));
        let mut found: Vec<usize> = chain
            .cross
            .range((place.position, 0)..=(place.position, usize::MAX))
            .map(|&(_, from)| from)
            .chain(before.copied())
            .collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found
    }

    pub(super) fn place(&self, node: usize) -> Option<Place> {
        self.places.get(node).copied()
    }

    fn is_last_of_its_chain(&self, place: Place) -> bool {
        self.chains
            .get(place.chain)
            .is_some_and(|c| c.nodes.len() == place.position + 1)
    }
}

/// A set of nodes closed under "depends on", grown node by node.
pub(super) struct Reach<'a> {
    order: &'a Order,
    /// Nodes older than this one need not be found.
    oldest: usize,
    /// For each chain that was reached, how many of its first nodes were.
    reached: HashMap<usize, usize>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(order: &'a Order, oldest: usize) -> Self {
        Self {
            order,
            oldest,
            reached: HashMap::new(),
        }
    }

    /// Takes in `node` and all that it is ordered after. `visit` is told each
    /// stretch of a chain (its number, the positions) that is new, and may end
    /// the walk; the set is then incomplete.
    pub(super) fn extend(
        &mut self,
        node: usize,
        mut visit: impl FnMut(usize, Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            if node < self.oldest && !self.order.has_backward {
                continue;
            }
            let Some(place) = self.order.place(node) else {
                continue;
            };
            let reached = self.reached.entry(place.chain).or_insert(0);
            let stretch = *reached..place.position + 1;
            if stretch.is_empty() {
                continue;
            }
            *reached = stretch.end;
            visit(place.chain, stretch.clone())?;
            if let Some(chain) = self.order.chains.get(place.chain) {
                let from = stretch
                    .start
                    .max(self.first_of_interest(chain))
                    .min(stretch.end);
                let crossing = chain.cross.range((from, 0)..(stretch.end, 0));
                pending.extend(crossing.map(|&(_, from)| from));
            }
        }
        ControlFlow::Continue(())
    }

    /// The position in `chain` before which nothing leads to a node that has
    /// to be found.
    fn first_of_interest(&self, chain: &Chain) -> usize {
        if self.order.has_backward {
            return 0;
        }
        chain.nodes.partition_point(|&node| node < self.oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same question by plain search, for comparison.
    fn searched(edges: &[(usize, usize)], later: usize, earlier: usize) -> bool {
        let mut pending: Vec<usize> = vec![later];
        let mut seen = BTreeSet::new();
        while let Some(node) = pending.pop() {
            for &(from, _) in edges.iter().filter(|&&(_, to)| to == node) {
                if from == earlier {
                    return true;
                }
                if seen.insert(from) {
                    pending.push(from);
                }
            }
        }
        false
    }

    /// A small generator of its own, so that the test needs no crate.
    struct Noise(u64);

    impl Noise {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }
    }

    #[test]
    fn agrees_with_plain_search_on_random_graphs_with_later_dependencies() {
        for seed in 0..60 {
            let mut noise = Noise(seed);
            let mut order = Order::new();
            let mut edges = Vec::new();
            for node in 0..24_usize {
                let dependencies: Vec<usize> = match node {
                    0 => Vec::new(),
                    _ => (0..noise.below(4)).map(|_| noise.below(node)).collect(),
                };
                edges.extend(dependencies.iter().map(|&from| (from, node)));
                assert_eq!(order.add_node(&dependencies), Ok(node));
            }
            // Half of the seeds also get dependencies on newer nodes.
            for _ in 0..(seed % 2) * 4 {
                let (from, to) = (noise.below(24), noise.below(24));
                edges.push((from, to));
                assert_eq!(order.add_dependency(from, to), Ok(()));
            }
            for later in 0..24 {
                for earlier in 0..24 {
                    assert_eq!(
                        order.is_after(later, earlier),
                        searched(&edges, later, earlier),
                        "seed {seed}: {later} after {earlier}, edges {edges:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn direct_dependencies_come_newest_first_and_once() {
        let mut order = Order::new();
        for _ in 0..3 {
            order.add_node(&[]).expect("no dependency to miss");
        }
        assert_eq!(order.add_node(&[1, 0, 2, 1]), Ok(3));
        assert_eq!(order.dependencies_newest_first(3), [2, 1, 0]);
        order.add_dependency(2, 3).expect("both nodes exist");
        assert_eq!(order.dependencies_newest_first(3), [2, 1, 0]);
    }

    #[test]
    fn an_unknown_dependency_adds_nothing() {
        let mut order = Order::new();
        assert_eq!(order.add_node(&[0]), Err(UnknownNode { node: 0 }));
        assert!(order.is_empty());
        assert_eq!(order.add_node(&[]), Ok(0));
        assert_eq!(order.add_dependency(0, 7), Err(UnknownNode { node: 7 }));
        assert!(!order.is_after(7, 0) && !order.is_after(0, 7));
        assert_eq!(order.len(), 1);
    }
}
