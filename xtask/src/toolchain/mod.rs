//! What is installed on this machine, as pure functions over an [`Env`].
//!
//! Every probe returns what it found or a [`Trouble`](crate::trouble::Trouble)
//! that says what is missing and how to mend it. `kernel` builds with what the
//! probes give, `doctor` prints them: the two cannot disagree.

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
    /// This machine.
    pub fn real() -> Self {
        Self {
            vars: env::vars_os().collect(),
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

    /// The folders of a variable like `PATH`.
    pub fn search_path(&self, name: &str) -> Vec<PathBuf> {
        self.var(name)
            .map(|value| env::split_paths(value).collect())
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
