//! One form for every graph that is planned, wherever it was described.

mod dependencies;
mod titles;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
pub use dependencies::Dependencies;
pub(crate) use titles::Titles;

/// A node's place in its graph, counted from 0 in the order of creation.
pub type NodeIndex = u32;

/// The most nodes that one graph may have. Beyond it a file is refused, so that
/// a small file of nested child graphs cannot request all memory.
pub const MOST_NODES: usize = 4_000_000;

/// A graph: nodes in the order of creation and what each depends on.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Its name, unique in one plan.
    pub name: String,
    /// Where it was described: a file, and its graph in it.
    pub origin: String,
    /// The nodes in the order of creation.
    pub nodes: Vec<Node>,
    /// What each node depends on directly.
    pub dependencies: Dependencies,
    /// Which node is known to read or write which allocation of this graph, by
    /// user, then allocation. A dump does not list what a kernel uses.
    pub uses: Vec<Use>,
    /// The child graphs whose nodes are part of this graph: each by the node at which it
    /// ends, with the one at which it begins ([`Work::ChildBegin`]). They lie within one
    /// another or apart. Begin and end are nodes, and not a tree of graphs, because all
    /// that follows counts them: dependencies lead to and from them, the driver reserves
    /// and frees memory at them, and one order of all nodes gives every address.
    pub child_graphs: BTreeMap<NodeIndex, NodeIndex>,
    /// Titles of nodes, such as kernels' names, each once. Graphs of one file share
    /// them.
    pub titles: Arc<[Box<str>]>,
    /// The allocations of other graphs that free nodes of this one name, `graph.node`.
    pub elsewhere: Vec<Box<str>>,
    /// Instantiated with AutoFreeOnLaunch (R19).
    pub auto_free: bool,
    /// The graph runs at least this long.
    pub spin: Duration,
    /// Notes of the reader of the description.
    pub notes: Vec<String>,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name in the description.
    pub name: Name,
    /// The place of its title in [`Graph::titles`].
    pub title: Option<u32>,
    /// What it does.
    pub kind: Kind,
}

impl Node {
    /// Whether a child graph begins here.
    #[must_use]
    pub fn begins_child(&self) -> bool {
        self.kind == Kind::Other(Work::ChildBegin)
    }
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Allocates.
    Alloc {
        /// The bytes requested.
        bytes: u64,
        /// The address that the driver gave, where the description has it.
        address: Option<u64>,
        /// Where the memory is to be.
        location: Location,
    },
    /// Frees.
    Free(Freed),
    /// Runs a kernel for at least `spin`.
    Kernel {
        /// Nanoseconds that it spins.
        spin_ns: u64,
    },
    /// Anything else; it matters by its order, and by the allocations it uses.
    Other(Work),
}

/// What a free node frees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freed {
    /// The allocation of this node of the same graph.
    Here(NodeIndex),
    /// The allocation of this node of the same graph, which another free node
    /// frees already (R13, R30).
    Again(NodeIndex),
    /// An allocation that is not of this graph, by its address.
    AtAddress(u64),
    /// An allocation of another graph, by its place in [`Graph::elsewhere`].
    Elsewhere(u32),
}

/// Where an alloc node's memory is to be: `allocType` and `location` of its properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Whether the type is managed; else it is pinned.
    pub is_managed: bool,
    /// The place.
    pub place: Place,
}

/// A place of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A GPU, by its ordinal.
    Device(u16),
    /// The host.
    Host,
    /// A NUMA node of the host.
    HostNuma,
    /// The NUMA node of the calling thread.
    HostNumaCurrent,
    /// No place: managed memory without a preference.
    Unspecified,
}

impl Location {
    /// Pinned memory of this GPU, which is what all allocations are but a few.
    #[must_use]
    pub const fn device(ordinal: u16) -> Self {
        Self {
            is_managed: false,
            place: Place::Device(ordinal),
        }
    }

    /// The GPU, if it is one.
    #[must_use]
    pub fn on_device(self) -> Option<u16> {
        match self.place {
            Place::Device(ordinal) => Some(ordinal),
            _ => None,
        }
    }
}

impl Default for Location {
    fn default() -> Self {
        Self::device(0)
    }
}

/// The kinds of nodes that neither allocate, free nor run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// Sets memory.
    Memset,
    /// Copies memory.
    Memcpy,
    /// Calls a host function.
    Host,
    /// Nothing, for its order only.
    Empty,
    /// Records an event.
    EventRecord,
    /// Waits for an event.
    EventWait,
    /// Where a child graph or the bodies of a conditional node begin, their nodes being
    /// part of this graph.
    ChildBegin,
    /// A child graph, and where it ends.
    Child,
    /// A conditional node, and where its bodies end.
    Conditional,
    /// Signals or waits for an external semaphore.
    Semaphore,
    /// A batch of memory operations.
    BatchMemOp,
    /// An unknown type; its title says which.
    Unknown,
}

impl Work {
    /// As people call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memset => "memset",
            Self::Memcpy => "memcpy",
            Self::Host => "host function",
            Self::Empty => "empty",
            Self::EventRecord => "event record",
            Self::EventWait => "event wait",
            Self::ChildBegin => "child graph begins",
            Self::Child => "child graph",
            Self::Conditional => "conditional",
            Self::Semaphore => "external semaphore",
            Self::BatchMemOp => "batch of memory operations",
            Self::Unknown => "unknown type",
        }
    }

    /// Whether a node of this kind may touch memory that it does not name.
    #[must_use]
    pub fn may_use_anything(self) -> bool {
        match self {
            Self::Host | Self::Conditional | Self::BatchMemOp | Self::Unknown => true,
            Self::Memset
            | Self::Memcpy
            | Self::Empty
            | Self::EventRecord
            | Self::EventWait
            | Self::ChildBegin
            | Self::Child
            | Self::Semaphore => false,
        }
    }
}

/// A node that is known to use an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The node that reads or writes.
    pub user: NodeIndex,
    /// The alloc node.
    pub allocation: NodeIndex,
}

/// A value for each node of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerNode<T>(Vec<T>);

impl<T: Clone> PerNode<T> {
    /// The same value for each node.
    #[must_use]
    pub fn new(graph: &Graph, value: T) -> Self {
        Self(vec![value; graph.nodes.len()])
    }
}

impl<T> FromIterator<T> for PerNode<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> PerNode<T> {
    /// The values in the order of the nodes.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    #[cold]
    #[track_caller]
    fn no_node(&self, node: NodeIndex) -> ! {
        panic!(
            "a bug of this program: node {node} of a graph of {}",
            self.0.len()
        )
    }
}

impl<T> Index<NodeIndex> for PerNode<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, node: NodeIndex) -> &T {
        match self.0.get(node as usize) {
            Some(value) => value,
            None => self.no_node(node),
        }
    }
}

impl<T> IndexMut<NodeIndex> for PerNode<T> {
    #[track_caller]
    fn index_mut(&mut self, node: NodeIndex) -> &mut T {
        if node as usize >= self.0.len() {
            self.no_node(node);
        }
        &mut self.0[node as usize]
    }
}

impl Graph {
    /// A node.
    ///
    /// # Panics
    ///
    /// For a number that names none, which is a bug of this program.
    #[must_use]
    #[track_caller]
    pub fn node(&self, node: NodeIndex) -> &Node {
        match self.nodes.get(node as usize) {
            Some(node) => node,
            None => panic!(
                "a bug of this program: node {node} of a graph of {}",
                self.nodes.len()
            ),
        }
    }

    /// The name of a node.
    ///
    /// # Panics
    ///
    /// As [`node`](Self::node).
    #[must_use]
    #[track_caller]
    pub fn node_name(&self, node: NodeIndex) -> Name {
        self.node(node).name.clone()
    }

    /// The title of a node, such as a kernel's name.
    #[must_use]
    pub fn title(&self, node: &Node) -> Option<&str> {
        Some(&*self.titles[node.title? as usize])
    }

    /// The name of an allocation of another graph.
    ///
    /// # Panics
    ///
    /// For a place that no free node of this graph names.
    #[must_use]
    pub fn elsewhere(&self, place: u32) -> &str {
        &self.elsewhere[place as usize]
    }

    /// The GPUs that alloc nodes name, ascending; those of free nodes are not known
    /// without the graph that allocates.
    #[must_use]
    pub fn devices(&self) -> BTreeSet<u16> {
        let kinds = self.nodes.iter().map(|node| node.kind);
        kinds
            .filter_map(|kind| match kind {
                Kind::Alloc { location, .. } => location.on_device(),
                _ => None,
            })
            .collect()
    }

    /// The graph with the allocations of one GPU only; the nodes of others do nothing.
    #[must_use]
    pub fn on_device(&self, device: u16) -> Self {
        let first = self.devices().first().copied();
        let elsewhere = |kind: Kind| match kind {
            Kind::Alloc { location, .. } => location.on_device() != Some(device),
            _ => false,
        };
        let changed = |node: &Node| {
            let freed = match node.kind {
                // Which GPU has it is not known here; it is said once.
                Kind::Free(Freed::AtAddress(_) | Freed::Elsewhere(_)) => first != Some(device),
                Kind::Free(Freed::Here(allocation) | Freed::Again(allocation)) => {
                    elsewhere(self.node(allocation).kind)
                }
                _ => elsewhere(node.kind),
            };
            Node {
                kind: if freed {
                    Kind::Other(Work::Empty)
                } else {
                    node.kind
                },
                ..node.clone()
            }
        };
        let is_here = |one: &&Use| !elsewhere(self.node(one.allocation).kind);
        Self {
            nodes: self.nodes.iter().map(changed).collect(),
            uses: self.uses.iter().filter(is_here).copied().collect(),
            ..self.clone()
        }
    }

    /// The nodes with their places.
    pub fn indexed(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).zip(&self.nodes)
    }

    /// For each node the place where the innermost child graph begins that it is in;
    /// empty without child graphs. Where a child graph begins and ends is part of the
    /// graph around it.
    #[must_use]
    pub fn child_of(&self) -> Vec<Option<NodeIndex>> {
        if self.child_graphs.is_empty() {
            return Vec::new();
        }
        let mut open = Vec::new();
        self.indexed()
            .map(|(index, node)| {
                if self.child_graphs.contains_key(&index) {
                    open.pop();
                }
                let inside = open.last().copied();
                if node.begins_child() {
                    open.push(index);
                }
                inside
            })
            .collect()
    }

    /// The same, as a function of the node.
    pub fn inside(&self) -> impl Fn(NodeIndex) -> Option<NodeIndex> + use<> {
        let child_of = self.child_of();
        move |node| child_of.get(node as usize).copied().flatten()
    }

    /// Whether a child graph has alloc nodes of its own.
    #[must_use]
    pub fn has_child_memory(&self) -> bool {
        let inside = self.inside();
        !self.child_graphs.is_empty() && self.allocations().any(|(node, ..)| inside(node).is_some())
    }

    /// The alloc nodes: place, bytes, and the dump's address.
    pub fn allocations(&self) -> impl Iterator<Item = (NodeIndex, u64, Option<u64>)> {
        self.indexed().filter_map(|(index, node)| match node.kind {
            Kind::Alloc { bytes, address, .. } => Some((index, bytes, address)),
            _ => None,
        })
    }

    /// The alloc node of this name.
    #[must_use]
    pub fn find_allocation(&self, name: &str) -> Option<NodeIndex> {
        let mut nodes = self.indexed();
        let found =
            nodes.find(|(_, node)| node.name.is(name) && matches!(node.kind, Kind::Alloc { .. }));
        found.map(|(index, _)| index)
    }

    /// The alloc nodes without a free node in this graph.
    pub fn unfreed(&self) -> impl Iterator<Item = NodeIndex> {
        let freed_by = self.freed_by();
        let nodes = self.allocations().map(|(node, ..)| node);
        nodes.filter(move |&node| freed_by[node].is_none())
    }

    /// For each node the free node of this graph that ends its allocation.
    #[must_use]
    pub fn freed_by(&self) -> PerNode<Option<NodeIndex>> {
        let mut freed_by = PerNode::new(self, None);
        for (index, node) in self.indexed() {
            if let Kind::Free(Freed::Here(allocation)) = node.kind {
                freed_by[allocation] = Some(index);
            }
        }
        freed_by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_inside_the_innermost_child_graph_around_it() {
        let node = |index| Node {
            name: Name::from("n"),
            title: None,
            kind: Kind::Other(match index {
                1 | 2 => Work::ChildBegin,
                _ => Work::Empty,
            }),
        };
        let graph = Graph {
            nodes: (0..8).map(node).collect(),
            child_graphs: BTreeMap::from([(4, 2), (6, 1)]),
            ..Graph::default()
        };
        let (one, two) = (Some(1), Some(2));
        let inside = [None, None, one, two, one, one, None, None];
        assert_eq!(graph.child_of(), inside);
        assert_eq!(Graph::default().child_of(), []);
    }
}
