//! The four attributes of a device's graph memory, after each step in the life of a graph
//! that leaves its allocation to its user.
//!
//! Runs on the simulated runtime, or on a GPU with the libcudart that the first argument
//! names: `cargo run --example four_attributes -- /usr/local/cuda/lib64/libcudart.so`

use std::error::Error;

use cuda_graphs::{Device, Graph, GraphMemory, Runtime, Search, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = match std::env::args_os().nth(1) {
        Some(path) => Runtime::load(&Search::explicit(path))?,
        None => Runtime::built_in_model(),
    };
    let device = Device::new(&runtime, 0);
    device.make_current()?;
    let memory = device.graph_memory();
    println!("MiB              used   high   reserved   high");

    let graph = Graph::new(&runtime, device.ordinal())?;
    graph.add_alloc(&[], 100_000_000)?;
    let exec = graph.instantiate()?;
    show(memory, "instantiated")?;

    let stream = Stream::new(&runtime)?;
    let launched = exec.launch(&stream)?;
    show(memory, "launched")?;

    for live in launched.live {
        live.free_async(&stream)?;
    }
    stream.synchronize()?;
    show(memory, "freed")?;

    memory.trim()?;
    show(memory, "trimmed")?;

    memory.reset_high_marks()?;
    show(memory, "marks reset")
}

fn show(memory: GraphMemory<'_>, step: &str) -> Result<(), Box<dyn Error>> {
    let now = memory.snapshot()?;
    println!(
        "{step:<14} {:>6} {:>6} {:>10} {:>6}",
        now.used_bytes >> 20,
        now.used_high_bytes >> 20,
        now.reserved_bytes >> 20,
        now.reserved_high_bytes >> 20
    );
    Ok(())
}
