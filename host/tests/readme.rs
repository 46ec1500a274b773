//! Every command that the README shows is run: the program's own here, cargo's by
//! `.ci/run`.

mod support;

use support::bare;

const README: &str = include_str!("../../README.md");
const CI: &str = include_str!("../../.ci/run");

/// The commands of the README's console blocks, without comments.
fn commands() -> Vec<String> {
    let mut found = Vec::new();
    let mut in_console = false;
    for line in README.lines() {
        match line {
            "```console" => in_console = true,
            "```" => in_console = false,
            _ if in_console => {
                if let Some(command) = line.strip_prefix("$ ") {
                    let command = command.split("  #").next().unwrap_or(command);
                    found.push(command.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_command_of_the_program_runs_as_it_stands() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    // The README's paths are those of a checkout.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for part in ["host", "ffi"] {
        std::os::unix::fs::symlink(format!("{root}/{part}"), folder.path().join(part))
            .expect("a link into the checkout");
    }
    let mut ran = 0;
    for command in commands() {
        let Some(arguments) = command.strip_prefix("graph-memory-footprint ") else {
            continue;
        };
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        let ended = bare().in_folder(folder.path()).args(&arguments).ends();
        assert_eq!(
            ended.code, 0,
            "{command}\n{}\n{}",
            ended.stdout, ended.stderr
        );
        ran += 1;
    }
    assert!(ran > 10, "the README shows examples: {ran}");
}

#[test]
fn every_command_of_cargo_is_run_in_ci() {
    let mut found = 0;
    for command in commands() {
        if command.starts_with("cargo ") {
            assert!(
                CI.lines().any(|line| line == format!("step {command}")),
                "{command}"
            );
            found += 1;
        } else {
            assert!(
                command.starts_with("graph-memory-footprint "),
                "who runs {command}?"
            );
        }
    }
    assert!(found >= 2, "the two commands are there");
}
