//! The memory of one graph: its allocations, and the physical memory that backs them.
//!
//! It stays after the graph is destroyed while an exec or an unfreed allocation needs it
//! (R16).

use std::ops::Range;

use crate::memory::address::AddressSpace;
use crate::memory::pool::Mapped;
use crate::objects::id::{ExecId, MemoryId};

/// Names one allocation of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocationRef {
    /// The memory of the graph.
    pub memory: MemoryId,
    /// The number of the allocation in it.
    pub index: u32,
}

/// One allocation of a graph.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// The device that it is on.
    pub device: usize,
    /// Its address (R1).
    pub address: u64,
    /// The requested bytes.
    pub bytes: u64,
    /// A free node of the same graph ends it (R13).
    pub freed_here: bool,
    /// Another graph has or had a free node for it (R15).
    pub freed_elsewhere: bool,
    /// Launched and not freed since.
    pub live: bool,
}

/// A graph's addresses and blocks on one device.
#[derive(Debug)]
pub struct DeviceMemory {
    /// The device.
    pub device: usize,
    /// Its addresses.
    pub space: AddressSpace,
    /// The physical memory that backs them, by block in ascending order.
    pub mapping: Vec<Mapped>,
    /// How many of the space's segments the mapping has.
    pub segments_mapped: usize,
}

/// The memory of one graph.
#[derive(Debug, Default)]
pub struct GraphMemory {
    /// Every allocation, in the order in which the nodes were added.
    pub allocations: Vec<Allocation>,
    /// One for each device that it has allocations on.
    pub devices: Vec<DeviceMemory>,
    /// The graph itself exists.
    pub has_graph: bool,
    /// The one exec that may exist (R25).
    pub exec: Option<ExecId>,
    /// How many allocations are live.
    pub live: u32,
}

impl GraphMemory {
    /// Whether neither a graph, nor an exec, nor a live allocation needs it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.has_graph && self.exec.is_none() && self.live == 0
    }

    /// Gives back what its lists have room for and do not need.
    pub fn shrink_to_fit(&mut self) {
        self.allocations.shrink_to_fit();
        self.devices.shrink_to_fit();
        for on_device in &mut self.devices {
            on_device.mapping.shrink_to_fit();
            on_device.space.shrink_to_fit();
        }
    }
}

impl Allocation {
    /// The blocks of addresses that it touches.
    #[must_use]
    pub fn blocks(&self, block_bytes: u64) -> Range<u64> {
        let end = self.address.saturating_add(self.bytes);
        self.address / block_bytes..end.div_ceil(block_bytes)
    }
}

impl DeviceMemory {
    /// Extends the mapping to the segments that the graph has reserved so far: an exec maps
    /// those that its graph had when it was instantiated.
    pub fn extend_mapping(&mut self, block_bytes: u64) {
        let segments = self.space.segments();
        for segment in segments.get(self.segments_mapped..).unwrap_or_default() {
            let blocks = segment.start / block_bytes..segment.end / block_bytes;
            self.mapping.extend(blocks.map(Mapped::nothing));
        }
        self.segments_mapped = segments.len();
        self.mapping.sort_by_key(|mapped| mapped.block);
        let touched = self.space.mapped_blocks();
        for mapped in &mut self.mapping {
            mapped.touched = touched.contains(mapped.block);
        }
    }

    /// The mapping of a range of blocks.
    pub fn mapped_in(&self, blocks: Range<u64>) -> impl Iterator<Item = &Mapped> {
        let from = self.mapping.partition_point(|m| m.block < blocks.start);
        self.mapping
            .iter()
            .skip(from)
            .take_while(move |m| m.block < blocks.end)
    }
}
