//! `cargo xtask run`: compiles the kernel and runs the program with it.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use cudart_ffi::loader::Version;

use crate::doctor;
use crate::host::{self, PACKAGE};
use crate::kernel::{self, BuiltKernel, Emit, With};
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
pub const PROFILE: &str = "quick";

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
        let built = kernel_for_the_driver(kernel_args, root)?;
        eprintln!("{}", safe_io::Shown(&built.why));
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
    if args.options.first().is_some_and(|first| first == "watch") {
        host::build_watch_library(root, PROFILE)?;
    }
    command.arg("--").args(kernel_option).args(&args.options);
    host::exit_code(&mut command)
}

/// The requested kernel. If no compiler was named and the driver is too old for the PTX of
/// the best one, rustc's PTX is used, which every driver loads.
fn kernel_for_the_driver(args: kernel::Args, root: &Path) -> anyhow::Result<BuiltKernel> {
    let env = Env::real();
    let built = kernel::build(&args, root, &env)?;
    let driver = doctor::driver_version(root);
    if args.with != With::Auto || !is_too_new(kernel::first_driver(&built.path), driver) {
        return Ok(built);
    }
    let older = kernel::Args {
        with: With::Rustc,
        ..args
    };
    let mut older = kernel::build(&older, root, &env)?;
    older
        .why
        .push_str("; not rust-cuda: its PTX needs a newer driver");
    Ok(older)
}

/// Whether PTX that needs the first driver is too new for the other.
fn is_too_new(needs: Option<Version>, driver: Option<Version>) -> bool {
    needs.zip(driver).is_some_and(|(needs, has)| has < needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_too_new_only_for_a_driver_that_is_known_to_be_older() {
        let version = |number| Some(Version(number));
        assert!(is_too_new(version(12090), version(12040)));
        assert!(!is_too_new(version(12090), version(12090)));
        assert!(!is_too_new(version(12090), version(13000)));
        // Without a driver the simulated runtime is used, which loads either.
        assert!(!is_too_new(version(12090), None));
        assert!(!is_too_new(None, version(11040)));
    }
}
