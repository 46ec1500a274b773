//! The program of this workspace, for tasks that run it.

use std::path::PathBuf;
use std::process::Command;

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the repository")
        .to_owned()
}

/// The binary as `cargo test` has built it, or builds it.
pub fn program() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        // The package has another program too.
        .args(["build", "--quiet", "--bin", "graph-memory-footprint"])
        .args(["--message-format", "json"])
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
