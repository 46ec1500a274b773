//! `cargo xtask dist --wheel`: the wheel installs with pip, and everything in it works
//! without Rust and without a compiler.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object, ObjectSection};

/// The oldest glibc that the wheel is for.
const GLIBC: [u32; 2] = [2, 17];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ends_with(command: &mut Command, code: i32) -> String {
    let ended: Output = command.output().expect("it starts");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{command:?}: {stderr}");
    String::from_utf8(ended.stdout).expect("UTF-8")
}

#[test]
#[ignore = "fetches zig and builds for a minute; .ci/run runs it"]
fn pip_installs_the_wheel_and_it_runs_without_rust_and_a_compiler() {
    let said = ends_with(
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(["dist", "--wheel", "--profile", "quick"]),
        0,
    );
    let wheel = said.lines().find(|line| line.ends_with(".whl"));
    let wheel = PathBuf::from(wheel.expect("it names the wheel"));
    let checksum = wheel.with_extension("whl.sha256");
    ends_with(
        Command::new("sha256sum")
            .current_dir(wheel.parent().expect("a folder"))
            .args(["--check", "--strict"])
            .arg(&checksum),
        0,
    );

    let folder = tempfile::tempdir().expect("a temporary directory");
    let environment = folder.path().join("environment");
    ends_with(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
        0,
    );
    let bin = environment.join("bin");
    ends_with(
        Command::new(bin.join("pip"))
            .args(["install", "--quiet", "--no-index"])
            .arg(&wheel),
        0,
    );

    // Nothing else is in PATH: no cargo, no compiler.
    let run = |name: &str| {
        let mut command = Command::new(bin.join(name));
        command.env("PATH", &bin).current_dir(folder.path());
        command
    };
    let said = ends_with(
        run("graph-memory-footprint").args(["--backend", "simulated", "--quiet"]),
        0,
    );
    let passed = said.lines().filter(|line| line.starts_with("PASS "));
    assert_eq!(passed.count(), 4, "{said}");
    fs::copy(
        root().join("host/plan/tests/data/dot/one.dot"),
        folder.path().join("one.dot"),
    )
    .expect("a copy");
    let plan = ends_with(run("graph-memory-footprint").args(["plan", "one.dot"]), 0);
    assert!(
        plan.contains("footprint    32 MiB: 1 block of 32 MiB"),
        "{plan}"
    );
    let version = ends_with(
        run("python").args(["-m", "graph_memory_footprint", "--version"]),
        0,
    );
    assert!(version.starts_with("graph-memory-footprint "), "{version}");

    watches_a_c_program(&bin, folder.path());
    let lib = environment.join("lib");
    for file in [
        bin.join("graph-memory-footprint"),
        lib.join("libgraph_memory_watch.so"),
        lib.join("libcudart_simulated.so"),
    ] {
        let newest = newest_glibc(&file);
        assert!(newest <= GLIBC, "{} needs glibc {newest:?}", file.display());
    }
}

/// The program was compiled before; the driver is the wheel's simulated runtime.
fn watches_a_c_program(bin: &Path, folder: &Path) {
    let program = folder.join("measures");
    ends_with(
        Command::new("cc")
            .args(["-O1", "-std=gnu11", "-w", "-o"])
            .arg(&program)
            .arg(root().join("ffi/watch/tests/support/c/measures.c"))
            .arg("-ldl"),
        0,
    );
    let driver = folder.join("driver");
    fs::create_dir(&driver).expect("a folder");
    fs::copy(
        bin.join("../lib/libcudart_simulated.so"),
        driver.join("libcuda.so.1"),
    )
    .expect("a copy");
    let report = folder.join("report.txt");
    ends_with(
        Command::new(bin.join("graph-memory-footprint"))
            .env("PATH", bin)
            .env("LD_LIBRARY_PATH", &driver)
            .args(["watch", "--text"])
            .arg(&report)
            .arg("--")
            .arg(&program),
        // The program's own exit code.
        7,
    );
    let report = fs::read_to_string(report).expect("the report");
    assert!(report.contains("3 graph execs"), "{report}");
    assert!(report.contains("at most 160 MiB reserved"), "{report}");
}

/// The newest version of glibc that a file's dynamic symbols name.
fn newest_glibc(file: &Path) -> [u32; 2] {
    let bytes = fs::read(file).expect("the file");
    let elf = object::File::parse(&*bytes).expect("an ELF file");
    let names = elf.section_by_name(".dynstr").expect("names of symbols");
    let names = String::from_utf8_lossy(names.data().expect("names")).into_owned();
    let versions = names.split('\0').filter_map(|name| {
        let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
        Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
    });
    versions.max().expect("it is linked with glibc")
}
