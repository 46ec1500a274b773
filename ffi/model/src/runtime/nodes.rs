//! Adds nodes that do not allocate or free.

use std::sync::Arc;

use cudart_ffi::cudaError_t;

use super::exec_nodes::{check_copy, check_fill};
use super::{KernelRequest, Outcome, Runtime};
use crate::kernels::program::Arguments;
use crate::objects::effects::{CopyRequest, Effect, Fill, HostCall};
use crate::objects::graph::{KernelNode, NodeArguments, Work};
use crate::objects::id::{EventId, Id};
use crate::profile::nanos;

/// The largest number of nodes in all child graphs of a graph.
pub const MAX_CHILD_NODES: usize = 1 << 20;
/// The largest nesting depth of child graphs.
pub const MAX_DEPTH: u32 = 256;

impl Runtime {
    /// Adds a node with this work.
    pub(super) fn add_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        work: Work,
    ) -> Outcome<u64> {
        let id = self.graph_id(graph)?;
        let dependencies = self.dependencies(id, dependencies)?;
        let (_, handle) = self.begin_node(id, &dependencies)?;
        self.end_node(id, work, &dependencies, handle);
        Ok(handle.to_handle())
    }

    /// `cudaGraphAddEmptyNode`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, and for dependencies that are not nodes of
    /// it.
    pub fn add_empty_node(&mut self, graph: u64, dependencies: &[u64]) -> Outcome<u64> {
        self.add_node(graph, dependencies, Work::Empty)
    }

    /// `cudaGraphAddKernelNode`. `arguments` contains a value for each parameter.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node) and for launch dimensions that
    /// no device supports (M11), 98 for a null kernel handle, 400 for an invalid one.
    pub fn add_kernel_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        request: &KernelRequest,
        arguments: Arguments,
    ) -> Outcome<u64> {
        let id = self.graph_id(graph)?;
        self.dependencies(id, dependencies)?;
        let node = self.kernel_node(request, arguments)?;
        let effect = self.kernel_effect(request, node.arguments.values().clone());
        let handle = self.add_node(graph, dependencies, Work::Kernel(Box::new(node)))?;
        if let Some(effect) = effect {
            self.note_effect(handle, effect)?;
        }
        Ok(handle)
    }

    fn kernel_node(&self, request: &KernelRequest, arguments: Arguments) -> Outcome<KernelNode> {
        let code = self.kernel(request.kernel)?;
        let (blocks, threads) = request.shape().ok_or(cudaError_t::INVALID_VALUE)?;
        self.check_shared(request)?;
        let duration = self.kernel_duration(code, blocks, threads, request.spin_clocks);
        Ok(KernelNode {
            kernel: Id::from_handle(request.kernel).ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?,
            name: Arc::from(code.name.as_str()),
            grid: request.grid,
            block: request.block,
            shared_bytes: request.shared_bytes,
            arguments: NodeArguments::new(arguments),
            duration,
        })
    }

    /// `cudaGraphKernelNodeSetParams`: changes the launch of a node, for execs that are
    /// instantiated from now on.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a kernel node, and the same as for
    /// [`add_kernel_node`](Self::add_kernel_node).
    pub fn set_kernel_node(
        &mut self,
        node: u64,
        request: &KernelRequest,
        arguments: Arguments,
    ) -> Outcome {
        self.kernel_node_params(node)?;
        let new = self.kernel_node(request, arguments)?;
        let effect = self.kernel_effect(request, new.arguments.values().clone());
        let place = self.node_place(node)?;
        let graph = self
            .graphs
            .get_mut(place.graph)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        let found = graph
            .nodes
            .get_mut(place.index as usize)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        found.work = Work::Kernel(Box::new(new));
        graph.effects.remove(&place.index);
        if let Some(effect) = effect {
            graph.effects.insert(place.index, vec![effect]);
        }
        Ok(())
    }

    /// `cudaGraphAddMemsetNode`, and a captured memset.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node), for an element that does not
    /// have 1, 2 or 4 bytes, and for a width or height of 0.
    pub fn add_set_node(&mut self, graph: u64, dependencies: &[u64], fill: Fill) -> Outcome<u64> {
        check_fill(&fill)?;
        let duration = nanos(self.profile.costs_us.kernel_on_device);
        let work = Work::Set {
            fill: Box::new(fill),
            duration,
        };
        let handle = self.add_node(graph, dependencies, work)?;
        self.note_effect(handle, Effect::Set(fill))?;
        Ok(handle)
    }

    /// `cudaGraphAddMemcpyNode1D`, and a captured copy.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node), and for a null pointer.
    pub fn add_copy_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        copy: CopyRequest,
    ) -> Outcome<u64> {
        check_copy(&copy)?;
        let duration = nanos(self.profile.costs_us.kernel_on_device);
        let work = Work::Copy {
            copy: Box::new(copy),
            duration,
        };
        let handle = self.add_node(graph, dependencies, work)?;
        self.note_effect(handle, Effect::Copy(copy))?;
        Ok(handle)
    }

    /// `cudaGraphAddHostNode`.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node), and for a null function.
    pub fn add_host_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        call: HostCall,
    ) -> Outcome<u64> {
        if call.function == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let handle = self.add_node(graph, dependencies, Work::Host(call))?;
        self.note_effect(handle, Effect::Host(call))?;
        Ok(handle)
    }

    /// `cudaGraphAddEventRecordNode` or, with `wait`, `cudaGraphAddEventWaitNode`.
    /// Simplification: the nodes take no time, and the event is reached when the launch
    /// ends.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node), 400 for a handle that is not
    /// an event.
    pub fn add_event_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        event: u64,
        wait: bool,
    ) -> Outcome<u64> {
        let event: EventId = Id::from_handle(event)
            .filter(|&id| self.events.get(id).is_some())
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        let work = if wait {
            Work::WaitEvent(event)
        } else {
            Work::RecordEvent(event)
        };
        self.add_node(graph, dependencies, work)
    }

    /// `cudaGraphAddChildGraphNode`: the node runs a copy of the child.
    ///
    /// # Errors
    ///
    /// 1 as for [`add_empty_node`](Self::add_empty_node), 801 for a child with memory
    /// nodes (R26), 2 for more nodes in child graphs than `MAX_CHILD_NODES` or a
    /// nesting depth above `MAX_DEPTH`. These limits were chosen for the simulation;
    /// with a GPU, the host's memory is the limit.
    pub fn add_child_graph_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        child: u64,
    ) -> Outcome<u64> {
        let id = self.graph_id(graph)?;
        self.dependencies(id, dependencies)?;
        let child = self.graph_id(child)?;
        if child == id {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // If a graph is added to itself twice, its size doubles each time, and host
        // memory would run out.
        let (parent, inner) = (self.graph(id)?, self.graph(child)?);
        let nodes = inner.live + inner.child_nodes;
        let depth = inner.depth + 1;
        if parent.child_nodes + nodes > MAX_CHILD_NODES || depth > MAX_DEPTH {
            return Err(cudaError_t::MEMORY_ALLOCATION);
        }
        let copy = self.copy_graph(child)?;
        let (duration, effects) = match self.graphs.get_mut(copy) {
            Some(graph) => {
                graph.is_child = true;
                let effects: Vec<Effect> = graph.all_effects().cloned().collect();
                (graph.duration(), effects)
            }
            None => (0, Vec::new()),
        };
        let parent = self.graphs.get_mut(id).ok_or(cudaError_t::INVALID_VALUE)?;
        parent.child_nodes += nodes;
        parent.depth = parent.depth.max(depth);
        let work = Work::Child {
            graph: copy,
            duration,
        };
        let handle = self.add_node(graph, dependencies, work)?;
        for effect in effects {
            self.note_effect(handle, effect)?;
        }
        Ok(handle)
    }

    /// Records the effect of a node on memory.
    pub(super) fn note_effect(&mut self, node: u64, effect: Effect) -> Outcome {
        let place = self.node_place(node)?;
        let graph = self
            .graphs
            .get_mut(place.graph)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        graph.effects.entry(place.index).or_default().push(effect);
        Ok(())
    }
}
