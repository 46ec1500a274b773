//! Instantiates, uploads and launches graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudart_ffi::{cudaError_t, instantiate_flags};

use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::memory::graph_memory::AllocationRef;
use crate::memory::pool::User;
use crate::objects::effects::Effect;
use crate::objects::exec::Exec;
use crate::objects::id::{ExecId, Id, MemoryId, StreamId};

/// `cudaGraphInstantiateFlagUseNodePriority`.
const USE_NODE_PRIORITY: u64 = 8;

/// The number of graphs that the driver creates, and numbers, for an exec (H200, driver
/// 580).
const COPIES_OF_AN_EXEC: u64 = 2;

impl Runtime {
    /// `cudaGraphInstantiateWithFlags`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, for flags that exclude each other (R21), for
    /// a device graph with memory nodes, and for a node that a body of a conditional
    /// node may not contain (M19); 801 for a second live exec of a graph with memory
    /// nodes (R25) or conditional nodes (M20).
    pub fn instantiate(&mut self, handle: u64, flags: u64) -> Outcome<u64> {
        let id = self.graph_id(handle)?;
        let known = instantiate_flags::AUTO_FREE_ON_LAUNCH
            | instantiate_flags::DEVICE_LAUNCH
            | USE_NODE_PRIORITY;
        let auto_free = flags & instantiate_flags::AUTO_FREE_ON_LAUNCH != 0;
        let on_device = flags & instantiate_flags::DEVICE_LAUNCH != 0;
        let graph = self.graph(id)?;
        if flags & !known != 0
            || on_device && (auto_free || graph.has_memory_nodes || graph.has_conditional_nodes)
        {
            return Err(cudaError_t::INVALID_VALUE);
        }
        // A body cannot be instantiated by itself.
        if graph.owner.is_some() {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        self.check_conditions(id)?;
        if self.conditional_exec_is_live(graph) {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let memory = graph.memory.and_then(|id| self.memories.get(id));
        let second = memory.is_some_and(|memory| memory.exec.is_some());
        if graph.has_memory_nodes && second {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let allocations = memory.map_or(&[][..], |memory| &memory.allocations);
        let unfreed = (0_u32..)
            .zip(allocations)
            .filter(|(_, allocation)| !allocation.freed_here)
            .map(|(index, _)| index)
            .collect();
        let (effects, places) = self.launch_effects(graph);
        let exec = Exec {
            memory: graph.memory,
            flags,
            auto_free,
            unfreed,
            frees: graph.frees_elsewhere().collect(),
            records: self.events_recorded(graph),
            source: id,
            numbering: Some(graph.numbering),
            effects,
            places,
            disabled: BTreeMap::new(),
            duration: self.exec_duration(graph),
            structure: self.structure(graph),
            end: 0,
        };
        let memory = graph.memory;
        let graphs = 1 + self.graphs_inside(graph);
        // The driver numbers two copies of the graph and of the graphs in it. The
        // ids of captures show this.
        self.graphs_made += graphs * COPIES_OF_AN_EXEC;
        // Nodes are seldom added to a graph that has an exec, and there may be many
        // such graphs.
        if let Some(graph) = self.graphs.get_mut(id) {
            graph.shrink_to_fit();
        }
        let exec = self
            .execs
            .insert(exec)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        if let Some(graph) = self.graphs.get_mut(id) {
            graph.note_exec(exec);
        }
        let block_bytes = self.profile.block_bytes();
        if let Some(memory) = memory.and_then(|id| self.memories.get_mut(id)) {
            memory.exec = Some(exec);
            for on_device in &mut memory.devices {
                on_device.extend_mapping(block_bytes);
            }
            memory.shrink_to_fit();
        }
        Ok(exec.to_handle())
    }

    /// `cudaGraphExecGetFlags`.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec.
    pub fn exec_flags(&self, handle: u64) -> Outcome<u64> {
        Id::from_handle(handle)
            .and_then(|id| self.execs.get(id))
            .map(|exec| exec.flags)
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    /// `cudaGraphExecDestroy`: immediate, even while the exec runs. It frees nothing
    /// (R16, R41, M14).
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec.
    pub fn exec_destroy(&mut self, handle: u64) -> Outcome {
        let exec = Id::from_handle(handle)
            .and_then(|id| self.execs.remove(id))
            .ok_or(cudaError_t::INVALID_VALUE)?;
        if let Some(id) = exec.memory {
            if let Some(memory) = self.memories.get_mut(id) {
                memory.exec = None;
            }
            self.drop_if_over(id);
        }
        Ok(())
    }

    /// `cudaGraphUpload`: maps the memory that a launch in this stream needs (R32,
    /// R33), in the stream's order and after the exec's own earlier launch. Returns the
    /// time at which the call returns, as [`launch`](Self::launch) does.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec, 400 for one that is not a stream, 2 if the
    /// device has not enough memory.
    pub fn upload(&mut self, exec: u64, stream: u64, current: i32) -> Outcome<Nanos> {
        let id = ExecId::from_handle(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        let exec = self.execs.get(id).ok_or(cudaError_t::INVALID_VALUE)?;
        let (memory, previous) = (exec.memory, exec.end);
        let stream = self.stream(stream, current)?;
        let mut remapped = false;
        if let Some(memory) = memory {
            remapped = self.bind(id, memory, stream)?;
        }
        // With a live allocation the mapping does not change, and the stream need
        // not wait.
        if memory.is_none_or(|memory| self.live_of(memory).is_empty()) {
            self.enqueue(stream, 0, previous);
        }
        if let Some(memory) = memory {
            self.occupy(id, memory, stream, None);
        }
        Ok(if remapped { previous } else { 0 })
    }

    /// `cudaGraphLaunch`. Returns the time at which the call returns: a graph's
    /// addresses can be mapped to other memory only after its own earlier launch has
    /// ended, and the host waits for that (R39).
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not an exec, and if an allocation of an earlier launch is
    /// unfreed (R18) unless AutoFree frees it (R19); 400 for a handle that is not a
    /// stream; 2 if the device has not enough memory (M13). After an error the stream
    /// is unchanged.
    pub fn launch(&mut self, exec: u64, stream: u64, current: i32) -> Outcome<Nanos> {
        // A capturing stream is reported before an invalid exec.
        let in_stream = self.stream(stream, current);
        if in_stream == Err(cudaError_t::STREAM_CAPTURE_UNSUPPORTED) {
            return Err(cudaError_t::STREAM_CAPTURE_UNSUPPORTED);
        }
        let id = ExecId::from_handle(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        self.execs.get(id).ok_or(cudaError_t::INVALID_VALUE)?;
        let stream = in_stream?;
        let exec = self.execs.get(id).ok_or(cudaError_t::INVALID_VALUE)?;
        let (memory, duration, previous, auto_free) =
            (exec.memory, exec.duration, exec.end, exec.auto_free);
        // If a free node is for an allocation of another graph that is not live, the
        // launch fails, as cudaFree would (M8).
        if !exec.frees.iter().all(|&freed| self.is_live(freed)) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let (frees, effects) = (exec.frees.clone(), exec.effects.clone());
        let records = exec.records.clone();
        let mut remapped = false;
        if let Some(memory) = memory {
            let unfreed = self.live_of(memory);
            if !unfreed.is_empty() && !auto_free {
                return Err(cudaError_t::INVALID_VALUE);
            }
            if !unfreed.is_empty() {
                let time = self.enqueue(stream, 0, previous);
                for index in unfreed {
                    self.end_allocation(AllocationRef { memory, index }, Some(time));
                }
            }
            remapped = self.bind(id, memory, stream)?;
        }
        let end = self.enqueue(stream, duration, previous);
        if let Some(exec) = self.execs.get_mut(id) {
            exec.end = end;
        }
        if let Some(memory) = memory {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.note_graph(id, end);
            }
            self.occupy(id, memory, stream, Some(end));
            self.leave_unfreed(id, memory);
        }
        for event in records {
            self.recorded(event, end);
        }
        // The effects of the graph on memory come before its frees of other graphs'
        // allocations.
        self.apply(&effects);
        if frees.is_empty() {
            return Ok(if remapped { previous } else { 0 });
        }
        let frees: Arc<[_]> = frees.iter().map(|&freed| (freed, end)).collect();
        if self.work.is_idle() {
            self.end_allocations(&frees);
        } else {
            self.apply(&[Effect::EndAllocations(frees)]);
        }
        Ok(if remapped { previous } else { 0 })
    }

    /// Ends allocations, each at the given time of its stream.
    pub fn end_allocations(&mut self, which: &[(AllocationRef, Nanos)]) {
        for &(freed, time) in which {
            self.end_allocation(freed, Some(time));
        }
    }

    /// The live allocations of the graph, including those of an earlier exec.
    fn live_of(&self, memory: MemoryId) -> Vec<u32> {
        let Some(memory) = self.memories.get(memory).filter(|memory| memory.live > 0) else {
            return Vec::new();
        };
        (0_u32..)
            .zip(&memory.allocations)
            .filter(|(_, allocation)| allocation.live)
            .map(|(index, _)| index)
            .collect()
    }

    /// Maps physical memory at all addresses that the exec needs. Returns whether some
    /// of them had other memory before.
    fn bind(&mut self, exec: ExecId, memory: MemoryId, stream: StreamId) -> Outcome<bool> {
        let block_bytes = self.profile.block_bytes();
        let now = self.now();
        let user = User { exec, stream, now };
        let Some(graph) = self.memories.get_mut(memory) else {
            return Ok(false);
        };
        let mut mapped = 0;
        let mut remapped = false;
        for on_device in &mut graph.devices {
            if let Some(device) = self.devices.get_mut(on_device.device) {
                let room = device.free_bytes(&self.profile) / block_bytes;
                let streams = &self.streams;
                let others_end = |id| streams.get(id).map_or(0, |s| s.others_end(exec));
                let mapping = &mut on_device.mapping;
                let bound = device.pool.bind(mapping, user, room, others_end)?;
                mapped += bound.mapped;
                remapped |= bound.remapped;
            }
        }
        self.charge_each(self.profile.costs_us.map_block, mapped);
        Ok(remapped)
    }

    /// Records that a launch or an upload uses the blocks of the exec until `end`.
    fn occupy(&mut self, exec: ExecId, memory: MemoryId, stream: StreamId, end: Option<Nanos>) {
        let now = self.now();
        let user = User { exec, stream, now };
        let Some(graph) = self.memories.get(memory) else {
            return;
        };
        for on_device in &graph.devices {
            if let Some(device) = self.devices.get_mut(on_device.device) {
                device.pool.occupy(&on_device.mapping, user, end);
            }
        }
    }

    /// Marks the allocations that a launch leaves unfreed as live, and counts them in
    /// their blocks.
    fn leave_unfreed(&mut self, id: ExecId, memory: MemoryId) {
        let block_bytes = self.profile.block_bytes();
        let (Some(exec), Some(graph)) = (self.execs.get(id), self.memories.get_mut(memory)) else {
            return;
        };
        for &index in &exec.unfreed {
            let Some(allocation) = graph.allocations.get_mut(index as usize) else {
                continue;
            };
            allocation.live = true;
            graph.live += 1;
            let which = AllocationRef { memory, index };
            self.live.insert(allocation.address, which);
            // A free node that was added to the graph later is not part of this
            // exec.
            let index = AllocationRef { memory, index };
            self.unfreed.insert(allocation.address, index);
            let blocks = allocation.blocks(block_bytes);
            let on = allocation.device;
            if let (Some(on_device), Some(device)) = (
                graph.devices.iter().find(|m| m.device == on),
                self.devices.get_mut(on),
            ) {
                for mapped in on_device.mapped_in(blocks) {
                    device.pool.hold(mapped, id);
                }
            }
        }
    }
}
