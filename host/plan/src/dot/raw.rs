//! A file as it is written, before child graphs are put where their nodes are.

use std::collections::BTreeMap;

use crate::graph::{Node, Titles};
use crate::read_error::Position;

/// What a node statement says that matters here.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// The label's text, escapes as in the file.
    pub(super) label: Vec<u8>,
    pub(super) has_label: bool,
    /// The shape, which identifies kernels in dumps without the verbose flag.
    pub(super) shape: Vec<u8>,
    /// The name of the attribute at hand, and the value of one that says nothing here.
    pub(super) key: Vec<u8>,
    pub(super) other: Vec<u8>,
}

impl Attributes {
    /// The label, if there is one.
    pub(super) fn label(&self) -> Option<&[u8]> {
        self.has_label.then_some(&self.label)
    }
}

/// A node as the file has it.
#[derive(Debug)]
pub(super) struct RawNode {
    /// What it does; every free node frees an address, not yet looked up.
    pub(super) node: Node,
    pub(super) cluster: u32,
    /// Where it is described; `None` while only edges mention it.
    pub(super) described: Option<Position>,
    pub(super) number: Option<u64>,
}

/// A graph as the file has it.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) parent: Option<u32>,
    /// Its nodes in the order of creation; filled when the file has been read.
    pub(super) nodes: Vec<u32>,
}

/// One `digraph` of a file, as read.
#[derive(Debug, Default)]
pub(super) struct RawFile {
    pub(super) clusters: Vec<Cluster>,
    pub(super) nodes: Vec<RawNode>,
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) titles: Titles,
    /// Pointers that a node is known to use.
    pub(super) pointers: Vec<(u32, u64)>,
    /// Graphs that a node names: its child graph, or the bodies of a conditional node.
    pub(super) references: BTreeMap<u32, Vec<String>>,
    pub(super) notes: Vec<String>,
}
