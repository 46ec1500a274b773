//! The built library, as programs load it: its exports, and programs in C and Python that
//! use it.
#![cfg(target_os = "linux")]

mod calls;
mod capture;
mod driver;
mod fork;
mod names;
mod nvcc;
mod projects;
mod stress;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cudart_ffi::simulated_driver::SIMULATED_DRIVER_FUNCTIONS;
use cudart_model::FunctionId;
use cudart_model::c_api::{NVCC, OTHER_NAMES, UNSUPPORTED, UNSUPPORTED_DRIVER};
use object::{Object, ObjectSymbol};

/// The library file that cargo built for this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let library = test.with_file_name("libcudart_simulated.so");
    assert!(library.exists(), "cargo builds {}", library.display());
    library
}

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/library")
        .join(file)
}

/// A command without the environment variables that configure the simulated runtime.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in [
        "CUDART_MODEL_PROFILE",
        "CUDART_MODEL_CLOCK",
        "CUDART_MODEL_FAULT",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs a tool. If it is not installed, prints that and returns `None`; in CI a missing
/// tool fails the test.
fn run(mut command: Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound && std::env::var_os("CI").is_none() => {
            eprintln!(
                "skipped: {} is not installed",
                command.get_program().display()
            );
            None
        }
        Err(error) => panic!("{}: {error}", command.get_program().display()),
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn the_library_exports_the_listed_functions_and_nothing_else() {
    let bytes = std::fs::read(library()).expect("the library can be read");
    let file = object::File::parse(&*bytes).expect("the library is an ELF file");
    let exported: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .map(|symbol| symbol.name().expect("names are text"))
        .collect();
    let runtime = FunctionId::ALL.iter().map(|function| function.name());
    let driver = SIMULATED_DRIVER_FUNCTIONS
        .iter()
        .flat_map(|line| [Some(line.name), line.twin])
        .flatten();
    let others = OTHER_NAMES.iter().map(|(name, _)| *name);
    let unsupported = UNSUPPORTED
        .iter()
        .chain(UNSUPPORTED_DRIVER)
        .chain(NVCC)
        .copied();
    let listed: BTreeSet<&str> = runtime
        .chain(driver)
        .chain(others)
        .chain(unsupported)
        .collect();
    assert_eq!(exported, listed);
    // Every function of NVIDIA's libraries is exported, so that a program which uses any
    // of them can start.
    let runtime = include_str!("../data/exports/libcudart.txt").lines();
    let driver = include_str!("../data/exports/libcuda.txt").lines();
    let missing: Vec<&str> = runtime
        .chain(driver)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !exported.contains(name))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_symbols_in_the_process_are_also_the_listed_functions() {
    for function in FunctionId::ALL {
        let name = std::ffi::CString::new(function.name()).expect("no NUL in a name");
        assert!(cudart_model::symbol(&name).is_some(), "{}", function.name());
    }
    assert!(cudart_model::symbol(c"cudaMemcpyPeer").is_none());
    assert!(cudart_model::symbol(c"").is_none());
}

/// Compiles the C program and links it with the library.
fn c_program(folder: &Path) -> Option<PathBuf> {
    compiled(folder, "uses_it", &["-std=c99"])
}

/// Compiles one of the programs that need threads or other parts of POSIX, and links it
/// with the library.
fn linked(folder: &Path, name: &str) -> Option<PathBuf> {
    let options = ["-std=gnu99", "-O1", "-pthread", "-Wl,--no-as-needed"];
    compiled(folder, name, &options)
}

fn compiled(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let program = folder.join(name);
    let library = library();
    let mut cc = command("cc");
    cc.args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(here(name).with_extension("c"))
        .arg(&library)
        .arg(format!(
            "-Wl,-rpath,{}",
            library.parent().expect("a file has a folder").display()
        ));
    let output = run(cc)?;
    assert!(output.status.success(), "{}", text(&output));
    Some(program)
}

#[test]
fn a_c_program_runs_on_the_library() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = c_program(folder.path()) else {
        return;
    };
    let output = run(command(&program)).expect("just built");
    assert_eq!(
        text(&output),
        "same address 1\nbefore 0\nafter launch 64\nafter trim 0\nnull exec cudaErrorInvalidValue\n"
    );
    assert!(output.status.success());
}

#[test]
fn the_environment_selects_profile_and_faults() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = c_program(folder.path()) else {
        return;
    };
    let with = |name: &str, value: &str| {
        let mut command = command(&program);
        command
            .env(name, value)
            .env("CUDART_MODEL_CLOCK", "virtual");
        text(&run(command).expect("just built"))
    };
    let refused = with("CUDART_MODEL_PROFILE", "no-memory-pools");
    assert!(refused.contains("cudaErrorNotSupported"), "{refused}");
    let old = with("CUDART_MODEL_PROFILE", "old-driver");
    assert!(old.contains("cudaErrorInsufficientDriver"), "{old}");
    let failed = with("CUDART_MODEL_FAULT", "cudaGraphLaunch:1=2");
    assert!(failed.contains("cudaErrorMemoryAllocation"), "{failed}");
    let unknown = with("CUDART_MODEL_PROFILE", "h100");
    assert!(
        unknown.contains("no built-in profile is called \"h100\""),
        "{unknown}"
    );
    assert!(
        unknown.contains("cudaErrorInitializationError"),
        "{unknown}"
    );

    let file = folder.path().join("coarse.toml");
    let (_, h200) = cudart_model::Profile::BUILT_IN[0];
    let coarse = h200
        .replace("block_mib = 32 ", "block_mib = 256 ")
        .replace("0x302000000", "0x300000000");
    std::fs::write(&file, coarse).expect("the folder can be written");
    let own = with(
        "CUDART_MODEL_PROFILE",
        file.to_str().expect("a temporary path is text"),
    );
    assert!(own.contains("after launch 256"), "{own}");
}

#[test]
fn a_python_program_runs_on_the_library() {
    let mut python = command("python3");
    python.arg(here("uses_it.py")).arg(library());
    let Some(output) = run(python) else {
        return;
    };
    assert_eq!(
        text(&output),
        "launched 64\nlaunched 128\nlaunched 192\ntrimmed 192\nfreed and trimmed 0\n"
    );
    assert!(output.status.success());
}

/// The Python examples in README.md and `docs/` that load the library.
#[test]
fn the_python_examples_of_the_pages_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let loaded = "target/release/libcudart_simulated.so";
    let library = library();
    let library = library.to_str().expect("the path is text");
    let mut found = 0;
    for page in ["README.md", "docs/simulated-runtime.md"] {
        let page = std::fs::read_to_string(root.join(page)).expect("the page can be read");
        for block in page.split("```python\n").skip(1) {
            let program = block.split("```").next().unwrap_or(block);
            assert!(program.contains(loaded), "{program}");
            // The examples do not check codes. Any code other than 0 fails the
            // test.
            let program = format!(
                "{}\nassert cudart.cudaGetLastError() == 0\nprint(used.value)",
                program.replace(loaded, library)
            );
            let mut python = command("python3");
            python.arg("-c").arg(program);
            if let Some(output) = run(python) {
                assert_eq!(text(&output), "0\n");
            }
            found += 1;
        }
    }
    assert_eq!(found, 2, "each of the pages has an example");
}
