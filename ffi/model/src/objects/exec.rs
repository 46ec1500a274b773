//! Instantiated graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Nanos;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::Effect;
use crate::objects::id::{EventId, GraphId, MemoryId};

/// An instantiated graph: the work of a launch, fixed at instantiation.
#[derive(Debug)]
pub struct Exec {
    /// The graph's memory, if it has alloc nodes.
    pub memory: Option<MemoryId>,
    /// The flags of the instantiation.
    pub flags: u64,
    /// Whether a launch first frees what the last one left allocated (R19).
    pub auto_free: bool,
    /// The indices of the allocations that it leaves unfreed.
    pub unfreed: Box<[u32]>,
    /// The allocations of other graphs that it frees.
    pub frees: Box<[AllocationRef]>,
    /// The events that its nodes record.
    pub records: Box<[EventId]>,
    /// The graph from which it was instantiated. Exec nodes are changed through the
    /// nodes of this graph.
    pub source: GraphId,
    /// How often that graph had renumbered its nodes when `places` was made; `None` if
    /// the numbers in `places` are not those of the graph.
    pub numbering: Option<u32>,
    /// The effects of a launch on memory, in order.
    pub effects: Arc<[Effect]>,
    /// For each effect, in ascending order: the number of its node plus one, or
    /// [`BEFORE_NODES`].
    pub places: Box<[u32]>,
    /// Disabled nodes, with their effects.
    pub disabled: BTreeMap<u32, Vec<Effect>>,
    /// The duration of a launch on the device: its longest path.
    pub duration: Nanos,
    /// The structure, which an update may not change.
    pub structure: Structure,
    /// The time at which its last launch ends. An exec never overlaps itself (R22).
    pub end: Nanos,
}

/// The place of effects that belong to no node. They come first.
pub const BEFORE_NODES: u32 = 0;

impl Exec {
    /// Replaces the effects of a node, and returns the previous ones.
    pub fn replace(&mut self, node: u32, effects: &[Effect]) -> Vec<Effect> {
        let own = |(at, place): (usize, &u32)| (*place == node + 1).then_some(at);
        let mut places = self.places.iter().enumerate().filter_map(own);
        let start = places.next();
        let count = start.map_or(0, |_| 1 + places.count());
        let start = start.unwrap_or_else(|| self.places.partition_point(|&place| place <= node));
        let mut all = self.effects.to_vec();
        let before: Vec<Effect> = all
            .splice(start..start + count, effects.iter().cloned())
            .collect();
        let mut places = self.places.to_vec();
        places.splice(start..start + count, effects.iter().map(|_| node + 1));
        self.effects = all.into();
        self.places = places.into();
        before
    }
}

/// The nodes and edges of a graph, which an update compares.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The type of each node.
    pub types: Vec<u8>,
    /// A hash of the edges.
    pub edges: u64,
}

impl Structure {
    /// Adds an edge.
    pub fn edge(&mut self, from: u32, to: u32) {
        self.mix(u64::from(from) << 32 | u64::from(to));
    }

    /// Adds the structure of a child graph.
    pub fn child(&mut self, child: &Self) {
        self.mix(child.edges);
        for &kind in &child.types {
            self.mix(kind.into());
        }
    }

    /// One step of FNV-1a, with a word instead of a byte.
    fn mix(&mut self, word: u64) {
        self.edges = (self.edges ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
}
