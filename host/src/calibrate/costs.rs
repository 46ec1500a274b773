//! How long calls and work take.
//!
//! Times are differences of events in a stream that is idle otherwise, so they are host
//! time on a GPU, and simulated time on the simulated GPU. Each is a median.

use cuda_graphs::{
    Buffer, Device, Event, Graph, GraphExec, Result, RouteChoice, Runtime, SpinKernel, Stream,
};

use super::settings::Settings;
use crate::cli::exit::Stop;
use crate::kernel::ptx::KernelSource;
use crate::results::trend::median;

/// Measurements of each cost. The median of an odd number is one of them.
const ROUNDS: usize = 15;

/// Calls that one measurement makes of a call that takes a few microseconds.
const CALLS: usize = 100;

/// Graphs, buffers and libraries that exist at the same time in one measurement.
const OBJECTS: usize = 16;

/// The most blocks to map at once: 1 GiB on an H200.
const BLOCKS: u64 = 32;

/// Kernels in the longer of the two graphs from whose times that of a kernel is computed.
const KERNELS: usize = 33;

/// How long a stream is kept busy, so that the work behind it is in the queue before it
/// begins, in milliseconds.
const HEAD_START_MS: i64 = 2;

/// Measures every cost. `block` is the granularity of physical memory in bytes.
pub fn all(
    runtime: &Runtime,
    device: &Device<'_>,
    kernel: &SpinKernel<'_>,
    block: u64,
    to: &mut Settings,
) -> Result<()> {
    let bench = Bench {
        runtime,
        device: *device,
        kernel,
        clock: Stream::new(runtime)?,
        work: Stream::new(runtime)?,
    };
    let mut cost = |name, us: f64| to.cost(name, us);
    cost("call", bench.call_us()?);
    cost("graph_create", bench.graph_create_us()?);
    cost("add_node", bench.add_node_us()?);
    cost("instantiate", bench.instantiate_us()?);
    let launch = bench.launch_us()?;
    cost("launch", launch);
    let (map, unmap) = bench.mapping_us(block, launch)?;
    cost("map_block", map);
    cost("unmap_block", unmap);
    let (malloc, free) = bench.malloc_us()?;
    cost("malloc", malloc);
    cost("free", free);
    cost("free_async", bench.free_async_us()?);
    let (graph, kernel) = bench.on_device_us()?;
    cost("graph_on_device", graph);
    cost("kernel_on_device", kernel);
    Ok(())
}

/// Loads the kernel, and how many microseconds that took: once, because a program loads a
/// library once, and loading it again costs less.
pub fn load<'rt>(
    runtime: &'rt Runtime,
    device: &Device<'rt>,
    source: &KernelSource,
    route: RouteChoice,
) -> std::result::Result<(SpinKernel<'rt>, f64), Stop> {
    let capability = device.info()?.compute_capability;
    let clock = Stream::new(runtime)?;
    let overhead = between_events(runtime, &clock, || Ok(()))?;
    let mut loaded = None;
    let us = between_events(runtime, &clock, || {
        loaded = Some(source.load(runtime, capability, route));
        Ok(())
    })?;
    let Some(kernel) = loaded else {
        unreachable!("the action ran, as no error ended it");
    };
    Ok((kernel?, (us - overhead).max(0.0)))
}

fn between_events<'rt>(
    runtime: &'rt Runtime,
    clock: &Stream<'rt>,
    action: impl FnOnce() -> Result<()>,
) -> Result<f64> {
    let (start, end) = (Event::new(runtime)?, Event::new(runtime)?);
    start.record(clock)?;
    // Complete before the action begins: it may wait for the device.
    start.synchronize()?;
    action()?;
    end.record(clock)?;
    end.synchronize()?;
    Ok(f64::from(end.elapsed_ms_since(&start)?) * 1e3)
}

/// What the measurements need.
struct Bench<'rt, 'a> {
    runtime: &'rt Runtime,
    device: Device<'rt>,
    kernel: &'a SpinKernel<'rt>,
    /// The stream of the events, idle otherwise.
    clock: Stream<'rt>,
    /// The stream of the work.
    work: Stream<'rt>,
}

impl<'rt> Bench<'rt, '_> {
    /// Microseconds that the action takes, without those of the event after it.
    fn us(&self, action: impl FnOnce() -> Result<()>) -> Result<f64> {
        let overhead = between_events(self.runtime, &self.clock, || Ok(()))?;
        Ok((between_events(self.runtime, &self.clock, action)? - overhead).max(0.0))
    }

    /// The median of some measurements of an action, for each of its calls.
    fn each(&self, calls: usize, mut action: impl FnMut() -> Result<()>) -> Result<f64> {
        let mut all = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            all.push(self.us(&mut action)? / calls as f64);
            self.work.synchronize()?;
        }
        Ok(median(all))
    }

    /// `cudaDeviceGetGraphMemAttribute`, as a call that only looks something up.
    fn call_us(&self) -> Result<f64> {
        let memory = self.device.graph_memory();
        self.each(CALLS, || {
            (0..CALLS).try_for_each(|_| memory.used_bytes().map(drop))
        })
    }

    fn graph_create_us(&self) -> Result<f64> {
        let mut kept = Vec::new();
        self.each(OBJECTS, || {
            for _ in 0..OBJECTS {
                kept.push(Graph::new(self.runtime, self.device.ordinal())?);
            }
            Ok(())
        })
    }

    /// Nodes of the three types that graphs with memory have.
    fn add_node_us(&self) -> Result<f64> {
        let mut all = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let graphs = (0..OBJECTS)
                .map(|_| Graph::new(self.runtime, self.device.ordinal()))
                .collect::<Result<Vec<_>>>()?;
            let nodes = (3 * OBJECTS) as f64;
            all.push(self.us(|| graphs.iter().try_for_each(|graph| self.fill(graph, 1)))? / nodes);
        }
        Ok(median(all))
    }

    fn instantiate_us(&self) -> Result<f64> {
        let graphs = (0..OBJECTS)
            .map(|_| {
                let graph = Graph::new(self.runtime, self.device.ordinal())?;
                self.fill(&graph, 1)?;
                Ok(graph)
            })
            .collect::<Result<Vec<_>>>()?;
        let mut all = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let mut execs = Vec::with_capacity(OBJECTS);
            let us = self.us(|| {
                for graph in &graphs {
                    execs.push(graph.instantiate()?);
                }
                Ok(())
            })?;
            all.push(us / OBJECTS as f64);
            // A graph with memory nodes can be instantiated once at a time (R19).
            execs.into_iter().try_for_each(GraphExec::destroy)?;
        }
        Ok(median(all))
    }

    /// A launch of a graph whose memory is mapped.
    fn launch_us(&self) -> Result<f64> {
        let exec = self.exec(1)?;
        self.launch(&exec)?;
        self.each(CALLS, || {
            (0..CALLS).try_for_each(|_| exec.launch(&self.work).map(drop))
        })
    }

    /// What each block adds to a launch that maps it, and to the trim that unmaps it.
    fn mapping_us(&self, block: u64, launch: f64) -> Result<(f64, f64)> {
        let memory = self.device.graph_memory();
        memory.trim()?;
        let free = memory.snapshot()?.device_free_bytes;
        let blocks = (free / 4 / block.max(1)).clamp(1, BLOCKS);
        let exec = self.exec(block.saturating_mul(blocks))?;
        // The first graph with memory nodes in a process costs more, once.
        self.launch(&exec)?;
        let (mut map, mut unmap) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            memory.trim()?;
            map.push((self.us(|| exec.launch(&self.work).map(drop))? - launch) / blocks as f64);
            self.work.synchronize()?;
            unmap.push(self.us(|| memory.trim())? / blocks as f64);
        }
        Ok((median(map).max(0.0), median(unmap)))
    }

    /// `cudaMalloc` and `cudaFree` of 64 MiB, or of less where there is less.
    fn malloc_us(&self) -> Result<(f64, f64)> {
        let free = self.device.graph_memory().snapshot()?.device_free_bytes;
        let bytes = (free / 4 / OBJECTS as u64).clamp(1, 64 << 20);
        let (mut malloc, mut freed) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut buffers = Vec::with_capacity(OBJECTS);
            let us = self.us(|| {
                for _ in 0..OBJECTS {
                    buffers.push(Buffer::new(self.runtime, bytes)?);
                }
                Ok(())
            })?;
            malloc.push(us / OBJECTS as f64);
            let us = self.us(|| buffers.into_iter().try_for_each(Buffer::free))?;
            freed.push(us / OBJECTS as f64);
        }
        Ok((median(malloc), median(freed)))
    }

    /// `cudaMallocAsync` and `cudaFreeAsync` of memory that the pool has, half of both.
    fn free_async_us(&self) -> Result<f64> {
        let pool = self.device.default_pool()?.keep_freed()?;
        let both = self.each(CALLS, || {
            (0..CALLS).try_for_each(|_| self.work.allocate(1 << 20)?.free_async(&self.work))
        })?;
        drop(pool);
        Ok(both / 2.0)
    }

    /// What a graph takes on the device beside its kernels, and what a kernel takes that
    /// ends at once.
    fn on_device_us(&self) -> Result<(f64, f64)> {
        let (one, many) = (self.kernels(1)?, self.kernels(KERNELS)?);
        let head_start = i64::from(self.device.clock_rate_khz()?) * HEAD_START_MS;
        let (mut graph, mut kernel) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let one = self.on_device_once(&one, head_start)?;
            let many = self.on_device_once(&many, head_start)?;
            // The first launches load the kernel.
            if round > 0 {
                let each = (many - one) / (KERNELS - 1) as f64;
                kernel.push(each);
                graph.push(one - each);
            }
        }
        Ok((median(graph).max(0.0), median(kernel).max(0.0)))
    }

    fn on_device_once(&self, exec: &GraphExec<'rt>, head_start: i64) -> Result<f64> {
        let (start, end) = (Event::new(self.runtime)?, Event::new(self.runtime)?);
        self.kernel.launch(&self.work, head_start)?;
        start.record(&self.work)?;
        exec.launch(&self.work).map(drop)?;
        end.record(&self.work)?;
        end.synchronize()?;
        Ok(f64::from(end.elapsed_ms_since(&start)?) * 1e3)
    }

    /// A chain of kernels that end at once.
    fn kernels(&self, count: usize) -> Result<GraphExec<'rt>> {
        let graph = Graph::new(self.runtime, self.device.ordinal())?;
        let mut last = graph.add_spin(&[], self.kernel, 0)?;
        for _ in 1..count {
            last = graph.add_spin(&[last], self.kernel, 0)?;
        }
        graph.instantiate()
    }

    fn exec(&self, bytes: u64) -> Result<GraphExec<'rt>> {
        let graph = Graph::new(self.runtime, self.device.ordinal())?;
        self.fill(&graph, bytes)?;
        graph.instantiate()
    }

    /// Allocate, run a kernel that ends at once, free.
    fn fill(&self, graph: &Graph<'rt>, bytes: u64) -> Result<()> {
        let alloc = graph.add_alloc(&[], bytes)?;
        let kernel = graph.add_spin(&[alloc.node], self.kernel, 0)?;
        graph.add_free(&[kernel], alloc.address)?;
        Ok(())
    }

    fn launch(&self, exec: &GraphExec<'rt>) -> Result<()> {
        exec.launch(&self.work).map(drop)?;
        self.work.synchronize()
    }
}
