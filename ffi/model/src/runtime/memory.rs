//! Plain allocations, and frees of plain memory and graph memory.

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::memory::graph_memory::AllocationRef;
use crate::objects::effects::{Effect, Fill};
use crate::objects::id::MemoryId;

impl Runtime {
    /// `cudaMalloc` on the current device. For 0 bytes it returns 0.
    ///
    /// # Errors
    ///
    /// 2 if the device has not enough memory, even after the graph memory pool was
    /// trimmed.
    pub fn malloc(&mut self, bytes: u64, current: i32) -> Outcome<u64> {
        self.has_context()?;
        if bytes == 0 {
            return Ok(0);
        }
        self.settle_frees();
        let now = self.now();
        let (index, _) = self.device(current)?;
        let device = self
            .devices
            .get_mut(index)
            .ok_or(cudaError_t::INVALID_DEVICE)?;
        let room = device.free_bytes(&self.profile);
        if let Some(address) = device.heap.allocate(bytes, room) {
            return Ok(address);
        }
        // The pool is trimmed first, even if that does not free enough.
        device.pool.trim(now);
        let room = device.free_bytes(&self.profile);
        device
            .heap
            .allocate(bytes, room)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cudaFree`. Returns the time at which the call returns: a free of plain memory
    /// waits for the device, a free of graph memory does not (R9).
    ///
    /// # Errors
    ///
    /// 1 if no live allocation starts at the address: its graph was never launched
    /// (M8), it was already freed (M6), or its own graph frees it (R13).
    pub fn free(&mut self, address: u64) -> Outcome<Nanos> {
        let now = self.now();
        if address == 0 {
            return Ok(now);
        }
        if let Some(allocation) = self.live_at(address) {
            self.end_allocation(allocation, None);
            return Ok(now);
        }
        for device in &mut self.devices {
            // An allocation with a pending cudaFreeAsync is freed at once.
            if device.heap.free(address) {
                return Ok(device.end);
            }
        }
        let end = self.devices.iter().map(|device| device.end).max();
        if self.free_pooled(address, now) || self.free_managed(address) {
            return Ok(end.unwrap_or(now));
        }
        Err(cudaError_t::INVALID_VALUE)
    }

    /// `cudaFreeAsync`: frees an allocation in the stream's order, or adds a free node
    /// if the stream captures (R17).
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 1 for an address at which no live
    /// allocation starts.
    pub fn free_async(&mut self, address: u64, stream: u64, current: i32) -> Outcome {
        let stream = self.working_stream(stream, current)?;
        if self.is_capturing(stream) {
            return self.capture_free(stream, address);
        }
        self.refuse_unsafe()?;
        if address == 0 {
            return Ok(());
        }
        if let Some(allocation) = self.live_at(address) {
            let time = self.enqueue(stream, 0, 0);
            self.end_allocation(allocation, Some(time));
            return Ok(());
        }
        let Some(index) = self
            .devices
            .iter()
            .position(|device| device.heap.starts_at(address))
        else {
            let time = self.enqueue(stream, 0, 0);
            return match self.free_pooled(address, time) {
                true => Ok(()),
                false => Err(cudaError_t::INVALID_VALUE),
            };
        };
        let time = self.enqueue(stream, 0, 0);
        if let Some(device) = self.devices.get_mut(index) {
            device.heap.free_at(address, time);
        }
        Ok(())
    }

    /// `cudaMemGetInfo` of the current device: free and total bytes. The blocks that
    /// the graph memory pool has reserved are not free.
    ///
    /// # Errors
    ///
    /// 101 if the current device does not exist.
    pub fn mem_info(&mut self, current: i32) -> Outcome<(u64, u64)> {
        self.settle_frees();
        let (_, device) = self.device(current)?;
        Ok((device.free_bytes(&self.profile), self.profile.total_bytes()))
    }

    /// `cudaMemsetAsync` and its variants. Adds a node if the stream captures.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 1 for a range that is not within a live
    /// allocation.
    pub fn set_async(&mut self, fill: Fill, stream: u64, current: i32) -> Outcome {
        let stream = self.working_stream(stream, current)?;
        if fill.width == 0 || fill.height == 0 {
            return Ok(());
        }
        if self.is_capturing(stream) {
            return self.capture_set(stream, fill);
        }
        // The range from the first row to the last must be within one allocation.
        let last = fill.rows().last().unwrap_or((fill.address, 0));
        let bytes = last.0.saturating_add(last.1) - fill.address;
        if !self.is_allocated(fill.address, bytes) && !self.is_host_memory(fill.address, bytes) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let duration = crate::profile::nanos(self.profile.costs_us.kernel_on_device);
        self.enqueue(stream, duration, 0);
        self.apply(&[Effect::Set(fill)]);
        Ok(())
    }

    pub(super) fn is_allocated(&self, address: u64, bytes: u64) -> bool {
        self.devices.iter().any(|device| {
            device.heap.contains(address, bytes) || device.async_pool.contains(address, bytes)
        }) || self.physical.contains(address, bytes)
            || self.has_variables(address, bytes)
            || self.live_around(address).is_some_and(|(start, length)| {
                address
                    .checked_add(bytes)
                    .is_some_and(|end| end <= start + length)
            })
    }

    /// The device whose memory is at an address.
    pub(super) fn device_of(&self, address: u64) -> Option<i32> {
        let found = self.devices.iter().position(|device| {
            device.heap.contains(address, 1)
                || device.async_pool.contains(address, 1)
                || device.segment_of(address).is_some()
        });
        match found {
            Some(device) => i32::try_from(device).ok(),
            // Simplification: other device memory is attributed to the first
            // device.
            None => self.is_allocated(address, 1).then_some(0),
        }
    }

    /// The live graph allocation that starts at or nearest below an address: its first
    /// address and its size in bytes.
    fn live_around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, which) = self.live.range(..=address).next_back()?;
        let memory = self.memories.get(which.memory)?;
        let allocation = memory.allocations.get(which.index as usize)?;
        Some((start, allocation.bytes))
    }

    fn settle_frees(&mut self) {
        let now = self.now();
        for device in &mut self.devices {
            device.heap.settle(now);
        }
    }

    /// The live graph allocation that starts at an address.
    pub(super) fn live_at(&self, address: u64) -> Option<AllocationRef> {
        self.live.get(&address).copied()
    }

    /// Whether an allocation was launched and not freed since.
    pub(super) fn is_live(&self, allocation: AllocationRef) -> bool {
        self.memories
            .get(allocation.memory)
            .and_then(|memory| memory.allocations.get(allocation.index as usize))
            .is_some_and(|allocation| allocation.live)
    }

    /// Ends a live allocation, and subtracts it from the counts of its blocks.
    pub(super) fn end_allocation(&mut self, which: AllocationRef, at: Option<Nanos>) {
        let Some(memory) = self.memories.get_mut(which.memory) else {
            return;
        };
        let Some(allocation) = memory.allocations.get_mut(which.index as usize) else {
            return;
        };
        if !allocation.live {
            return;
        }
        allocation.live = false;
        memory.live -= 1;
        self.live.remove(&allocation.address);
        let block_bytes = self.profile.block_bytes();
        let blocks = allocation.blocks(block_bytes);
        let device = allocation.device;
        if let Some(on_device) = memory.devices.iter().find(|m| m.device == device)
            && let Some(device) = self.devices.get_mut(device)
        {
            for mapped in on_device.mapped_in(blocks) {
                device.pool.release(mapped, at);
            }
        }
        self.drop_if_over(which.memory);
    }

    /// Removes a graph's memory once nothing needs it: its addresses are then free.
    pub(super) fn drop_if_over(&mut self, id: MemoryId) {
        if !self.memories.get(id).is_some_and(|memory| memory.is_over()) {
            return;
        }
        let Some(memory) = self.memories.remove(id) else {
            return;
        };
        for allocation in &memory.allocations {
            if self
                .unfreed
                .get(&allocation.address)
                .is_some_and(|open| open.memory == id)
            {
                self.unfreed.remove(&allocation.address);
            }
        }
        for on_device in &memory.devices {
            if let Some(device) = self.devices.get_mut(on_device.device) {
                for segment in on_device.space.segments() {
                    device.reserved.remove(&segment.start);
                }
                device.va_segments.give_back(on_device.space.segments());
            }
        }
    }
}
