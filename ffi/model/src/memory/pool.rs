//! The physical memory that backs a device's graph allocations.
//!
//! A block of physical memory can back addresses of several graphs, as long as these graphs
//! cannot run at the same time (R35 to R37). *Used* counts the blocks to which an address
//! of some graph is mapped, *reserved* all blocks that the pool has allocated (R48).
//!
//! NVIDIA documents what may be shared, but not which graph gets which block. The rules for
//! that were found from recordings of an H200 (driver 580, CUDA 13.0):
//!
//! - At a launch or an upload, every block of addresses that a graph has reserved gets a
//!   physical block, whether an allocation touches it or not. The mapping belongs to the
//!   graph: it stays when the exec is destroyed, and ends only with a trim or another
//!   mapping.
//! - At a launch or an upload, a physical block stays at its addresses if an unfreed
//!   allocation of the same exec is in it. It also stays if no other exec has an unfreed
//!   allocation in it and one of these holds: it was last used in the same stream; that use
//!   has finished; or exactly one graph has a part of an allocation in it.
//! - An address block whose physical block does not stay can get a block that was last used
//!   in the same stream, or one whose use has finished. For this rule, if another stream
//!   runs other graphs, all blocks that were last launched in that stream count as in use,
//!   even those whose own work has finished.
//! - If the graph itself still runs when its mapping must change, the host waits for that
//!   run (R39). The new blocks are chosen before the wait.
//! - New memory is mapped at the lowest addresses that need a block, then existing blocks
//!   of the pool. These are chosen in this order: blocks of the same stream before others,
//!   the last used first, idle before busy, and the last mapped first. A launch maps
//!   existing blocks before new ones. A launch in another stream than the last one counts
//!   as mapping all of the graph's blocks again.
//! - A refused launch permanently reserves the memory that the device still had (M13).
//! - `cudaMalloc` trims the pool if memory is short, even for a request of 1 TiB.
//!
//! Two counts of the driver for a block become wrong, and they do so here in the same way,
//! since they affect the attributes and the choice of blocks: the number of graphs that
//! have a part of an allocation in the block, and the number of unfreed allocations that
//! touch it. As a consequence, *used* can decrease at a launch, and a block can stay
//! reserved forever after an upload of a new exec while an allocation of the old one was
//! live.

use std::cmp::Reverse;

use cudart_ffi::cudaError_t;

use crate::clock::Nanos;
use crate::memory::blocks::{BlockId, Blocks};
use crate::memory::contents::Contents;
use crate::objects::id::{ExecId, StreamId};

/// One block of physical memory.
#[derive(Debug)]
struct Block {
    /// Number of graphs that have a part of an allocation in it. Counted as the H200
    /// counts: a block that was only reserved is not counted when it is mapped, but
    /// subtracted when it is unmapped, so this can be too low, or below 0.
    mapped: i32,
    /// Number of unfreed allocations that touch it (R36, R42). Counted in the same way:
    /// a free is subtracted if the graph has this block mapped at that time.
    held: i32,
    /// The exec with unfreed allocations in it, as long as there are any.
    holder: ExecId,
    /// The stream of the last launch or upload that used it.
    stream: StreamId,
    /// The stream of the last launch or upload while it was mapped.
    mapped_in: Option<StreamId>,
    /// The stream of the last launch that used it.
    ran_in: Option<StreamId>,
    /// The time at which that launch ends.
    busy_until: Nanos,
    /// The number of that launch or upload, counted upwards.
    used_in: u64,
    /// The number of the last time that it was mapped at addresses, counted upwards.
    given: u64,
    /// The number of the binding that must not choose it (again).
    excluded_from: u64,
    contents: Contents,
}

/// One block of a graph's addresses, and the physical block that backs it.
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    /// The address divided by the block size.
    pub block: u64,
    /// The physical block: none before the first launch, and a block that no longer
    /// exists after a trim.
    physical: Option<BlockId>,
    /// Whether an allocation touches it. The last blocks of a graph's reserved
    /// addresses may never be touched.
    pub touched: bool,
    /// Whether it is counted as a mapping of the physical block.
    counted: bool,
}

impl Mapped {
    /// A block of addresses without a physical block.
    #[must_use]
    pub fn nothing(block: u64) -> Self {
        Self {
            block,
            physical: None,
            touched: false,
            counted: false,
        }
    }

    /// The physical block that backs it, if any.
    #[must_use]
    pub fn physical(&self) -> Option<BlockId> {
        self.physical
    }
}

/// The exec, stream and time of a launch or an upload.
#[derive(Debug, Clone, Copy)]
pub struct User {
    /// The exec that is launched or uploaded.
    pub exec: ExecId,
    /// The stream of the launch or upload.
    pub stream: StreamId,
    /// The time of the call.
    pub now: Nanos,
}

/// What [`Pool::bind`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bound {
    /// The number of address blocks that got another physical block.
    pub mapped: u64,
    /// Whether some of these had a physical block before.
    pub remapped: bool,
}

/// A device's pool.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Blocks<Block>,
    used: u64,
    used_high: u64,
    reserved_high: u64,
    bindings: u64,
    launches: u64,
    givings: u64,
    /// Blocks that were allocated for a launch which then failed. They stay reserved,
    /// and are never used or returned.
    lost: u64,
}

impl Pool {
    /// Blocks mapped by at least one graph.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The largest value of [`used`](Self::used) since the last reset.
    #[must_use]
    pub fn used_high(&self) -> u64 {
        self.used_high
    }

    /// Blocks that the pool has reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.blocks.len() as u64 + self.lost
    }

    /// The largest value of [`reserved`](Self::reserved) since the last reset.
    #[must_use]
    pub fn reserved_high(&self) -> u64 {
        self.reserved_high
    }

    /// Resets the high-water mark of used blocks to the current value.
    pub fn reset_used_high(&mut self) {
        self.used_high = self.used;
    }

    /// Resets the high-water mark of reserved blocks to the current value.
    pub fn reset_reserved_high(&mut self) {
        self.reserved_high = self.reserved();
    }

    /// The contents of a block. `None` if it is not, or no longer, a block of the pool.
    #[must_use]
    pub fn contents(&self, block: BlockId) -> Option<&Contents> {
        self.blocks.get(block).map(|block| &block.contents)
    }

    /// Maps a physical block at each block of addresses in `mapping`. `room` is the
    /// number of blocks that the device still has. `others_end` returns the time until
    /// which a stream runs graphs with memory nodes other than that of `user`.
    ///
    /// # Errors
    ///
    /// 2 (cudaErrorMemoryAllocation) if the device does not have enough memory. The
    /// mapping is then unchanged (M13), but the memory that the device still had is
    /// reserved and lost. In the H200's recordings, no trim ever returns it either.
    pub fn bind(
        &mut self,
        mapping: &mut [Mapped],
        user: User,
        room: u64,
        others_end: impl Fn(StreamId) -> Nanos,
    ) -> Result<Bound, cudaError_t> {
        let stays = |pool: &Self, m: &Mapped| {
            pool.block(m.physical)
                .is_some_and(|block| block.stays_for(user))
        };
        let settled = |m: &Mapped| stays(self, m) && m.touched == m.counted;
        if mapping.iter().all(settled) {
            return Ok(Bound::default());
        }
        self.bindings += 1;
        let binding = self.bindings;
        let mut missing = 0;
        let mut remapped = false;
        for mapped in &*mapping {
            if !stays(self, mapped) {
                missing += 1;
                remapped |= self.block(mapped.physical).is_some();
            }
        }
        for mapped in &*mapping {
            if let Some(block) = self.block_mut(mapped.physical) {
                block.excluded_from = binding;
            }
        }
        let found = self.free_for(user, binding, missing, &others_end);
        let new = missing - found.len() as u64;
        if new > room {
            self.lost += room;
            self.reserved_high = self.reserved_high.max(self.reserved());
            return Err(cudaError_t::MEMORY_ALLOCATION);
        }
        // New memory is mapped at the lowest addresses, then the existing blocks of
        // the pool.
        let mut given: Vec<BlockId> = (0..new)
            .filter_map(|_| self.take_from_device(user))
            .collect();
        let first_new = given.first().copied();
        let mut new_behind = Vec::with_capacity(given.len());
        given.extend(found);
        let mut given = given.into_iter();
        for mapped in mapping {
            let moves = !stays(self, mapped);
            if moves {
                self.unmap(mapped.physical);
                mapped.physical = given.next();
                mapped.counted = false;
            }
            if mapped.touched && !mapped.counted {
                self.map(mapped.physical);
                mapped.counted = true;
                self.used_high = self.used_high.max(self.used);
            }
            let is_new = first_new.is_some() && mapped.physical >= first_new;
            if moves && is_new {
                new_behind.push(mapped.physical);
            } else if moves {
                self.note_given(mapped.physical);
            }
        }
        for new in new_behind {
            self.note_given(new);
        }
        self.reserved_high = self.reserved_high.max(self.reserved());
        Ok(Bound {
            mapped: missing,
            remapped,
        })
    }

    fn block(&self, physical: Option<BlockId>) -> Option<&Block> {
        physical.and_then(|id| self.blocks.get(id))
    }

    fn block_mut(&mut self, physical: Option<BlockId>) -> Option<&mut Block> {
        physical.and_then(|id| self.blocks.get_mut(id))
    }

    /// Up to `count` blocks that the user may take: first those of its own stream
    /// (R35), then those whose use has finished (R37). Within each group the last used
    /// come first; within one launch idle ones, and then those that were mapped last.
    fn free_for(
        &self,
        user: User,
        binding: u64,
        count: u64,
        others_end: impl Fn(StreamId) -> Nanos,
    ) -> Vec<BlockId> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count == 0 {
            return Vec::new();
        }
        let mut free: Vec<_> = self
            .blocks
            .iter()
            .filter(|(_, block)| block.excluded_from != binding && block.held == 0)
            .filter(|(_, block)| block.is_free_for(user, &others_end))
            .map(|(id, block)| {
                let rank = (
                    block.mapped_in != Some(user.stream),
                    Reverse(block.used_in),
                    block.busy_until > user.now,
                    Reverse(block.given),
                );
                (rank, id)
            })
            .collect();
        if count < free.len() {
            free.select_nth_unstable(count);
            free.truncate(count);
        }
        free.sort_unstable();
        free.into_iter().map(|(_, id)| id).collect()
    }

    fn take_from_device(&mut self, user: User) -> Option<BlockId> {
        self.blocks.insert(Block {
            mapped: 0,
            held: 0,
            holder: user.exec,
            stream: user.stream,
            mapped_in: None,
            ran_in: None,
            busy_until: 0,
            used_in: 0,
            given: 0,
            excluded_from: 0,
            contents: Contents::default(),
        })
    }

    fn note_given(&mut self, physical: Option<BlockId>) {
        self.givings += 1;
        let givings = self.givings;
        if let Some(block) = self.block_mut(physical)
            && block.mapped > 0
        {
            block.given = givings;
        }
    }

    fn map(&mut self, physical: Option<BlockId>) {
        if let Some(block) = self.block_mut(physical) {
            block.mapped += 1;
            if block.mapped == 1 {
                self.used += 1;
            }
        }
    }

    fn unmap(&mut self, physical: Option<BlockId>) {
        if let Some(block) = self.block_mut(physical) {
            block.mapped -= 1;
            if block.mapped == 0 {
                self.used -= 1;
            }
        }
    }

    /// Records that a launch or an upload uses the blocks. A launch uses them until
    /// `end`.
    pub fn occupy(&mut self, mapping: &[Mapped], user: User, end: Option<Nanos>) {
        self.launches += 1;
        let launch = self.launches;
        for mapped in mapping {
            self.givings += 1;
            let givings = self.givings;
            if let Some(block) = self.block_mut(mapped.physical) {
                let changes_stream = block.stream != user.stream;
                if changes_stream {
                    block.given = givings;
                }
                block.stream = user.stream;
                if changes_stream || block.mapped > 0 {
                    block.mapped_in = Some(user.stream);
                    block.used_in = launch;
                }
                if let Some(end) = end {
                    block.busy_until = end;
                    block.ran_in = Some(user.stream);
                }
            }
        }
    }

    /// Counts an unfreed allocation in a block.
    pub fn hold(&mut self, mapped: &Mapped, holder: ExecId) {
        if let Some(block) = self.block_mut(mapped.physical) {
            block.held += 1;
            block.holder = holder;
        }
    }

    /// Subtracts an unfreed allocation from a block, at `at` if it was freed in stream
    /// order. Until that time a trim keeps the block, and other streams do not use it.
    /// Its own stream remains the one that used it last.
    pub fn release(&mut self, mapped: &Mapped, at: Option<Nanos>) {
        if let Some(block) = self.block_mut(mapped.physical) {
            block.held -= 1;
            block.busy_until = block.busy_until.max(at.unwrap_or(0));
        }
    }

    /// Returns to the device all blocks that are not in active use: no unfreed
    /// allocation touches them, and no graph that uses them is queued or running (R42).
    /// Returns the number of blocks.
    pub fn trim(&mut self, now: Nanos) -> u64 {
        let before = self.blocks.len();
        let mut unused = 0;
        self.blocks.retain(|block| {
            let active = block.held != 0 || block.busy_until > now;
            unused += u64::from(!active && block.mapped > 0);
            active
        });
        self.used -= unused;
        (before - self.blocks.len()) as u64
    }
}

impl Block {
    /// Whether a block may stay mapped at a graph's addresses for a launch: an unfreed
    /// allocation of the same exec is in it; or no unfreed allocation is in it, and no
    /// other graph has a part of it, it was last used in this stream, or that use has
    /// finished.
    fn stays_for(&self, user: User) -> bool {
        match self.held {
            0 => self.mapped == 1 || self.stream == user.stream || self.busy_until <= user.now,
            _ => self.holder == user.exec,
        }
    }

    /// Whether work in the user's stream may take the block: it was last used in that
    /// stream, or that use has finished and its stream runs only graphs of the user.
    fn is_free_for(&self, user: User, others_end: impl Fn(StreamId) -> Nanos) -> bool {
        let others = self.ran_in.map_or(0, others_end);
        self.stream == user.stream || self.busy_until.max(others) <= user.now
    }
}
