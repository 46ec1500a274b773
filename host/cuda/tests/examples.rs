//! The examples print on the simulated runtime what they printed on an NVIDIA H200 (driver
//! 580, CUDA 13.0): see `recordings/`.

use std::path::Path;
use std::process::Command;

/// The example as `cargo test` has built it. `cargo test --test examples` builds none, and
/// then it is built elsewhere: with other features of its dependencies it would take the
/// place of libraries that doc tests are linked to.
fn command(example: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("target/debug");
    let built = folder
        .join("examples")
        .join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    if built.exists() {
        return Command::new(built);
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--offline", "--package"])
        .args([env!("CARGO_PKG_NAME"), "--example", example])
        .args(["--target-dir", env!("CARGO_TARGET_TMPDIR")]);
    cargo
}

#[track_caller]
fn prints_what_the_gpu_printed(example: &str) {
    let run = command(example).output().expect("the example starts");
    let errors = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{example}: {errors}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings");
    let recording = format!("{folder}/h200-driver-580-cuda-13.0-{example}.txt");
    let recorded = std::fs::read_to_string(&recording).expect("a recording");
    let printed = String::from_utf8(run.stdout).expect("text");
    assert_eq!(printed, recorded, "{recording}");
}

#[test]
fn memory_nodes() {
    prints_what_the_gpu_printed("memory_nodes");
}

#[test]
fn captured_stream() {
    prints_what_the_gpu_printed("captured_stream");
}

#[test]
fn four_attributes() {
    prints_what_the_gpu_printed("four_attributes");
}
