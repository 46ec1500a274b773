//! `show`: prints a result again, of a run or of `watch`.

use std::process::ExitCode;

use safe_io::Outputs;

use super::exit::{self, Stop};
use super::{Format, ShowArgs};
use crate::results::read;
use crate::watch::result::WatchResult;
use crate::{report, watch};

/// Prints a result, and exits as the run did.
///
/// # Errors
///
/// A file that cannot be read, is not a result, or cannot be written.
pub(super) fn show(args: &ShowArgs) -> Result<ExitCode, Stop> {
    if args.result.is_dir() {
        return recording(&watch::read_folder(&args.result)?, args);
    }
    let text = read::text_of(&args.result)?;
    if watch::is_watch_result(&text) {
        return recording(&watch::read(&text, &args.result)?, args);
    }
    let result = read::result(&text, &args.result)?;
    report::open(&args.output, Outputs::new([&args.result]))?.show(&result)?;
    Ok(exit::code_of(&result))
}

/// Prints what `watch` recorded.
fn recording(result: &WatchResult, args: &ShowArgs) -> Result<ExitCode, Stop> {
    let output = &args.output;
    if output.format == Format::Csv || output.svg.is_some() {
        return Err(Stop::usage(
            "a recording of watch is shown as text, as JSON, and as a page with --report",
            "leave --format csv and --svg out",
        ));
    }
    watch::show(result, &args.result, output)?;
    Ok(ExitCode::SUCCESS)
}
