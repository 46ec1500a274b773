//! What is live while a graph runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::{Freed, Graph, Kind, NodeIndex, PerNode};

/// A graph whose dependencies go round: it cannot be instantiated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The nodes of one round, each depending on the one before, the first on the
    /// last.
    pub nodes: Vec<NodeIndex>,
}

/// A memory node's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The node.
    pub node: NodeIndex,
    /// Bytes of all allocations live after it.
    pub live_bytes: u64,
}

/// The memory nodes in an order in which the graph may run.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// All turns.
    pub events: Vec<Event>,
    /// The most bytes live at once.
    pub peak_bytes: u64,
    /// The node at which they are first reached.
    pub peak_at: Option<NodeIndex>,
}

/// An order in which the nodes may run: of those that may run next always the one
/// that was created first.
///
/// # Errors
///
/// A cycle.
pub fn topological(graph: &Graph) -> Result<Vec<NodeIndex>, Cycle> {
    let count = graph.dependencies.node_count();
    let mut backward = graph.dependencies.edges().filter(|(from, to)| from >= to);
    if backward.next().is_none() {
        return Ok((0..count).collect());
    }
    let dependents = graph.dependencies.reversed();
    let mut missing: PerNode<usize> = (0..count)
        .map(|node| graph.dependencies.of(node).len())
        .collect();
    let free = (0..count)
        .zip(missing.iter())
        .filter(|(_, missing)| **missing == 0);
    let mut ready: BinaryHeap<Reverse<NodeIndex>> = free.map(|(node, _)| Reverse(node)).collect();
    let mut order = Vec::with_capacity(count as usize);
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &next in dependents.of(node) {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    if order.len() == count as usize {
        Ok(order)
    } else {
        Err(cycle(graph, &missing))
    }
}

/// Walks back from a node that never became ready until a node comes again.
fn cycle(graph: &Graph, missing: &PerNode<usize>) -> Cycle {
    let waits = |node: NodeIndex| missing[node] > 0;
    let mut seen_at = PerNode::new(graph, None);
    let mut path: Vec<NodeIndex> = Vec::new();
    let mut next = (0..graph.dependencies.node_count()).find(|&node| waits(node));
    while let Some(node) = next {
        if let Some(start) = seen_at[node] {
            let mut nodes = path.split_off(start);
            nodes.reverse();
            return Cycle { nodes };
        }
        seen_at[node] = Some(path.len());
        path.push(node);
        next = graph
            .dependencies
            .of(node)
            .iter()
            .copied()
            .find(|&other| waits(other));
    }
    Cycle { nodes: path }
}

impl Timeline {
    /// Follows the allocations along an order of the nodes.
    #[must_use]
    pub fn along(graph: &Graph, order: &[NodeIndex]) -> Self {
        let mut timeline = Self::default();
        let mut live = 0_u64;
        for &node in order {
            match graph.node(node).kind {
                Kind::Alloc { bytes, .. } => live = live.saturating_add(bytes),
                Kind::Free(Freed::Here(allocation)) => {
                    if let Kind::Alloc { bytes, .. } = graph.node(allocation).kind {
                        live = live.saturating_sub(bytes);
                    }
                }
                Kind::Free(_) => {}
                _ => continue,
            }
            timeline.events.push(Event {
                node,
                live_bytes: live,
            });
            if live > timeline.peak_bytes {
                timeline.peak_bytes = live;
                timeline.peak_at = Some(node);
            }
        }
        timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dependencies, Location, Node};
    use crate::name::Name;

    fn graph(kinds: &[Kind], edges: &[(u32, u32)]) -> Graph {
        let node = |kind: &Kind| Node {
            name: Name::from("n"),
            title: None,
            kind: *kind,
        };
        Graph {
            nodes: kinds.iter().map(node).collect(),
            dependencies: Dependencies::new(kinds.len(), edges),
            ..Graph::default()
        }
    }

    const KERNEL: Kind = Kind::Kernel { spin_ns: 0 };

    fn alloc(bytes: u64) -> Kind {
        Kind::Alloc {
            bytes,
            address: None,
            location: Location::default(),
        }
    }

    #[test]
    fn nodes_come_in_the_order_of_creation_where_dependencies_allow() {
        assert_eq!(
            topological(&graph(&[KERNEL; 3], &[(0, 2)])),
            Ok(vec![0, 1, 2])
        );
        assert_eq!(
            topological(&graph(&[KERNEL; 4], &[(3, 0), (0, 2)])),
            Ok(vec![1, 3, 0, 2])
        );
        assert_eq!(topological(&graph(&[], &[])), Ok(Vec::new()));
    }

    #[test]
    fn a_cycle_is_told_by_its_nodes_in_order() {
        let round = graph(&[KERNEL; 5], &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]);
        let cycle = topological(&round).expect_err("a cycle");
        assert_eq!(cycle.nodes.len(), 3);
        for (at, &node) in cycle.nodes.iter().enumerate() {
            let before = cycle.nodes[(at + 2) % 3];
            assert!(round.dependencies.of(node).contains(&before), "{cycle:?}");
        }
        assert_eq!(
            topological(&graph(&[KERNEL], &[(0, 0)])),
            Err(Cycle { nodes: vec![0] })
        );
    }

    #[test]
    fn the_peak_is_where_most_is_live() {
        let kinds = [
            alloc(5),
            alloc(7),
            Kind::Free(Freed::Here(0)),
            alloc(4),
            Kind::Free(Freed::Here(1)),
            KERNEL,
            Kind::Free(Freed::Again(1)),
        ];
        let graph = graph(&kinds, &[]);
        let timeline = Timeline::along(&graph, &[0, 1, 2, 3, 4, 5, 6]);
        let live: Vec<u64> = timeline
            .events
            .iter()
            .map(|event| event.live_bytes)
            .collect();
        assert_eq!(live, [5, 12, 7, 11, 4, 4]);
        assert_eq!((timeline.peak_bytes, timeline.peak_at), (12, Some(1)));
    }
}
