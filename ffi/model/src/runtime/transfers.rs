//! Copies, memsets and kernels: what they do to the contents of memory.
//!
//! Contents change when the call is made, not when the device would get to it: in the
//! order of the program's calls. For work that streams and events order that is the
//! same; races between streams are not shown.

use std::collections::HashMap;

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::kernels::program::{Memory, Thread};
use crate::memory::contents::{Backing, NEVER_WRITTEN, PIECE, Place};
use crate::objects::effects::{Effect, KernelRun};
use crate::profile::nanos;

/// Instructions that one kernel may take; one that takes more is ended there.
const BUDGET: u64 = 1 << 24;

impl Runtime {
    /// `cudaMemcpyAsync` to the device.
    ///
    /// # Errors
    ///
    /// 400 for what is no stream, 900 for one that captures, 1 for a range that is in
    /// no live allocation.
    pub fn copy_in(&mut self, address: u64, bytes: &[u8], stream: u64, current: i32) -> Outcome {
        self.begin_copy(address, bytes.len() as u64, stream, current)?;
        self.forget_what_went();
        let mut memory = View::of(self);
        for (at, &byte) in (address..).zip(bytes) {
            memory.write(at, byte);
        }
        Ok(())
    }

    /// `cudaMemcpyAsync` from the device.
    ///
    /// # Errors
    ///
    /// As for [`copy_in`](Self::copy_in).
    pub fn copy_out(
        &mut self,
        address: u64,
        bytes: u64,
        stream: u64,
        current: i32,
    ) -> Outcome<Vec<u8>> {
        self.begin_copy(address, bytes, stream, current)?;
        let mut memory = View::of(self);
        Ok((address..address.saturating_add(bytes))
            .map(|at| memory.read(at))
            .collect())
    }

    fn begin_copy(&mut self, address: u64, bytes: u64, stream: u64, current: i32) -> Outcome {
        let stream = self.stream(stream, current)?;
        if bytes > 0 && !self.is_allocated(address, bytes) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.enqueue(stream, nanos(self.profile.costs_us.kernel_on_device), 0);
        Ok(())
    }

    /// Does to memory what work does, in the order given.
    pub(super) fn apply(&mut self, effects: &[Effect]) {
        if effects.is_empty() {
            return;
        }
        self.forget_what_went();
        for effect in effects {
            match effect {
                Effect::Set {
                    address,
                    value,
                    bytes,
                } => self.set(*address, *value, *bytes),
                Effect::Kernel(run) => self.run_kernel(run),
            }
        }
    }

    fn set(&mut self, address: u64, value: u8, bytes: u64) {
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
