//! Tasks that this build lacks: `cargo xtask` is built with those alone that a first run needs.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{host, run};

/// Whether this build has the task.
pub fn is_built_in(task: Option<OsString>) -> bool {
    task.is_some_and(|task| task == "run" || task == "kernel" || task == "doctor")
}

/// Builds xtask with all tasks, and starts that with the same arguments.
///
/// # Errors
///
/// When cargo does not start.
pub fn run(root: &Path) -> anyhow::Result<ExitCode> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--quiet", "--profile", run::PROFILE])
        .args(["--package", "xtask", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .arg("--")
        .args(env::args_os().skip(1));
    host::exit_code(&mut command)
}
