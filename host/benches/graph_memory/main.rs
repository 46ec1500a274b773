//! The Rust side of `cargo xtask bench`: the safe layer's operations, timed.
//!
//! It reads one operation a line from standard input and answers each with one JSON
//! object a line, so that the benchmark can let this program and its C++ counterpart take
//! turns on one GPU.

mod operations;
mod protocol;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use cuda_graphs::{Device, RouteChoice, Runtime, Search};
use graph_memory_footprint::kernel::ptx::KernelSource;

use operations::Bench;
use protocol::{Answer, Request};

/// Times graph memory operations for `cargo xtask bench`, which is what to call.
#[derive(Debug, Parser)]
#[command(name = "graph-memory-bench")]
struct Cli {
    /// The device's ordinal.
    #[arg(long, default_value_t = 0)]
    device: i32,
    /// Use the built-in model runtime.
    #[arg(long, conflicts_with = "cudart")]
    model: bool,
    /// The CUDA runtime to load, a file or a directory.
    #[arg(long)]
    cudart: Option<PathBuf>,
}

fn main() -> ExitCode {
    match serve(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Cli {
    fn runtime(&self) -> anyhow::Result<Runtime> {
        if self.model {
            return Ok(Runtime::built_in_model());
        }
        let search = match &self.cudart {
            Some(path) => Search::explicit(path),
            None => Search::from_environment(),
        };
        Runtime::load(&search).context("there is no CUDA runtime")
    }
}

fn serve(cli: &Cli) -> anyhow::Result<()> {
    let runtime = cli.runtime()?;
    let device = Device::new(&runtime, cli.device);
    device.make_current()?;
    let source = KernelSource::get(None)?;
    let capability = device.info()?.compute_capability;
    let kernel = source.load(&runtime, capability, RouteChoice::Auto)?;
    let bench = Bench::new(&runtime, device, &kernel);

    let mut out = io::stdout().lock();
    let mut send = |answer: &Answer| -> io::Result<()> {
        writeln!(out, "{answer}")?;
        out.flush()
    };
    send(&bench.hello()?)?;
    for line in io::stdin().lock().lines() {
        let answered = Request::parse(&line?).and_then(|request| bench.answer(&request));
        send(&answered.unwrap_or_else(|error| Answer::error(&error)))?;
    }
    Ok(())
}
