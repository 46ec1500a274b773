//! Texts that are whole when they are printed.

use std::io::{self, ErrorKind, Write};

/// Writes a text to standard output, coloured only where `--color` has it so.
///
/// Whoever closed the pipe has read enough, so that is no error.
///
/// # Errors
///
/// Those of writing.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
