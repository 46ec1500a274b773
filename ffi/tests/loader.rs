//! Runs the loader on directory trees that imitate installations, with small libraries in
//! place of runtimes. Checks which library it uses, and what it reports about the others.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use cudart_ffi::loader::{Attempt, Outcome, Place, attempts_text};
use cudart_ffi::{Cudart, LoadError, Search};
use support::{Standin, compile, empty_search, link};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn load(search: &Search) -> Cudart {
    // SAFETY: the libraries are this test's own.
    unsafe { Cudart::load(search) }.unwrap_or_else(|error| panic!("{}", error.report()))
}

fn refusal(path: &Path) -> LoadError {
    // SAFETY: as above.
    unsafe { Cudart::load(&Search::explicit(path)) }.unwrap_err()
}

fn outcomes(attempts: &[Attempt]) -> Vec<&Outcome> {
    attempts.iter().map(|attempt| &attempt.outcome).collect()
}

/// The message for an unusable file whose path is given.
#[track_caller]
fn said_of(path: &Path, reason: &str) {
    let error = refusal(path);
    let headline = format!("{} {reason}", path.display());
    assert_eq!(error.to_string(), headline);
    assert!(error.report().contains(reason), "{}", error.report());
}

/// A `/usr/local` that contains a toolkit with the layout of NVIDIA's packages.
fn toolkit(usr_local: &Path, version: &str, file: &str, standin: &Standin) -> PathBuf {
    let root = usr_local.join(format!("cuda-{version}"));
    let library = root
        .join("targets/x86_64-linux/lib")
        .join(format!("{file}.{version}"));
    standin.build(&library);
    link(library.file_name().unwrap(), &library.with_file_name(file));
    link(file, &library.with_file_name("libcudart.so"));
    link("targets/x86_64-linux/lib", &root.join("lib64"));
    library
}

#[test]
fn of_several_toolkits_the_one_that_cuda_points_at_is_taken() {
    let folder = folder();
    let usr_local = folder.path().join("usr-local");
    toolkit(&usr_local, "13.0", "libcudart.so.13", &Standin::new(13000));
    let older = toolkit(&usr_local, "12.4", "libcudart.so.12", &Standin::new(12040));
    link("cuda-12.4", &usr_local.join("cuda"));
    let search = Search {
        usr_local,
        ..empty_search(folder.path())
    };
    let cudart = load(&search);
    assert_eq!(cudart.runtime_version, Some(12040));
    assert_eq!(cudart.place, Place::UsrLocal);
    assert_eq!(cudart.path, Some(older.canonicalize().unwrap()));
}

#[test]
fn of_several_toolkits_without_a_cuda_link_the_newest_is_taken() {
    let folder = folder();
    let usr_local = folder.path().join("usr-local");
    for (version, number) in [("12.9", 12090), ("12.10", 12100), ("11.8", 11080)] {
        toolkit(
            &usr_local,
            version,
            "libcudart.so.12",
            &Standin::new(number),
        );
    }
    let search = Search {
        usr_local,
        ..empty_search(folder.path())
    };
    assert_eq!(load(&search).runtime_version, Some(12100));
    // lib64, the file with the version and the file without it are the same file, so it
    // is listed once.
    assert_eq!(search.candidates().len(), 3);
}

#[test]
fn a_conda_environment_and_wheels_in_a_virtual_environment_are_found() {
    let folder = folder();
    let conda = folder.path().join("conda");
    Standin::new(12060).build(&conda.join("lib/libcudart.so.12"));
    let venv = folder.path().join("venv");
    let packages = venv.join("lib/python3.11/site-packages/nvidia");
    Standin::new(12080).build(&packages.join("cuda_runtime/lib/libcudart.so.12"));
    Standin::new(13020).build(&packages.join("cu13/lib/libcudart.so.13"));
    let with = |variables: &[(&'static str, &PathBuf)]| Search {
        variables: variables
            .iter()
            .map(|(name, path)| (*name, path.as_os_str().to_owned()))
            .collect(),
        ..empty_search(folder.path())
    };
    let cudart = load(&with(&[("CONDA_PREFIX", &conda)]));
    assert_eq!(cudart.runtime_version, Some(12060));
    assert_eq!(cudart.place, Place::Variable("CONDA_PREFIX"));
    let cudart = load(&with(&[("VIRTUAL_ENV", &venv)]));
    assert_eq!(cudart.runtime_version, Some(13020));
    let cudart = load(&with(&[("VIRTUAL_ENV", &venv), ("CONDA_PREFIX", &conda)]));
    assert_eq!(cudart.place, Place::Variable("VIRTUAL_ENV"));
}

#[test]
fn variables_that_name_a_toolkit_come_before_usr_local() {
    let folder = folder();
    let usr_local = folder.path().join("usr-local");
    toolkit(&usr_local, "13.0", "libcudart.so.13", &Standin::new(13000));
    let own = folder.path().join("opt");
    toolkit(&own, "12.2", "libcudart.so.12", &Standin::new(12020));
    let home = own.join("cuda-12.2").into_os_string();
    let search = Search {
        usr_local,
        variables: [("CUDA_HOME", home)].into(),
        ..empty_search(folder.path())
    };
    let cudart = load(&search);
    assert_eq!(cudart.runtime_version, Some(12020));
    assert_eq!(cudart.place, Place::Variable("CUDA_HOME"));
}

#[test]
fn a_named_file_or_directory_is_the_only_one_tried() {
    let folder = folder();
    let file = Standin::new(12040).build(&folder.path().join("any/name.so"));
    let cudart = load(&Search::explicit(&file));
    assert_eq!(
        (cudart.place, cudart.runtime_version),
        (Place::Explicit, Some(12040))
    );
    assert_eq!(outcomes(&cudart.attempts), [&Outcome::Chosen]);

    let root = folder.path().join("root");
    Standin::new(12050).build(&root.join("lib64/libcudart.so.12"));
    assert_eq!(load(&Search::explicit(&root)).runtime_version, Some(12050));
    assert_eq!(
        load(&Search::explicit(root.join("lib64"))).runtime_version,
        Some(12050)
    );

    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let said = refusal(&empty).to_string();
    assert_eq!(
        said,
        format!("there is no libcudart in {}", empty.display())
    );
    let nowhere = folder.path().join("nowhere/libcudart.so.12");
    let said = refusal(&nowhere).to_string();
    assert_eq!(
        said,
        format!("there is no libcudart at {}", nowhere.display())
    );
}

#[test]
fn messages_for_a_text_file_an_empty_file_and_a_directory_say_what_the_file_is() {
    let folder = folder();
    let file = folder.path().join("libcudart.so.12");
    fs::write(&file, "version https://git-lfs.github.com/spec/v1\n").unwrap();
    said_of(&file, "cannot be opened: it is a text file, not a library");
    fs::write(&file, "").unwrap();
    said_of(&file, "cannot be opened: it is empty");
    fs::write(&file, [0x80, 0xff, 0]).unwrap();
    said_of(&file, "cannot be opened: it is not an ELF library");
    fs::remove_file(&file).unwrap();
    // A directory whose path is given would be searched, so this one is found through
    // its parent.
    fs::create_dir(&file).unwrap();
    let error = refusal(folder.path());
    let said = format!("{} cannot be opened: it is a directory", file.display());
    assert_eq!(error.to_string(), said);
}

#[test]
fn the_message_for_a_dangling_link_names_its_target() {
    let folder = folder();
    let file = folder.path().join("libcudart.so.12");
    link("libcudart.so.12.4.127", &file);
    said_of(
        &file,
        "cannot be opened: it is a link to libcudart.so.12.4.127, which does not exist",
    );
}

#[test]
fn the_message_for_a_library_of_another_architecture_names_both_architectures() {
    let folder = folder();
    let file = Standin::new(12040).build(&folder.path().join("libcudart.so.12"));
    let fit = fs::read(&file).unwrap();
    let mut patched = fit.clone();
    patched[4] = 1;
    fs::write(&file, &patched).unwrap();
    said_of(
        &file,
        "cannot be opened: it is a 32-bit library, and this program is 64-bit",
    );

    let (machine, name) = match std::env::consts::ARCH {
        "aarch64" => (62, "x86_64"),
        _ => (183, "aarch64"),
    };
    let mut patched = fit;
    patched[18] = machine;
    fs::write(&file, &patched).unwrap();
    said_of(
        &file,
        &format!(
            "cannot be opened: it is a library for {name}, and this program is for {}",
            std::env::consts::ARCH
        ),
    );
}

#[test]
fn a_missing_dependency_is_named() {
    let folder = folder();
    let needed = folder.path().join("libneeded-by-cudart.so.1");
    compile(
        &needed,
        "int needed(void) { return 0; }",
        &["-Wl,-soname,libneeded-by-cudart.so.1"],
        None,
    );
    let standin = Standin {
        needs: Some(needed.clone()),
        ..Standin::new(13010)
    };
    let file = folder.path().join("libcudart.so.13");
    standin.build(&file);
    fs::remove_file(&needed).unwrap();
    let said = refusal(&file).to_string();
    assert!(said.contains("libneeded-by-cudart.so.1"), "{said}");
}

#[test]
fn a_library_without_graph_memory_calls_is_refused_and_all_missing_names_are_listed() {
    let folder = folder();
    let missing = vec![
        "cudaGraphAddMemAllocNode",
        "cudaGraphAddMemFreeNode",
        "cudaDeviceGraphMemTrim",
    ];
    let standin = Standin {
        missing: missing.clone(),
        ..Standin::new(11030)
    };
    let file = standin.build(&folder.path().join("libcudart.so.11.0"));
    said_of(
        &file,
        "is not a CUDA runtime of 11.4 or later: it lacks cudaGraphAddMemAllocNode, \
         cudaGraphAddMemFreeNode, cudaDeviceGraphMemTrim",
    );
    assert_eq!(
        outcomes(&refusal(&file).attempts),
        [&Outcome::LacksFunctions(missing)]
    );
}

#[test]
fn a_library_that_is_not_a_cuda_runtime_is_refused_in_one_short_line() {
    let folder = folder();
    let file = folder.path().join("libcudart.so");
    compile(
        &file,
        "int cudaDriverGetVersion(int *v) { return *v = 0; }",
        &[],
        None,
    );
    let said = refusal(&file).to_string();
    assert!(said.contains("lacks cudaRuntimeGetVersion, "), "{said}");
    assert!(
        said.ends_with(" more functions") && said.len() < 250,
        "{said}"
    );
}

#[test]
fn an_unusable_library_is_skipped_and_the_next_one_is_used() {
    let folder = folder();
    let lib = folder.path().join("lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("libcudart.so.13"), "not this one").unwrap();
    Standin::new(12040).build(&lib.join("libcudart.so.12"));
    let cudart = load(&Search::explicit(folder.path()));
    assert_eq!(cudart.runtime_version, Some(12040));
    let text = attempts_text(&cudart.attempts);
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].contains("libcudart.so.13 ") && lines[0].ends_with("not a library"),
        "{text}"
    );
    assert!(
        lines[1].contains("libcudart.so.12 ") && lines[1].ends_with("used"),
        "{text}"
    );
    let column = |line: &str| line.find("path given");
    assert_eq!(column(lines[0]), column(lines[1]), "{text}");
}

#[test]
fn with_a_driver_too_old_for_the_newest_the_next_older_is_taken() {
    let folder = folder();
    Standin::refusing(13000, 12040).build(&folder.path().join("libcudart.so.13"));
    Standin {
        driver: 12040,
        ..Standin::new(12040)
    }
    .build(&folder.path().join("libcudart.so.12"));
    let cudart = load(&Search::explicit(folder.path()));
    assert_eq!(cudart.runtime_version, Some(12040));
    let refused = Outcome::DriverTooOld {
        driver: 12040,
        runtime: Some(13000),
    };
    assert_eq!(outcomes(&cudart.attempts), [&refused, &Outcome::Chosen]);
    assert!(attempts_text(&cudart.attempts).contains(
        "needs a newer driver than this one, which supports CUDA 12.4 (the library is 13.0)"
    ));
}

#[test]
fn with_a_driver_too_old_for_all_the_newest_library_is_used_wherever_it_is() {
    let folder = folder();
    let usr_local = folder.path().join("usr-local");
    toolkit(
        &usr_local,
        "13.0",
        "libcudart.so.13",
        &Standin::refusing(13000, 11040),
    );
    let own = folder.path().join("own");
    Standin::refusing(12040, 11040).build(&own.join("lib64/libcudart.so.12"));
    let search = Search {
        usr_local,
        variables: [("CUDA_PATH", own.into_os_string())].into(),
        ..empty_search(folder.path())
    };
    let cudart = load(&search);
    assert_eq!(
        (cudart.runtime_version, cudart.driver_version),
        (Some(13000), 11040)
    );
    assert_eq!(cudart.attempts.len(), 2);
}

#[test]
fn without_a_driver_the_first_library_is_kept() {
    let folder = folder();
    Standin::refusing(13000, 0).build(&folder.path().join("libcudart.so.13"));
    Standin::refusing(12040, 0).build(&folder.path().join("libcudart.so.12"));
    let cudart = load(&Search::explicit(folder.path()));
    assert_eq!(
        (cudart.runtime_version, cudart.driver_version),
        (Some(13000), 0)
    );
    assert_eq!(cudart.attempts.len(), 1);
}

#[test]
fn unknown_codes_are_returned_and_values_of_failed_calls_are_ignored() {
    let folder = folder();
    let standin = Standin {
        runtime_code: -7,
        driver_code: 999,
        count_code: 123_456,
        ..Standin::new(12040)
    };
    let file = standin.build(&folder.path().join("libcudart.so.12"));
    let cudart = load(&Search::explicit(&file));
    assert_eq!((cudart.runtime_version, cudart.driver_version), (None, 0));
    let mut count = 5;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { cudart.cudaGetDeviceCount(&raw mut count) };
    assert_eq!((code.0, code.known_name(), count), (123_456, None, 5));
}

#[test]
fn optional_functions_that_a_library_lacks_are_none() {
    let folder = folder();
    let file = Standin::new(12040).build(&folder.path().join("libcudart.so.12"));
    let cudart = load(&Search::explicit(&file));
    assert!(!cudart.exports("cudaLibraryLoadData") && cudart.exports("cudaGraphLaunch"));
    // SAFETY: the library lacks the function, so nothing is called.
    let code = unsafe { cudart.cudaLibraryUnload(cudart_ffi::cudaLibrary_t::NULL) };
    assert_eq!(code, None);
    assert_eq!(cudart.model_description(), None);
}

/// The places in which pip and distributions install wheels (case 11): for each, the folder
/// below a temporary root, and the setting of the search that leads to it.
#[test]
fn wheels_are_found_where_pip_puts_them_without_an_active_environment() {
    type Tell = fn(&mut Search, &Path);
    let cases: [(&str, &str, Tell); 9] = [
        (
            "pip as root on Debian and Ubuntu, Colab",
            "usr/local/lib/python3.10/dist-packages/nvidia/cuda_runtime/lib/libcudart.so.12",
            |search, root| search.usr_local = root.join("usr/local"),
        ),
        (
            "the python:3.12 image",
            "usr/local/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| search.usr_local = root.join("usr/local"),
        ),
        (
            "pip install --user",
            "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| search.home = Some(root.join("home")),
        ),
        (
            "a distribution's package",
            "usr/lib/python3/dist-packages/nvidia/cuda_runtime/lib/libcudart.so.12",
            |search, root| search.usr = root.join("usr"),
        ),
        (
            "python3 of another prefix in PATH",
            "opt/python/lib/python3.13/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| {
                fs::create_dir_all(root.join("opt/python/bin")).unwrap();
                fs::write(root.join("opt/python/bin/python3"), "").unwrap();
                search.path = vec![root.join("opt/python/bin")];
            },
        ),
        (
            "python3 in PATH that is a link, as version managers have it",
            "versions/3.12.1/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| {
                fs::create_dir_all(root.join("versions/3.12.1/bin")).unwrap();
                fs::write(root.join("versions/3.12.1/bin/python3.12"), "").unwrap();
                link(
                    root.join("versions/3.12.1/bin/python3.12"),
                    &root.join("bin/python3"),
                );
                search.path = vec![root.join("bin")];
            },
        ),
        (
            "an environment that is not activated, from its bin folder",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| {
                fs::write(root.join("venv/pyvenv.cfg"), "").unwrap();
                search.program = Some(root.join("venv/bin"));
            },
        ),
        (
            "the same from the package that pip installed",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| {
                fs::write(root.join("venv/pyvenv.cfg"), "").unwrap();
                let package = "venv/lib/python3.12/site-packages/graph_memory_footprint/bin";
                search.program = Some(root.join(package));
            },
        ),
        (
            "a conda environment that is not activated",
            "conda/envs/e/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13",
            |search, root| {
                fs::create_dir_all(root.join("conda/envs/e/conda-meta")).unwrap();
                search.program = Some(root.join("conda/envs/e/bin"));
            },
        ),
    ];
    for (what, place, tell) in cases {
        let folder = folder();
        let library = Standin::new(13000).build(&folder.path().join(place));
        let mut search = empty_search(folder.path());
        assert_eq!(
            search.candidates(),
            [],
            "{what}: found without the setting of the search"
        );
        tell(&mut search, folder.path());
        let found = load(&search);
        assert_eq!(found.path, Some(library.canonicalize().unwrap()), "{what}");
    }
}

#[test]
fn a_path_may_name_any_folder_above_a_wheel_or_a_toolkit() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap();
    let wheel = "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13";
    let library = Standin::new(13000).build(&root.join(wheel));
    for above in [
        "venv",
        "venv/lib/python3.12/site-packages",
        "venv/lib/python3.12/site-packages/nvidia",
        "venv/lib/python3.12/site-packages/nvidia/cu13",
        "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
    ] {
        let found = load(&Search::explicit(root.join(above)));
        assert_eq!(found.path.as_ref(), Some(&library), "{above}");
    }
    let debian = "usr/local/lib/python3.10/dist-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
    let library = Standin::new(12040).build(&root.join(debian));
    for above in ["usr/local", "usr/local/lib/python3.10/dist-packages"] {
        let found = load(&Search::explicit(root.join(above)));
        assert_eq!(found.path.as_ref(), Some(&library), "{above}");
    }
}

#[test]
fn of_several_pythons_the_newest_is_taken() {
    let folder = folder();
    for (python, version) in [("3.9", 12010), ("3.12", 12080), ("3.10", 12040)] {
        let place = format!(
            "usr/local/lib/python{python}/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12"
        );
        Standin::new(version).build(&folder.path().join(place));
    }
    let search = Search {
        usr_local: folder.path().join("usr/local"),
        ..empty_search(folder.path())
    };
    assert_eq!(load(&search).runtime_version, Some(12080));
}

#[test]
fn the_message_for_a_static_library_says_what_it_is() {
    let folder = folder();
    let archive = folder.path().join("libcudart_static.a");
    fs::write(
        &archive,
        b"!<arch>\ncudart.o/       0           0     0     644     4         `\n",
    )
    .unwrap();
    said_of(
        &archive,
        "cannot be opened: it is a static library; name the shared library, libcudart.so or \
         libcudart.so.13",
    );
}
