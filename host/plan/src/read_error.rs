//! Why a file cannot be read.

use std::fmt;

use safe_io::visible;

/// A place in a file, both counted from 1, columns in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a file cannot be read as a dump or as a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// Where in the file, if it is about a place.
    pub at: Option<Position>,
    /// What is wrong, one line.
    pub what: String,
}

impl ReadError {
    pub(crate) fn at(at: Position, what: impl Into<String>) -> Self {
        Self {
            at: Some(at),
            ..Self::whole(what)
        }
    }

    /// An error that is about the file as a whole.
    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self {
            at: None,
            what: visible::line(&what.into()).into_owned(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{at}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ReadError {}
