//! The program of this workspace, for tasks that run it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the repository")
        .to_owned()
}

/// The binary as `cargo test` has built it; by itself, `cargo test -p xtask` builds
/// none, and then it is built elsewhere: with other features of its dependencies it
/// would take the place of libraries that other tests are linked to.
pub fn program() -> PathBuf {
    let name = format!("graph-memory-footprint{}", std::env::consts::EXE_SUFFIX);
    let built = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name(name);
    if built.exists() {
        return built;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["build", "--quiet", "--bin", "graph-memory-footprint"])
        .args(["--message-format", "json"])
        .args(["--target-dir", env!("CARGO_TARGET_TMPDIR")])
        .output()
        .expect("cargo starts");
    assert!(output.status.success());
    let messages = String::from_utf8(output.stdout).expect("UTF-8");
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.expect("cargo names the binary")
}
