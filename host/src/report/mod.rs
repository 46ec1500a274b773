//! Reports: what a run found, for people or for machines.

mod json;
mod text;
mod units;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::{Cli, Format};
use crate::exit::Stop;
use crate::results::RunResult;

/// Writes a run's result, as it comes or when it is whole.
pub trait Reporter {
    /// The run's head is known.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn begin(&mut self, result: &RunResult) -> io::Result<()>;

    /// The last experiment of the result has just ended.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn experiment(&mut self, result: &RunResult) -> io::Result<()>;

    /// The run is over.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn end(&mut self, result: &RunResult) -> io::Result<()>;
}

/// Opens the output, before anything runs, so that a bad path fails early.
///
/// # Errors
///
/// An output file that cannot be written.
pub fn open(cli: &Cli) -> Result<Box<dyn Reporter>, Stop> {
    let out = open_output(&cli.output)?;
    Ok(match cli.format {
        Format::Text => Box::new(text::Text::new(out)),
        Format::Json => Box::new(json::Json::new(out)),
    })
}

fn open_output(path: &Path) -> Result<Box<dyn Write>, Stop> {
    if path == Path::new("-") {
        return Ok(Box::new(anstream::stdout()));
    }
    let file = File::create(path).map_err(|error| {
        Stop::usage(
            format!("cannot write {}: {error}", path.display()),
            "give a file that can be written",
        )
    })?;
    Ok(Box::new(anstream::StripStream::new(file)))
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::error(
            format!("cannot write the report: {error}"),
            "free the disk or the pipe, and run again",
        )
    }
}
