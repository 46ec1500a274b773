//! Scenarios: graphs, streams, and a schedule of launches, waits, frees and trims.
//!
//! A scenario is TOML that people write and change, or is made of dumps. Either way
//! it becomes the same thing: something that can be run on a GPU or on the simulated runtime.

mod file;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub use read::read;
pub use write::write;

use super::graph::{Freed, Graph, Kind, Node, NodeIndex};

/// The version of the TOML form.
pub const FORMAT: i64 = 1;

/// The most graphs, streams, and steps that a scenario may unfold to: each graph is
/// built, so a small file must not request millions.
pub const MOST_OBJECTS: usize = 100_000;

/// A whole scenario.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The graphs to be built, in this order.
    pub instances: Vec<Instance>,
    /// How many streams there are.
    pub streams: usize,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// A graph to be built; several may be made of one description.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Its name, `g` or `g[3]`.
    pub name: String,
    /// What it is made of.
    pub graph: Arc<Graph>,
}

/// One step of the schedule. Graphs and streams are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Launches a graph into a stream.
    Launch {
        /// The graph.
        instance: usize,
        /// The stream.
        stream: usize,
    },
    /// Uploads a graph for a stream.
    Upload {
        /// The graph.
        instance: usize,
        /// The stream.
        stream: usize,
    },
    /// Waits for a stream, or for all.
    Wait {
        /// The stream; `None` is all of them.
        stream: Option<usize>,
    },
    /// Frees an allocation that its launch left allocated: `cudaFree`, or `cudaFreeAsync`
    /// in a stream's order.
    Free {
        /// The graph that allocated.
        instance: usize,
        /// Its alloc node.
        node: NodeIndex,
        /// The stream, for `cudaFreeAsync`.
        stream: Option<usize>,
    },
    /// Trims the device's graph memory.
    Trim,
    /// Destroys a graph's exec.
    Destroy {
        /// The graph.
        instance: usize,
    },
}

impl Scenario {
    /// A step in words.
    #[must_use]
    pub fn label(&self, step: &Step) -> String {
        let name = |instance: usize| &*self.instances[instance].name;
        match *step {
            Step::Launch { instance, stream } => {
                format!("launch {} on stream {stream}", name(instance))
            }
            Step::Upload { instance, stream } => {
                format!("upload {} for stream {stream}", name(instance))
            }
            Step::Wait {
                stream: Some(stream),
            } => format!("wait for stream {stream}"),
            Step::Wait { stream: None } => "wait for all streams".to_owned(),
            Step::Free {
                instance,
                node,
                stream,
            } => {
                let allocation = Allocation {
                    scenario: self,
                    instance,
                    node,
                };
                match stream {
                    None => format!("free {allocation}"),
                    Some(stream) => format!("free {allocation} on stream {stream}"),
                }
            }
            Step::Trim => "trim".to_owned(),
            Step::Destroy { instance } => format!("destroy {}", name(instance)),
        }
    }

    /// The GPUs that the graphs allocate on, ascending; the first where they allocate
    /// nothing.
    #[must_use]
    pub fn devices(&self) -> Vec<u16> {
        let graphs = self
            .instances
            .iter()
            .map(|instance| instance.graph.devices());
        let devices: BTreeSet<u16> = graphs.flatten().collect();
        match devices.is_empty() {
            true => vec![0],
            false => devices.into_iter().collect(),
        }
    }

    /// Instantiates every graph with AutoFreeOnLaunch (R19).
    pub fn set_auto_free(&mut self) {
        let mut changed: BTreeMap<*const Graph, Arc<Graph>> = BTreeMap::new();
        for instance in &mut self.instances {
            let graph = &instance.graph;
            let with_flag = changed.entry(Arc::as_ptr(graph)).or_insert_with(|| {
                Arc::new(Graph {
                    auto_free: true,
                    ..(**graph).clone()
                })
            });
            instance.graph = Arc::clone(with_flag);
        }
    }

    /// The graphs, each once however many instances are made of it.
    #[must_use]
    pub fn graphs(&self) -> Vec<Arc<Graph>> {
        let mut seen = BTreeSet::new();
        let graphs = self.instances.iter().map(|instance| &instance.graph);
        graphs
            .filter(|graph| seen.insert(Arc::as_ptr(graph)))
            .map(Arc::clone)
            .collect()
    }

    /// Where each allocation that a graph frees for another one is: by the name
    /// `graph.node`.
    #[must_use]
    pub fn find_allocation(&self, name: &str) -> Option<(usize, NodeIndex)> {
        let (graph, node) = name.split_once('.')?;
        let instance = self
            .instances
            .iter()
            .position(|instance| instance.name == graph)?;
        let node = self.instances[instance].graph.find_allocation(node)?;
        Some((instance, node))
    }

    /// For free nodes of dumps that name an address of another graph: which
    /// allocation that is, if one graph has an unfreed one there.
    #[must_use]
    pub fn allocations_by_address(&self) -> BTreeMap<u64, (usize, NodeIndex)> {
        let frees_others = |node: &Node| matches!(node.kind, Kind::Free(Freed::AtAddress(_)));
        let mut by_address = BTreeMap::new();
        if !self
            .instances
            .iter()
            .any(|instance| instance.graph.nodes.iter().any(frees_others))
        {
            return by_address;
        }
        for (number, instance) in self.instances.iter().enumerate() {
            let freed_by = instance.graph.freed_by();
            for (node, _, address) in instance.graph.allocations() {
                let freed = freed_by[node];
                if let (Some(address), None) = (address, freed) {
                    by_address.entry(address).or_insert((number, node));
                }
            }
        }
        by_address
    }
}

/// An allocation's name for people: `graph.node`.
struct Allocation<'s> {
    scenario: &'s Scenario,
    instance: usize,
    node: NodeIndex,
}

impl fmt::Display for Allocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instance = &self.scenario.instances[self.instance];
        write!(
            f,
            "{}.{}",
            instance.name,
            instance.graph.node_name(self.node)
        )
    }
}

#[cfg(test)]
mod tests;
