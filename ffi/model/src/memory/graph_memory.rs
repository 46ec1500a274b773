//! The memory of one graph: its allocations, and the physical memory that backs them.
//!
//! It exists after the graph is destroyed as long as an exec or an unfreed allocation needs
//! it (R16).

use std::ops::Range;

use crate::memory::address::AddressSpace;
use crate::memory::pool::Mapped;
use crate::objects::id::{ExecId, MemoryId};

/// Identifies one allocation of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocationRef {
    /// The memory of the graph.
    pub memory: MemoryId,
    /// The index of the allocation in it.
    pub index: u32,
}

/// One allocation of a graph.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// The device on which it is.
    pub device: usize,
    /// Its address (R1).
    pub address: u64,
    /// The requested size in bytes.
    pub bytes: u64,
    /// Whether a free node of the same graph frees it (R13).
    pub freed_here: bool,
    /// Whether another graph has or had a free node for it (R15).
    pub freed_elsewhere: bool,
    /// Whether it was launched and not freed since.
    pub live: bool,
}

/// The addresses and blocks of a graph on one device.
#[derive(Debug)]
pub struct DeviceMemory {
    /// The device.
    pub device: usize,
    /// Its addresses.
    pub space: AddressSpace,
    /// The physical memory that backs the addresses, by block in ascending order.
    pub mapping: Vec<Mapped>,
    /// The number of segments of `space` that `mapping` covers.
    pub segments_mapped: usize,
}

/// The memory of one graph.
#[derive(Debug, Default)]
pub struct GraphMemory {
    /// Every allocation, in the order in which the nodes were added.
    pub allocations: Vec<Allocation>,
    /// One entry for each device on which the graph has allocations.
    pub devices: Vec<DeviceMemory>,
    /// Whether the graph itself exists.
    pub has_graph: bool,
    /// The only exec that may exist (R25).
    pub exec: Option<ExecId>,
    /// The number of live allocations.
    pub live: u32,
}

impl GraphMemory {
    /// Whether neither a graph, nor an exec, nor a live allocation needs it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.has_graph && self.exec.is_none() && self.live == 0
    }

    /// Frees the spare capacity of its lists.
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
    /// The numbers of the blocks of addresses that it touches.
    #[must_use]
    pub fn blocks(&self, block_bytes: u64) -> Range<u64> {
        let end = self.address.saturating_add(self.bytes);
        self.address / block_bytes..end.div_ceil(block_bytes)
    }
}

impl DeviceMemory {
    /// Extends the mapping to the segments that the graph has reserved so far. An exec
    /// maps the segments that its graph had at instantiation.
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
