//! `cargo xtask`: the project's tasks. Each subcommand is a variant of [`Task`] and a
//! module with `Args` and `run`.
//!
//! `cargo xtask` is built without the feature `all-tasks`, so that a first run does not wait
//! for what it does not need. For other tasks, and for `--help`, it builds and starts itself
//! with that feature.

#[cfg(feature = "all-tasks")]
mod abi;
#[cfg(feature = "all-tasks")]
mod bench;
#[cfg(feature = "all-tasks")]
mod compare;
#[cfg(feature = "all-tasks")]
mod dist;
mod doctor;
mod host;
mod kernel;
#[cfg(feature = "all-tasks")]
mod notices;
#[cfg(feature = "all-tasks")]
mod parallel;
#[cfg(feature = "all-tasks")]
mod portable;
#[cfg(feature = "all-tasks")]
mod ptxas;
#[cfg(feature = "all-tasks")]
mod release;
mod run;
#[cfg(all(test, unix))]
mod testing;
mod toolchain;
mod trouble;
#[cfg(feature = "all-tasks")]
mod wheels;
#[cfg(not(feature = "all-tasks"))]
mod with_all_tasks;

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
    #[cfg(feature = "all-tasks")]
    Abi(abi::Args),
    /// Measure speed, on a GPU compared with C++.
    #[cfg(feature = "all-tasks")]
    Bench(bench::Args),
    /// Run NVIDIA's compiled sample and this program on the GPU, and compare them.
    #[cfg(feature = "all-tasks")]
    Compare(compare::Args),
    /// Write an archive with the program, completions, manual pages and licenses.
    #[cfg(feature = "all-tasks")]
    Dist(dist::Args),
    /// List what is missing on this machine, and how to fix it.
    Doctor(doctor::Args),
    /// Compile the kernel to PTX with the best compiler that is installed.
    Kernel(kernel::Args),
    /// Build for aarch64 Linux and for Windows, and run there under emulators.
    #[cfg(feature = "all-tasks")]
    Portable(portable::Args),
    /// Assemble every committed PTX file with NVIDIA's ptxas, and check the machine code.
    #[cfg(feature = "all-tasks")]
    Ptxas(ptxas::Args),
    /// Compile the kernel and run graph-memory-footprint.
    Run(run::Args),
}

fn main() -> ExitCode {
    let root = repository_root();
    #[cfg(not(feature = "all-tasks"))]
    if !with_all_tasks::is_built_in(env::args_os().nth(1)) {
        return shown(with_all_tasks::run(&root));
    }
    // A message repeats arguments: those of a wrong command line are made safe to show.
    let cli = Cli::try_parse().unwrap_or_else(|_| {
        Cli::parse_from(env::args_os().map(|one| {
            let text = one.to_string_lossy();
            safe_io::visible::line(&text).into_owned()
        }))
    });
    let outcome = match cli.task {
        #[cfg(feature = "all-tasks")]
        Task::Abi(args) => abi::run(&args, &root),
        #[cfg(feature = "all-tasks")]
        Task::Bench(args) => bench::run(&args, &root),
        #[cfg(feature = "all-tasks")]
        Task::Compare(args) => compare::run(&args, &root),
        #[cfg(feature = "all-tasks")]
        Task::Dist(args) => dist::run(&args, &root),
        Task::Doctor(args) => doctor::run(&args, &root),
        Task::Kernel(args) => kernel::run(&args, &root),
        #[cfg(feature = "all-tasks")]
        Task::Portable(args) => portable::run(&args, &root),
        #[cfg(feature = "all-tasks")]
        Task::Ptxas(args) => ptxas::run(&args, &root),
        Task::Run(args) => run::run(&args, &root),
    };
    shown(outcome)
}

/// The exit code of a task, after printing its error.
fn shown(outcome: anyhow::Result<ExitCode>) -> ExitCode {
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
