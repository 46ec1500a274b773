//! The physical memory that backs a device's graph allocations.
//!
//! A block of physical memory can back addresses of several graphs at
//! once, as long as these cannot run at once (R35 to R37). *Used* counts the
//! blocks that an address of some graph is mapped to, *reserved* all blocks that
//! the pool holds (R48).
//!
//! The documents say what may be shared, and not which graph gets which block. The rules
//! for that come from recordings of an H200 (driver 580, CUDA 13.0):
//!
//! - Every block of addresses that a graph has reserved gets a physical one at launch or
//!   upload, touched by an allocation or not. The mapping belongs to the graph:
//!   it survives the exec, and only a trim or another mapping ends it.
//! - At a launch or upload a block stays where it is if an unfreed allocation of
//!   the same exec is in it, or no other holds it and one of these is so: it was
//!   last used in the same stream; that use is over; exactly one graph has part of
//!   an allocation there.
//! - What must move may move to a block that was last used in the same stream, or
//!   whose use is over. Here another stream's work with other graphs counts as use of
//!   all blocks that were last launched there, even of those that are done.
//! - What must move while the graph itself still runs makes the host wait for that
//!   run (R39). Who may be moved to is decided before the wait.
//! - New memory goes behind the lowest addresses that need some, then what the
//!   pool has: of the same stream before others, the last used first, idle before
//!   busy, and the last put behind addresses first. A launch puts what the pool has
//!   there before new memory. One in another stream than the last counts as putting
//!   all of the graph's blocks there again.
//! - A refused launch keeps what the device still had, for good (M13).
//! - `cudaMalloc` that finds too little trims the pool, even for 1 TiB.
//!
//! Two counts of a block go wrong in the driver, and here in the same way, since
//! they show in the attributes and in what moves: how many graphs have part of an
//! allocation in it, and how many unfreed allocations touch it. So *used* can fall at
//! a launch, and a block can stay held for ever after an upload of a new exec while an
//! allocation of the old one was live.

use std::cmp::Reverse;

use cudart_ffi::cudaError_t;

use crate::clock::Nanos;
use crate::memory::blocks::{BlockId, Blocks};
use crate::memory::contents::Contents;
use crate::objects::id::{ExecId, StreamId};

/// One block of physical memory.
#[derive(Debug)]
struct Block {
    /// Graphs that have part of an allocation there. Counted as the H200 counts:
    /// a block that was only reserved is not counted when it is mapped and is
    /// counted off when it is unmapped, so this may be too low, or below 0.
    mapped: i32,
    /// Unfreed allocations that touch it (R36, R42), counted the same way: a free
    /// is counted off where the graph has its block by then.
    held: i32,
    /// The exec whose allocations hold it, while any do.
    holder: ExecId,
    /// The stream of the last launch or upload with it.
    stream: StreamId,
    /// The stream of the last one while it was mapped.
    mapped_in: Option<StreamId>,
    /// The stream of the last launch with it.
    ran_in: Option<StreamId>,
    /// When that use is over.
    busy_until: Nanos,
    /// That launch or upload, counted up.
    used_in: u64,
    /// When it was last put behind addresses and was mapped then, counted up.
    given: u64,
    /// The binding that must not choose it (again).
    excluded_from: u64,
    contents: Contents,
}

/// One block of a graph's addresses, and the physical block behind it.
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    /// The address divided by the block size.
    pub block: u64,
    /// What is behind it: nothing before the first launch, stale after a trim.
    physical: Option<BlockId>,
    /// An allocation touches it. The last blocks of what a graph has reserved
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

    /// The physical block behind it, if any.
    #[must_use]
    pub fn physical(&self) -> Option<BlockId> {
        self.physical
    }
}

/// Who wants to use memory, where and when.
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
    /// Blocks of addresses that got other physical memory.
    pub mapped: u64,
    /// Some of these had physical memory until then.
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
    /// Blocks that were taken for a launch which then failed: reserved, and never
    /// used or given back again.
    lost: u64,
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
        self.blocks.len() as u64 + self.lost
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

    /// What a block holds. `None`: it is none of the pool's, or no longer.
    #[must_use]
    pub fn contents(&self, block: BlockId) -> Option<&Contents> {
        self.blocks.get(block).map(|block| &block.contents)
    }

    /// Puts a physical block behind each wanted block of addresses. `room` is how
    /// many blocks more the device could give; `others_end` says until when a
    /// stream runs graphs with memory nodes other than the user's.
    ///
    /// # Errors
    ///
    /// 2 when the device has not enough. No mapping has changed then (M13), but
    /// what the device still had is reserved and lost: so the H200's recordings,
    /// where no trim ever gives it back.
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
        // New memory goes behind the lowest addresses, then what the pool had.
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

    /// Up to `count` blocks that the user may take: those of its own stream first
    /// (R35), then those whose use is over (R37). Among each the last used come
    /// first; among those of one launch, idle ones, then the last that were put
    /// behind addresses.
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

    /// Notes that a launch or an upload uses its blocks; a launch until `end`.
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

    /// Holds a block for an unfreed allocation.
    pub fn hold(&mut self, mapped: &Mapped, holder: ExecId) {
        if let Some(block) = self.block_mut(mapped.physical) {
            block.held += 1;
            block.holder = holder;
        }
    }

    /// Ends one allocation's hold, at a stream's time when one is given: until then
    /// a trim leaves the block, and other streams do. Its own stream is still the one
    /// that used it last.
    pub fn release(&mut self, mapped: &Mapped, at: Option<Nanos>) {
        if let Some(block) = self.block_mut(mapped.physical) {
            block.held -= 1;
            block.busy_until = block.busy_until.max(at.unwrap_or(0));
        }
    }

    /// Gives back to the device what is in no active use: neither held by an
    /// unfreed allocation nor by a graph that is queued or running (R42). Returns
    /// how many blocks went.
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
    /// Whether a graph's block may stay behind its addresses for a launch: an
    /// unfreed allocation of the same exec is in it, or none is and nobody else has
    /// part of it, it was last used in this stream, or that use is over.
    fn stays_for(&self, user: User) -> bool {
        match self.held {
            0 => self.mapped == 1 || self.stream == user.stream || self.busy_until <= user.now,
            _ => self.holder == user.exec,
        }
    }

    /// Whether work in the user's stream may have it: it was last used there, or
    /// that use is over and its stream runs no graph but the user's own.
    fn is_free_for(&self, user: User, others_end: impl Fn(StreamId) -> Nanos) -> bool {
        let others = self.ran_in.map_or(0, others_end);
        self.stream == user.stream || self.busy_until.max(others) <= user.now
    }
}
