//! libclang, which bindgen opens to read CUDA's headers, and the C++ compiler
//! that builds the code generator's LLVM shim.

use std::fs;
use std::path::{Path, PathBuf};

use super::Env;
use crate::trouble::Trouble;

const DEFAULT_DIRS: &[&str] = &[
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
    "/usr/local/lib64",
];

/// What bindgen passes to libclang beside its own arguments.
const EXTRA_ARGS: &str = "BINDGEN_EXTRA_CLANG_ARGS";

/// Finds libclang: `LIBCLANG_PATH` (a file or its folder), the folders of
/// `LD_LIBRARY_PATH`, then the usual ones with those of Debian's `llvm-NN`.
///
/// # Errors
///
/// When it is nowhere.
pub fn libclang(env: &Env) -> Result<PathBuf, Trouble> {
    let named = env.path_var("LIBCLANG_PATH");
    if let Some(path) = &named {
        if path.is_file() {
            return Ok(path.clone());
        }
        if let Some(found) = in_dir(path) {
            return Ok(found);
        }
    }
    let mut dirs = env.search_path("LD_LIBRARY_PATH");
    dirs.extend(llvm_dirs(&env.at("/usr/lib")));
    dirs.extend(DEFAULT_DIRS.iter().map(|dir| env.at(dir)));
    dirs.iter().find_map(|dir| in_dir(dir)).ok_or_else(|| {
        let what = match named {
            Some(path) => format!(
                "no libclang for bindgen, not in LIBCLANG_PATH={} either",
                path.display()
            ),
            None => "no libclang for bindgen".to_owned(),
        };
        Trouble::new(
            what,
            "install it (Debian: apt install libclang-dev) or set LIBCLANG_PATH to its folder",
        )
    })
}

/// Where bindgen gets `stddef.h`, which CUDA's headers include and libclang does not
/// hold: from `BINDGEN_EXTRA_CLANG_ARGS`, from the folder of headers beside libclang, or
/// from the program `clang`, which bindgen runs to list its folders.
///
/// # Errors
///
/// When it is in none of them, as with the libclang of a Python wheel.
pub fn headers(env: &Env, libclang: &Path) -> Result<String, Trouble> {
    if let Some(args) = env.var(EXTRA_ARGS).map(|args| args.to_string_lossy())
        && let Some(folder) = extra_folder(&args)
    {
        return Ok(format!("{} ({EXTRA_ARGS})", folder.display()));
    }
    if let Some(folder) = beside(libclang) {
        return Ok(folder.display().to_string());
    }
    let clang = env.path_var("CLANG_PATH");
    let clang = clang.as_deref().unwrap_or(Path::new("clang"));
    if let Some(clang) = env.which(clang)
        && let Ok(resources) = env.run(&clang, &["-print-resource-dir"])
        && has_stddef(&Path::new(&resources).join("include"))
    {
        return Ok(format!("{resources}/include, of {}", clang.display()));
    }
    Err(Trouble::new(
        format!(
            "{} has no headers of its own: bindgen would stop at \"'stddef.h' file not found\"",
            libclang.display()
        ),
        match gcc_headers(env) {
            Some(folder) => format!("export {EXTRA_ARGS}=-I{folder}"),
            None => format!(
                "install clang (Debian: apt install clang), or set {EXTRA_ARGS} to -I and a \
                 folder with stddef.h"
            ),
        },
    ))
}

fn has_stddef(folder: &Path) -> bool {
    folder.join("stddef.h").is_file()
}

/// The first folder of `-I`, `-isystem` or `-resource-dir` that holds the header.
fn extra_folder(args: &str) -> Option<PathBuf> {
    let mut words = args.split_whitespace();
    while let Some(word) = words.next() {
        let named = ["-I", "-isystem", "-resource-dir"]
            .into_iter()
            .find_map(|flag| Some((flag, word.strip_prefix(flag)?)));
        let Some((flag, rest)) = named else { continue };
        let folder = match rest.trim_start_matches('=') {
            "" => words.next()?,
            folder => folder,
        };
        let folder = match flag {
            "-resource-dir" => Path::new(folder).join("include"),
            _ => PathBuf::from(folder),
        };
        if has_stddef(&folder) {
            return Some(folder);
        }
    }
    None
}

/// libclang looks for its headers in `clang/VERSION/include` of its own folder, and of
/// the folder that a link to it leads to.
fn beside(libclang: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(libclang).ok();
    let folders = [Some(libclang), real.as_deref()];
    let mut versions = folders
        .into_iter()
        .flatten()
        .filter_map(Path::parent)
        .filter_map(|folder| fs::read_dir(folder.join("clang")).ok())
        .flat_map(|entries| entries.flatten());
    versions
        .find_map(|entry| Some(entry.path().join("include")).filter(|folder| has_stddef(folder)))
}

/// The folder of gcc's headers, which serve libclang too.
fn gcc_headers(env: &Env) -> Option<String> {
    let gcc = env.which("gcc").or_else(|| env.which("cc"))?;
    let folder = env.run(&gcc, &["-print-file-name=include"]).ok()?;
    has_stddef(Path::new(&folder)).then_some(folder)
}

/// Finds the C++ compiler: `CXX`, else `c++`, `g++` or `clang++` in `PATH`.
///
/// # Errors
///
/// When there is none.
pub fn cxx(env: &Env) -> Result<PathBuf, Trouble> {
    let named = env.path_var("CXX");
    named
        .iter()
        .map(PathBuf::as_path)
        .chain(["c++", "g++", "clang++"].map(Path::new))
        .find_map(|program| env.which(program))
        .ok_or_else(|| {
            Trouble::new(
                "no C++ compiler for the code generator's LLVM shim",
                "install one (Debian: apt install g++) or set CXX",
            )
        })
}

/// `lib` of each `llvm-NN` folder, newest first.
fn llvm_dirs(usr_lib: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(usr_lib)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix("llvm-")?.parse().ok()?;
            Some((version, entry.path().join("lib")))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, dir)| dir).collect()
}

fn in_dir(dir: &Path) -> Option<PathBuf> {
    fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| {
                    // libclang.so, libclang.so.1, libclang-14.so.1; not libclang-cpp.
                    name.strip_prefix("libclang").is_some_and(|rest| {
                        rest.contains(".so")
                            && rest.starts_with(['.', '-'])
                            && !rest.starts_with("-cpp")
                    })
                })
        })
}
