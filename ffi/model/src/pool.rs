//! The physical memory behind a device's graph allocations.
//!
//! A block of physical memory can stand behind addresses of several graphs at
//! once, as long as these cannot run at once (R35 to R37). *Used* counts the
//! blocks that an address of some graph is mapped to, *reserved* all blocks that
//! the pool holds (R48).

use cudart_ffi::cudaError_t;

use crate::clock::Nanos;
use crate::graph_memory::GraphMemory;
use crate::slab::{Id, Slab, Tagged};
use crate::stream::Stream;

/// One block of physical memory.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Graph addresses that are mapped to it and hold part of an allocation.
    mapped: u32,
    /// Unfreed allocations that touch it (R36, R42).
    held: u32,
    /// The graph whose allocations hold it, while any do.
    holder: Id<GraphMemory>,
    /// The graph that ran on it last.
    last: Id<GraphMemory>,
    /// The stream that it was last used in.
    stream: Id<Stream>,
    /// When that use is over.
    busy_until: Nanos,
    /// The binding that it was last chosen in.
    chosen_in: u64,
}

impl Tagged for Block {
    const TAG: u64 = 8;
}

/// One block of a graph's addresses, and the physical block behind it.
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    /// The address divided by the block size.
    pub block: u64,
    /// What is behind it: nothing before the first launch, stale after a trim.
    pub physical: Option<Id<Block>>,
    /// An allocation touches it. The last blocks of what a graph has set aside
    /// may be reserved and never touched.
    pub touched: bool,
    /// It counts as a mapping of the physical block.
    counted: bool,
}

impl Mapped {
    /// A block of addresses with nothing behind it yet.
    #[must_use]
    pub fn nothing(block: u64) -> Self {
        Self {
            block,
            physical: None,
            touched: false,
            counted: false,
        }
    }
}

/// Who wants to use memory, and where.
#[derive(Debug, Clone, Copy)]
pub struct User {
    /// The graph.
    pub graph: Id<GraphMemory>,
    /// The stream of the launch or upload.
    pub stream: Id<Stream>,
    /// The time of the call.
    pub now: Nanos,
}

/// A device's pool.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Slab<Block>,
    used: u64,
    used_high: u64,
    reserved_high: u64,
    bindings: u64,
}

impl Pool {
    /// Blocks mapped by at least one graph.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The most that [`used`](Self::used) has been since the last reset.
    #[must_use]
    pub fn used_high(&self) -> u64 {
        self.used_high
    }

    /// Blocks that the pool holds.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.blocks.count() as u64
    }

    /// The most that [`reserved`](Self::reserved) has been since the last reset.
    #[must_use]
    pub fn reserved_high(&self) -> u64 {
        self.reserved_high
    }

    /// Starts the used mark anew, from what is used now.
    pub fn reset_used_high(&mut self) {
        self.used_high = self.used;
    }

    /// Starts the reserved mark anew, from what is reserved now.
    pub fn reset_reserved_high(&mut self) {
        self.reserved_high = self.reserved();
    }

    /// Puts a physical block behind each wanted block of addresses, and returns
    /// how many had to be mapped anew. `room` is how many blocks more the device
    /// could give.
    ///
    /// # Errors
    ///
    /// 2 when the device has not enough; nothing has changed then (M13).
    pub fn bind(
        &mut self,
        mapping: &mut [Mapped],
        user: User,
        room: u64,
    ) -> Result<u64, cudaError_t> {
        let settled = |m: &Mapped| self.keeps(m.physical, user) && m.touched == m.counted;
        if mapping.iter().all(settled) {
            return Ok(0);
        }
        self.bindings += 1;
        let binding = self.bindings;
        let mut missing = 0;
        for mapped in &*mapping {
            if self.keeps(mapped.physical, user) {
                self.choose(mapped.physical, binding);
            } else {
                missing += 1;
            }
        }
        let found = self.free_for(user, binding, missing);
        let new = missing - found.len() as u64;
        if new > room {
            return Err(cudaError_t::MEMORY_ALLOCATION);
        }
        let mut found = found.into_iter();
        for mapped in mapping.iter_mut() {
            if !self.keeps(mapped.physical, user) {
                if mapped.counted {
                    self.unmap(mapped.physical);
                    mapped.counted = false;
                }
                let physical = match found.next() {
                    Some(physical) => physical,
                    None => self.take_from_device(user)?,
                };
                mapped.physical = Some(physical);
            }
            if mapped.touched && !mapped.counted {
                self.map(mapped.physical);
                mapped.counted = true;
            }
        }
        self.used_high = self.used_high.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved());
        Ok(missing)
    }

    fn block(&self, physical: Option<Id<Block>>) -> Option<&Block> {
        physical.and_then(|id| self.blocks.get(id))
    }

    fn block_mut(&mut self, physical: Option<Id<Block>>) -> Option<&mut Block> {
        physical.and_then(|id| self.blocks.get_mut(id))
    }

    /// Whether a graph's block may stay where it is: the graph ran on it last, or
    /// anyone in this stream may have it.
    fn keeps(&self, physical: Option<Id<Block>>, user: User) -> bool {
        self.block(physical).is_some_and(|block| {
            block.held_by_others(user.graph) == 0
                && (block.last == user.graph || block.is_idle_for(user))
        })
    }

    /// Up to `count` blocks that the user may take: those last used in its own
    /// stream first (R35), then those whose use is over (R37).
    fn free_for(&self, user: User, binding: u64, count: u64) -> Vec<Id<Block>> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let candidates = |own: bool| {
            self.blocks
                .iter()
                .filter(move |(_, block)| {
                    block.chosen_in != binding
                        && (block.stream == user.stream) == own
                        && block.held == 0
                        && block.is_idle_for(user)
                })
                .map(|(id, _)| id)
        };
        candidates(true)
            .chain(candidates(false))
            .take(count)
            .collect()
    }

    fn choose(&mut self, physical: Option<Id<Block>>, binding: u64) {
        if let Some(block) = self.block_mut(physical) {
            block.chosen_in = binding;
        }
    }

    fn take_from_device(&mut self, user: User) -> Result<Id<Block>, cudaError_t> {
        self.blocks
            .insert(Block {
                mapped: 0,
                held: 0,
                holder: user.graph,
                last: user.graph,
                stream: user.stream,
                busy_until: 0,
                chosen_in: 0,
            })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    fn map(&mut self, physical: Option<Id<Block>>) {
        if let Some(block) = self.block_mut(physical) {
            block.mapped += 1;
            if block.mapped == 1 {
                self.used += 1;
            }
        }
    }

    fn unmap(&mut self, physical: Option<Id<Block>>) {
        if let Some(block) = self.block_mut(physical)
            && block.mapped > 0
        {
            block.mapped -= 1;
            if block.mapped == 0 {
                self.used -= 1;
            }
        }
    }

    /// Notes that the graph runs on its blocks until `end`.
    pub fn run(&mut self, mapping: &[Mapped], user: User, end: Nanos) {
        for mapped in mapping {
            if let Some(block) = self.block_mut(mapped.physical) {
                block.last = user.graph;
                block.stream = user.stream;
                block.busy_until = block.busy_until.max(end);
            }
        }
    }

    /// Holds a block for an unfreed allocation.
    pub fn hold(&mut self, physical: Option<Id<Block>>, holder: Id<GraphMemory>) {
        if let Some(block) = self.block_mut(physical) {
            block.held += 1;
            block.holder = holder;
        }
    }

    /// Ends one allocation's hold, in a stream's order when one is given.
    pub fn release(&mut self, physical: Option<Id<Block>>, order: Option<(Id<Stream>, Nanos)>) {
        if let Some(block) = self.block_mut(physical) {
            block.held = block.held.saturating_sub(1);
            if let Some((stream, time)) = order
                && time >= block.busy_until
            {
                block.stream = stream;
                block.busy_until = time;
            }
        }
    }

    /// Gives back to the device what is in no active use: neither held by an
    /// unfreed allocation nor by a graph that is queued or running (R42). Returns
    /// how many blocks went.
    pub fn trim(&mut self, now: Nanos) -> u64 {
        let idle: Vec<Id<Block>> = self
            .blocks
            .iter()
            .filter(|(_, block)| block.held == 0 && block.busy_until <= now)
            .map(|(id, _)| id)
            .collect();
        for id in &idle {
            if let Some(block) = self.blocks.remove(*id)
                && block.mapped > 0
            {
                self.used -= 1;
            }
        }
        idle.len() as u64
    }
}

impl Block {
    fn held_by_others(&self, graph: Id<GraphMemory>) -> u32 {
        if self.holder == graph { 0 } else { self.held }
    }

    fn is_idle_for(&self, user: User) -> bool {
        self.stream == user.stream || self.busy_until <= user.now
    }
}
