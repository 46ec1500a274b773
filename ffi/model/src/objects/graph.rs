//! Graphs and their nodes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use cudart_ffi::{CUgraphConditionalNodeType, CUgraphNodeType, cudaMemAccessDesc};

use crate::clock::Nanos;
use crate::kernels::program::Arguments;
use crate::memory::address::Order;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::{CopyRequest, Effect, Fill, HostCall};
use crate::objects::id::{EventId, ExecId, GraphId, KernelId, MemoryId, NodeId};

/// Which node of which graph a node handle names.
#[derive(Debug, Clone, Copy)]
pub struct NodePlace {
    /// The graph.
    pub graph: GraphId,
    /// The node's number in it.
    pub index: u32,
}

/// What a node does.
#[derive(Debug)]
pub enum Work {
    /// Nothing any more: the node was destroyed.
    Destroyed,
    /// Nothing.
    Empty,
    /// Runs a kernel.
    Kernel(Box<KernelNode>),
    /// Sets memory.
    Set {
        /// What it writes.
        fill: Box<Fill>,
        /// How long it lasts.
        duration: Nanos,
    },
    /// Copies memory.
    Copy {
        /// From where to where.
        copy: Box<CopyRequest>,
        /// How long it lasts.
        duration: Nanos,
    },
    /// Calls a function on the host.
    Host(HostCall),
    /// Records an event.
    RecordEvent(EventId),
    /// Waits for an event.
    WaitEvent(EventId),
    /// Runs another graph, a copy that belongs to the node.
    Child {
        /// The copy.
        graph: GraphId,
        /// How long it lasts.
        duration: Nanos,
    },
    /// Runs bodies as the value of a condition asks for.
    Conditional(Box<ConditionalNode>),
    /// Allocates.
    Alloc {
        /// Which of the graph's allocations.
        allocation: u32,
        /// The access for other devices, as given (R51).
        access: Box<[cudaMemAccessDesc]>,
    },
    /// Frees.
    Free {
        /// Which allocation, of this graph or of another.
        allocation: AllocationRef,
        /// Its address.
        address: u64,
    },
}

impl Work {
    /// How long it lasts on the device.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        match self {
            Self::Kernel(kernel) => kernel.duration,
            Self::Set { duration, .. }
            | Self::Copy { duration, .. }
            | Self::Child { duration, .. } => *duration,
            Self::Destroyed
            | Self::Empty
            | Self::Host(_)
            | Self::RecordEvent(_)
            | Self::WaitEvent(_)
            | Self::Conditional(_)
            | Self::Alloc { .. }
            | Self::Free { .. } => 0,
        }
    }

    /// The value that CUDA's `cudaGraphNodeType` has for it; `None` for a destroyed one.
    #[must_use]
    pub fn node_type(&self) -> Option<CUgraphNodeType> {
        Some(match self {
            Self::Destroyed => return None,
            Self::Empty => CUgraphNodeType::EMPTY,
            Self::Kernel(_) => CUgraphNodeType::KERNEL,
            Self::Set { .. } => CUgraphNodeType::MEMSET,
            Self::Copy { .. } => CUgraphNodeType::MEMCPY,
            Self::Host(_) => CUgraphNodeType::HOST,
            Self::RecordEvent(_) => CUgraphNodeType::EVENT_RECORD,
            Self::WaitEvent(_) => CUgraphNodeType::WAIT_EVENT,
            Self::Child { .. } => CUgraphNodeType::GRAPH,
            Self::Conditional(_) => CUgraphNodeType::CONDITIONAL,
            Self::Alloc { .. } => CUgraphNodeType::MEM_ALLOC,
            Self::Free { .. } => CUgraphNodeType::MEM_FREE,
        })
    }
}

/// What a kernel node launches.
#[derive(Debug, Clone)]
pub struct KernelNode {
    /// The kernel.
    pub kernel: KernelId,
    /// Its name.
    pub name: Arc<str>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: NodeArguments,
    /// How long it lasts.
    pub duration: Nanos,
}

/// The arguments of a kernel node. They stay where they are for the node's life, since
/// programs get pointers to them.
#[derive(Debug)]
pub struct NodeArguments {
    values: Arguments,
    /// Where each value is.
    addresses: Box<[u64]>,
}

impl NodeArguments {
    /// The arguments with these values.
    #[must_use]
    pub fn new(values: Arguments) -> Self {
        let words = values.words();
        let addresses = values
            .starts()
            .iter()
            .filter_map(|&start| words.get(start))
            .map(|word| core::ptr::from_ref(word) as u64)
            .collect();
        Self { values, addresses }
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> &Arguments {
        &self.values
    }

    /// Where each value is.
    #[must_use]
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }
}

impl Clone for NodeArguments {
    fn clone(&self) -> Self {
        Self::new(self.values.clone())
    }
}

/// What a conditional node has.
#[derive(Debug)]
pub struct ConditionalNode {
    /// The handle of its condition.
    pub condition: u64,
    /// The condition's value.
    pub value: Arc<AtomicU32>,
    /// Which bodies run for which value.
    pub kind: CUgraphConditionalNodeType,
    /// The bodies: graphs that belong to the node.
    pub bodies: Box<[GraphId]>,
    /// Their handles, which programs get a pointer to.
    pub handles: Box<[u64]>,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// What it does.
    pub work: Work,
    /// The nodes that it comes after.
    pub dependencies: Box<[u32]>,
    /// The nodes that were added after it, destroyed ones included.
    pub dependents: Vec<u32>,
    /// Its handle.
    pub handle: NodeId,
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// Its nodes by number; destroyed ones stay as such.
    pub nodes: Vec<Node>,
    /// How many of them are not destroyed.
    pub live: usize,
    /// How often they were numbered anew.
    pub numbering: u32,
    /// Which node is ordered after which. Has the nodes' numbers.
    pub order: Order,
    /// Its memory, from the first alloc node on.
    pub memory: Option<MemoryId>,
    /// What its nodes do to memory, by the node's number. Nodes come after those that they
    /// depend on, so this is an order to run them in.
    pub effects: BTreeMap<u32, Vec<Effect>>,
    /// The allocations of other graphs that its nodes free.
    pub foreign_frees: HashSet<AllocationRef>,
    /// How many nodes the graphs in its child graph nodes have, and those in these.
    pub child_nodes: usize,
    /// How deep graphs are in it: 0 without a child graph node.
    pub depth: u32,
    /// It has had an alloc or free node (R23 to R26).
    pub has_memory_nodes: bool,
    /// Its number in dumps: graphs are counted from 1 in the order of their making.
    pub number: u64,
    /// It is the copy that a child graph node runs, or a body of a conditional node, and
    /// goes with that node.
    pub is_child: bool,
    /// The graph with the conditional node that it is a body of.
    pub owner: Option<GraphId>,
    /// It has had a conditional node.
    pub has_conditional_nodes: bool,
    /// Its last exec, if it has conditional nodes.
    pub exec: Option<ExecId>,
}

impl Graph {
    /// How long one run lasts on the device: the longest path through the nodes,
    /// so that branches without an order between them overlap.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        self.duration_with(Work::duration)
    }

    /// The same with what each node lasts.
    pub fn duration_with(&self, lasts: impl Fn(&Work) -> Nanos) -> Nanos {
        let mut ends: Vec<Nanos> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // A dependency always names an earlier node: edges are given when
            // the later node is added, and the table has no call to add others.
            let start = node
                .dependencies
                .iter()
                .filter_map(|&before| ends.get(before as usize))
                .max()
                .copied()
                .unwrap_or(0);
            ends.push(start.saturating_add(lasts(&node.work)));
        }
        ends.into_iter().max().unwrap_or(0)
    }

    /// What its nodes do to memory, in an order to run them in.
    pub fn all_effects(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values().flatten()
    }

    /// Marks a node as destroyed, takes its edges away and returns what it did.
    pub fn destroy(&mut self, index: u32) -> Option<Work> {
        let node = self.nodes.get_mut(index as usize)?;
        if matches!(node.work, Work::Destroyed) {
            return None;
        }
        let work = std::mem::replace(&mut node.work, Work::Destroyed);
        node.dependencies = Box::default();
        for after in std::mem::take(&mut node.dependents) {
            if let Some(after) = self.nodes.get_mut(after as usize) {
                let kept = after.dependencies.iter().copied();
                after.dependencies = kept.filter(|&before| before != index).collect();
            }
        }
        self.effects.remove(&index);
        self.live -= 1;
        Some(work)
    }

    /// Numbers its nodes anew without the destroyed ones, if most of them are, and says
    /// for each node that stays what its number is now. Graphs with memory nodes keep
    /// their numbers, which their addresses depend on.
    pub fn compact(&mut self) -> Option<impl Iterator<Item = (NodeId, u32)>> {
        let destroyed = self.nodes.len() - self.live;
        if self.has_memory_nodes || destroyed < 64 || destroyed < self.live {
            return None;
        }
        let mut number_of: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        let mut next = 0;
        for node in &self.nodes {
            let stays = !matches!(node.work, Work::Destroyed);
            number_of.push(stays.then_some(next));
            next += u32::from(stays);
        }
        let renumber = |old: &u32| number_of.get(*old as usize).copied().flatten();
        self.nodes
            .retain(|node| !matches!(node.work, Work::Destroyed));
        self.order = Order::new();
        self.numbering += 1;
        for node in &mut self.nodes {
            node.dependencies = node.dependencies.iter().filter_map(renumber).collect();
            node.dependents = node.dependents.iter().filter_map(renumber).collect();
            let before: Vec<usize> = node.dependencies.iter().map(|&n| n as usize).collect();
            // It names nodes that come before this one, and these were added.
            let added = self.order.add_node(&before);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        self.effects = std::mem::take(&mut self.effects)
            .into_iter()
            .filter_map(|(old, effects)| Some((renumber(&old)?, effects)))
            .collect();
        Some(self.nodes.iter().map(|node| node.handle).zip(0..))
    }

    /// Gives back what its lists have room for and do not need.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.order.shrink_to_fit();
    }

    /// The nodes that are there, with their numbers.
    pub fn live_nodes(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0_u32..)
            .zip(&self.nodes)
            .filter(|(_, node)| !matches!(node.work, Work::Destroyed))
    }

    /// The allocations of other graphs that a run frees.
    pub fn frees_elsewhere(&self) -> impl Iterator<Item = AllocationRef> {
        self.nodes.iter().filter_map(|node| match node.work {
            Work::Free { allocation, .. } if Some(allocation.memory) != self.memory => {
                Some(allocation)
            }
            _ => None,
        })
    }
}
