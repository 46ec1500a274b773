//! The program that this workspace is about, built.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The package of the simulated runtime as a library.
const SIMULATED_PACKAGE: &str = "cudart-simulated";

/// The package of the watch library.
const WATCH_PACKAGE: &str = "graph-memory-watch";

/// The libraries that lie beside the program: the simulated runtime, and the watch library
/// where there is one.
pub fn libraries() -> Vec<String> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let model = format!("{DLL_PREFIX}cudart_simulated{DLL_SUFFIX}");
    let watch = WATCH_LIBRARY.map(str::to_owned);
    [Some(model), watch].into_iter().flatten().collect()
}

/// The binary: the one that is named, else one built now, in release, with its libraries
/// beside it.
///
/// # Errors
///
/// When it cannot be built.
pub fn program(named: Option<&Path>, root: &Path) -> anyhow::Result<PathBuf> {
    if let Some(program) = named {
        return Ok(program.to_owned());
    }
    let mut packages = vec![PACKAGE, SIMULATED_PACKAGE];
    packages.extend(WATCH_LIBRARY.map(|_| WATCH_PACKAGE));
    build(root, "release", &packages)?;
    Ok(binary(root, "release"))
}

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

fn build(root: &Path, profile: &str, packages: &[&str]) -> anyhow::Result<()> {
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
