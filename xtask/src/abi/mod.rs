//! `cargo xtask abi`: checks the CUDA function table, which is maintained by hand,
//! against real runtimes.
//!
//! A C compiler checks every offset, prototype and constant against the headers of many
//! releases. Every name is looked up in the exports of the same release's library.

mod check;
mod compiler;
mod known;
mod library;
mod probe;
mod report;
mod runtimes;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

use self::compiler::Compiler;
use self::known::KNOWN;
use self::report::{NotChecked, Report};
use self::runtimes::{Release, Request};
use self::table::Table;
use crate::trouble::Trouble;

/// The releases that are compared unless others are named, and the newest.
const DEFAULT: &[Release] = &[
    Release::new(11, 8),
    Release::new(12, 0),
    Release::new(12, 4),
    Release::new(12, 8),
    Release::new(12, 9),
    Release::new(13, 0),
];

/// Options of `cargo xtask abi`.
///
/// Exit code 0: no difference in what could be compared; 1: a difference that
/// nothing handles, or with --require a runtime that could not be compared.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// The runtimes, such as 12.4, or `newest` (default: 11.8 12.0 12.4 12.8
    /// 12.9 13.0 newest). Wheels exist from 11.7 on.
    #[arg(long, value_name = "VERSION", num_args = 1..)]
    pub runtime: Vec<Request>,
    /// Also fail if a runtime could not be checked.
    #[arg(long)]
    pub require: bool,
    /// Take crt/host_defines.h, which has macros only, from each release's own
    /// compiler wheel (20 to 40 MB) also for 11.x and 12.x.
    #[arg(long)]
    pub own_crt: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
///
/// # Errors
///
/// When there is no C compiler, or it is no judge: a comparison that cannot be
/// made for want of files is a line of the report instead.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let report = compare(args, root)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", safe_io::visible::lines(&report.text()));
    }
    let failed = report.unhandled() > 0 || (args.require && !report.not_checked.is_empty());
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn compare(args: &Args, root: &Path) -> anyhow::Result<Report> {
    let compiler = Compiler::find()?;
    let table = Table::ours();
    let mut report = Report {
        schema_version: 1,
        compiler: compiler.version.clone(),
        ..Report::default()
    };
    for release in releases(args, &mut report) {
        match runtimes::fetch(root, release, args.own_crt) {
            Ok(runtime) => {
                let work = root.join("target/abi").join(release.to_string());
                let checked = check::check(&table, KNOWN, &runtime, &compiler, &work)?;
                report.checked.push(checked);
            }
            Err(error) => report.not_checked.push(NotChecked {
                runtime: release.to_string(),
                reason: cause(&error),
            }),
        }
    }
    Ok(report)
}

/// The requested runtimes, oldest first and each once.
fn releases(args: &Args, report: &mut Report) -> Vec<Release> {
    let default = DEFAULT.iter().copied().map(Request::Release);
    let requests: Vec<_> = if args.runtime.is_empty() {
        default.chain([Request::Newest]).collect()
    } else {
        args.runtime.clone()
    };
    let mut releases = Vec::new();
    for request in requests {
        match request {
            Request::Release(release) => releases.push(release),
            Request::Newest => match runtimes::newest() {
                Ok((release, remark)) => {
                    releases.push(release);
                    report.remarks.extend(remark);
                }
                Err(error) => report.not_checked.push(NotChecked {
                    runtime: request.to_string(),
                    reason: cause(&error),
                }),
            },
        }
    }
    releases.sort();
    releases.dedup();
    releases
}

/// An error in one line.
fn cause(error: &anyhow::Error) -> String {
    error
        .downcast_ref::<Trouble>()
        .map_or_else(|| format!("{error:#}"), |trouble| trouble.what.clone())
}
