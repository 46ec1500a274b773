//! Queries of graphs: their nodes, edges and parameters.

use cudart_ffi::{CUgraphExecUpdateResult, CUgraphNodeType, cudaError_t};

use super::{Outcome, Runtime};
use crate::objects::effects::{CopyRequest, Fill, HostCall};
use crate::objects::exec::Structure;
use crate::objects::graph::{Graph, KernelNode, Node, NodePlace, Work};
use crate::objects::id::{EventId, ExecId, GraphId, Id, NodeId};
use crate::profile::nanos;

/// An edge: the node that comes first, and the node that depends on it.
pub type Edge = (u64, u64);

/// Why an update of an exec was refused, and the node of the new graph that is the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRefused {
    /// What is different.
    pub result: CUgraphExecUpdateResult,
    /// The node; 0 if the reason is not a single node.
    pub node: u64,
}

impl Runtime {
    /// `cudaGraphGetNodes`: the nodes in the order of their creation.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph.
    pub fn graph_nodes(&self, graph: u64) -> Outcome<Vec<u64>> {
        let graph = self.graph(self.graph_id(graph)?)?;
        Ok(graph
            .live_nodes()
            .map(|(_, node)| node.handle.to_handle())
            .collect())
    }

    /// `cudaGraphGetRootNodes`: the nodes without dependencies.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph.
    pub fn graph_root_nodes(&self, graph: u64) -> Outcome<Vec<u64>> {
        let graph = self.graph(self.graph_id(graph)?)?;
        Ok(graph
            .live_nodes()
            .filter(|(_, node)| node.dependencies.is_empty())
            .map(|(_, node)| node.handle.to_handle())
            .collect())
    }

    /// `cudaGraphGetEdges`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph.
    pub fn graph_edges(&self, graph: u64) -> Outcome<Vec<Edge>> {
        let graph = self.graph(self.graph_id(graph)?)?;
        let mut edges = Vec::new();
        for (from, to, _) in numbered_edges(graph) {
            let handle = |number: u32| Some(graph.nodes.get(number as usize)?.handle.to_handle());
            edges.extend(handle(from).zip(handle(to)));
        }
        Ok(edges)
    }

    /// `cudaGraphNodeGetType`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a node.
    pub fn node_type(&self, node: u64) -> Outcome<CUgraphNodeType> {
        self.node(node)?
            .1
            .work
            .node_type()
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaGraphNodeGetDependencies`: the nodes in the order in which they were given.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a node.
    pub fn node_dependencies(&self, node: u64) -> Outcome<Vec<u64>> {
        let (graph, node) = self.node(node)?;
        let graph = self.graph(graph)?;
        Ok(node
            .dependencies
            .iter()
            .filter_map(|&before| graph.nodes.get(before as usize))
            .map(|before| before.handle.to_handle())
            .collect())
    }

    /// `cudaGraphNodeGetDependentNodes`: the nodes in the order of their creation.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a node.
    pub fn node_dependents(&self, node: u64) -> Outcome<Vec<u64>> {
        let place = self.node_place(node)?;
        let graph = self.graph(place.graph)?;
        let node = graph.nodes.get(place.index as usize);
        let added_after = node.map_or(&[][..], |node| &node.dependents);
        Ok(added_after
            .iter()
            .filter_map(|&after| graph.nodes.get(after as usize))
            .filter(|after| after.dependencies.contains(&place.index))
            .map(|after| after.handle.to_handle())
            .collect())
    }

    /// `cudaGraphKernelNodeGetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a kernel node.
    pub fn kernel_node_params(&self, node: u64) -> Outcome<&KernelNode> {
        match &self.node(node)?.1.work {
            Work::Kernel(kernel) => Ok(kernel),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaGraphMemsetNodeGetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a memset node.
    pub fn set_node_params(&self, node: u64) -> Outcome<Fill> {
        match &self.node(node)?.1.work {
            Work::Set { fill, .. } => Ok(**fill),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaGraphMemcpyNodeGetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a copy node.
    pub fn copy_node_params(&self, node: u64) -> Outcome<CopyRequest> {
        match &self.node(node)?.1.work {
            Work::Copy { copy, .. } => Ok(**copy),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaGraphHostNodeGetParams`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a host node.
    pub fn host_node_params(&self, node: u64) -> Outcome<HostCall> {
        match &self.node(node)?.1.work {
            Work::Host(call) => Ok(*call),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaGraphChildGraphNodeGetGraph`: the copy that the node runs.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a child graph node.
    pub fn child_graph(&self, node: u64) -> Outcome<u64> {
        match self.node(node)?.1.work {
            Work::Child { graph, .. } => Ok(graph.to_handle()),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// `cudaGraphExecUpdate`: from now on, the exec runs the work of the graph, which
    /// must have the same nodes and edges as the exec. If the graph has memory nodes,
    /// it must be the one from which the exec was instantiated (H200, driver 580). For
    /// any other graph with memory nodes, CUDA's behaviour is not documented (R27), and
    /// the update is refused here.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec or a graph; otherwise 910 with the reason.
    pub fn exec_update(&mut self, exec: u64, graph: u64) -> Outcome<Result<(), UpdateRefused>> {
        let exec: ExecId = Id::from_handle(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        let old = self.execs.get(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        let graph = self.graph(self.graph_id(graph)?)?;
        let new = self.structure(graph);
        let refused = |result, node| Ok(Err(UpdateRefused { result, node }));
        if new.edges != old.structure.edges || new.types.len() != old.structure.types.len() {
            return refused(CUgraphExecUpdateResult::TOPOLOGY_CHANGED, 0);
        }
        let differs = new
            .types
            .iter()
            .zip(&old.structure.types)
            .position(|(new, old)| new != old);
        let handle = |at: usize| {
            let node = graph.live_nodes().nth(at);
            node.map_or(0, |(_, node)| node.handle.to_handle())
        };
        if let Some(at) = differs {
            return refused(CUgraphExecUpdateResult::NODE_TYPE_CHANGED, handle(at));
        }
        if graph.has_memory_nodes && graph.memory != old.memory {
            return refused(CUgraphExecUpdateResult::NOT_SUPPORTED, 0);
        }
        let (effects, places) = self.launch_effects(graph);
        // If the numbers are the same, nodes of the exec's own graph still refer to
        // its nodes.
        let numbers =
            |graph: &Graph| -> Vec<u32> { graph.live_nodes().map(|(at, _)| at).collect() };
        let source = self.graph(old.source).ok();
        let same = source.is_some_and(|source| {
            old.numbering == Some(source.numbering) && numbers(source) == numbers(graph)
        });
        let duration = self.exec_duration(graph);
        let records = self.events_recorded(graph);
        if let Some(exec) = self.execs.get_mut(exec) {
            exec.records = records;
            exec.effects = effects;
            exec.places = places;
            exec.numbering = exec.numbering.filter(|_| same);
            exec.disabled.clear();
            exec.duration = duration;
        }
        Ok(Ok(()))
    }

    /// The events that the nodes of a graph record, including those of its child
    /// graphs.
    pub(super) fn events_recorded(&self, graph: &Graph) -> Box<[EventId]> {
        let mut events = Vec::new();
        for (_, node) in graph.live_nodes() {
            match node.work {
                Work::RecordEvent(event) => events.push(event),
                Work::Child { graph, .. } => {
                    if let Ok(child) = self.graph(graph) {
                        events.extend(self.events_recorded(child));
                    }
                }
                _ => {}
            }
        }
        events.into()
    }

    /// The duration of an exec of a graph on the device.
    pub(super) fn exec_duration(&self, graph: &Graph) -> crate::clock::Nanos {
        match self.run_duration(graph) {
            // If there are only alloc and free nodes, nothing runs on the
            // device.
            0 => 0,
            work => work.saturating_add(nanos(self.profile.costs_us.graph_on_device)),
        }
    }

    /// The nodes and edges of a graph as an update compares them, including its child
    /// graphs.
    pub(super) fn structure(&self, graph: &Graph) -> Structure {
        let mut structure = Structure::default();
        // Numbers of destroyed nodes are not used, so the numbers have gaps.
        let mut places = vec![u32::MAX; graph.nodes.len()];
        for (at, (number, node)) in (0_u32..).zip(graph.live_nodes()) {
            if let Some(place) = places.get_mut(number as usize) {
                *place = at;
            }
            let kind = node.work.node_type().unwrap_or(CUgraphNodeType::EMPTY).0;
            structure.types.push(u8::try_from(kind).unwrap_or(u8::MAX));
            for before in &node.dependencies {
                let from = places.get(*before as usize).copied();
                structure.edge(from.unwrap_or(u32::MAX), at);
            }
            if let Work::Child { graph, .. } = node.work
                && let Ok(child) = self.graph(graph)
            {
                structure.child(&self.structure(child));
            }
        }
        structure.types.shrink_to_fit();
        structure
    }

    pub(super) fn node_place(&self, handle: u64) -> Outcome<NodePlace> {
        NodeId::from_handle(handle)
            .and_then(|id| self.nodes.get(id))
            .copied()
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    pub(super) fn node(&self, handle: u64) -> Outcome<(GraphId, &Node)> {
        let place = self.node_place(handle)?;
        let node = self
            .graph(place.graph)?
            .nodes
            .get(place.index as usize)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        Ok((place.graph, node))
    }
}

/// The edges of a graph by node numbers, sorted by the first node and then by the second.
/// Each has its position among the dependencies of the second node.
pub(super) fn numbered_edges(graph: &Graph) -> Vec<(u32, u32, usize)> {
    let mut edges = Vec::new();
    for (to, node) in graph.live_nodes() {
        for (place, &from) in node.dependencies.iter().enumerate() {
            edges.push((from, to, place));
        }
    }
    edges.sort_unstable();
    edges
}
