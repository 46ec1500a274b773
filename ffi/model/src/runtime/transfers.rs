//! Copies, memsets and kernels: their effects on the contents of memory.
//!
//! Contents change when the call is made, in the order of the program's calls, and not at
//! the time when the device would do the work. For work that streams and events order, the
//! result is the same. Races between streams are not simulated.

use cudart_ffi::{cudaError_t, cudaMemcpyKind};

use super::work::{Backing, Stretch, Surroundings, WorkQueue, carry_out, is_small};
use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::objects::effects::{CopyRequest, Effect, HostCall, Side};
use crate::profile::nanos;

impl Runtime {
    /// `cudaMemcpyAsync` and its variants. Adds a node if the stream captures. Returns
    /// the time at which the call returns. The copy itself is made at once.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 1 for a device side that is not within a
    /// live allocation.
    pub fn copy_async(&mut self, copy: CopyRequest, stream: u64, current: i32) -> Outcome<Nanos> {
        let id = self.working_stream(stream, current)?;
        if self.is_capturing(id) {
            self.capture_copy(id, copy)?;
            return Ok(self.now());
        }
        self.check_copy(copy)?;
        let end = self.enqueue(id, nanos(self.profile.costs_us.kernel_on_device), 0);
        self.apply(&[Effect::Copy(copy)]);
        Ok(end)
    }

    /// The kind of memory of each side of a copy: as the program's copy kind says, or
    /// from the addresses if the kind is `cudaMemcpyDefault`.
    ///
    /// # Errors
    ///
    /// 21 (`cudaErrorInvalidMemcpyDirection`) for an unknown kind.
    pub fn sides(&self, kind: cudaMemcpyKind, to: u64, from: u64) -> Outcome<(Side, Side)> {
        let side = |address: u64| {
            if self.is_device_memory(address) {
                Side::Device(address)
            } else {
                Side::Host(address)
            }
        };
        // Memory that host and device can both access counts as host memory,
        // whatever the kind says.
        let device = |address: u64| {
            if self.is_host_memory(address, 1) {
                Side::Host(address)
            } else {
                Side::Device(address)
            }
        };
        Ok(match kind {
            cudaMemcpyKind::HOST_TO_HOST => (Side::Host(to), Side::Host(from)),
            cudaMemcpyKind::HOST_TO_DEVICE => (device(to), Side::Host(from)),
            cudaMemcpyKind::DEVICE_TO_HOST => (Side::Host(to), device(from)),
            cudaMemcpyKind::DEVICE_TO_DEVICE => (device(to), device(from)),
            cudaMemcpyKind::DEFAULT => (side(to), side(from)),
            _ => return Err(cudaError_t(21)),
        })
    }

    /// Refuses a copy with a device side that is not within a live allocation.
    pub(super) fn check_copy(&self, copy: CopyRequest) -> Outcome {
        let valid = [copy.to, copy.from].iter().all(|side| match *side {
            Side::Host(address) => address != 0 || copy.bytes == 0,
            Side::Device(address) => copy.bytes == 0 || self.is_allocated(address, copy.bytes),
        });
        valid.then_some(()).ok_or(cudaError_t::INVALID_VALUE)
    }

    /// Applies effects to memory, in the given order: at once if they are small and no
    /// other work is waiting, otherwise when the call releases the lock
    /// ([`work`](super::work)).
    pub(super) fn apply(&mut self, effects: &[Effect]) {
        let small = effects.len() == 1 && effects.iter().all(is_small);
        if !small || !self.work.is_idle() {
            self.work.push(effects.iter().cloned());
            return;
        }
        let around = Surroundings {
            lookup: &|address| self.memory_at(address),
            conditions: &|handle| self.condition(handle),
            printed: &self.printed,
        };
        for effect in effects {
            carry_out(effect, around);
        }
    }

    /// `cudaLaunchHostFunc`. Adds a node if the stream captures.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 1 for a null function.
    pub fn launch_host_function(&mut self, call: HostCall, stream: u64, current: i32) -> Outcome {
        let id = self.working_stream(stream, current)?;
        if call.function == 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if self.is_capturing(id) {
            return self.capture_host(id, call);
        }
        self.enqueue(id, 0, 0);
        self.apply(&[Effect::Host(call)]);
        Ok(())
    }

    /// The work that is waiting.
    pub fn work(&mut self) -> &mut WorkQueue {
        &mut self.work
    }

    /// The memory that contains an address now, with its extent.
    #[must_use]
    pub fn memory_at(&self, address: u64) -> Stretch {
        if let Some(variables) = self.variables_at(address) {
            return variables;
        }
        let mut next = self.next_host_memory(address).unwrap_or(u64::MAX);
        for (index, device) in self.devices.iter().enumerate() {
            let plain = device.heap.find(address);
            if let Some((start, bytes, contents)) = plain.or(device.async_pool.find(address)) {
                return Stretch {
                    start: address,
                    end: start.saturating_add(bytes),
                    backing: Backing::Device(contents.share(), address - start),
                };
            }
            if let Some((start, end, memory)) = device.segment_of(address) {
                let block_bytes = self.profile.block_bytes();
                let block = address / block_bytes;
                let within = address - address % block_bytes;
                let physical = self
                    .memories
                    .get(memory)
                    .and_then(|memory| memory.devices.iter().find(|m| m.device == index))
                    .and_then(|on_device| on_device.mapped_in(block..block + 1).next())
                    .and_then(|mapped| device.pool.contents(mapped.physical()?));
                debug_assert!(start <= address, "the segment contains the address");
                return Stretch {
                    start: address,
                    end: within.saturating_add(block_bytes).min(end),
                    backing: match physical {
                        Some(contents) => Backing::Device(contents.share(), address - within),
                        None => Backing::Nothing,
                    },
                };
            }
            for above in [
                device.heap.next_above(address),
                device.async_pool.next_above(address),
                device.next_segment(address),
            ] {
                next = next.min(above.unwrap_or(u64::MAX));
            }
        }
        if let Some((start, bytes, contents)) = self.physical.find(address) {
            return Stretch {
                start: address,
                end: start.saturating_add(bytes),
                backing: Backing::Device(contents.share(), address - start),
            };
        }
        next = next.min(self.physical.next_above(address).unwrap_or(u64::MAX));
        let in_host = self.host_memory_end(address);
        Stretch {
            start: address,
            end: in_host.unwrap_or(next),
            backing: match in_host {
                Some(_) => Backing::Host,
                None => Backing::Nothing,
            },
        }
    }
}
