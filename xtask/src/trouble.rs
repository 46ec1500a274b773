//! An error that a person can act on: one line of cause, one line of remedy.

use std::fmt;

/// What went wrong and what to do about it, a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The cause, one line, without a full stop.
    pub what: String,
    /// What to try, one line.
    pub remedy: String,
}

impl Trouble {
    /// A trouble from its two lines.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  try: {}", self.what, self.remedy)
    }
}

impl std::error::Error for Trouble {}
