//! Instantiated graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Nanos;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::Effect;
use crate::objects::id::{EventId, GraphId, MemoryId};

/// An instantiated graph: what a launch of it does, fixed at instantiation.
#[derive(Debug)]
pub struct Exec {
    /// The graph's memory, if it has alloc nodes.
    pub memory: Option<MemoryId>,
    /// The flags that it was made with.
    pub flags: u64,
    /// A launch first frees what the last one left (R19).
    pub auto_free: bool,
    /// The allocations that it leaves to others to free.
    pub unfreed: Box<[u32]>,
    /// The allocations of other graphs that it frees.
    pub frees: Box<[AllocationRef]>,
    /// The events that its nodes record.
    pub records: Box<[EventId]>,
    /// The graph that it was made from, whose nodes name what is changed in it.
    pub source: GraphId,
    /// How often that graph had numbered its nodes anew, if its numbers are those in
    /// `places`.
    pub numbering: Option<u32>,
    /// What a launch does to memory, in order.
    pub effects: Arc<[Effect]>,
    /// Which node of the graph each effect belongs to, ascending: its number plus one, or
    /// [`BEFORE_NODES`].
    pub places: Box<[u32]>,
    /// Nodes that are not run, with their effects.
    pub disabled: BTreeMap<u32, Vec<Effect>>,
    /// How long a launch lasts on the device: its longest path.
    pub duration: Nanos,
    /// What an update may not change.
    pub structure: Structure,
    /// When its last launch is over: it never overlaps itself (R22).
    pub end: Nanos,
}

/// The place of effects that belong to no node: they come first.
pub const BEFORE_NODES: u32 = 0;

impl Exec {
    /// Puts effects in the place of those of a node.
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

/// A graph's nodes and edges, for the comparison that an update makes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The type of each node.
    pub types: Vec<u8>,
    /// A number made from the edges: equal for equal ones.
    pub edges: u64,
}

impl Structure {
    /// Adds an edge.
    pub fn edge(&mut self, from: u32, to: u32) {
        self.mix(u64::from(from) << 32 | u64::from(to));
    }

    /// Adds what is in a child graph.
    pub fn child(&mut self, child: &Self) {
        self.mix(child.edges);
        for &kind in &child.types {
            self.mix(kind.into());
        }
    }

    /// The step of FNV-1a, on a word instead of a byte.
    fn mix(&mut self, word: u64) {
        self.edges = (self.edges ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
}
