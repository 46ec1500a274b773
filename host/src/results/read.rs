//! Reads results back that this program wrote as JSON.

use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::cli::exit::Stop;
use crate::results::{RunResult, SCHEMA_VERSION};

/// Why a text is not a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not JSON, or not of the form.
    #[error("this is not a result of this program: {0}")]
    Form(#[from] serde_json::Error),
    /// It has no `schema_version`.
    #[error("this is not a result of this program: it has no schema_version")]
    NoVersion,
    /// Another version of the program wrote it.
    #[error("the result is of schema version {0}, and this program reads version {SCHEMA_VERSION}")]
    OtherVersion(u64),
}

/// Reads a result from the text of a file.
///
/// # Errors
///
/// Text that is not a result; the message names the file.
pub fn result(text: &str, path: &Path) -> Result<RunResult, Stop> {
    from_json(text).map_err(|error| {
        Stop::usage(
            format!("{}: {error}", path.display()),
            "give a file that --format json wrote",
        )
    })
}

/// Reads a file's text; `-` is standard input.
pub(crate) fn text_of(path: &Path) -> Result<String, Stop> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| {
        Stop::usage(
            format!("cannot read {}: {error}", path.display()),
            "give a file that can be read",
        )
    })
}

/// Reads a result from its JSON text.
///
/// # Errors
///
/// [`ReadError`].
pub fn from_json(text: &str) -> Result<RunResult, ReadError> {
    let value: Value = serde_json::from_str(text)?;
    let version = value.get("schema_version").and_then(Value::as_u64);
    let version = version.ok_or(ReadError::NoVersion)?;
    if version != u64::from(SCHEMA_VERSION) {
        return Err(ReadError::OtherVersion(version));
    }
    Ok(serde_json::from_value(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_result_is_refused_with_the_reason() {
        for (text, reason) in [
            ("FOOTPRINT: 0 bytes", "not a result"),
            ("{}", "no schema_version"),
            ("{\"schema_version\": 99}", "schema version 99"),
            ("{\"schema_version\": 0}", "schema version 0"),
            ("{\"schema_version\": 2}", "schema version 2"),
            ("{\"schema_version\": 3}", "not a result"),
            ("[]", "no schema_version"),
        ] {
            let error = from_json(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
