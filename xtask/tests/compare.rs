//! `cargo xtask compare` with a program that prints a recorded log in the place of
//! NVIDIA's sample, and the model in the place of a GPU.
#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A script that prints this and ends with this code.
fn sample(folder: &Path, log: &str, code: i32) -> PathBuf {
    let text = folder.join("log.txt");
    fs::write(&text, log).expect("a file");
    let script = folder.join("graphMemoryFootprint");
    let lines = format!(
        "#!/bin/sh\ncat '{}'\necho 'no device' >&2\nexit {code}\n",
        text.display()
    );
    fs::write(&script, lines).expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
    script
}

fn compare(folder: &Path, sample: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("compare")
        .arg("--sample")
        .arg(sample)
        .arg("--program")
        .arg(support::program())
        .args(options)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .expect("xtask starts")
}

fn recorded_log() -> String {
    let path = "host/tests/recordings/nvidia-sample-cuda-13.0.txt";
    fs::read_to_string(support::root().join(path)).expect("the log")
}

const ON_THE_MODEL: [&str; 2] = ["--backend", "model"];

#[test]
fn a_sample_that_falls_short_is_told_from_one_that_does_not() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let recorded = recorded_log();
    let mended = recorded.replace(
        "07:     FOOTPRINT: 402653184 bytes",
        "07:     FOOTPRINT: 469762048 bytes",
    );
    for (log, code, says) in [
        (&recorded, 1, "DIFFERENT in 1 of 33 steps"),
        (&mended, 0, "EQUAL in 33 steps"),
    ] {
        let sample = sample(folder.path(), log, 0);
        let output = compare(folder.path(), &sample, &ON_THE_MODEL);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(says), "{text}");
        assert_eq!(output.status.code(), Some(code), "{text}");
    }
    let kept = folder.path().join("target/compare");
    assert!(kept.join("sample.txt").exists() && kept.join("result.json").exists());
}

#[test]
fn a_sample_that_does_not_run_is_told_with_what_it_said() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let failing = sample(folder.path(), "", 1);
    let missing = folder.path().join("not-there");
    for (sample, says) in [(&failing, "no device"), (&missing, "cannot run")] {
        let output = compare(folder.path(), sample, &ON_THE_MODEL);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(says) && text.contains("try: "), "{text}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn without_a_gpu_our_side_is_waived() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let sample = sample(folder.path(), &recorded_log(), 0);
    // A runtime that is not there stands for a machine that has none.
    let output = compare(folder.path(), &sample, &["--cudart", "no/such/file"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("there is no libcudart at"), "{text}");
    assert_eq!(output.status.code(), Some(64));
}
