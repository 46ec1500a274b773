//! The memory of one graph: what its alloc nodes got, and what is behind it.
//!
//! It outlives the graph while an exec or an unfreed allocation needs it (R16).

use std::ops::Range;

use crate::address::AddressSpace;
use crate::exec::Exec;
use crate::pool::Mapped;
use crate::slab::{Id, Tagged};

/// One allocation of a graph.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// The device that it is on.
    pub device: usize,
    /// Its address (R1).
    pub address: u64,
    /// The bytes asked for.
    pub bytes: u64,
    /// A free node of the same graph ends it (R13).
    pub freed_here: bool,
    /// Free nodes of other graphs that would end it (R15).
    pub freed_elsewhere: u32,
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
    /// What is behind them, block by block in the order of what is set aside.
    pub mapping: Vec<Mapped>,
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
    pub exec: Option<Id<Exec>>,
    /// How many allocations are live.
    pub live: u32,
}

impl Tagged for GraphMemory {
    const TAG: u64 = 9;
}

impl GraphMemory {
    /// Whether nothing needs it any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.has_graph && self.exec.is_none() && self.live == 0
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
    /// Takes in what the graph has set aside by now: an exec maps what its graph
    /// had when it was instantiated.
    pub fn extend_mapping(&mut self, block_bytes: u64) {
        let mut known = 0;
        for stretch in self.space.set_aside() {
            for block in stretch.start / block_bytes..stretch.end / block_bytes {
                if known >= self.mapping.len() {
                    self.mapping.push(Mapped::nothing(block));
                }
                known += 1;
            }
        }
        let touched = self.space.mapped_blocks();
        for mapped in &mut self.mapping {
            mapped.touched = touched.contains(mapped.block);
        }
    }

    /// The mapping of the blocks of one allocation, which lies in one stretch.
    pub fn mapped_in(&self, blocks: Range<u64>, block_bytes: u64) -> &[Mapped] {
        let mut before = 0;
        for stretch in self.space.set_aside() {
            let of_stretch = stretch.start / block_bytes..stretch.end / block_bytes;
            if of_stretch.contains(&blocks.start) {
                let from = before + (blocks.start - of_stretch.start) as usize;
                let to = from + (blocks.end - blocks.start) as usize;
                return self.mapping.get(from..to).unwrap_or_default();
            }
            before += (of_stretch.end - of_stretch.start) as usize;
        }
        &[]
    }
}
