//! The order of a graph's nodes, for queries while the graph grows.
//!
//! The nodes are arranged in chains. A chain is a sequence of nodes, each ordered after the
//! one before. A new node is appended to the chain of a dependency that is the last node of
//! its chain. Otherwise it is appended to a chain that ended at a dependency or at a node
//! before it. Otherwise it starts a new chain. There are therefore about as many chains as
//! nodes that may run at the same time. The nodes that a node is ordered after are, on some
//! of the chains, all nodes up to a position. These positions are found by following the
//! dependencies between *chains* instead of nodes. In a captured stream every query takes
//! constant time. With several streams or branches it takes time proportional to the number
//! of pairs of chains that depend on each other, however many nodes they have.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{ControlFlow, Range};

/// The partial order of a graph's nodes. Nodes are numbered from 0 in the order in which
/// they were added. It keeps its buffers for the next query, so threads cannot share it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    nodes: Vec<Node>,
    chains: Vec<Chain>,
    /// Whether a dependency points from a newer node to an older one. A node may then
    /// be newer than a node that is ordered after it.
    has_backward: bool,
    spare_room: SpareRoom,
}

#[derive(Clone, Debug)]
struct Node {
    place: Place,
    dependencies: Box<[usize]>,
}

/// The place of a node: its chain, and its position in that chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) chain: usize,
    pub(super) position: usize,
}

#[derive(Clone, Debug, Default)]
struct Chain {
    nodes: Vec<usize>,
    /// For each chain that nodes of this one depend on: pairs of a position here and a
    /// position there. The node at the first depends on the node at the second. Both
    /// positions ascend, and pairs that follow from an earlier one are left out.
    crossings: BTreeMap<usize, Vec<(usize, usize)>>,
    /// Chains whose last node comes before a node of this chain.
    ended: Vec<Ended>,
}

/// A chain that nodes after `since` may extend as long as it has `length` nodes.
#[derive(Clone, Copy, Debug)]
struct Ended {
    since: usize,
    chain: usize,
    length: usize,
}

/// A dependency on a node that was never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownNode {
    /// The number for which there is no node.
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
        self.nodes.len()
    }

    /// Whether the graph has no node yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Frees the spare capacity of its lists.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.chains.shrink_to_fit();
        self.spare_room = SpareRoom::default();
        for chain in &mut self.chains {
            chain.nodes.shrink_to_fit();
            chain.ended.shrink_to_fit();
        }
    }

    /// Adds a node that depends on `dependencies`, and returns its number. A dependency
    /// may be listed twice.
    ///
    /// # Errors
    ///
    /// [`UnknownNode`] if a dependency does not exist. No node is then added.
    pub fn add_node(&mut self, dependencies: &[usize]) -> Result<usize, UnknownNode> {
        let mut places = Vec::with_capacity(dependencies.len());
        for &node in dependencies {
            places.push(self.place(node).ok_or(UnknownNode { node })?);
        }
        let chain = self.chain_to_prolong(&places);
        let position = self.chains[chain].nodes.len();
        for &place in places.iter().filter(|place| place.chain != chain) {
            let ended = self.end_chain(place, position);
            let extended = &mut self.chains[chain];
            extended.cross(position, place);
            extended.ended.extend(ended);
        }
        let node = self.nodes.len();
        self.chains[chain].nodes.push(node);
        let mut named = BTreeSet::new();
        let mut listed = Vec::with_capacity(dependencies.len());
        listed.extend(dependencies.iter().filter(|&&node| named.insert(node)));
        self.nodes.push(Node {
            place: Place { chain, position },
            dependencies: listed.into(),
        });
        Ok(node)
    }

    /// Adds a dependency between two nodes: `to` runs after `from`.
    ///
    /// # Errors
    ///
    /// [`UnknownNode`] if one of them does not exist.
    pub fn add_dependency(&mut self, from: usize, to: usize) -> Result<(), UnknownNode> {
        let source = self.place(from).ok_or(UnknownNode { node: from })?;
        let target = self.nodes.get_mut(to).ok_or(UnknownNode { node: to })?;
        let place = target.place;
        if !target.dependencies.contains(&from) {
            let mut listed = target.dependencies.to_vec();
            listed.push(from);
            target.dependencies = listed.into();
        }
        self.has_backward |= from >= to;
        self.chains[place.chain].cross(place.position, source);
        Ok(())
    }

    /// Whether `later` is ordered after `earlier`, directly or through other nodes. A
    /// node is not ordered after itself, unless the graph has a cycle. A node that does
    /// not exist is ordered after nothing.
    pub fn is_after(&self, later: usize, earlier: usize) -> bool {
        let Some(target) = self.place(earlier) else {
            return false;
        };
        let mut reach = Reach::new(self, earlier);
        for &node in self.dependencies_as_listed(later) {
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

    /// The direct dependencies of `node`, as they were listed.
    pub fn dependencies_as_listed(&self, node: usize) -> &[usize] {
        self.nodes.get(node).map_or(&[], |node| &node.dependencies)
    }

    pub(super) fn place(&self, node: usize) -> Option<Place> {
        self.nodes.get(node).map(|node| node.place)
    }

    /// The chain to which a node with dependencies at `places` is appended; a new chain
    /// if no other one is possible.
    fn chain_to_prolong(&mut self, places: &[Place]) -> usize {
        if let Some(last) = places
            .iter()
            .find(|place| self.is_last_of_its_chain(**place))
        {
            return last.chain;
        }
        if let Some(chain) = places.iter().find_map(|place| self.take_ended(*place)) {
            return chain;
        }
        if self.chains.is_empty() {
            self.chains.reserve_exact(1);
        }
        self.chains.push(Chain::default());
        self.chains.len() - 1
    }

    fn is_last_of_its_chain(&self, place: Place) -> bool {
        self.chains[place.chain].nodes.len() == place.position + 1
    }

    /// Takes a chain whose last node comes before the node at `place`.
    fn take_ended(&mut self, place: Place) -> Option<usize> {
        loop {
            let ended = &mut self.chains[place.chain].ended;
            let usable = ended.partition_point(|ended| ended.since <= place.position);
            let taken = ended.remove(usable.checked_sub(1)?);
            // Another branch may have extended it in the meantime.
            if self.chains[taken.chain].nodes.len() == taken.length {
                return Some(taken.chain);
            }
        }
    }

    /// Records that the node at position `since` of another chain comes after the node
    /// at `place`. If that node is the last of its chain, the chain has ended there,
    /// and so have the chains that had ended before it.
    fn end_chain(&mut self, place: Place, since: usize) -> Vec<Ended> {
        if !self.is_last_of_its_chain(place) {
            return Vec::new();
        }
        let chain = &mut self.chains[place.chain];
        let mut ended = std::mem::take(&mut chain.ended);
        ended.push(Ended {
            since,
            chain: place.chain,
            length: chain.nodes.len(),
        });
        for ended in &mut ended {
            ended.since = since;
        }
        ended
    }
}

impl Chain {
    /// Records that the node at `position` depends on the node at `other`.
    fn cross(&mut self, position: usize, other: Place) {
        let known = self.crossings.entry(other.chain).or_default();
        let after = entries_up_to(known, position);
        let before = after.checked_sub(1).and_then(|index| known.get(index));
        if before.is_some_and(|&(_, there)| there >= other.position) {
            return;
        }
        known.insert(after, (position, other.position));
        let said_no_more = |&(_, there): &(usize, usize)| there <= other.position;
        let stale = known
            .iter()
            .skip(after + 1)
            .take_while(|entry| said_no_more(entry))
            .count();
        known.drain(after + 1..after + 1 + stale);
    }

    /// For each other chain, the last position that the nodes up to `position` depend
    /// on.
    fn crossings_up_to(&self, position: usize) -> impl Iterator<Item = Place> {
        self.crossings.iter().filter_map(move |(&chain, known)| {
            let after = entries_up_to(known, position);
            let &(_, there) = known.get(after.checked_sub(1)?)?;
            Some(Place {
                chain,
                position: there,
            })
        })
    }
}

/// The buffers of a [`Reach`]. They are kept between queries, because a graph of a million
/// nodes makes a million of them.
#[derive(Debug, Default)]
struct Room {
    /// The number of the current query, so that entries of earlier ones need not be
    /// cleared.
    question: u32,
    /// For each chain, the last query that reached it, and how many of its first nodes
    /// that query reached.
    reached: Vec<(u32, usize)>,
    pending: Vec<Place>,
}

/// The buffers of an [`Order`] for its next query. A query within another one allocates its
/// own.
#[derive(Default)]
struct SpareRoom(Cell<Room>);

impl Clone for SpareRoom {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for SpareRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpareRoom")
    }
}

/// A set of nodes that, with each node, contains all nodes that it depends on. It grows
/// node by node.
pub(super) struct Reach<'a> {
    order: &'a Order,
    /// Nodes older than this one need not be found.
    oldest: usize,
    room: Room,
    /// The number of ranges and crossings that were examined so far.
    pub(super) steps: u64,
}

impl Drop for Reach<'_> {
    fn drop(&mut self) {
        self.order.spare_room.0.set(std::mem::take(&mut self.room));
    }
}

impl<'a> Reach<'a> {
    pub(super) fn new(order: &'a Order, oldest: usize) -> Self {
        let mut room = order.spare_room.0.take();
        room.question = room.question.wrapping_add(1);
        if room.question == 0 {
            room.reached.clear();
            room.question = 1;
        }
        room.reached.resize(order.chains.len(), (0, 0));
        Self {
            order,
            oldest,
            room,
            steps: 0,
        }
    }

    /// Adds `node` and all nodes that it is ordered after. `visit` is called with each
    /// new range of a chain (the chain's number and the positions). It may end the
    /// walk; the set is then incomplete.
    pub(super) fn extend(
        &mut self,
        node: usize,
        mut visit: impl FnMut(usize, Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Room {
            question,
            reached,
            pending,
        } = &mut self.room;
        pending.clear();
        pending.extend(self.order.place(node));
        while let Some(place) = pending.pop() {
            let chain = &self.order.chains[place.chain];
            if chain.nodes[place.position] < self.oldest && !self.order.has_backward {
                continue;
            }
            let known = &mut reached[place.chain];
            let before = if known.0 == *question { known.1 } else { 0 };
            let stretch = before..place.position + 1;
            if stretch.is_empty() {
                continue;
            }
            *known = (*question, stretch.end);
            self.steps += 1 + chain.crossings.len() as u64;
            visit(place.chain, stretch)?;
            let new = |next: &Place| {
                let (by, end) = reached[next.chain];
                by != *question || end <= next.position
            };
            pending.extend(chain.crossings_up_to(place.position).filter(new));
        }
        ControlFlow::Continue(())
    }
}

/// The number of entries with a position of at most `position`. The entries are ascending
/// by position.
fn entries_up_to(entries: &[(usize, usize)], position: usize) -> usize {
    entries.partition_point(|&(here, _)| here <= position)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The same query by a plain search, for comparison.
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

    /// A small random number generator, so that the test needs no crate.
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
        for seed in 0..400 {
            let mut noise = Noise(seed);
            // Dependencies are taken from all older nodes down to the last
            // three, which makes branches that fork, join and fork again.
            let window = [24, 8, 5, 3][seed as usize / 2 % 4];
            let mut order = Order::new();
            let mut edges = Vec::new();
            for node in 0..24_usize {
                let dependencies: Vec<usize> = match node {
                    0 => Vec::new(),
                    _ => (0..noise.below(4))
                        .map(|_| node - 1 - noise.below(node.min(window)))
                        .collect(),
                };
                edges.extend(dependencies.iter().map(|&from| (from, node)));
                assert_eq!(order.add_node(&dependencies), Ok(node));
            }
            // In half of the seeds, nodes also depend on newer nodes.
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
    fn branches_reuse_the_chains_of_earlier_branches_that_have_joined() {
        let mut order = Order::new();
        let mut last = order.add_node(&[]).expect("no dependency to miss");
        for _ in 0..100 {
            let branches: Vec<usize> = (0..4)
                .map(|_| {
                    let first = order.add_node(&[last]).expect("the node exists");
                    order.add_node(&[first]).expect("the node exists")
                })
                .collect();
            last = order.add_node(&branches).expect("the nodes exist");
        }
        assert_eq!(order.chains.len(), 4);
    }

    #[test]
    fn direct_dependencies_are_in_the_listed_order_without_duplicates() {
        let mut order = Order::new();
        for _ in 0..3 {
            order.add_node(&[]).expect("no dependency to miss");
        }
        assert_eq!(order.add_node(&[1, 0, 2, 1]), Ok(3));
        assert_eq!(order.dependencies_as_listed(3), [1, 0, 2]);
        assert_eq!(order.add_node(&[3, 0]), Ok(4));
        for from in [2, 0, 3] {
            order.add_dependency(from, 4).expect("both nodes exist");
        }
        assert_eq!(order.dependencies_as_listed(4), [3, 0, 2]);
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
