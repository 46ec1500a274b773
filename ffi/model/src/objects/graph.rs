//! Graphs and their nodes.

use cudart_ffi::cudaMemAccessDesc;

use crate::clock::Nanos;
use crate::memory::address::Order;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::Effect;
use crate::objects::id::{GraphId, MemoryId, NodeId};

/// Which node of which graph a node handle names.
#[derive(Debug, Clone, Copy)]
pub struct NodePlace {
    /// The graph.
    pub graph: GraphId,
    /// The node's number in it.
    pub index: u32,
}

/// What a node does.
#[derive(Debug)]
pub enum Work {
    /// Nothing any more: the node was destroyed.
    Destroyed,
    /// Nothing.
    Empty,
    /// A kernel, or a child graph, of this duration.
    Runs(Nanos),
    /// Allocates.
    Alloc {
        /// Which of the graph's allocations.
        allocation: u32,
        /// The access for other devices, as given (R51).
        access: Box<[cudaMemAccessDesc]>,
    },
    /// Frees.
    Free {
        /// Which allocation, of this graph or of another.
        allocation: AllocationRef,
        /// Its address.
        address: u64,
    },
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// What it does.
    pub work: Work,
    /// The nodes that it comes after.
    pub dependencies: Box<[u32]>,
    /// Its handle.
    pub handle: NodeId,
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// Its nodes by number; destroyed ones stay as such.
    pub nodes: Vec<Node>,
    /// Which node is ordered after which. Has the nodes' numbers.
    pub order: Order,
    /// Its memory, from the first alloc node on.
    pub memory: Option<MemoryId>,
    /// What its nodes do to memory, each with the node's number. Nodes come after
    /// those that they depend on, so this is an order to run them in.
    pub effects: Vec<(u32, Effect)>,
    /// It has had an alloc or free node (R23 to R26).
    pub has_memory_nodes: bool,
}

impl Graph {
    /// How long one run lasts on the device: the longest path through the nodes,
    /// so that branches without an order between them overlap.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        let mut ends: Vec<Nanos> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // A dependency always names an earlier node: edges are given when
            // the later node is added, and the table has no call to add others.
            let start = node
                .dependencies
                .iter()
                .filter_map(|&before| ends.get(before as usize))
                .max()
                .copied()
                .unwrap_or(0);
            let lasts = match node.work {
                Work::Runs(duration) => duration,
                _ => 0,
            };
            ends.push(start.saturating_add(lasts));
        }
        ends.into_iter().max().unwrap_or(0)
    }

    /// Gives back what its lists have room for and do not need.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.effects.shrink_to_fit();
        self.order.shrink_to_fit();
    }

    /// The allocations of other graphs that a run frees.
    pub fn frees_elsewhere(&self) -> impl Iterator<Item = AllocationRef> {
        self.nodes.iter().filter_map(|node| match node.work {
            Work::Free { allocation, .. } if Some(allocation.memory) != self.memory => {
                Some(allocation)
            }
            _ => None,
        })
    }
}
