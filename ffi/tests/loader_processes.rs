//! Tests of the loader that depend on the state of a process: the system's search, the
//! libraries that are already open, and the files that the user may read. Each test starts
//! a process of its own.

#![allow(unsafe_code, reason = "it loads libraries")]
#![cfg(target_os = "linux")]

mod support;

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use cudart_ffi::loader::attempts_text;
use cudart_ffi::{Cudart, Search};
use support::{Standin, real_of};

/// Set for a child process: the library to open before the search, or empty.
const FIRST: &str = "CUDART_TEST_FIRST";
/// Set for a child process: the folder that is searched instead of `/usr/local`.
const USR_LOCAL: &str = "CUDART_TEST_USR_LOCAL";

/// Runs in the child process: loads a library and prints the result.
#[test]
fn child() {
    let Some(usr_local) = env::var_os(USR_LOCAL) else {
        return;
    };
    if let Some(first) = env::var_os(FIRST) {
        // SAFETY: the libraries are this test's own.
        unsafe { Cudart::load(&Search::explicit(first)) }.unwrap();
    }
    let search = Search {
        usr_local: usr_local.into(),
        ..Search::from_environment()
    };
    // SAFETY: as above.
    match unsafe { Cudart::load(&search) } {
        Ok(cudart) => {
            println!(
                "loaded {:?} by {} from {}",
                cudart.runtime_version,
                cudart.place,
                cudart.path.as_deref().unwrap_or(Path::new("?")).display()
            );
            println!("{}", attempts_text(&cudart.attempts));
        }
        Err(error) => println!("{}", error.report()),
    }
}

/// A process whose environment names no CUDA installation.
fn process(folder: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(USR_LOCAL, folder.join("usr-local"))
        .env_remove(FIRST)
        .env_remove("LD_LIBRARY_PATH")
        .current_dir("/");
    for variable in ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV"] {
        command.env_remove(variable);
    }
    command
}

fn shown(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn by_soname_alone_the_newest_on_the_systems_path_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib");
    Standin::new(11080).build(&lib.join("libcudart.so.11.0"));
    let newest = Standin::new(12040).build(&lib.join("libcudart.so.12"));
    let text = shown(process(folder.path()).env("LD_LIBRARY_PATH", &lib));
    let line = format!(
        "loaded Some(12040) by system library search from {}",
        newest.display()
    );
    assert!(text.contains(&line), "{text}");
}

#[test]
fn a_broken_library_on_the_systems_path_is_reported_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("libcudart.so.12"), "no library at all").unwrap();
    Standin::new(11080).build(&lib.join("libcudart.so.11.0"));
    let text = shown(process(folder.path()).env("LD_LIBRARY_PATH", &lib));
    assert!(text.contains("loaded Some(11080)"), "{text}");
    let broken = lib.join("libcudart.so.12");
    assert!(
        text.contains(&format!("cannot be opened: {}", broken.display())),
        "{text}"
    );
}

#[test]
fn a_library_that_the_process_has_open_comes_before_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let open = Standin::new(12040).build(&folder.path().join("open/libcudart.so.12"));
    let lib = folder.path().join("lib");
    Standin::new(13000).build(&lib.join("libcudart.so.13"));
    let text = shown(
        process(folder.path())
            .env("LD_LIBRARY_PATH", &lib)
            .env(FIRST, &open),
    );
    let line = format!(
        "loaded Some(12040) by already loaded from {}",
        open.display()
    );
    assert!(text.contains(&line), "{text}");
}

#[test]
fn a_library_that_is_found_in_two_ways_is_tried_once() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("usr-local/cuda/lib64");
    Standin::refusing(13000, 12040).build(&lib.join("libcudart.so.13"));
    let text = shown(process(folder.path()).env("LD_LIBRARY_PATH", &lib));
    assert!(text.contains("loaded Some(13000)"), "{text}");
    assert_eq!(text.matches("needs a newer driver").count(), 1, "{text}");
}

#[test]
fn without_any_library_the_report_lists_what_was_tried() {
    let folder = tempfile::tempdir().unwrap();
    let unfit = folder.path().join("home/lib64/libcudart.so.12");
    fs::create_dir_all(&unfit).unwrap();
    let text = shown(process(folder.path()).env("CUDA_HOME", folder.path().join("home")));
    if text.contains("loaded") {
        eprintln!("SKIPPED: this machine has a libcudart on the system's path");
        return;
    }
    let tried = |target: &str, place: &str, outcome: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(target));
        let line = line.unwrap_or_else(|| panic!("{target} is not in {text}"));
        assert!(line.contains(place) && line.ends_with(outcome), "{line}");
    };
    for soname in [
        "libcudart.so.13",
        "libcudart.so.12",
        "libcudart.so.11.0",
        "libcudart.so ",
    ] {
        tried(soname, "system library search", "not found");
    }
    tried(
        unfit.to_str().unwrap(),
        "CUDA_HOME",
        "cannot be opened: it is a directory",
    );
}

#[test]
fn the_message_for_a_library_without_read_permission_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("home/lib64");
    let file = Standin::new(12040).build(&lib.join("libcudart.so.12"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // By default only the owner can enter the temporary folder.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = process(folder.path());
    command.env("CUDA_HOME", folder.path().join("home"));
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // Root can read every file, so the child runs as the user nobody.
        command.uid(65534);
    }
    let text = match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => {
            eprintln!(
                "SKIPPED: root reads every file, and the test cannot start a process as another user"
            );
            return;
        }
    };
    assert!(
        text.contains("cannot be opened: this user has no permission to read it"),
        "{text}"
    );
}

#[test]
fn a_real_library_is_found_by_its_soname() {
    let Some(real) = real_of(12080) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let lib = real.file.parent().unwrap();
    let text = shown(process(folder.path()).env("LD_LIBRARY_PATH", lib));
    let line = format!(
        "loaded Some(12080) by system library search from {}",
        real.file.display()
    );
    assert!(text.contains(&line), "{text}");
}
