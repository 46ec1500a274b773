//! Copies, memsets and kernels: what they do to the contents of memory.
//!
//! Contents change when the call is made, not when the device would get to it: in the
//! order of the program's calls. For work that streams and events order that is the
//! same; races between streams are not shown.

use std::collections::HashMap;

use cudart_ffi::{cudaError_t, cudaMemcpyKind};

use super::{Outcome, Runtime};
use crate::c_api::pointers::{read_host, write_host};
use crate::clock::Nanos;
use crate::kernels::program::{Memory, Thread};
use crate::memory::contents::{Backing, NEVER_WRITTEN, PIECE, Place};
use crate::objects::effects::{CopyRequest, Effect, Fill, HostCall, KernelRun, Side};
use crate::profile::nanos;

/// Instructions that one kernel may take; one that takes more is ended there.
const BUDGET: u64 = 1 << 24;
/// Bytes of a copy that are in the buffer at a time.
const COPIED_AT_ONCE: u64 = 1 << 20;

impl Runtime {
    /// `cudaMemcpyAsync` and its relatives, in a stream, or a node if the stream
    /// captures. Returns when the call returns:
    /// the copy is made at once, so a program that waits for it waits for its time.
    ///
    /// # Errors
    ///
    /// 400 for what is no stream, 1 for a side on a device
    /// that is in no live allocation.
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

    /// Which kind of memory each side of a copy is, from what the program says it is, or
    /// from the addresses where it leaves that open.
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
        // Memory that both sides can reach is the program's, whatever the kind says.
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

    /// Refuses a copy whose device sides are in no live allocation.
    pub(super) fn check_copy(&self, copy: CopyRequest) -> Outcome {
        let valid = [copy.to, copy.from].iter().all(|side| match *side {
            Side::Host(address) => address != 0 || copy.bytes == 0,
            Side::Device(address) => copy.bytes == 0 || self.is_allocated(address, copy.bytes),
        });
        valid.then_some(()).ok_or(cudaError_t::INVALID_VALUE)
    }

    /// Does to memory what work does, in the order given. At a function of the program
    /// it stops: [`next_host_call`](Self::next_host_call) goes on.
    pub(super) fn apply(&mut self, effects: &[Effect]) {
        if effects.is_empty() {
            return;
        }
        // Work that waits for a function of the program comes first.
        if self.deferred.is_empty() {
            self.forget_what_went();
            let done = effects.iter().position(|effect| !self.apply_one(effect));
            let rest = done.and_then(|done| effects.get(done..));
            self.deferred
                .extend(rest.unwrap_or_default().iter().cloned());
        } else {
            self.deferred.extend(effects.iter().cloned());
        }
    }

    /// `cudaLaunchHostFunc`, or a node if the stream captures.
    ///
    /// # Errors
    ///
    /// 400 for what is no stream, 1 for no function.
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

    /// The next function of the program to call. What comes before it has been done,
    /// and the caller calls it without the lock.
    pub fn next_host_call(&mut self) -> Option<HostCall> {
        while let Some(effect) = self.deferred.pop_front() {
            if let Effect::Host(call) = effect {
                return Some(call);
            }
            self.apply_one(&effect);
        }
        None
    }

    /// Whether it could be done here: all but a function of the program can.
    fn apply_one(&mut self, effect: &Effect) -> bool {
        match effect {
            Effect::Set(fill) => self.set(fill),
            Effect::Copy(copy) => self.copy(*copy),
            Effect::Kernel(run) => self.run_kernel(run),
            Effect::Host(_) => return false,
        }
        true
    }

    fn set(&mut self, fill: &Fill) {
        let value = fill.value.to_le_bytes();
        let element = value.get(..fill.element_bytes as usize).unwrap_or(&value);
        let byte = element.first().copied().unwrap_or(0);
        let uniform = element.iter().all(|&other| other == byte);
        for (address, bytes) in fill.rows() {
            if self.is_host_memory(address, bytes) {
                let row: Vec<u8> = element
                    .iter()
                    .copied()
                    .cycle()
                    .take(bytes as usize)
                    .collect();
                write_host(address, &row);
            } else if uniform {
                self.set_row(address, byte, bytes);
            } else {
                let mut memory = View::of(self);
                for (at, byte) in
                    (address..address.saturating_add(bytes)).zip(element.iter().copied().cycle())
                {
                    memory.write(at, byte);
                }
            }
        }
    }

    fn set_row(&mut self, address: u64, value: u8, bytes: u64) {
        let end = address.saturating_add(bytes);
        let block_bytes = self.profile.block_bytes();
        let mut at = address;
        while at < end {
            // What is behind addresses may change from block to block.
            let next = (at - at % block_bytes).saturating_add(block_bytes).min(end);
            if let Some(place) = self.place_of(at) {
                self.contents.fill(place, next - at, value);
            }
            at = next;
        }
    }

    fn copy(&mut self, copy: CopyRequest) {
        let mut buffer = vec![0_u8; copy.bytes.min(COPIED_AT_ONCE) as usize];
        let mut done = 0;
        while done < copy.bytes {
            let length = (copy.bytes - done).min(COPIED_AT_ONCE);
            let piece = buffer.get_mut(..length as usize).unwrap_or_default();
            match copy.from {
                Side::Host(address) => read_host(address.wrapping_add(done), piece),
                Side::Device(address) => {
                    let mut memory = View::of(self);
                    for (at, byte) in (address.wrapping_add(done)..).zip(piece.iter_mut()) {
                        *byte = memory.read(at);
                    }
                }
            }
            match copy.to {
                Side::Host(address) => write_host(address.wrapping_add(done), piece),
                Side::Device(address) => {
                    let mut memory = View::of(self);
                    for (at, &byte) in (address.wrapping_add(done)..).zip(piece.iter()) {
                        memory.write(at, byte);
                    }
                }
            }
            done += length;
        }
    }

    fn run_kernel(&mut self, run: &KernelRun) {
        let mut budget = BUDGET;
        let mut view = View::of(self);
        for block in each(run.grid) {
            for thread in each(run.block) {
                let thread = Thread {
                    thread,
                    block,
                    threads: run.block,
                    blocks: run.grid,
                };
                let ended = run
                    .program
                    .run(&run.arguments, thread, &mut view, &mut budget);
                if ended.is_err() {
                    return;
                }
            }
        }
    }

    /// What is behind an address now.
    fn place_of(&self, address: u64) -> Option<Place> {
        let plain = self.devices.iter().any(|device| {
            device.heap.contains(address, 1) || device.async_pool.contains(address, 1)
        });
        if plain {
            return Some(Place {
                backing: Backing::Plain,
                offset: address,
            });
        }
        let block_bytes = self.profile.block_bytes();
        let block = address / block_bytes;
        self.memories
            .iter()
            .flat_map(|(_, memory)| &memory.devices)
            .find_map(|on_device| {
                let mapped = on_device.mapped_in(block..block + 1).next()?;
                let pool = &self.devices.get(on_device.device)?.pool;
                let physical = mapped.physical().filter(|&id| pool.holds(id))?;
                Some(Place {
                    backing: Backing::Block(on_device.device, physical),
                    offset: address % block_bytes,
                })
            })
    }

    /// Forgets the contents of memory that is no longer there.
    fn forget_what_went(&mut self) {
        let devices = &self.devices;
        self.contents.keep(|place| match place.backing {
            Backing::Plain => devices.iter().any(|device| {
                device.heap.contains(place.offset, 1) || device.async_pool.contains(place.offset, 1)
            }),
            Backing::Block(device, id) => devices
                .get(device)
                .is_some_and(|device| device.pool.holds(id)),
        });
    }
}

/// Memory while nothing is mapped or freed: what is behind an address is looked up once.
struct View<'r> {
    runtime: &'r mut Runtime,
    /// What is behind the pieces of the address space, by number.
    pieces: HashMap<u64, Option<Place>>,
}

impl<'r> View<'r> {
    fn of(runtime: &'r mut Runtime) -> Self {
        Self {
            runtime,
            pieces: HashMap::new(),
        }
    }

    fn place(&mut self, address: u64) -> Option<Place> {
        // Neither an allocation nor a block begins or ends within a piece.
        let (piece, within) = (address / PIECE, address % PIECE);
        let runtime = &*self.runtime;
        let start = *self
            .pieces
            .entry(piece)
            .or_insert_with(|| runtime.place_of(piece * PIECE));
        start.map(|start| Place {
            offset: start.offset + within,
            ..start
        })
    }

    fn read(&mut self, address: u64) -> u8 {
        let place = self.place(address);
        place.map_or(NEVER_WRITTEN, |place| self.runtime.contents.read(place))
    }

    /// A byte where nothing is goes nowhere: policy, since a stray write may hit
    /// anything (R11).
    fn write(&mut self, address: u64, value: u8) {
        if let Some(place) = self.place(address) {
            self.runtime.contents.write(place, value);
        }
    }
}

impl Memory for View<'_> {
    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        let mut value = [0; 8];
        for (byte, at) in value.iter_mut().take(bytes).zip(address..) {
            *byte = self.read(at);
        }
        u64::from_le_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        for (byte, at) in value.to_le_bytes().into_iter().take(bytes).zip(address..) {
            self.write(at, byte);
        }
    }
}

/// Every place of a grid or block of these extents.
fn each([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
