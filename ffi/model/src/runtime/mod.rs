//! The state of one simulated CUDA runtime, and the effects of its calls.
//!
//! All code here is safe Rust on plain values; pointers and C strings are handled in
//! `c_api`. Each method is one function of the runtime. They are grouped by topic:
//! `device`, `streams`, `memory`, `stream_ordered`, `contents`, `graphs`, `capture`,
//! `launch`, `kernels`.
//!
//! Errors are given as the numbers of `cudaError_t`, which are mostly also those of
//! `CUresult`:
//!
//! | number | name |
//! |---|---|
//! | 1 | cudaErrorInvalidValue |
//! | 2 | cudaErrorMemoryAllocation |
//! | 9 | cudaErrorInvalidConfiguration |
//! | 21 | cudaErrorInvalidMemcpyDirection |
//! | 98 | cudaErrorInvalidDeviceFunction |
//! | 100 | cudaErrorNoDevice |
//! | 101 | cudaErrorInvalidDevice |
//! | 201 | cudaErrorDeviceUninitialized |
//! | 209 | cudaErrorNoKernelImageForDevice |
//! | 215 | cudaErrorUnsupportedLimit |
//! | 218 | cudaErrorInvalidPtx |
//! | 222 | cudaErrorUnsupportedPtxVersion |
//! | 400 | cudaErrorInvalidResourceHandle |
//! | 401 | cudaErrorIllegalState |
//! | 500 | cudaErrorSymbolNotFound |
//! | 600 | cudaErrorNotReady |
//! | 709 | cudaErrorContextIsDestroyed |
//! | 712 | cudaErrorHostMemoryAlreadyRegistered |
//! | 713 | cudaErrorHostMemoryNotRegistered |
//! | 720 | cudaErrorCooperativeLaunchTooLarge |
//! | 801 | cudaErrorNotSupported |
//! | 900 | cudaErrorStreamCaptureUnsupported |
//! | 901 | cudaErrorStreamCaptureInvalidated |
//! | 902 | cudaErrorStreamCaptureMerge |
//! | 903 | cudaErrorStreamCaptureUnmatched |
//! | 904 | cudaErrorStreamCaptureUnjoined |
//! | 905 | cudaErrorStreamCaptureIsolation |
//! | 906 | cudaErrorStreamCaptureImplicit |
//! | 907 | cudaErrorCapturedEvent |
//! | 908 | cudaErrorStreamCaptureWrongThread |
//! | 910 | cudaErrorGraphExecUpdateFailure |

mod capture;
mod conditional;
mod contexts;
mod device;
mod dot;
mod exec_nodes;
mod graphs;
mod host_memory;
mod kernel_attributes;
mod kernels;
mod launch;
mod managed;
mod memory;
mod modules;
mod nodes;
mod physical;
mod printed;
mod queries;
mod rows;
mod settings;
mod stream_ordered;
mod streams;
mod transfers;
mod variables;
mod view;
mod work;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cudart_ffi::cudaError_t;

pub use capture::{Caller, CaptureInfo};
pub use device::Properties;
pub use dot::RUNTIME_TYPES as DOT_RUNTIME_TYPES;
pub use graphs::AllocRequest;
pub use host_memory::Pointer;
pub use kernel_attributes::KernelAttributes;
pub use kernels::KernelRequest;
pub use managed::Place;
pub use physical::GRANULARITY as PHYSICAL_GRANULARITY;
pub use queries::{Edge, UpdateRefused};
pub use rows::Rows;
pub use settings::Settings;
pub use streams::STREAM_PRIORITIES;

use crate::clock::{Clock, ClockKind, Nanos};
use crate::kernels::variables::ModuleMemory;
use crate::memory::address::VaSegments;
use crate::memory::async_pool::AsyncPool;
use crate::memory::graph_memory::{AllocationRef, GraphMemory};
use crate::memory::heap::Heap;
use crate::memory::pool::Pool;
use crate::objects::exec::Exec;
use crate::objects::graph::{Graph, NodePlace};
use crate::objects::id::{MemoryId, StreamId, kind};
use crate::objects::slab::Slab;
use crate::objects::stream::{Event, Stream, StreamKind};
use crate::profile::{Profile, nanos};
use capture::Captures;
use conditional::Condition;
use contexts::Contexts;
use host_memory::HostAllocation;
use kernels::{Kernel, Library};
use modules::{Function, Module};
use physical::PhysicalMemory;
pub use printed::Printed;
pub use work::{Backing, Stretch, Surroundings, WorkQueue, carry_out};

/// The result of a call: a value, or the error code that the call returns.
pub type Outcome<T = ()> = Result<T, cudaError_t>;

/// Objects that a program has not destroyed or freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct LiveObjects {
    /// Graphs.
    pub graphs: u64,
    /// Instantiated graphs.
    pub execs: u64,
    /// Streams that the program made.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Plain and pool allocations, and allocations of launched graphs that were not
    /// freed.
    pub allocations: u64,
    /// Loaded libraries of kernels.
    pub libraries: u64,
}

impl LiveObjects {
    /// The counts in the order in which `cudartModelLiveObjects` writes them:
    /// graphs, execs, streams, events, allocations, libraries.
    #[must_use]
    pub fn to_array(self) -> [u64; 6] {
        [
            self.graphs,
            self.execs,
            self.streams,
            self.events,
            self.allocations,
            self.libraries,
        ]
    }
}

/// One device.
#[derive(Debug)]
struct Device {
    pool: Pool,
    heap: Heap,
    /// The pool from which `cudaMallocAsync` allocates.
    async_pool: AsyncPool,
    /// The addresses that graphs share.
    va_segments: VaSegments,
    /// The segments that graphs have reserved. The key is the first address; the value
    /// is the end address and the memory of the graph.
    reserved: BTreeMap<u64, (u64, MemoryId)>,
    /// The time at which all work submitted to it so far ends.
    end: Nanos,
    /// The same for its blocking streams, for which the default stream waits.
    blocking_end: Nanos,
    default_stream: StreamId,
    /// Bytes of physical memory that the program created itself.
    created_bytes: u64,
}

/// One simulated runtime.
#[derive(Debug)]
pub struct Runtime {
    profile: Profile,
    clock: Clock,
    devices: Vec<Device>,
    streams: Slab<kind::Stream, Stream>,
    events: Slab<kind::Event, Event>,
    graphs: Slab<kind::Graph, Graph>,
    nodes: Slab<kind::Node, NodePlace>,
    execs: Slab<kind::Exec, Exec>,
    memories: Slab<kind::Memory, GraphMemory>,
    libraries: Slab<kind::Library, Library>,
    kernels: Slab<kind::Kernel, Kernel>,
    /// Memory of modules' variables, by address.
    variables: BTreeMap<u64, Arc<ModuleMemory>>,
    /// Settings of the devices.
    settings: Settings,
    /// What kernels have written with `printf`.
    printed: Printed,
    /// Allocations that their own graph does not free, by address.
    unfreed: HashMap<u64, AllocationRef>,
    /// The live allocations of graphs, by address. No two of them overlap.
    live: BTreeMap<u64, AllocationRef>,
    /// The number of graphs created so far, from which a new graph gets its number.
    graphs_made: u64,
    /// Pinned and managed memory, by address.
    host: BTreeMap<u64, HostAllocation>,
    /// Work on memory that is waiting.
    work: WorkQueue,
    /// The per-thread default streams, by thread and device.
    per_thread: HashMap<(u64, usize), StreamId>,
    /// The conditions of the conditional handles, which are counted from 1.
    conditions: Vec<Condition>,
    /// The active captures.
    captures: Captures,
    /// The thread that makes the current call.
    caller: Caller,
    /// Whether the process is a forked child whose parent has used CUDA.
    forked: bool,
    contexts: Contexts,
    physical: PhysicalMemory,
    modules: Slab<kind::Module, Module>,
    functions: Slab<kind::DriverFunction, Function>,
}

impl Runtime {
    /// A new process with the GPUs of the profile.
    #[must_use]
    pub fn new(profile: Profile, clock: ClockKind) -> Self {
        let mut streams = Slab::default();
        let mut devices = Vec::new();
        let block_bytes = profile.block_bytes();
        for device in 0..usize::try_from(profile.devices).unwrap_or(0) {
            let stream = Stream {
                device,
                kind: StreamKind::Default,
                priority: 0,
                end: 0,
                graphs: [None; 2],
            };
            let Some(default_stream) = streams.insert(stream) else {
                break;
            };
            let addresses = profile.addresses_of(device);
            devices.push(Device {
                pool: Pool::default(),
                heap: Heap::new(addresses.plain),
                async_pool: AsyncPool::new(addresses.pool),
                va_segments: VaSegments::new(addresses.graphs, block_bytes),
                reserved: BTreeMap::new(),
                end: 0,
                blocking_end: 0,
                default_stream,
                created_bytes: 0,
            });
        }
        Self {
            clock: Clock::start(clock),
            profile,
            devices,
            streams,
            events: Slab::default(),
            graphs: Slab::default(),
            nodes: Slab::default(),
            execs: Slab::default(),
            memories: Slab::default(),
            libraries: Slab::default(),
            kernels: Slab::default(),
            variables: BTreeMap::new(),
            printed: Printed::default(),
            settings: Settings::default(),
            unfreed: HashMap::new(),
            live: BTreeMap::new(),
            graphs_made: 0,
            host: BTreeMap::new(),
            work: WorkQueue::default(),
            per_thread: HashMap::new(),
            contexts: Contexts::default(),
            physical: PhysicalMemory::default(),
            modules: Slab::default(),
            functions: Slab::default(),
            conditions: Vec::new(),
            captures: Captures::default(),
            caller: Caller::default(),
            forked: false,
        }
    }

    /// The GPU to simulate.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The running clock.
    pub fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    fn charge_each(&mut self, microseconds: f64, times: u64) {
        self.clock.charge(nanos(microseconds).saturating_mul(times));
    }

    /// The error code of every call that needs a driver and a device, if none of them
    /// can work.
    #[must_use]
    pub fn startup_error(&self) -> Option<cudaError_t> {
        let driver = self.profile.driver_version;
        if driver == 0 || driver / 1000 < self.profile.runtime_version / 1000 {
            Some(cudaError_t::INSUFFICIENT_DRIVER)
        } else if self.devices.is_empty() {
            Some(cudaError_t::NO_DEVICE)
        } else {
            None
        }
    }

    /// Records whether the process is a forked child whose parent had used CUDA.
    pub fn note_fork(&mut self, forked: bool) {
        self.forked = forked;
    }

    /// Refuses a call that needs the driver's context, in a forked child.
    fn has_context(&self) -> Outcome {
        match self.forked {
            true => Err(cudaError_t::INITIALIZATION_ERROR),
            false => Ok(()),
        }
    }

    /// Whether a default pool has physical memory.
    #[must_use]
    pub fn has_pooled_memory(&self) -> bool {
        let reserved = |device: &Device| device.async_pool.reserved() > 0;
        self.devices.iter().any(reserved)
    }

    /// Objects that the program has not destroyed or freed.
    #[must_use]
    pub fn live_objects(&self) -> LiveObjects {
        let plain: usize = self
            .devices
            .iter()
            .map(|device| device.heap.count() + device.async_pool.count())
            .sum();
        let unfreed: u64 = self
            .memories
            .iter()
            .map(|(_, memory)| u64::from(memory.live))
            .sum();
        LiveObjects {
            graphs: self
                .graphs
                .iter()
                .filter(|(_, graph)| !graph.is_child)
                .count() as u64,
            execs: self.execs.count() as u64,
            streams: (self.streams.count() - self.devices.len() - self.per_thread.len()) as u64,
            events: self.events.count() as u64,
            allocations: plain as u64 + unfreed,
            libraries: self.libraries.count() as u64,
        }
    }

    fn device(&self, device: i32) -> Outcome<(usize, &Device)> {
        let index = usize::try_from(device).map_err(|_| cudaError_t::INVALID_DEVICE)?;
        let found = self.devices.get(index).ok_or(cudaError_t::INVALID_DEVICE)?;
        Ok((index, found))
    }

    fn device_mut(&mut self, device: i32) -> Outcome<&mut Device> {
        let index = usize::try_from(device).map_err(|_| cudaError_t::INVALID_DEVICE)?;
        self.devices
            .get_mut(index)
            .ok_or(cudaError_t::INVALID_DEVICE)
    }
}

impl Device {
    /// The segment of a graph that contains an address: its first address, its end
    /// address, and the memory of the graph.
    fn segment_of(&self, address: u64) -> Option<(u64, u64, MemoryId)> {
        let (&start, &(end, memory)) = self.reserved.range(..=address).next_back()?;
        (address < end).then_some((start, end, memory))
    }

    /// The first address of the next segment above an address.
    fn next_segment(&self, address: u64) -> Option<u64> {
        let (&start, _) = self.reserved.range(address.checked_add(1)?..).next()?;
        Some(start)
    }

    /// Bytes that are not used by the context, plain allocations or the pools.
    fn free_bytes(&self, profile: &Profile) -> u64 {
        profile
            .total_bytes()
            .saturating_sub(profile.start_bytes())
            .saturating_sub(self.heap.physical_bytes())
            .saturating_sub(self.async_pool.reserved())
            .saturating_sub(self.created_bytes)
            .saturating_sub(self.pool.reserved().saturating_mul(profile.block_bytes()))
    }
}
