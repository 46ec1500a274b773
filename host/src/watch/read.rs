//! Reads a result back.

use std::path::Path;

use super::result::{FORMAT, SCHEMA_VERSION, WatchResult};
use crate::cli::exit::Stop;

/// Whether a JSON text is a result of `watch`, by its `format` field.
#[must_use]
pub fn is_watch_result(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        format: Option<String>,
    }
    let head: Result<Head, _> = serde_json::from_str(text);
    head.is_ok_and(|head| head.format.as_deref() == Some(FORMAT))
}

/// Reads a result of `watch`.
///
/// # Errors
///
/// Text that is none, or of another schema version.
pub fn read(text: &str, path: &Path) -> Result<WatchResult, Stop> {
    let no = |reason: String| {
        Stop::usage(
            format!("{}: {reason}", path.display()),
            "give a file that `watch --output` wrote",
        )
    };
    let result: WatchResult = serde_json::from_str(text)
        .map_err(|error| no(format!("this is not a recording: {error}")))?;
    if result.schema_version != SCHEMA_VERSION {
        return Err(no(format!(
            "it has schema version {}, and this program reads {SCHEMA_VERSION}",
            result.schema_version
        )));
    }
    Ok(result)
}
