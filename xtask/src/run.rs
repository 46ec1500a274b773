//! `cargo xtask run`: the kernel's PTX, then the experiments with it.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::host::{self, PACKAGE};
use crate::kernel::{self, Emit, With};
use crate::toolchain::Env;

/// Options of `cargo xtask run`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The compiler that makes the kernel; one that is named is used or the task fails.
    #[arg(long, value_enum, default_value_t)]
    pub with: With,
    /// Everything else goes to graph-memory-footprint; `-- --help` lists its options.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    pub options: Vec<OsString>,
}

/// The profile of the workspace that is quick to build.
const PROFILE: &str = "quick";

/// Runs the subcommand; the exit code is the experiments' own.
///
/// # Errors
///
/// When there is no kernel, or the program cannot be built or started.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let kernel_args = kernel::Args {
        kernel: kernel::Kernel::ClockBlock,
        with: args.with,
        arch: None,
        emit: Emit::Ptx,
        bless: false,
    };
    let built = kernel::build(&kernel_args, root, &Env::real())?;
    eprintln!("{}", built.why);

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args(["run", "--profile", PROFILE, "--package", PACKAGE]);
    // A first build takes a while and should be seen to; later ones say nothing.
    if host::binary(root, PROFILE).exists() {
        command.arg("--quiet");
    }
    command
        .args(["--", "--ptx"])
        .arg(&built.path)
        .args(&args.options);
    let status = command.status().context("cannot start cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
