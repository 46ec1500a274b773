//! The whole result as JSON, for machines. The text, the pages and the tables are
//! made from the same value, so nothing in them is missing here.

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
    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        let text = serde_json::to_string_pretty(result)?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }
}
