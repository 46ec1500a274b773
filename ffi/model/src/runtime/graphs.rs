//! Building graphs.

use cudart_ffi::{
    cudaError_t, cudaMemAccessDesc, cudaMemAccessFlags, cudaMemAllocationHandleType,
    cudaMemAllocationType, cudaMemLocation, cudaMemLocationType,
};

use super::{Outcome, Runtime};
use crate::memory::address::AddressSpace;
use crate::memory::graph_memory::{Allocation, AllocationRef, DeviceMemory, GraphMemory};
use crate::objects::effects::Effect;
use crate::objects::graph::{Graph, Node, NodePlace, Work};
use crate::objects::id::{GraphId, Id, NodeId};

/// The parameters of an alloc node.
#[derive(Debug, Clone)]
pub struct AllocRequest {
    /// The type. Only pinned memory is accepted.
    pub alloc_type: cudaMemAllocationType,
    /// The handle types. Only none is accepted (R29).
    pub handle_types: cudaMemAllocationHandleType,
    /// The location. Only a device is accepted.
    pub location: cudaMemLocation,
    /// Access for other devices (R51).
    pub access: Vec<cudaMemAccessDesc>,
    /// The requested size in bytes.
    pub bytes: u64,
}

/// `cudaMemAllocationTypeManaged` (13.0 and later): accepted like pinned memory.
const MANAGED_ALLOCATION: cudaMemAllocationType = cudaMemAllocationType(2);
/// `cudaMemLocationTypeHost`.
const HOST_LOCATION: cudaMemLocationType = cudaMemLocationType(2);

impl Runtime {
    /// `cudaGraphCreate`.
    ///
    /// # Errors
    ///
    /// 1 for flags other than 0.
    pub fn graph_create(&mut self, flags: u32) -> Outcome<u64> {
        if flags != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.new_graph().map(Id::to_handle)
    }

    pub(super) fn new_graph(&mut self) -> Outcome<GraphId> {
        self.graphs_made += 1;
        self.graphs
            .insert(Graph {
                number: self.graphs_made,
                ..Graph::default()
            })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cudaGraphDestroy`. Live allocations and execs stay valid (R16).
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, 401 for a graph to which a capture adds
    /// nodes.
    pub fn graph_destroy(&mut self, handle: u64) -> Outcome {
        let id = self.graph_id(handle)?;
        if self.graph(id)?.is_child {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if self.captures_into(handle) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        self.remove_graph(id);
        Ok(())
    }

    pub(super) fn remove_graph(&mut self, id: GraphId) {
        let Some(graph) = self.graphs.remove(id) else {
            return;
        };
        for node in &graph.nodes {
            self.nodes.remove(node.handle);
            match &node.work {
                Work::Child { graph, .. } => self.remove_graph(*graph),
                Work::Conditional(conditional) => {
                    for &body in &conditional.bodies {
                        self.remove_graph(body);
                    }
                }
                _ => {}
            }
        }
        if let Some(id) = graph.memory {
            if let Some(memory) = self.memories.get_mut(id) {
                memory.has_graph = false;
            }
            self.drop_if_over(id);
        }
    }

    /// `cudaGraphClone`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, 801 for a graph with memory nodes (R24) or
    /// conditional nodes (M20), and for a body of a conditional node.
    pub fn graph_clone(&mut self, handle: u64) -> Outcome<u64> {
        let id = self.graph_id(handle)?;
        if self.graph(id)?.owner.is_some() {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        self.copy_graph(id).map(Id::to_handle)
    }

    /// Copies a graph and the graphs in it.
    pub(super) fn copy_graph(&mut self, id: GraphId) -> Outcome<GraphId> {
        let graph = self.graph(id)?;
        if graph.has_memory_nodes || graph.has_conditional_nodes {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let (child_nodes, depth) = (graph.child_nodes, graph.depth);
        // Destroyed nodes are left out, so the other nodes get new numbers.
        let mut number_of = vec![u32::MAX; graph.nodes.len()];
        let mut copies: Vec<(Option<Work>, Vec<u32>, Vec<Effect>)> = Vec::new();
        for (new, (old, node)) in (0_u32..).zip(graph.live_nodes()) {
            if let Some(number) = number_of.get_mut(old as usize) {
                *number = new;
            }
            let before = node.dependencies.iter();
            let renumbered = before.filter_map(|&before| number_of.get(before as usize).copied());
            let effects = graph.effects.get(&old).cloned();
            copies.push((
                copy_of(&node.work),
                renumbered.collect(),
                effects.unwrap_or_default(),
            ));
        }
        let clone = self.new_graph()?;
        for (number, (work, dependencies, effects)) in (0_u32..).zip(copies) {
            let (_, handle) = self.begin_node(clone, &dependencies)?;
            let work = match work {
                Some(Work::Child { graph, duration }) => {
                    let graph = self.copy_graph(graph)?;
                    if let Some(graph) = self.graphs.get_mut(graph) {
                        graph.is_child = true;
                    }
                    Work::Child { graph, duration }
                }
                other => other.unwrap_or(Work::Destroyed),
            };
            self.end_node(clone, work, &dependencies, handle);
            if let Some(clone) = self.graphs.get_mut(clone)
                && !effects.is_empty()
            {
                clone.effects.insert(number, effects);
            }
        }
        if let Some(clone) = self.graphs.get_mut(clone) {
            clone.child_nodes = child_nodes;
            clone.depth = depth;
        }
        Ok(clone)
    }

    /// `cudaGraphDestroyNode`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a node, 801 in a graph with memory nodes (R23), 401
    /// in a graph to which a capture adds nodes.
    pub fn graph_destroy_node(&mut self, node: u64) -> Outcome {
        let id = NodeId::from_handle(node).ok_or(cudaError_t::INVALID_VALUE)?;
        let place = *self.nodes.get(id).ok_or(cudaError_t::INVALID_VALUE)?;
        if self.graph(place.graph)?.has_memory_nodes {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        if self.captures_into(place.graph.to_handle()) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        self.destroy_node(place.graph, id);
        Ok(())
    }

    fn destroy_node(&mut self, graph: GraphId, id: NodeId) {
        let Some(place) = self.nodes.remove(id) else {
            return;
        };
        let Some(graph) = self.graphs.get_mut(graph) else {
            return;
        };
        let work = graph.destroy(place.index);
        if let Some(moved) = graph.compact() {
            for (handle, index) in moved {
                if let Some(place) = self.nodes.get_mut(handle) {
                    place.index = index;
                }
            }
        }
        if let Some(Work::Conditional(conditional)) = &work {
            for &body in &conditional.bodies {
                self.remove_graph(body);
            }
            // Another node may now be created for the condition.
            self.free_condition(conditional.condition);
        }
        if let Some(Work::Child { graph: child, .. }) = work {
            let inner = self.graph(child).map_or(0, |g| g.live + g.child_nodes);
            if let Some(graph) = self.graphs.get_mut(place.graph) {
                graph.child_nodes -= inner;
            }
            self.remove_graph(child);
        }
    }

    /// `cudaGraphAddMemAllocNode`: returns the node, and the address (R1).
    ///
    /// # Errors
    ///
    /// 1, 2 and 801 as described in R28, R29 and M10; 801 without memory pools (R54).
    pub fn add_alloc_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        request: AllocRequest,
    ) -> Outcome<(u64, u64)> {
        let id = self.graph_id(graph)?;
        let dependencies = self.dependencies(id, dependencies)?;
        let device = self.check_alloc(&request)?;
        let (number, handle) = self.begin_node(id, &dependencies)?;
        let placed = self.place(id, number, device, request.bytes);
        let (work, outcome) = match placed {
            Ok((allocation, address)) => (
                Work::Alloc {
                    allocation,
                    access: request.access.into(),
                },
                Ok((handle.to_handle(), address)),
            ),
            Err(code) => (Work::Destroyed, Err(code)),
        };
        self.end_node(id, work, &dependencies, handle);
        if outcome.is_err() {
            self.nodes.remove(handle);
        }
        outcome
    }

    fn check_alloc(&self, request: &AllocRequest) -> Outcome<usize> {
        let on_device = |location: &cudaMemLocation| {
            (location.type_ == cudaMemLocationType::DEVICE)
                .then(|| self.device(location.id).ok())
                .flatten()
                .map(|(index, _)| index)
        };
        if !self.profile.memory_pools_supported {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        if matches!(request.location.type_, HOST_LOCATION) {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let device = on_device(&request.location).ok_or(cudaError_t::INVALID_VALUE)?;
        let known_type = matches!(
            request.alloc_type,
            cudaMemAllocationType::PINNED | MANAGED_ALLOCATION
        );
        let access_is_valid = request.access.len() <= self.devices.len()
            && request.access.iter().all(|access| {
                access.flags == cudaMemAccessFlags::PROT_READ_WRITE
                    && access.location.type_ == cudaMemLocationType::DEVICE
            });
        if !known_type || !access_is_valid || request.bytes == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        for access in &request.access {
            self.device(access.location.id)?;
        }
        if request.handle_types != cudaMemAllocationHandleType::NONE {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        // On a GPU with 140 GiB, a node for 200 GiB is added, and one for 1 TiB is
        // refused (M10). Assumed: the limit is twice the device's memory, which is
        // the size of the address range that the driver reserves.
        if request.bytes > self.profile.total_bytes().saturating_mul(2) {
            return Err(cudaError_t::MEMORY_ALLOCATION);
        }
        Ok(device)
    }

    /// Gives a new alloc node its address.
    fn place(
        &mut self,
        id: GraphId,
        number: usize,
        device: usize,
        bytes: u64,
    ) -> Outcome<(u32, u64)> {
        let granularity = self.profile.granularity();
        let graph = self.graphs.get_mut(id).ok_or(cudaError_t::INVALID_VALUE)?;
        graph.has_memory_nodes = true;
        let memory_id = match graph.memory {
            Some(memory) => memory,
            None => {
                let memory = self
                    .memories
                    .insert(GraphMemory {
                        has_graph: true,
                        ..GraphMemory::default()
                    })
                    .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
                *graph.memory.insert(memory)
            }
        };
        let memory = self
            .memories
            .get_mut(memory_id)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        let at = match memory.devices.iter().position(|m| m.device == device) {
            Some(at) => at,
            None => {
                // Most graphs use one device, and a vector would begin with
                // room for four.
                memory.devices.reserve_exact(1);
                memory.devices.push(DeviceMemory {
                    device,
                    space: AddressSpace::new(0, granularity),
                    mapping: Vec::new(),
                    segments_mapped: 0,
                });
                memory.devices.len() - 1
            }
        };
        let on_device = memory
            .devices
            .get_mut(at)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        let address = on_device
            .space
            .add_alloc_on(&graph.order, number, bytes, |bytes| {
                self.devices.get_mut(device)?.va_segments.take(bytes)
            })
            .map_err(|_| cudaError_t::MEMORY_ALLOCATION)?;
        if let Some(newest) = on_device.space.segments().last()
            && let Some(device) = self.devices.get_mut(device)
        {
            let known = (newest.end, memory_id);
            device.reserved.entry(newest.start).or_insert(known);
        }
        let index =
            u32::try_from(memory.allocations.len()).map_err(|_| cudaError_t::MEMORY_ALLOCATION)?;
        if memory.allocations.is_empty() {
            memory.allocations.reserve_exact(1);
        }
        memory.allocations.push(Allocation {
            device,
            address,
            bytes,
            freed_here: false,
            freed_elsewhere: false,
            live: false,
        });
        self.unfreed.insert(
            address,
            AllocationRef {
                memory: memory_id,
                index,
            },
        );
        Ok((index, address))
    }

    /// `cudaGraphAddMemFreeNode`.
    ///
    /// # Errors
    ///
    /// 1 for an address that no alloc node returned (R30), for an allocation that this
    /// graph already frees, and in the owner for an allocation that another graph frees
    /// or freed (R13, R15). The H200 refuses the last one even after the other graph
    /// was destroyed. Two other graphs may each have a free node for it.
    pub fn add_free_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        address: u64,
    ) -> Outcome<u64> {
        let id = self.graph_id(graph)?;
        let dependencies = self.dependencies(id, dependencies)?;
        let which = *self
            .unfreed
            .get(&address)
            .ok_or(cudaError_t::INVALID_VALUE)?;
        let own = self.graph(id)?.memory == Some(which.memory);
        let freed_elsewhere = self
            .memories
            .get(which.memory)
            .and_then(|memory| memory.allocations.get(which.index as usize))
            .ok_or(cudaError_t::INVALID_VALUE)?
            .freed_elsewhere;
        let freed_here = !own && self.graph(id)?.foreign_frees.contains(&which);
        if own && freed_elsewhere || freed_here {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let (number, handle) = self.begin_node(id, &dependencies)?;
        let freed = self.free_in(id, number, which, address, own);
        let work = match freed {
            Ok(()) => Work::Free {
                allocation: which,
                address,
            },
            Err(_) => Work::Destroyed,
        };
        self.end_node(id, work, &dependencies, handle);
        if freed.is_err() {
            self.nodes.remove(handle);
        }
        freed.map(|()| handle.to_handle())
    }

    fn free_in(
        &mut self,
        graph: GraphId,
        number: usize,
        which: AllocationRef,
        address: u64,
        own: bool,
    ) -> Outcome {
        let refused = cudaError_t::INVALID_VALUE;
        let graph = self.graphs.get_mut(graph).ok_or(refused)?;
        let memory = self.memories.get_mut(which.memory).ok_or(refused)?;
        let allocation = memory
            .allocations
            .get_mut(which.index as usize)
            .ok_or(refused)?;
        if own {
            memory
                .devices
                .iter_mut()
                .find(|m| m.device == allocation.device)
                .ok_or(refused)?
                .space
                .add_free(&graph.order, number, address)
                .map_err(|_| refused)?;
            allocation.freed_here = true;
            // An exec that is older than this node may have left the allocation
            // live.
            if !allocation.live {
                self.unfreed.remove(&address);
            }
        } else {
            allocation.freed_elsewhere = true;
            graph.foreign_frees.insert(which);
        }
        graph.has_memory_nodes = true;
        Ok(())
    }

    /// `cudaGraphMemAllocNodeGetParams`: the allocation, and the access for other
    /// devices.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an alloc node.
    pub fn alloc_node_params(&self, node: u64) -> Outcome<(&Allocation, &[cudaMemAccessDesc])> {
        let node = self.node(node)?;
        let Work::Alloc {
            allocation,
            ref access,
        } = node.1.work
        else {
            return Err(cudaError_t::INVALID_VALUE);
        };
        let found = self
            .graph(node.0)?
            .memory
            .and_then(|memory| self.memories.get(memory))
            .and_then(|memory| memory.allocations.get(allocation as usize))
            .ok_or(cudaError_t::INVALID_VALUE)?;
        Ok((found, access))
    }

    /// `cudaGraphMemFreeNodeGetParams`: the address.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a free node.
    pub fn free_node_address(&self, node: u64) -> Outcome<u64> {
        match self.node(node)?.1.work {
            Work::Free { address, .. } => Ok(address),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// The number of nodes of a graph. No array of distinct nodes of the graph is
    /// longer.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph.
    pub fn node_count(&self, graph: u64) -> Outcome<usize> {
        Ok(self.graph(self.graph_id(graph)?)?.live)
    }

    pub(super) fn graph_id(&self, handle: u64) -> Outcome<GraphId> {
        Id::from_handle(handle)
            .filter(|&id| self.graphs.get(id).is_some())
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    pub(super) fn graph(&self, id: GraphId) -> Outcome<&Graph> {
        self.graphs.get(id).ok_or(cudaError_t::INVALID_VALUE)
    }

    /// The numbers of the nodes with these handles. Each must be a node of this graph,
    /// and may be given only once.
    pub(super) fn dependencies(&self, graph: GraphId, handles: &[u64]) -> Outcome<Vec<u32>> {
        let mut numbers = Vec::with_capacity(handles.len());
        for &handle in handles {
            let place = Id::from_handle(handle)
                .and_then(|id| self.nodes.get(id))
                .filter(|place| place.graph == graph)
                .ok_or(cudaError_t::INVALID_VALUE)?;
            numbers.push(place.index);
        }
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        Ok(numbers)
    }

    /// Adds a new node after its dependencies, and gives it a handle.
    pub(super) fn begin_node(
        &mut self,
        id: GraphId,
        dependencies: &[u32],
    ) -> Outcome<(usize, NodeId)> {
        let graph = self.graphs.get_mut(id).ok_or(cudaError_t::INVALID_VALUE)?;
        let index = u32::try_from(graph.nodes.len()).map_err(|_| cudaError_t::MEMORY_ALLOCATION)?;
        let handle = self
            .nodes
            .insert(NodePlace { graph: id, index })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        let before: Vec<usize> = dependencies.iter().map(|&node| node as usize).collect();
        let number = graph
            .order
            .add_node(&before)
            .map_err(|_| cudaError_t::INVALID_VALUE)?;
        Ok((number, handle))
    }

    pub(super) fn end_node(
        &mut self,
        id: GraphId,
        work: Work,
        dependencies: &[u32],
        handle: NodeId,
    ) {
        if let Some(graph) = self.graphs.get_mut(id) {
            let number = graph.nodes.len() as u32;
            for &before in dependencies {
                if let Some(before) = graph.nodes.get_mut(before as usize) {
                    before.dependents.push(number);
                }
            }
            graph.live += usize::from(!matches!(work, Work::Destroyed));
            graph.nodes.push(Node {
                work,
                dependencies: dependencies.into(),
                dependents: Vec::new(),
                handle,
            });
        }
    }
}

/// The work of a copy of a node; `None` for a destroyed node. A child graph is still that
/// of the original.
fn copy_of(work: &Work) -> Option<Work> {
    Some(match work {
        // A graph with nodes of the last three types cannot be copied.
        Work::Destroyed | Work::Alloc { .. } | Work::Free { .. } | Work::Conditional(_) => {
            return None;
        }
        Work::Empty => Work::Empty,
        Work::Kernel(kernel) => Work::Kernel(kernel.clone()),
        Work::Set { fill, duration } => Work::Set {
            fill: fill.clone(),
            duration: *duration,
        },
        Work::Copy { copy, duration } => Work::Copy {
            copy: copy.clone(),
            duration: *duration,
        },
        Work::Host(call) => Work::Host(*call),
        Work::RecordEvent(event) => Work::RecordEvent(*event),
        Work::WaitEvent(event) => Work::WaitEvent(*event),
        Work::Child { graph, duration } => Work::Child {
            graph: *graph,
            duration: *duration,
        },
    })
}
