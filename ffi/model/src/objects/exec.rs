//! Instantiated graphs.

use std::sync::Arc;

use crate::clock::Nanos;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::Effect;
use crate::objects::id::MemoryId;

/// An instantiated graph: what a launch of it does, fixed at instantiation.
#[derive(Debug)]
pub struct Exec {
    /// The graph's memory, if it has alloc nodes.
    pub memory: Option<MemoryId>,
    /// A launch first frees what the last one left (R19).
    pub auto_free: bool,
    /// The allocations that it leaves to others to free.
    pub unfreed: Box<[u32]>,
    /// The allocations of other graphs that it frees.
    pub frees: Box<[AllocationRef]>,
    /// What a launch does to memory, in order.
    pub effects: Arc<[Effect]>,
    /// How long a launch lasts on the device: its longest path.
    pub duration: Nanos,
    /// When its last launch is over: it never overlaps itself (R22).
    pub end: Nanos,
}
