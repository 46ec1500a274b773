//! `cargo xtask`: the project's own tasks. A subcommand is one variant of
//! [`Task`] and one module with `Args` and `run`.

mod abi;
mod bench;
mod compare;
mod dist;
mod doctor;
mod host;
mod kernel;
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

/// Build, check and run the CUDA graph memory study.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Hold the CUDA table to the real headers and libraries of many runtimes.
    Abi(abi::Args),
    /// Measure speed: beside C++ on a GPU, and the model's own without one.
    Bench(bench::Args),
    /// Run NVIDIA's compiled sample and this program on the GPU, and compare them.
    Compare(compare::Args),
    /// Write one archive with the program, its completions, manual and licences.
    Dist(dist::Args),
    /// Say what this machine can do, what it lacks and how to mend it.
    Doctor(doctor::Args),
    /// Get the kernel's PTX from the best compiler that is here.
    Kernel(kernel::Args),
    /// Assemble every committed PTX with NVIDIA's ptxas and look at the code.
    Ptxas(ptxas::Args),
    /// Compile the kernel, then run the experiments on a GPU or on its model.
    Run(run::Args),
}

fn main() -> ExitCode {
    let root = repository_root();
    let outcome = match Cli::parse().task {
        Task::Abi(args) => abi::run(&args, &root),
        Task::Bench(args) => bench::run(&args, &root),
        Task::Compare(args) => compare::run(&args, &root),
        Task::Dist(args) => dist::run(&args, &root),
        Task::Doctor(args) => doctor::run(&args, &root),
        Task::Kernel(args) => kernel::run(&args, &root),
        Task::Ptxas(args) => ptxas::run(&args, &root),
        Task::Run(args) => run::run(&args, &root),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// The repository, wherever in it cargo was called.
fn repository_root() -> PathBuf {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir
        .parent()
        .map_or_else(|| manifest_dir.clone(), PathBuf::from)
}
