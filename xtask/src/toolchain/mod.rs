//! What is installed on this machine, as pure functions over an [`Env`].
//!
//! Every probe returns what it found, or a [`Trouble`](crate::trouble::Trouble) that says
//! what is missing and how to fix it. `kernel` builds with the results of the probes and
//! `doctor` prints them, so the two agree.

pub mod clang;
pub mod cuda;
pub mod llvm;
pub mod rust;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine as the probes see it: its environment variables and where its
/// file system starts. Tests make one up in a temporary folder.
#[derive(Debug, Clone)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    root: PathBuf,
}

impl Env {
    /// This machine. A variable that leads to a program or library by a relative path is
    /// not used, and a line on standard error says so.
    pub fn real() -> Self {
        let mut vars = env::vars_os().collect();
        for name in drop_relative(&mut vars) {
            eprintln!(
                "warning: {name} is a relative path, which depends on where this is started; it \
                 is not used: set an absolute one"
            );
        }
        Self {
            vars,
            root: PathBuf::from("/"),
        }
    }

    /// A machine whose absolute paths start at `root` and that has no
    /// variables yet.
    #[cfg(test)]
    pub fn made_up(root: &Path) -> Self {
        Self {
            vars: BTreeMap::new(),
            root: root.to_owned(),
        }
    }

    /// Sets a variable of a made-up machine.
    #[cfg(test)]
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.vars.insert(name.into(), value.into());
    }

    /// The variable's value; an empty one counts as not set.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// The variable's value as a path.
    pub fn path_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from)
    }

    /// The folders of a variable like `PATH`, without those that are relative: what lies
    /// in the current folder is not for them to find.
    pub fn search_path(&self, name: &str) -> Vec<PathBuf> {
        self.var(name)
            .map(|value| {
                env::split_paths(value)
                    .filter(|path| path.is_absolute())
                    .collect()
            })
            .unwrap_or_default()
    }

    /// An absolute default path, such as `/usr/local/cuda`, on this machine.
    pub fn at(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// The program as a shell would find it.
    pub fn which(&self, program: impl AsRef<Path>) -> Option<PathBuf> {
        let program = program.as_ref();
        if program.components().count() > 1 {
            return program.is_file().then(|| program.to_owned());
        }
        self.search_path("PATH")
            .into_iter()
            .map(|dir| dir.join(program))
            .find(|path| path.is_file())
    }

    /// Runs a program and returns its standard output, trimmed.
    ///
    /// # Errors
    ///
    /// One line: why it did not start, or how it ended and its last words.
    pub fn run(&self, program: &Path, args: &[&str]) -> Result<String, String> {
        let output = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&self.vars)
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.trim().lines().last().unwrap_or("no message");
            return Err(format!("{}: {last}", output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Variables that name a folder from which something is loaded or run.
const FOLDERS: [&str; 5] = [
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDA_HOME",
    "LIBCLANG_PATH",
];

/// Variables that name a program; a name without a slash is looked up in `PATH`.
const PROGRAMS: [&str; 4] = ["LLVM_CONFIG", "CLANG_PATH", "CXX", "CC"];

/// Removes relative paths from the variables above; returns what was removed.
fn drop_relative(vars: &mut BTreeMap<OsString, OsString>) -> Vec<&'static str> {
    let mut dropped = Vec::new();
    let named = |name: &&str, vars: &BTreeMap<OsString, OsString>| {
        let path = Path::new(vars.get(OsStr::new(name))?);
        let bare = PROGRAMS.contains(name) && path.components().count() == 1;
        (path.is_relative() && !path.as_os_str().is_empty() && !bare).then_some(())
    };
    for name in FOLDERS.into_iter().chain(PROGRAMS) {
        if named(&name, vars).is_some() {
            vars.remove(OsStr::new(name));
            dropped.push(name);
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_lead_to_nothing() {
        let given = [
            ("CUDA_PATH", "cuda", false),
            ("CUDA_HOME", "/opt/cuda", true),
            ("LIBCLANG_PATH", "./lib", false),
            ("LLVM_CONFIG", "llvm-config-7", true),
            ("CXX", "bin/c++", false),
            ("CC", "", true),
            ("OTHER", "here", true),
        ];
        let mut vars: BTreeMap<OsString, OsString> = given
            .iter()
            .map(|(name, value, _)| (name.into(), value.into()))
            .collect();
        let dropped = drop_relative(&mut vars);
        assert_eq!(dropped, ["CUDA_PATH", "LIBCLANG_PATH", "CXX"]);
        for (name, _, kept) in given {
            assert_eq!(vars.contains_key(OsStr::new(name)), kept, "{name}");
        }
        let mut machine = Env::made_up(Path::new("/"));
        machine.set("PATH", ".::bin:/usr/bin");
        assert_eq!(machine.search_path("PATH"), [Path::new("/usr/bin")]);
    }
}
