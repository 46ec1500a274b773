//! The process that runs programs. It prints their traces line by line, so that the lines
//! before a crash are not lost.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cudart_ffi::{Cudart, Search, cudaDeviceProp, cudaError_t};
use cudart_model::{ClockKind, Config};

use crate::Library;
use crate::suite::program::Program;
use crate::suite::runner::{Notes, Session};
use crate::suite::trace::{DONE, PROGRAM};

#[derive(Args)]
pub struct Worker {
    #[command(flatten)]
    library: Library,
    #[arg(long)]
    programs: Option<PathBuf>,
    #[command(flatten)]
    notes: NoteArguments,
    /// Print the device, driver and runtime
    #[arg(long)]
    describe: bool,
    names: Vec<String>,
}

#[derive(Args, Clone, Copy)]
pub struct NoteArguments {
    /// Add each call's host time as a note
    #[arg(long)]
    pub times: bool,
    /// Add the free memory after each call as a note
    #[arg(long)]
    pub free_memory: bool,
}

/// The worker's exit code after a program that left memory in the pool. The next programs
/// then need a new process.
pub const NOT_CLEAN: u8 = 3;

impl Worker {
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let cudart = open(&self.library)?;
        let notes = Notes {
            time: self.notes.times,
            free_memory: self.notes.free_memory,
        };
        let session = Session::new(&cudart, notes).map_err(anyhow::Error::msg)?;
        let mut out = std::io::stdout().lock();
        if self.describe {
            for (key, value) in description(&cudart, &session)? {
                writeln!(out, "# {key}: {value}")?;
            }
        }
        for (index, name) in self.names.iter().enumerate() {
            let program = crate::program(name, self.programs.as_deref())?;
            writeln!(out, "# {PROGRAM}: {name}")?;
            out.flush()?;
            let trace = session.run(&program, |line| {
                // If the reader is gone, it has killed this process or will
                // do so.
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            });
            writeln!(out, "{DONE}")?;
            out.flush()?;
            if !Session::left_clean(&trace) && index + 1 < self.names.len() {
                return Ok(ExitCode::from(NOT_CLEAN));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn open(library: &Library) -> anyhow::Result<Cudart> {
    match &library.cudart {
        // SAFETY: the library is the CUDA runtime that the caller names.
        Some(path) => Ok(unsafe { Cudart::load(&Search::explicit(path)) }?),
        None => open_model(),
    }
}

/// The built-in simulated runtime, with the H200 profile and the virtual clock, so that a
/// trace does not depend on this machine.
fn open_model() -> anyhow::Result<Cudart> {
    cudart_model::configure(Config {
        clock: ClockKind::Virtual,
        ..Config::default()
    })?;
    // SAFETY: the simulated functions have the table's prototypes and exist as long as
    // the process.
    unsafe { Cudart::from_symbols(cudart_model::symbol) }
        .map_err(|missing| anyhow::anyhow!("the simulated runtime lacks {}", missing.0.join(", ")))
}

/// The values in the headers of recordings.
fn description(cudart: &Cudart, session: &Session<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both pointers are valid for the write of a size.
    let code = unsafe { cudart.cudaMemGetInfo(&raw mut free, &raw mut total) };
    accept("cudaMemGetInfo", code)?;
    let one_byte = "stream s\ngraph g\nalloc a in g 1\nfree f of a in g after a\n\
                    instantiate x of g\nlaunch x on s\nsync s";
    let trace = session.run(&Program::parse("one byte", one_byte)?, |_| ());
    let granularity = trace.lines.iter().map(|line| line.attributes[0]).max();
    let runtime = cudart.runtime_version.unwrap_or(0).to_string();
    let described = [
        ("device", device_name(cudart)?),
        ("runtime", runtime),
        ("driver", cudart.driver_version.to_string()),
        ("granularity", granularity.unwrap_or(0).to_string()),
        ("total memory", total.to_string()),
        ("free memory", free.to_string()),
        ("kernel by", session.kernel_route().to_owned()),
    ];
    Ok(described
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect())
}

fn device_name(cudart: &Cudart) -> anyhow::Result<String> {
    let mut properties = cudaDeviceProp::zeroed();
    // SAFETY: the buffer is larger than any version's struct.
    let code = unsafe {
        match cudart.cudaGetDeviceProperties_v2(&raw mut properties, 0) {
            Some(code) => code,
            None => cudart.cudaGetDeviceProperties(&raw mut properties, 0),
        }
    };
    accept("cudaGetDeviceProperties", code)?;
    Ok(properties.name())
}

fn accept(call: &str, code: cudaError_t) -> anyhow::Result<()> {
    if code.is_success() {
        Ok(())
    } else {
        anyhow::bail!("{call} -> {code:?}")
    }
}
