//! One line on a terminal that shows the progress of a long run.

use std::io::{self, IsTerminal, Write};

/// The progress line. It is shown only if standard error is a terminal.
pub(super) struct Progress {
    shown: bool,
}

/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            shown: io::stderr().is_terminal(),
        }
    }

    /// Replaces the line.
    pub(super) fn say(&self, line: &str) {
        if self.shown {
            // An error here does not end the run.
            let _ = write!(io::stderr(), "{CLEAR}{line}").and_then(|()| io::stderr().flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say("");
    }
}
