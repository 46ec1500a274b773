//! The built library as `libcuda.so.1`, for programs that use the driver API.

use std::path::{Path, PathBuf};

use super::{command, here, library, run, text};

/// A folder that contains the library as `libcuda.so.1`.
fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for the library");
    std::os::unix::fs::symlink(library(), folder.path().join("libcuda.so.1"))
        .expect("the folder can be written");
    folder
}

/// Compiles C and links it with the library in a folder. `None` if there is no compiler.
fn compile(folder: &Path, source: &str, options: &[&str]) -> Option<PathBuf> {
    let program = folder.join(Path::new(source).file_stem().expect("a name"));
    let mut cc = command("cc");
    cc.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg(here(source))
        .args([
            "-L",
            folder.to_str().expect("text"),
            "-l:libcuda.so.1",
            "-ldl",
            "-lpthread",
        ]);
    let output = run(cc)?;
    assert!(output.status.success(), "{}", text(&output));
    Some(program)
}

#[test]
fn a_driver_program_runs_on_the_library() {
    let folder = machine();
    let Some(program) = compile(folder.path(), "drives_it.c", &[]) else {
        return;
    };
    let dump = folder.path().join("graph.dot");
    let mut command = command(&program);
    command.arg(&dump).env("LD_LIBRARY_PATH", folder.path());
    let output = run(command).expect("just built");
    let said = text(&output);
    let wrong: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("not "))
        .collect();
    assert!(output.status.success() && wrong.is_empty(), "{said}");
    let named = "cudart_model: cuArrayDestroy is not simulated and returns 801\n";
    assert_eq!(said.matches(named).count(), 1, "{said}");
    let dump = std::fs::read_to_string(&dump).expect("the program dumped its graph");
    assert!(
        dump.contains("store\\<\\<\\<\\{2,3\\},4,0\\>\\>\\>"),
        "{dump}"
    );
}

#[test]
fn the_driver_loads_the_injection_library_of_the_environment() {
    let folder = machine();
    let program = compile(folder.path(), "drives_it.c", &[]);
    let injected = compile(folder.path(), "injected.c", &["-shared", "-fPIC"]);
    let (Some(program), Some(injected)) = (program, injected) else {
        return;
    };
    let with = |path: &Path| {
        let mut command = command(&program);
        command
            .env("LD_LIBRARY_PATH", folder.path())
            .env("CUDA_INJECTION64_PATH", path);
        text(&run(command).expect("just built"))
    };
    let said = with(&injected);
    let times = said.matches("injected into driver 13000\n").count();
    assert_eq!(times, 1, "{said}");
    // Like the driver, the simulated driver ignores a library that does not exist.
    assert!(!with(Path::new("/no/such/library.so")).contains("injected"));
}
