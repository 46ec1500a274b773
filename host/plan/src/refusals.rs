//! Graphs that the driver refuses: that can be described and never launched.
//!
//! What it answers is recorded in `tests/data/dot/driver` (one H200, driver for CUDA 13.0).

use cudart_model::Profile;

use crate::graph::{Graph, Kind, Location, NodeIndex, Place, Work};
use crate::result::Problem;
use crate::timeline::{self, Cycle};
use crate::units::bytes;

/// How many nodes of a circle are named.
const MOST_NAMED: usize = 8;

/// Why a graph can never be launched on this GPU, if so; else an order in which its nodes
/// may run.
///
/// # Errors
///
/// The first reason, in the order in which the driver would answer.
pub fn order(graph: &Graph, gpu: &Profile) -> Result<Vec<NodeIndex>, Problem> {
    refused_allocation(graph, gpu).map_or(Ok(()), Err)?;
    conditional_in_child(graph).map_or(Ok(()), Err)?;
    let order = timeline::topological(graph).map_err(|cycle| circle(graph, &cycle))?;
    refused_in_body(graph).map_or(Ok(order), Err)
}

fn circle(graph: &Graph, cycle: &Cycle) -> Problem {
    let nodes: Vec<String> = cycle
        .nodes
        .iter()
        .map(|&n| graph.node_name(n).to_string())
        .collect();
    let named = nodes.get(..MOST_NAMED.min(nodes.len())).unwrap_or(&nodes);
    let more = if nodes.len() > named.len() {
        " -> ..."
    } else {
        ""
    };
    Problem {
        what: format!(
            "the dependencies go round, so cudaGraphInstantiate returns 1 \
             cudaErrorInvalidValue: {}{more} -> {}",
            named.join(" -> "),
            named.first().map_or("", String::as_str),
        ),
        remedy: "leave one of these dependencies out".to_owned(),
        rule: "M19",
        nodes,
    }
}

/// An alloc node that cannot be added.
fn refused_allocation(graph: &Graph, gpu: &Profile) -> Option<Problem> {
    graph.indexed().find_map(|(index, node)| {
        let Kind::Alloc {
            bytes: requested,
            location,
            ..
        } = node.kind
        else {
            return None;
        };
        let name = graph.node_name(index).to_string();
        if let Some(what) = place_refused(location) {
            return Some(Problem {
                what: format!("node {name} {what}"),
                remedy: "allocate it on a GPU, or before the graph with cudaMallocHost or \
                         cudaMallocManaged, and give its address to the nodes"
                    .to_owned(),
                rule: "M21",
                nodes: vec![name],
            });
        }
        if requested > gpu.total_bytes() {
            return Some(Problem {
                what: format!(
                    "node {name} requests {}, and the device has {}: adding it fails with 2 \
                     cudaErrorMemoryAllocation",
                    bytes(requested),
                    bytes(gpu.total_bytes()),
                ),
                remedy: "request less, or plan for another GPU with --model-profile".to_owned(),
                rule: "M10",
                nodes: vec![name],
            });
        }
        None
    })
}

/// What is wrong with memory at this place, if anything (M21).
fn place_refused(location: Location) -> Option<String> {
    let code = match (location.place, location.is_managed) {
        (Place::Device(_), _) => return None,
        (Place::HostNumaCurrent | Place::Unspecified, false) => "1 cudaErrorInvalidValue",
        _ => "801 cudaErrorNotSupported",
    };
    let place = match location.place {
        Place::Host => "of the host",
        Place::HostNuma | Place::HostNumaCurrent => "of a NUMA node of the host",
        Place::Device(_) | Place::Unspecified => "at no place",
    };
    let kind = if location.is_managed {
        "managed"
    } else {
        "pinned"
    };
    Some(format!(
        "allocates {kind} memory {place}, and graph memory is on a GPU: adding it fails with {code}"
    ))
}

/// For each node at which a child graph or the bodies of a conditional node begin: what
/// the node is at which they end.
struct Enclosed<'g> {
    graph: &'g Graph,
    inside: Vec<Option<NodeIndex>>,
    /// The end of each begin, ascending by the begin.
    ends: std::collections::BTreeMap<NodeIndex, NodeIndex>,
}

impl<'g> Enclosed<'g> {
    fn new(graph: &'g Graph) -> Option<Self> {
        if graph.child_graphs.is_empty() {
            return None;
        }
        let ends = graph.child_graphs.iter().map(|(&end, &begin)| (begin, end));
        Some(Self {
            graph,
            inside: graph.child_of(),
            ends: ends.collect(),
        })
    }

    /// The innermost node of this kind that has the node in a graph of its own, at any
    /// depth.
    fn within(&self, node: NodeIndex, work: Work) -> Option<NodeIndex> {
        let mut around = self.inside[node as usize];
        while let Some(begin) = around {
            let end = self.ends[&begin];
            if self.graph.nodes[end as usize].kind == Kind::Other(work) {
                return Some(end);
            }
            around = self.inside[begin as usize];
        }
        None
    }
}

/// A child graph with a conditional node: adding it fails, cloned or moved (M20).
fn conditional_in_child(graph: &Graph) -> Option<Problem> {
    let enclosed = Enclosed::new(graph)?;
    let is_conditional =
        |&end: &NodeIndex| graph.nodes[end as usize].kind == Kind::Other(Work::Conditional);
    let mut conditionals = graph.child_graphs.keys().copied().filter(is_conditional);
    conditionals.find_map(|node| {
        let child = graph.node_name(enclosed.within(node, Work::Child)?);
        let node = graph.node_name(node);
        Some(Problem {
            what: format!(
                "the child graph {child} has the conditional node {node}: adding the child \
                 graph fails with 801 cudaErrorNotSupported"
            ),
            remedy: format!("add {node} to the graph itself, with the order that {child} had"),
            rule: "M20",
            nodes: vec![node.to_string(), child.to_string()],
        })
    })
}

/// A node in the body of a conditional node that must not be there (R56).
fn refused_in_body(graph: &Graph) -> Option<Problem> {
    let enclosed = Enclosed::new(graph)?;
    graph.indexed().find_map(|(index, node)| {
        let (kind, remedy) = match node.kind {
            Kind::Alloc { .. } => (
                "alloc",
                "allocate before the conditional node, give the address to the nodes of the \
                 body, and free after the conditional node",
            ),
            Kind::Free(_) => ("free", "free the memory after the conditional node"),
            Kind::Other(
                work @ (Work::Host
                | Work::EventRecord
                | Work::EventWait
                | Work::Semaphore
                | Work::BatchMemOp),
            ) => (work.as_str(), "put it before or after the conditional node"),
            Kind::Kernel { .. } | Kind::Other(_) => return None,
        };
        let conditional = graph.node_name(enclosed.within(index, Work::Conditional)?);
        let node = graph.node_name(index);
        Some(Problem {
            what: format!(
                "the {kind} node {node} is in a body of the conditional node {conditional}: \
                 cudaGraphInstantiate returns 1 cudaErrorInvalidValue"
            ),
            remedy: remedy.to_owned(),
            rule: "R56 M19",
            nodes: vec![node.to_string(), conditional.to_string()],
        })
    })
}
