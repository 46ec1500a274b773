//! `cargo xtask doctor`: what is missing on this machine, and how to fix it.
//!
//! Every line comes from the function that the other tasks call: the probes of
//! [`toolchain`](crate::toolchain), the kernel's build, the program's loader. The exit
//! code is 0 whatever is missing, unless `--require` names a group.

mod checks;
mod gpu;
mod render;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use cudart_ffi::loader::Version;
use serde::Serialize;

use crate::toolchain::Env;
use crate::trouble::Trouble;

/// Options of `cargo xtask doctor`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Write JSON.
    #[arg(long)]
    json: bool,
    /// Exit with 1 unless this group is ready; may be given more than once.
    #[arg(long, value_enum, value_name = "GROUP")]
    require: Vec<Id>,
}

/// A group of checks: one thing that a person may want to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Id {
    /// Run the experiments on a GPU.
    Run,
    /// Rebuild the kernel with rustc.
    Rustc,
    /// Rebuild the kernel with rust-cuda.
    RustCuda,
    /// Compare with NVIDIA's compiled sample, and benchmark.
    Compare,
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Raised when a field changes its meaning or goes.
    pub schema_version: u32,
    /// In the order in which a newcomer needs them.
    pub groups: Vec<Group>,
}

/// The checks of one group.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its name for `--require` and for machines.
    pub id: Id,
    /// Its name for people.
    pub title: &'static str,
    /// Whether everything that it needs is installed.
    pub ready: bool,
    /// What is used instead while it is not ready.
    pub otherwise: &'static str,
    /// The checks, in the order in which to fix them.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is.
    pub name: String,
    /// What came of it.
    pub status: Status,
    /// What was found, or what is wrong.
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is there and works.
    Ok,
    /// The group needs it.
    Missing,
    /// The group does without.
    Optional,
    /// It cannot be looked for before something else is there.
    Skipped,
}

impl Group {
    fn new(id: Id, title: &'static str, otherwise: &'static str, checks: Vec<Check>) -> Self {
        let blocks = |check: &Check| matches!(check.status, Status::Missing | Status::Skipped);
        Self {
            id,
            title,
            ready: !checks.iter().any(blocks),
            otherwise,
            checks,
        }
    }
}

impl Check {
    fn of(name: &str, result: Result<String, Trouble>) -> Self {
        let (status, detail, remedy) = match result {
            Ok(found) => (Status::Ok, found, None),
            Err(trouble) => (Status::Missing, trouble.what, Some(trouble.remedy)),
        };
        Self {
            name: name.to_owned(),
            status,
            detail,
            remedy,
        }
    }

    fn skipped(name: &str, needs: &str) -> Self {
        Self {
            name: name.to_owned(),
            status: Status::Skipped,
            detail: format!("not checked: needs {needs}"),
            remedy: None,
        }
    }

    /// A thing that the group does without.
    fn optional(mut self) -> Self {
        if self.status == Status::Missing {
            self.status = Status::Optional;
        }
        self
    }
}

/// Runs the subcommand.
///
/// # Errors
///
/// When the report cannot be written as JSON.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let report = examine(&Env::real(), root, &gpu::Found::here(root));
    if args.json {
        let json = serde_json::to_string_pretty(&report).context("cannot write the JSON")?;
        println!("{json}");
    } else {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print!("{}", render::text(&report, colour));
    }
    let lacking = |group: &&Group| args.require.contains(&group.id) && !group.ready;
    Ok(ExitCode::from(u8::from(
        report.groups.iter().any(|group| lacking(&group)),
    )))
}

/// The newest CUDA that this machine's driver supports; nothing without a driver.
pub fn driver_version(root: &Path) -> Option<Version> {
    let version = gpu::Found::here(root).library?.driver_version;
    (version > 0).then_some(Version(version))
}

/// Looks at everything.
fn examine(env: &Env, root: &Path, gpu: &gpu::Found) -> Report {
    Report {
        schema_version: 1,
        groups: vec![
            gpu::group(gpu),
            checks::rustc(env, root),
            checks::rust_cuda(env, root),
            checks::compare(env),
        ],
    }
}

#[cfg(all(test, unix))]
mod tests;
