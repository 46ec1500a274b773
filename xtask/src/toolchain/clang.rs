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
