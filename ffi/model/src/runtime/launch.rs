//! Instantiating, uploading and launching.

use cudart_ffi::{cudaError_t, instantiate_flags};

use super::{Outcome, Runtime};
use crate::exec::{AllocationRef, Exec};
use crate::graph_memory::GraphMemory;
use crate::pool::User;
use crate::profile::nanos;
use crate::slab::Id;
use crate::stream::Stream;

/// `cudaGraphInstantiateFlagUseNodePriority`.
const USE_NODE_PRIORITY: u64 = 8;

impl Runtime {
    /// `cudaGraphInstantiateWithFlags`.
    ///
    /// # Errors
    ///
    /// 1 for what is no graph and for flags that exclude each other (R21), 801
    /// for a second live exec of a graph with memory nodes (R25) and for a device
    /// graph with memory nodes.
    pub fn instantiate(&mut self, handle: u64, flags: u64) -> Outcome<u64> {
        let id = self.graph_id(handle)?;
        let known = instantiate_flags::AUTO_FREE_ON_LAUNCH
            | instantiate_flags::DEVICE_LAUNCH
            | USE_NODE_PRIORITY;
        let auto_free = flags & instantiate_flags::AUTO_FREE_ON_LAUNCH != 0;
        let on_device = flags & instantiate_flags::DEVICE_LAUNCH != 0;
        if flags & !known != 0 || auto_free && on_device {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let graph = self.graph(id)?;
        let memory = graph.memory.and_then(|id| self.memories.get(id));
        let second = memory.is_some_and(|memory| memory.exec.is_some());
        if graph.has_memory_nodes && (second || on_device) {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let allocations = memory.map_or(&[][..], |memory| &memory.allocations);
        let unfreed = (0_u32..)
            .zip(allocations)
            .filter(|(_, allocation)| !allocation.freed_here)
            .map(|(index, _)| index)
            .collect();
        let exec = Exec {
            memory: graph.memory,
            auto_free,
            unfreed,
            frees: graph.frees_elsewhere().collect(),
            duration: graph
                .duration()
                .saturating_add(nanos(self.profile.costs_us.graph_on_device)),
            end: 0,
        };
        let memory = graph.memory;
        let exec = self
            .execs
            .insert(exec)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        let block_bytes = self.profile.block_bytes();
        if let Some(memory) = memory.and_then(|id| self.memories.get_mut(id)) {
            memory.exec = Some(exec);
            for on_device in &mut memory.devices {
                on_device.extend_mapping(block_bytes);
            }
        }
        Ok(exec.to_handle())
    }

    /// `cudaGraphExecDestroy`: at once, even while it runs; frees nothing (R16,
    /// R41, M14).
    ///
    /// # Errors
    ///
    /// 1 for what is no exec.
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

    /// `cudaGraphUpload`: maps now what a launch in this stream needs (R32, R33).
    ///
    /// # Errors
    ///
    /// 1 for what is no exec, 400 for what is no stream, 2 when the device has
    /// not enough.
    pub fn upload(&mut self, exec: u64, stream: u64, current: i32) -> Outcome {
        let id: Id<Exec> = Id::from_handle(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        let memory = self.execs.get(id).ok_or(cudaError_t::INVALID_VALUE)?.memory;
        let stream = self.stream(stream, current)?;
        if let Some(memory) = memory {
            self.bind(memory, stream)?;
        }
        Ok(())
    }

    /// `cudaGraphLaunch`.
    ///
    /// # Errors
    ///
    /// 1 for what is no exec, and with an unfreed allocation of an earlier launch
    /// (R18) unless AutoFree ends it (R19); 400 for what is no stream; 2 when the
    /// device has not enough memory (M13). The stream stays as it was then.
    pub fn launch(&mut self, exec: u64, stream: u64, current: i32) -> Outcome {
        let id: Id<Exec> = Id::from_handle(exec).ok_or(cudaError_t::INVALID_VALUE)?;
        let exec = self.execs.get(id).ok_or(cudaError_t::INVALID_VALUE)?;
        let stream = self.stream(stream, current)?;
        let (memory, duration, previous, auto_free) =
            (exec.memory, exec.duration, exec.end, exec.auto_free);
        // Policy: a free node of another graph whose allocation is not live makes
        // the launch fail, like cudaFree of it (M8).
        if !exec.frees.iter().all(|&freed| self.is_live(freed)) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let frees = exec.frees.clone();
        if let Some(memory) = memory {
            let unfreed = self.live_of(id, memory);
            if !unfreed.is_empty() && !auto_free {
                return Err(cudaError_t::INVALID_VALUE);
            }
            if !unfreed.is_empty() {
                let time = self.enqueue(stream, 0, previous);
                for index in unfreed {
                    self.end_allocation(AllocationRef { memory, index }, Some((stream, time)));
                }
            }
            self.bind(memory, stream)?;
        }
        let end = self.enqueue(stream, duration, previous);
        if let Some(exec) = self.execs.get_mut(id) {
            exec.end = end;
        }
        if let Some(memory) = memory {
            self.run(id, memory, stream, end);
        }
        for freed in frees {
            self.end_allocation(freed, Some((stream, end)));
        }
        Ok(())
    }

    /// The exec's allocations that are live.
    fn live_of(&self, exec: Id<Exec>, memory: Id<GraphMemory>) -> Vec<u32> {
        let (Some(exec), Some(memory)) = (self.execs.get(exec), self.memories.get(memory)) else {
            return Vec::new();
        };
        exec.unfreed
            .iter()
            .copied()
            .filter(|&index| {
                memory
                    .allocations
                    .get(index as usize)
                    .is_some_and(|allocation| allocation.live)
            })
            .collect()
    }

    /// Puts physical memory behind all addresses that the exec needs.
    fn bind(&mut self, memory: Id<GraphMemory>, stream: Id<Stream>) -> Outcome {
        let block_bytes = self.profile.block_bytes();
        let user = User {
            graph: memory,
            stream,
            now: self.now(),
        };
        let Some(graph) = self.memories.get_mut(memory) else {
            return Ok(());
        };
        let mut mapped = 0;
        for on_device in &mut graph.devices {
            let Some(device) = self.devices.get_mut(on_device.device) else {
                continue;
            };
            let room = device.free_bytes(&self.profile) / block_bytes;
            mapped += device.pool.bind(&mut on_device.mapping, user, room)?;
        }
        self.charge_each(self.profile.costs_us.map_block, mapped);
        Ok(())
    }

    /// Notes what a launch uses until it ends, and what it leaves allocated.
    fn run(
        &mut self,
        exec: Id<Exec>,
        memory: Id<GraphMemory>,
        stream: Id<Stream>,
        end: crate::clock::Nanos,
    ) {
        let block_bytes = self.profile.block_bytes();
        let user = User {
            graph: memory,
            stream,
            now: self.now(),
        };
        let (Some(exec), Some(graph)) = (self.execs.get(exec), self.memories.get_mut(memory))
        else {
            return;
        };
        for on_device in &graph.devices {
            if let Some(device) = self.devices.get_mut(on_device.device) {
                device.pool.run(&on_device.mapping, user, end);
            }
        }
        for &index in &exec.unfreed {
            let Some(allocation) = graph.allocations.get_mut(index as usize) else {
                continue;
            };
            allocation.live = true;
            graph.live += 1;
            let blocks = allocation.blocks(block_bytes);
            let on = allocation.device;
            if let (Some(on_device), Some(device)) = (
                graph.devices.iter().find(|m| m.device == on),
                self.devices.get_mut(on),
            ) {
                for mapped in on_device.mapped_in(blocks, block_bytes) {
                    device.pool.hold(mapped.physical, memory);
                }
            }
        }
    }
}
