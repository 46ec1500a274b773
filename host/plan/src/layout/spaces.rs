//! The address spaces of a graph: its own, and one for each child graph.
//!
//! A child graph with memory nodes can only be moved into its parent (R26, 12.9 and
//! later). What that does to memory stands nowhere. The rule below gives what was used,
//! and what a trim left, of 115 of 115 graphs with up to three child graphs on an H200
//! (driver 580, CUDA 13.0), recorded when it had been found from others, and what was
//! reserved of 113; the other two have their addresses in an order that a dump does not
//! tell. 75 of them are kept as test data.
//!
//! - A child graph keeps the addresses that it was built with. Nothing is shared with
//!   those of the graph around it.
//! - If it frees all that it allocates itself, the graph around it sets memory aside for
//!   it, as if the child graph were one allocation: of what the child graph by itself
//!   reserves and a block more, made where the child graph begins, freed where it ends.
//!   That is the memory that a launch maps for it; others may have had it before, and may
//!   have it after.
//! - If it leaves an allocation, its addresses are mapped as a graph's of its own are,
//!   and share memory with nothing.
//! - A child graph in a child graph: the same, one further in. What one leaves does not
//!   count for the one around it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use cudart_model::memory::address::{AddressError, AddressSpace, Granularity, Order};

use super::Placed;
use crate::graph::NodeIndex;

/// How far apart addresses are kept that are moved together in the end. No device has
/// as much memory.
const APART: u64 = 1 << 46;

/// The spaces of a graph that is being laid out.
pub(super) struct Spaces {
    granularity: Granularity,
    base: u64,
    /// Where the next segment of addresses goes: of child graphs that were built before
    /// the graph around them, and of all others.
    next_early: u64,
    next: u64,
    /// Where the latter began.
    far: u64,
    /// The graph's own, which stays to the end, and those of the child graphs that have
    /// begun.
    open: Vec<Open>,
    /// What all of these but the last have cost.
    steps_around: u64,
    /// The address of each allocation, and where the child graph begins that it is in.
    placed: HashMap<NodeIndex, (u64, Option<NodeIndex>)>,
    /// What nodes outside the allocation's own space free.
    freed_outside: HashMap<NodeIndex, NodeIndex>,
    /// Whether child graphs have memory nodes.
    has_child_memory: bool,
    done: LaidOut,
}

/// What is known when all nodes are there.
#[derive(Default)]
pub(super) struct LaidOut {
    /// All allocations, in the order of creation.
    pub(super) allocations: Vec<Placed>,
    /// What a launch maps, where that is not just the allocations.
    pub(super) mapped: Option<Vec<Range<u64>>>,
    /// What it leaves reserved.
    pub(super) reserved_bytes: u64,
    /// What laying it out cost, in places looked at.
    pub(super) steps: u64,
}

struct Open {
    space: AddressSpace,
    /// Where the child graph begins; none for the graph itself.
    begin: Option<NodeIndex>,
    is_early: bool,
    /// The nodes at which addresses were reserved for child graphs.
    lends_at: BTreeSet<usize>,
}

impl Spaces {
    /// `has_early` says whether any child graph will be early.
    pub(super) fn new(base: u64, granularity: Granularity, has_early: bool) -> Self {
        let far = base.saturating_add(if has_early { APART } else { 0 });
        let mut spaces = Self {
            granularity,
            base,
            far,
            next_early: base,
            next: far,
            open: Vec::new(),
            steps_around: 0,
            placed: HashMap::new(),
            freed_outside: HashMap::new(),
            has_child_memory: false,
            done: LaidOut::default(),
        };
        spaces.open(None, false);
        spaces
    }

    fn open(&mut self, begin: Option<NodeIndex>, is_early: bool) {
        self.open.push(Open {
            space: AddressSpace::new(self.base, self.granularity),
            begin,
            is_early,
            lends_at: BTreeSet::new(),
        });
    }

    /// What this has cost so far, in places looked at.
    pub(super) fn steps(&self) -> u64 {
        self.done.steps + self.steps_around + self.last_steps()
    }

    fn last_steps(&self) -> u64 {
        self.innermost().space.steps()
    }

    fn innermost(&self) -> &Open {
        &self.open[self.open.len() - 1]
    }

    fn innermost_mut(&mut self) -> &mut Open {
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    /// A child graph begins at this node. It is early if it had its addresses before the
    /// graph around it had any.
    pub(super) fn begin_child(&mut self, begin: NodeIndex, is_early: bool) {
        let is_early = is_early || self.innermost().is_early;
        self.steps_around += self.last_steps();
        self.open(Some(begin), is_early);
    }

    /// The innermost child graph ends at this node, where one has begun.
    pub(super) fn end_child(&mut self, order: &Order, end: NodeIndex) -> Result<(), AddressError> {
        let Some(child) = self.open.pop_if(|open| open.begin.is_some()) else {
            return Ok(());
        };
        self.steps_around -= self.last_steps();
        if let (Some(bytes), Some(begin)) = (self.close(&child), child.begin) {
            let begin = begin as usize;
            let address = self.allocate(order, begin, bytes)?;
            let around = self.innermost_mut();
            around.lends_at.insert(begin);
            around.space.add_free(order, end as usize, address)?;
        }
        Ok(())
    }

    /// Takes what is known of a space that is done. Returns how much memory the graph
    /// around it sets aside for it, if that is what backs it.
    fn close(&mut self, open: &Open) -> Option<u64> {
        let all = open.space.allocations();
        let own = all.iter().filter(|one| !open.lends_at.contains(&one.node));
        let mut leaves_one = false;
        for allocation in own {
            leaves_one |= allocation.freed_by.is_none();
            self.done.allocations.push(Placed {
                node: allocation.node as NodeIndex,
                bytes: allocation.bytes,
                address: allocation.address,
                freed_by: allocation.freed_by.map(|free| free as NodeIndex),
            });
        }
        self.done.steps += open.space.steps();
        let reserved_bytes = open.space.reserved_bytes();
        if open.begin.is_some() && !leaves_one {
            let lent = reserved_bytes.saturating_add(self.granularity.block_bytes());
            return (!all.is_empty()).then_some(lent);
        }
        self.done.reserved_bytes = self.done.reserved_bytes.saturating_add(reserved_bytes);
        if self.has_child_memory {
            let mapped = self.done.mapped.get_or_insert_default();
            mapped.extend(all.iter().map(|allocation| allocation.range()));
        }
        None
    }

    /// Gives an alloc node of the innermost graph its address.
    pub(super) fn alloc(
        &mut self,
        order: &Order,
        node: NodeIndex,
        bytes: u64,
    ) -> Result<(), AddressError> {
        let address = self.allocate(order, node as usize, bytes)?;
        let inside = self.innermost().begin;
        self.has_child_memory |= inside.is_some();
        self.placed.insert(node, (address, inside));
        Ok(())
    }

    fn allocate(&mut self, order: &Order, node: usize, bytes: u64) -> Result<u64, AddressError> {
        let (next, last) = match self.innermost().is_early {
            true => (&mut self.next_early, self.far),
            false => (&mut self.next, u64::MAX),
        };
        let innermost = self.open.len() - 1;
        let open = &mut self.open[innermost];
        open.space.add_alloc_on(order, node, bytes, |growth| {
            let start = *next;
            *next = start.checked_add(growth).filter(|&end| end <= last)?;
            Some(start)
        })
    }

    /// Frees at a node of the innermost graph what an alloc node allocates, if that has
    /// an address.
    pub(super) fn free(
        &mut self,
        order: &Order,
        node: NodeIndex,
        allocation: NodeIndex,
    ) -> Result<(), AddressError> {
        let Some(&(address, inside)) = self.placed.get(&allocation) else {
            return Ok(());
        };
        let open = self.innermost_mut();
        if open.begin == inside {
            open.space.add_free(order, node as usize, address)?;
        } else {
            self.freed_outside.insert(allocation, node);
        }
        Ok(())
    }

    /// All nodes are there.
    pub(super) fn finish(mut self) -> LaidOut {
        // Every child graph has ended by now.
        if let Some(open) = self.open.pop() {
            self.close(&open);
        }
        let early_bytes = self.next_early - self.base;
        let (far, base) = (self.far, self.base);
        let near = |address: u64| match address.checked_sub(far) {
            Some(offset) => base.saturating_add(early_bytes).saturating_add(offset),
            None => address,
        };
        let mut done = self.done;
        for placed in &mut done.allocations {
            placed.address = near(placed.address);
            // A node outside may have freed it after its own space was done.
            let outside = self.freed_outside.get(&placed.node).copied();
            placed.freed_by = placed.freed_by.or(outside);
        }
        done.allocations.sort_unstable_by_key(|placed| placed.node);
        for range in done.mapped.iter_mut().flatten() {
            *range = near(range.start)..near(range.end);
        }
        done
    }
}
