//! A graph that allocates, runs a kernel and frees, launched on two streams: how much
//! physical memory the device maps for it.
//!
//! Runs on the simulated runtime, or on a GPU with the libcudart that the first argument
//! names: `cargo run --example memory_nodes -- /usr/local/cuda/lib64/libcudart.so`

use std::error::Error;

use cuda_graphs::{Device, Graph, GraphExec, RouteChoice, Runtime, Search, SpinKernel, Stream};

const BYTES: u64 = 64 << 20;
/// Some ten milliseconds.
const CLOCKS: i64 = 20_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = match std::env::args_os().nth(1) {
        Some(path) => Runtime::load(&Search::explicit(path))?,
        None => Runtime::built_in_model(),
    };
    let device = Device::new(&runtime, 0);
    device.make_current()?;
    let capability = device.info()?.compute_capability;
    let spin = SpinKernel::load_ready(&runtime, capability, RouteChoice::Auto)?;

    let first = alloc_spin_free(&runtime, &spin)?;
    let second = alloc_spin_free(&runtime, &spin)?;
    let (one, other) = (Stream::new(&runtime)?, Stream::new(&runtime)?);
    let memory = device.graph_memory();
    let used_mib = || memory.used_bytes().map(|bytes| bytes >> 20);

    println!("before any launch             {:>4} MiB", used_mib()?);
    launch(&first, &one)?;
    println!("one graph runs                {:>4} MiB", used_mib()?);
    launch(&second, &other)?;
    println!("two graphs run at once        {:>4} MiB", used_mib()?);
    one.synchronize()?;
    other.synchronize()?;

    memory.trim()?;
    launch(&first, &one)?;
    one.synchronize()?;
    launch(&second, &other)?;
    other.synchronize()?;
    println!("two graphs, one after another {:>4} MiB", used_mib()?);
    memory.trim()?;
    Ok(())
}

fn alloc_spin_free<'rt>(
    runtime: &'rt Runtime,
    spin: &SpinKernel<'rt>,
) -> cuda_graphs::Result<GraphExec<'rt>> {
    let graph = Graph::new(runtime, 0)?;
    let alloc = graph.add_alloc(&[], BYTES)?;
    let spins = graph.add_spin(&[alloc.node], spin, CLOCKS)?;
    graph.add_free(&[spins], alloc.address)?;
    graph.instantiate()
}

fn launch<'rt>(exec: &GraphExec<'rt>, stream: &Stream<'rt>) -> cuda_graphs::Result<()> {
    let launched = exec.launch(stream)?;
    assert!(
        launched.live.is_empty(),
        "the graph frees what it allocates"
    );
    Ok(())
}
