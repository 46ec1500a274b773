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
    let built = folder.path().join("graph-memory-footprint");
    fs::copy(support::program(), &built).expect("a copy");
    #[cfg(target_os = "linux")]
    fs::copy(
        watch_library(),
        built.with_file_name("libgraph_memory_watch.so"),
    )
    .expect("a copy");
    let model = format!("libcudart_simulated{}", std::env::consts::DLL_SUFFIX);
    fs::write(built.with_file_name(&model), "the simulated runtime").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("dist")
        .arg("--output")
        .arg(&archive)
        .arg("--program")
        .arg(&built)
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .output()
        .expect("xtask starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    // The checksum is one that sha256sum accepts.
    let checked = Command::new("sha256sum")
        .current_dir(folder.path())
        .args(["--check", "--strict", "dist.tar.gz.sha256"])
        .output()
        .expect("sha256sum starts");
    assert!(checked.status.success(), "{checked:?}");

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
    // `watch` finds its library beside the program.
    #[cfg(target_os = "linux")]
    {
        let watched = Command::new(&program)
            .args(["watch", "--", "true"])
            .output();
        let watched = watched.expect("it starts");
        assert!(watched.status.success(), "{watched:?}");
    }
    for file in [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "schema/plan-v2.schema.json",
        "schema/result-v3.schema.json",
        "schema/watch-v1.schema.json",
        "completions/_graph-memory-footprint",
        "completions/graph-memory-footprint.fish",
    ] {
        let length = fs::metadata(top.join(file)).map_or(0, |file| file.len());
        assert!(length > 200, "{file}: {length} bytes");
    }
    let runtime = fs::read_to_string(top.join(&model)).expect("the simulated runtime");
    assert_eq!(runtime, "the simulated runtime");
    every_subcommand_has_a_manual(&program, &top.join("man"));
    notices_name_every_crate(&top.join("notices"));
    completions_load(&top.join("completions/graph-memory-footprint.bash"));
    let manual = fs::read_to_string(top.join("man/graph-memory-footprint.1"));
    let manual = manual.expect("the manual");
    assert!(manual.contains(".TH graph-memory-footprint 1"));
    for option in ["\\-\\-repeat", "\\-\\-report", "\\-\\-model\\-profile"] {
        assert!(manual.contains(option), "{option}");
    }
}

/// The subcommands that `--help` lists, of which `help` is clap's own.
fn every_subcommand_has_a_manual(program: &Path, folder: &Path) {
    let help = Command::new(program).arg("--help").output();
    let help = String::from_utf8(help.expect("it starts").stdout).expect("UTF-8");
    let commands = help.split("Commands:").nth(1).expect("commands");
    let listed: Vec<&str> = commands
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(listed.contains(&"plan") && listed.len() > 5, "{listed:?}");
    for name in listed {
        let manual = folder.join(format!("graph-memory-footprint-{name}.1"));
        let length = fs::metadata(&manual).map_or(0, |file| file.len());
        assert!(length > 200, "{}: {length} bytes", manual.display());
    }
}

/// The watch library as `cargo test` has built it; by itself, `cargo test -p xtask` builds
/// none, and then it is built elsewhere as `support::program` says.
#[cfg(target_os = "linux")]
fn watch_library() -> std::path::PathBuf {
    let built =
        Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("deps/libgraph_memory_watch.so");
    if built.exists() {
        return built;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(support::root())
        .args(["build", "--quiet", "--package", "graph-memory-watch"])
        .args(["--target-dir", env!("CARGO_TARGET_TMPDIR")])
        .status()
        .expect("cargo starts");
    assert!(status.success());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug/libgraph_memory_watch.so")
}

/// cargo's own tree of what is linked, with its versions.
fn notices_name_every_crate(folder: &Path) {
    let crates = fs::read_to_string(folder.join("crates.txt")).expect("the notices");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "graph-memory-footprint"])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).expect("UTF-8");
    let mut count = 0;
    // Those of the workspace have their folder on the line.
    for line in tree.lines().filter(|line| !line.contains(" (/")) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        let version = version.trim_start_matches('v');
        let listed = format!("    {name} {version}  ");
        assert!(
            crates.contains(&listed),
            "{name} {version} is not in the notices"
        );
        count += 1;
    }
    assert!(count > 20, "{tree}");
    assert!(crates.contains("Permission is hereby granted, free of charge"));
    let library = fs::read_to_string(folder.join("rust-standard-library.html"));
    let library = library.expect("the notices of the standard library");
    assert!(library.contains("Copyright") && library.contains("Rust"));
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

#[test]
fn no_task_writes_over_what_it_reads() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let program = folder.path().join("program");
    fs::copy(support::program(), &program).expect("a copy");
    std::os::unix::fs::symlink(&program, folder.path().join("link")).expect("a link");
    let before = fs::read(&program).expect("the program");
    for (task, input, output) in [
        ("dist", "--program", "--output"),
        // Refused before anything is built or measured; the kit is not there.
        ("bench", "--sample", "--json"),
        ("bench", "--cudart", "--json"),
    ] {
        for name in ["program", "link"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
            command.arg(task).arg(input).arg(&program);
            command.arg(output).arg(folder.path().join(name));
            command.env("CARGO_TARGET_DIR", folder.path().join("target"));
            let ended = command.output().expect("xtask starts");
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(!ended.status.success(), "{task} {input} {name}");
            assert!(said.contains("is also an input"), "{task} {input}: {said}");
            assert!(fs::read(&program).expect("the program") == before, "{task}");
        }
    }
}
