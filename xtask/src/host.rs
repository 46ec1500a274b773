//! The program that this workspace is about, built.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::trouble::Trouble;

/// Its package and the name of its binary.
pub const PACKAGE: &str = "graph-memory-footprint";

/// The library that `watch` preloads, which lies beside the program; on Linux only.
pub const WATCH_LIBRARY: Option<&str> = if cfg!(target_os = "linux") {
    Some("libgraph_memory_watch.so")
} else {
    None
};

/// The package of the watch library.
pub const WATCH_PACKAGE: &str = "graph-memory-watch";

/// Builds the library that `watch` preloads, on systems where there is one.
///
/// # Errors
///
/// When it cannot be built.
pub fn build_watch_library(root: &Path, profile: &str) -> anyhow::Result<()> {
    if WATCH_LIBRARY.is_none() {
        return Ok(());
    }
    build(root, profile, &[WATCH_PACKAGE])
}

/// Builds packages with a profile.
///
/// # Errors
///
/// When cargo cannot.
pub fn build(root: &Path, profile: &str, packages: &[&str]) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--profile", profile])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(
        status.success(),
        Trouble::new(
            format!("cargo could not build {}", packages.join(", ")),
            "see the compiler's messages above",
        )
    );
    Ok(())
}

/// Where cargo puts the binary of a profile.
pub fn binary(root: &Path, profile: &str) -> PathBuf {
    target_folder(root)
        .join(profile)
        .join(PACKAGE)
        .with_extension(env::consts::EXE_EXTENSION)
}

/// Where cargo builds.
pub fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// Runs a command to its end, with this program's input and output.
///
/// # Errors
///
/// When it does not start.
pub fn exit_code(command: &mut Command) -> anyhow::Result<ExitCode> {
    let ended = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
