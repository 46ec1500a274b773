//! `cargo xtask run`: compiles the kernel and runs the program with it.

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
    /// The compiler for the kernel; without it, the best one that is installed.
    #[arg(long, value_enum, default_value_t)]
    pub with: With,
    /// Options or a subcommand of graph-memory-footprint; `-- --help` lists them.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    pub options: Vec<OsString>,
}

impl Args {
    /// Whether the first argument is a subcommand of the program and not an option.
    fn names_a_subcommand(&self) -> bool {
        self.options
            .first()
            .is_some_and(|first| !first.as_encoded_bytes().starts_with(b"-"))
    }
}

/// The profile of the workspace that is quick to build.
const PROFILE: &str = "quick";

/// Builds and runs graph-memory-footprint; the exit code is the program's own.
///
/// Experiments run with a freshly compiled kernel. A subcommand such as `plan` gets
/// its arguments only: most of them load no kernel, and `--ptx` gives the others one.
///
/// # Errors
///
/// When the kernel cannot be compiled, or the program cannot be built or started.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let kernel_option = if args.names_a_subcommand() {
        Vec::new()
    } else {
        let kernel_args = kernel::Args {
            kernel: kernel::Kernel::ClockBlock,
            with: args.with,
            arch: None,
            emit: Emit::Ptx,
            bless: false,
        };
        let built = kernel::build(&kernel_args, root, &Env::real())?;
        eprintln!("{}", built.why);
        vec![OsString::from("--ptx"), built.path.into_os_string()]
    };

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args(["run", "--profile", PROFILE, "--package", PACKAGE]);
    // A first build takes a minute, so its progress is shown; later ones are silent.
    if host::binary(root, PROFILE).exists() {
        command.arg("--quiet");
    }
    command.arg("--").args(kernel_option).args(&args.options);
    let status = command.status().context("cannot start cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
