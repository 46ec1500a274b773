//! `watch`: what the CUDA graphs of a program hold.
//!
//! `run` starts the program with the watch library preloaded, which writes a recording,
//! and `analysis` makes a `result` of it, with `planned` beside measured and
//! `findings`. `text`, the page and `trace` show that; `compare` compares two.

mod analysis;
pub mod compare;
pub(crate) mod findings;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod live;
mod planned;
mod read;
pub mod result;
#[cfg(target_os = "linux")]
mod run;
pub(crate) mod text;
#[cfg(target_os = "linux")]
mod trace;

use std::io::Write;
use std::path::Path;
#[cfg(not(target_os = "linux"))]
use std::process::ExitCode;

use graph_memory_record::Recording;
use safe_io::Outputs;

pub(crate) use planned::{described, scenario};
pub use read::{is_watch_result, read};
#[cfg(target_os = "linux")]
pub use run::run;

use crate::cli::exit::Stop;
use crate::cli::output;
use crate::cli::{Format, OutputArgs};
use crate::report::{json, watch_page};
use result::WatchResult;

/// Programs are watched on Linux only.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &crate::cli::WatchArgs) -> Result<ExitCode, Stop> {
    Err(Stop::waived(
        "watch needs Linux: it preloads a library into the program",
        "watch the program on Linux; `show`, `compare` and `plan` read its recording here",
    ))
}

/// Reads the folder that `watch --record` kept.
///
/// # Errors
///
/// A folder that cannot be read or holds no recording.
pub fn read_folder(folder: &Path) -> Result<WatchResult, Stop> {
    let recording = Recording::read(folder).map_err(|error| {
        Stop::usage(
            error.to_string(),
            "give a folder that `watch --record` kept, or a file that `watch --output` wrote",
        )
    })?;
    Ok(analysis::analyse(&recording))
}

/// Prints a result again: as text, as JSON, and as a page.
///
/// # Errors
///
/// A file that cannot be written.
pub fn show(result: &WatchResult, read: &Path, args: &OutputArgs) -> Result<(), Stop> {
    let outputs = Outputs::new([read]);
    let mut out = outputs.open(&args.output).map(output::styled)?;
    let page = args.report.as_deref();
    let page = page.map(|path| output::page(&outputs, path)).transpose()?;
    match args.format {
        Format::Json => json::write(&mut out, result)?,
        Format::Text | Format::Csv => text::write(result, 0, &mut out)?,
    }
    out.flush()?;
    if let Some(mut page) = page {
        watch_page::write(result, &mut page)?;
    }
    output::commit(outputs)
}
