//! One line on a terminal that says how far a long run is.

use std::io::{self, IsTerminal, Write};

/// The line; nothing at all where standard error is no terminal.
pub(super) struct Progress {
    shown: bool,
}

/// Back to the line's start, and clear to its end.
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
            // A line that cannot be shown is no reason to stop.
            let _ = write!(io::stderr(), "{CLEAR}{line}").and_then(|()| io::stderr().flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say("");
    }
}
