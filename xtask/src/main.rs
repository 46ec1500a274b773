//! `cargo xtask`: the project's tasks. Each subcommand is a variant of [`Task`] and a
//! module with `Args` and `run`.

mod abi;
mod bench;
mod compare;
mod dist;
mod doctor;
mod host;
mod kernel;
mod notices;
mod portable;
mod ptxas;
mod run;
#[cfg(all(test, unix))]
mod testing;
mod toolchain;
mod trouble;
mod wheels;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Build, check and run graph-memory-footprint.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the CUDA function table against real headers and libraries.
    Abi(abi::Args),
    /// Measure speed, on a GPU compared with C++.
    Bench(bench::Args),
    /// Run NVIDIA's compiled sample and this program on the GPU, and compare them.
    Compare(compare::Args),
    /// Write an archive with the program, completions, manual pages and licenses.
    Dist(dist::Args),
    /// List what is missing on this machine, and how to fix it.
    Doctor(doctor::Args),
    /// Compile the kernel to PTX with the best compiler that is installed.
    Kernel(kernel::Args),
    /// Build for aarch64 Linux and for Windows, and run there under emulators.
    Portable(portable::Args),
    /// Assemble every committed PTX file with NVIDIA's ptxas, and check the machine code.
    Ptxas(ptxas::Args),
    /// Compile the kernel and run graph-memory-footprint.
    Run(run::Args),
}

fn main() -> ExitCode {
    let root = repository_root();
    // A message repeats arguments: those of a wrong command line are made safe to show.
    let cli = Cli::try_parse().unwrap_or_else(|_| {
        Cli::parse_from(env::args_os().map(|one| {
            let text = one.to_string_lossy();
            safe_io::visible::line(&text).into_owned()
        }))
    });
    let outcome = match cli.task {
        Task::Abi(args) => abi::run(&args, &root),
        Task::Bench(args) => bench::run(&args, &root),
        Task::Compare(args) => compare::run(&args, &root),
        Task::Dist(args) => dist::run(&args, &root),
        Task::Doctor(args) => doctor::run(&args, &root),
        Task::Kernel(args) => kernel::run(&args, &root),
        Task::Portable(args) => portable::run(&args, &root),
        Task::Ptxas(args) => ptxas::run(&args, &root),
        Task::Run(args) => run::run(&args, &root),
    };
    outcome.unwrap_or_else(|error| {
        // An error may name files, and quote programs.
        let error = safe_io::visible::indented(&format!("{error:#}"));
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// The root folder of the repository.
fn repository_root() -> PathBuf {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir
        .parent()
        .map_or_else(|| manifest_dir.clone(), PathBuf::from)
}
