//! The complete result as JSON. All other reports are made from the same value, so they
//! contain nothing that is missing here.

use std::io::{self, Write};

use safe_io::visible::JsonText;
use serde::Serialize;

use super::Reporter;
use crate::results::RunResult;

/// Writes a value as JSON. Characters that would change how the text appears are
/// escaped.
pub(crate) fn write(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Writes the result when the run has ended.
pub(super) struct Json {
    out: Box<dyn Write>,
}

impl Json {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Json {
    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        write(&mut self.out, result)?;
        self.out.flush()
    }
}
