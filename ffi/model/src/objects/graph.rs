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

/// The graph and the node that a node handle stands for.
#[derive(Debug, Clone, Copy)]
pub struct NodePlace {
    /// The graph.
    pub graph: GraphId,
    /// The number of the node in the graph.
    pub index: u32,
}

/// The work of a node.
#[derive(Debug)]
pub enum Work {
    /// None: the node was destroyed.
    Destroyed,
    /// None: the node is empty.
    Empty,
    /// Runs a kernel.
    Kernel(Box<KernelNode>),
    /// Sets memory.
    Set {
        /// The parameters of the memset.
        fill: Box<Fill>,
        /// The duration.
        duration: Nanos,
    },
    /// Copies memory.
    Copy {
        /// The parameters of the copy.
        copy: Box<CopyRequest>,
        /// The duration.
        duration: Nanos,
    },
    /// Calls a function on the host.
    Host(HostCall),
    /// Records an event.
    RecordEvent(EventId),
    /// Waits for an event.
    WaitEvent(EventId),
    /// Runs another graph: a copy that belongs to the node.
    Child {
        /// The copy.
        graph: GraphId,
        /// The duration.
        duration: Nanos,
    },
    /// Runs bodies depending on the value of a condition.
    Conditional(Box<ConditionalNode>),
    /// Allocates.
    Alloc {
        /// The index of the allocation in the graph.
        allocation: u32,
        /// The access for other devices, as the program gave it (R51).
        access: Box<[cudaMemAccessDesc]>,
    },
    /// Frees.
    Free {
        /// The allocation, of this graph or of another one.
        allocation: AllocationRef,
        /// Its address.
        address: u64,
    },
}

impl Work {
    /// The duration on the device.
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

    /// The value of the node's type in CUDA's `cudaGraphNodeType`; `None` for a
    /// destroyed node.
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

/// The parameters of a kernel node.
#[derive(Debug, Clone)]
pub struct KernelNode {
    /// The kernel.
    pub kernel: KernelId,
    /// Its name.
    pub name: Arc<str>,
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The number of threads per block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: NodeArguments,
    /// The duration.
    pub duration: Nanos,
}

/// The arguments of a kernel node. Their addresses do not change while the node exists,
/// because programs get pointers to them.
#[derive(Debug)]
pub struct NodeArguments {
    values: Arguments,
    /// The address of each value.
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

    /// The address of each value.
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

/// The parameters of a conditional node.
#[derive(Debug)]
pub struct ConditionalNode {
    /// The handle of its condition.
    pub condition: u64,
    /// The condition's value.
    pub value: Arc<AtomicU32>,
    /// The type of the node: which bodies run for which value.
    pub kind: CUgraphConditionalNodeType,
    /// The bodies. These graphs belong to the node.
    pub bodies: Box<[GraphId]>,
    /// The handles of the bodies. Programs get a pointer to them.
    pub handles: Box<[u64]>,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its work.
    pub work: Work,
    /// The nodes that it depends on.
    pub dependencies: Box<[u32]>,
    /// The nodes that depend on it and were added later, including destroyed ones.
    pub dependents: Vec<u32>,
    /// Its handle.
    pub handle: NodeId,
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// The nodes by number. A destroyed node keeps its number.
    pub nodes: Vec<Node>,
    /// The number of nodes that are not destroyed.
    pub live: usize,
    /// How often the nodes were renumbered.
    pub numbering: u32,
    /// The order of the nodes, with the same numbers.
    pub order: Order,
    /// The graph's memory; `None` before its first alloc node.
    pub memory: Option<MemoryId>,
    /// The effects of the nodes on memory, by the node's number. A node has a higher
    /// number than the nodes that it depends on, so this is a valid order of execution.
    pub effects: BTreeMap<u32, Vec<Effect>>,
    /// The allocations of other graphs that its nodes free.
    pub foreign_frees: HashSet<AllocationRef>,
    /// The number of nodes in its child graphs, including their child graphs.
    pub child_nodes: usize,
    /// The nesting depth of child graphs: 0 without a child graph node.
    pub depth: u32,
    /// Whether it has or had an alloc or free node (R23 to R26).
    pub has_memory_nodes: bool,
    /// The number of the graph in DOT dumps: graphs are counted from 1 in the order of
    /// their creation.
    pub number: u64,
    /// Whether it is the copy that a child graph node runs, or a body of a conditional
    /// node. It is destroyed with that node.
    pub is_child: bool,
    /// If it is a body of a conditional node, the graph with that node.
    pub owner: Option<GraphId>,
    /// Whether it has or had a conditional node.
    pub has_conditional_nodes: bool,
    /// The last exec, if the graph has conditional nodes.
    pub exec: Option<ExecId>,
}

impl Graph {
    /// The duration of one run on the device: that of the longest path through the
    /// nodes. Branches that are not ordered with each other overlap.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        self.duration_with(Work::duration)
    }

    /// The same, with given durations of nodes.
    pub fn duration_with(&self, lasts: impl Fn(&Work) -> Nanos) -> Nanos {
        let mut ends: Vec<Nanos> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // A dependency is always an earlier node: edges are given when the
            // later node is added, and no call adds others.
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

    /// The effects of the nodes on memory, in a valid order of execution.
    pub fn all_effects(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values().flatten()
    }

    /// Marks a node as destroyed, removes its edges and returns its work.
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

    /// If most nodes are destroyed, removes these and renumbers the others. Returns the
    /// new number of each remaining node. Graphs with memory nodes keep their numbers,
    /// because their addresses depend on them.
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
            // The dependencies come before this node, so they are already added.
            let added = self.order.add_node(&before);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        self.effects = std::mem::take(&mut self.effects)
            .into_iter()
            .filter_map(|(old, effects)| Some((renumber(&old)?, effects)))
            .collect();
        Some(self.nodes.iter().map(|node| node.handle).zip(0..))
    }

    /// Frees the spare capacity of its lists.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.order.shrink_to_fit();
    }

    /// The nodes that are not destroyed, with their numbers.
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
