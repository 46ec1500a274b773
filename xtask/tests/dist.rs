//! `cargo xtask dist`: what is in the archive, and that it works.
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_archive_holds_a_program_that_runs_and_everything_around_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let archive = folder.path().join("dist.tar.gz");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("dist")
        .arg("--output")
        .arg(&archive)
        .arg("--program")
        .arg(support::program())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .output()
        .expect("xtask starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).expect("a directory");
    let untarred = Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(&unpacked)
        .status()
        .expect("tar starts");
    assert!(untarred.success());
    let mut tops = fs::read_dir(&unpacked).expect("a directory");
    let top = tops.next().expect("one").expect("an entry").path();
    assert!(tops.next().is_none(), "everything is in one folder");

    let program = top.join("graph-memory-footprint");
    let ran = Command::new(&program)
        .args(["--backend", "model", "--quiet"])
        .output();
    assert!(ran.expect("it starts").status.success());
    for file in [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "schema/result-v3.schema.json",
        "completions/_graph-memory-footprint",
        "completions/graph-memory-footprint.fish",
        "man/graph-memory-footprint-compare.1",
    ] {
        let length = fs::metadata(top.join(file)).map_or(0, |file| file.len());
        assert!(length > 200, "{file}: {length} bytes");
    }
    completions_load(&top.join("completions/graph-memory-footprint.bash"));
    let manual = fs::read_to_string(top.join("man/graph-memory-footprint.1"));
    let manual = manual.expect("the manual");
    assert!(manual.contains(".TH graph-memory-footprint 1"));
    for option in ["\\-\\-repeat", "\\-\\-report", "\\-\\-model\\-profile"] {
        assert!(manual.contains(option), "{option}");
    }
}

/// A bash that reads the file knows how to complete the program.
fn completions_load(file: &Path) {
    let asked = Command::new("bash")
        .args(["-c", "source \"$0\" && complete -p graph-memory-footprint"])
        .arg(file)
        .output();
    match asked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("SKIPPED: the completions are not tried in bash: {error}"),
    }
}
