//! What a command writes: standard output and files, coloured where that is wanted.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use anstream::AutoStream;
use safe_io::{Output, OutputError, Outputs};

use crate::cli::exit::Stop;

/// Writes a text to standard output, coloured only where `--color` has it so. The
/// command reads these files, so standard output must not lead to one of them.
///
/// # Errors
///
/// Those of writing. A reader that has closed the pipe has read enough, which is none.
pub(crate) fn print(inputs: &[&Path], text: &[u8]) -> Result<(), Stop> {
    let outputs = Outputs::new(inputs);
    let mut out = styled(outputs.open(Path::new("-"))?);
    out.write_all(text).and_then(|()| out.flush())?;
    commit(outputs)
}

/// Prints a message on standard error. If that is closed, the message is dropped.
pub fn say(message: &impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{message}");
}

/// An output for text with colours, which only a terminal gets unless `--color` says
/// otherwise.
pub(crate) fn styled(output: Output) -> Box<dyn Write> {
    let choice = if output.is_stdout() {
        AutoStream::choice(&io::stdout())
    } else {
        let nothing: Vec<u8> = Vec::new();
        AutoStream::choice(&nothing)
    };
    let output: Box<dyn Write> = Box::new(output);
    Box::new(AutoStream::new(output, choice))
}

/// Opens a file for a page, which standard output cannot take the place of.
///
/// # Errors
///
/// `-`, or a file that cannot be written.
pub(crate) fn page(outputs: &Outputs, path: &Path) -> Result<Output, Stop> {
    if path == Path::new("-") {
        return Err(Stop::usage(
            "a report is not written to standard output",
            "name a file for it",
        ));
    }
    Ok(outputs.open(path)?)
}

/// Puts everything that was written in its place.
///
/// # Errors
///
/// A disk that is full, or a file that has become an input since it was opened.
pub(crate) fn commit(outputs: Outputs) -> Result<(), Stop> {
    outputs.commit().map_err(|error| match error {
        OutputError::Unwritable { .. } => Stop::error(error.to_string(), error.remedy()),
        error => error.into(),
    })
}

impl From<OutputError> for Stop {
    fn from(error: OutputError) -> Self {
        Self::usage(error.to_string(), error.remedy())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if safe_io::is_closed_pipe(&error) {
            return Self::closed_pipe();
        }
        let inner = error.get_ref();
        if let Some(refused) = inner.and_then(|inner| inner.downcast_ref::<OutputError>()) {
            return Self::usage(refused.to_string(), refused.remedy());
        }
        Self::error(
            format!("cannot write the output: {error}"),
            "make room for it, or name another place with --output",
        )
    }
}
