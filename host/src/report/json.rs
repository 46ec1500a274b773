//! The whole result as JSON, for machines.

use std::io::{self, Write};

use super::Reporter;
use crate::results::RunResult;

/// Writes the result when it is whole.
pub(super) struct Json {
    out: Box<dyn Write>,
}

impl Json {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Json {
    fn begin(&mut self, _result: &RunResult) -> io::Result<()> {
        Ok(())
    }

    fn experiment(&mut self, _result: &RunResult) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        let text = serde_json::to_string_pretty(result)?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }
}
