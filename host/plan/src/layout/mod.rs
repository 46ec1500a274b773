//! Where a graph's allocations lie, and what that maps.

mod spaces;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use cudart_model::memory::address::{AddressError, BlockSet, Granularity, Order};

use super::graph::{Freed, Graph, Kind, NodeIndex};
use super::name::Name;
use spaces::Spaces;

/// Where addresses are taken from when nothing else is known (M2).
pub const FIRST_ADDRESS: u64 = 0x3_0200_0000;

/// How much work layouts may be, in nodes added and places in their order looked at
/// ([`AddressSpace::steps`](cudart_model::memory::address::AddressSpace::steps)): 50 to 100 ns
/// each. Not a time, so that a plan is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    left: u64,
}

impl Effort {
    /// So many steps.
    #[must_use]
    pub const fn steps(left: u64) -> Self {
        Self { left }
    }
}

/// An allocation in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The alloc node.
    pub node: NodeIndex,
    /// The bytes requested.
    pub bytes: u64,
    /// The address.
    pub address: u64,
    /// The free node of the same graph that ends it; without one it is left allocated after the
    /// launch (R14).
    pub freed_by: Option<NodeIndex>,
}

impl Placed {
    /// The address after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// Whose addresses a layout has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The driver's, from a dump.
    Dump,
    /// Those that the driver's rule gives (`cudart_model::memory::address`).
    Computed,
}

/// All allocations of a graph in their places.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Whose addresses these are.
    pub source: Source,
    /// In the order of creation.
    pub allocations: Vec<Placed>,
    /// Where the graph's addresses begin, a multiple of the block.
    pub base: u64,
    /// Where they end, after the last byte.
    pub end: u64,
    /// What one launch of the graph alone leaves reserved, where the rule determines it.
    pub reserved_bytes: Option<u64>,
    /// What a launch maps, where child graphs have memory nodes; else the allocations.
    /// At the addresses that the rule gives.
    mapped: Option<Vec<Range<u64>>>,
    granularity: Granularity,
}

/// A graph's layouts, and the order of its nodes.
#[derive(Debug, Clone)]
pub struct Layouts {
    /// With the dump's addresses, if it has all of them.
    pub dumped: Option<Layout>,
    /// With the addresses that the rule gives.
    pub computed: Layout,
    /// The order of the nodes, all dependencies in it.
    pub order: Order,
}

impl Layouts {
    /// Lays a graph out.
    ///
    /// # Errors
    ///
    /// As [`Layout::changed`].
    pub fn of(
        graph: &Graph,
        granularity: Granularity,
        mut effort: Effort,
    ) -> Result<Self, LayoutError> {
        let change = Change::default();
        let (computed, order) = Layout::changed(graph, granularity, &change, &mut effort)?;
        let dumped = Layout::dumped(graph, granularity).map(|dumped| Layout {
            // What is reserved depends on which allocations took new space.
            reserved_bytes: computed
                .reserved_bytes
                .filter(|_| dumped.is_explained_by(&computed, graph)),
            mapped: computed.mapped.clone(),
            ..dumped
        });
        Ok(Self {
            dumped,
            computed,
            order,
        })
    }
}

/// Why there is no layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// The runtime would not add a node.
    Refused(Refused),
    /// The nodes' order is so entangled that following it takes too long.
    TakesTooLong,
}

/// Why the runtime would not add a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The node's name.
    pub node: String,
    /// The runtime's code: 1 or 2.
    pub code: i32,
    /// Why.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.code == 2 {
            "cudaErrorMemoryAllocation"
        } else {
            "cudaErrorInvalidValue"
        };
        write!(
            f,
            "node {} cannot be added ({} {name}): {}",
            self.node, self.code, self.why
        )
    }
}

/// A graph as it could be: what is changed of a description.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Edges more, (earlier, later) in the order of creation.
    pub edges: Vec<(NodeIndex, NodeIndex)>,
    /// An alloc node that requests other bytes.
    pub size: Option<(NodeIndex, u64)>,
    /// Alloc nodes that are left out, with their free nodes.
    pub without: BTreeSet<NodeIndex>,
}

/// Adds a node with those of its dependencies that were there before it; the others
/// can only have been added later, so they had no say in addresses.
fn add_node(
    order: &mut Order,
    graph: &Graph,
    node: NodeIndex,
    change: &Change,
    later: &mut Vec<(usize, usize)>,
) {
    let all = graph.dependencies.of(node);
    let older = all.partition_point(|&other| other < node);
    let (before, after) = all.split_at(older);
    let mut before: Vec<usize> = before.iter().map(|&other| other as usize).collect();
    let added = change
        .edges
        .iter()
        .filter(|(from, to)| *to == node && from < to);
    before.extend(added.map(|(from, _)| *from as usize));
    later.extend(after.iter().map(|&other| (other as usize, node as usize)));
    // Every older node was added.
    let _ = order.add_node(&before);
}

/// The nodes at which child graphs begin that had their addresses before the graph
/// around them had any, though that allocates before they begin.
fn built_early(graph: &Graph) -> BTreeSet<NodeIndex> {
    if graph.child_graphs.is_empty() {
        return BTreeSet::new();
    }
    let inside = graph.inside();
    // The lowest address of each graph so far, and for each child graph that of the graph
    // around it at its begin.
    let mut lowest: BTreeMap<Option<NodeIndex>, u64> = BTreeMap::new();
    let mut around: BTreeMap<NodeIndex, u64> = BTreeMap::new();
    for (index, node) in graph.indexed() {
        if let Kind::Alloc {
            address: Some(address),
            ..
        } = node.kind
        {
            let lowest = lowest.entry(inside(index)).or_insert(address);
            *lowest = address.min(*lowest);
        }
        if node.begins_child()
            && let Some(&address) = lowest.get(&inside(index))
        {
            around.insert(index, address);
        }
    }
    let is_early = |&(begin, around): &(NodeIndex, u64)| {
        let own = lowest.get(&Some(begin));
        own.is_some_and(|&own| own < around)
    };
    let early = around.into_iter().filter(is_early);
    early.map(|(begin, _)| begin).collect()
}

fn add_later(order: &mut Order, later: Vec<(usize, usize)>) {
    for (from, to) in later {
        // All nodes were added before.
        let _ = order.add_dependency(from, to);
    }
}

impl Layout {
    /// Addresses by the driver's rule for a graph with changes, from the base of the dump
    /// where there is one; and the order of its nodes.
    ///
    /// # Errors
    ///
    /// The first node that the runtime would refuse: 0 bytes (1), more bytes than there are
    /// addresses (2). And when it takes more than the effort, which is lessened by what it
    /// takes.
    pub fn changed(
        graph: &Graph,
        granularity: Granularity,
        change: &Change,
        effort: &mut Effort,
    ) -> Result<(Self, Order), LayoutError> {
        let given = graph.allocations().find_map(|(_, _, address)| address);
        let first = given.unwrap_or(FIRST_ADDRESS);
        let base = first - first % granularity.block_bytes();
        let early = built_early(graph);
        let mut spaces = Spaces::new(base, granularity, !early.is_empty());
        let (mut order, mut later) = (Order::new(), Vec::new());
        for (index, node) in graph.indexed() {
            if u64::from(index) + spaces.steps() >= effort.left {
                effort.left = 0;
                return Err(LayoutError::TakesTooLong);
            }
            add_node(&mut order, graph, index, change, &mut later);
            match node.kind {
                Kind::Alloc { .. } if change.without.contains(&index) => {}
                Kind::Alloc { bytes, .. } => {
                    let bytes = match change.size {
                        Some((resized, bytes)) if resized == index => bytes,
                        _ => bytes,
                    };
                    let added = spaces.alloc(&order, index, bytes);
                    added.map_err(|why| refused(&node.name, why))?;
                }
                Kind::Free(Freed::Here(allocation)) => {
                    let freed = spaces.free(&order, index, allocation);
                    freed.map_err(|why| refused(&node.name, why))?;
                }
                _ => {}
            }
            if graph.child_graphs.contains_key(&index) {
                let ended = spaces.end_child(&order, index);
                ended.map_err(|why| refused(&node.name, why))?;
            }
            if node.begins_child() {
                spaces.begin_child(index, early.contains(&index));
            }
        }
        let laid_out = spaces.finish();
        let steps = graph.nodes.len() as u64 + laid_out.steps;
        effort.left = effort.left.saturating_sub(steps);
        add_later(&mut order, later);
        let layout = Self {
            source: Source::Computed,
            end: end_of(&laid_out.allocations, base),
            allocations: laid_out.allocations,
            base,
            reserved_bytes: Some(laid_out.reserved_bytes),
            mapped: laid_out.mapped,
            granularity,
        };
        Ok((layout, order))
    }

    /// The dump's addresses, if it has all of them. What is reserved is not known from
    /// these alone.
    #[must_use]
    pub fn dumped(graph: &Graph, granularity: Granularity) -> Option<Self> {
        let freed_by = graph.freed_by();
        let mut allocations = Vec::new();
        for (node, bytes, address) in graph.allocations() {
            let freed_by = freed_by[node];
            allocations.push(Placed {
                node,
                bytes,
                address: address?,
                freed_by,
            });
        }
        let lowest = allocations.iter().map(|placed| placed.address).min()?;
        let base = lowest - lowest % granularity.block_bytes();
        Some(Self {
            source: Source::Dump,
            end: end_of(&allocations, base),
            allocations,
            base,
            reserved_bytes: None,
            mapped: None,
            granularity,
        })
    }

    /// The blocks that a launch maps (M16).
    #[must_use]
    pub fn mapped(&self) -> BlockSet {
        match &self.mapped {
            None => self.touched(|_| true),
            Some(mapped) => {
                BlockSet::touched(mapped.iter().cloned(), self.granularity.block_bytes())
            }
        }
    }

    /// Whether a computed layout has the same addresses. A child graph's may all lie
    /// elsewhere: where it was built, others may have been before it.
    fn is_explained_by(&self, computed: &Self, graph: &Graph) -> bool {
        if computed.mapped.is_none() {
            return self.allocations == computed.allocations;
        }
        let inside = graph.inside();
        let mut moved = BTreeMap::new();
        let mut pairs = self.allocations.iter().zip(&computed.allocations);
        self.allocations.len() == computed.allocations.len()
            && pairs.all(|(dumped, computed)| {
                let by = dumped.address.wrapping_sub(computed.address);
                let same = Placed {
                    address: dumped.address,
                    ..*computed
                };
                *dumped == same && *moved.entry(inside(dumped.node)).or_insert(by) == by
            })
    }

    /// Whether it is known where all blocks lie that a launch maps. A dump does not say
    /// where the memory of child graphs is.
    #[must_use]
    pub fn has_all_addresses(&self) -> bool {
        self.mapped.is_none() || self.source == Source::Computed
    }

    /// The blocks that a launch leaves in use until the allocations that it left
    /// are freed (R42).
    #[must_use]
    pub fn held(&self) -> BlockSet {
        self.touched(|placed| placed.freed_by.is_none())
    }

    /// The blocks that some of the allocations touch.
    #[must_use]
    pub fn touched(&self, which: impl Fn(&Placed) -> bool) -> BlockSet {
        let ranges = self
            .allocations
            .iter()
            .filter(|p| which(p))
            .map(|p| p.address..p.end());
        BlockSet::touched(ranges, self.granularity.block_bytes())
    }

    /// Used bytes after one launch of the graph alone: the footprint.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.bytes(&self.mapped())
    }

    /// A set of blocks in bytes.
    #[must_use]
    pub fn bytes(&self, blocks: &BlockSet) -> u64 {
        blocks
            .count()
            .saturating_mul(self.granularity.block_bytes())
    }

    /// The sizes that the layout goes by.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// One block in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.granularity.block_bytes()
    }

    /// The allocations that the launch leaves allocated.
    pub fn unfreed(&self) -> impl Iterator<Item = &Placed> {
        self.allocations
            .iter()
            .filter(|placed| placed.freed_by.is_none())
    }

    /// The address ranges that allocations share or have alone, in ascending order.
    #[must_use]
    pub fn regions(&self) -> Vec<Region> {
        let mut sorted: Vec<&Placed> = self.allocations.iter().collect();
        sorted.sort_by_key(|placed| (placed.address, placed.node));
        let mut regions: Vec<Region> = Vec::new();
        for placed in sorted {
            match regions.last_mut() {
                Some(region) if placed.address < region.end => {
                    region.end = region.end.max(placed.end());
                    region.nodes.push(placed.node);
                }
                _ => regions.push(Region {
                    start: placed.address,
                    end: placed.end(),
                    nodes: vec![placed.node],
                }),
            }
        }
        for region in &mut regions {
            region.nodes.sort_unstable();
        }
        regions
    }
}

/// A range of addresses whose allocations overlap one another, directly or through
/// others, and no allocation outside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// The alloc nodes, in the order of creation.
    pub nodes: Vec<NodeIndex>,
}

fn end_of(allocations: &[Placed], base: u64) -> u64 {
    allocations.iter().map(Placed::end).max().unwrap_or(base)
}

fn refused(node: &Name, why: AddressError) -> LayoutError {
    let code = match why {
        AddressError::Exhausted { .. } => 2,
        _ => 1,
    };
    LayoutError::Refused(Refused {
        node: node.to_string(),
        code,
        why: why.to_string(),
    })
}

#[cfg(test)]
mod tests;
