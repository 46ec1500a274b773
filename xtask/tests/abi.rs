//! `cargo xtask abi` through its binary, without network: what could not be
//! compared is said, and is a failure only where it was required.

use std::process::{Command, Output};

/// Runs the task in an empty repository with a registry that does not answer.
fn without_network(arguments: &[&str]) -> Output {
    let root = tempfile::tempdir().unwrap();
    let registry = "http://127.0.0.1:9/simple";
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("abi")
        .args(arguments)
        .env("CARGO_MANIFEST_DIR", root.path().join("xtask"))
        .env("PIP_INDEX_URL", registry)
        .env("PIP_RETRIES", "0")
        .env_remove("PIP_EXTRA_INDEX_URL")
        .env_remove("PIP_FIND_LINKS")
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_runtime_that_cannot_be_fetched_is_said_to_be_not_checked() {
    let output = without_network(&["--runtime", "12.4"]);
    let shown = text(&output);
    assert!(shown.contains("12.4  not checked: "), "{shown}");
    assert!(shown.contains("NOT CHECKED: no runtime"), "{shown}");
    assert!(!shown.contains("PASS"), "{shown}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_runtime_that_cannot_be_fetched_is_a_failure_when_required() {
    let output = without_network(&["--runtime", "12.4", "--require"]);
    assert!(text(&output).contains("not checked"));
    assert_eq!(output.status.code(), Some(1));
}

/// Which is the newest is read from `xtask/wheels.txt`, so that nobody need be asked.
#[test]
fn the_newest_runtime_is_the_newest_listed_and_is_not_checked_without_its_wheel() {
    let output = without_network(&["--runtime", "newest", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
    let listed = include_str!("../wheels.txt")
        .lines()
        .filter_map(|line| line.strip_prefix("nvidia-cuda-runtime=="))
        .filter_map(|line| {
            let mut numbers = line.split(['.', ' ']).map(str::parse::<u32>);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .max()
        .expect("a runtime is listed");
    assert_eq!(
        report["not_checked"][0]["runtime"],
        format!("{}.{}", listed.0, listed.1)
    );
    assert_eq!(report["checked"].as_array().map(Vec::len), Some(0));
}
