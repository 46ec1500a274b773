//! Results that were written earlier: read back, whatever the version.

use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::exit::Stop;
use crate::results::{RunResult, SCHEMA_VERSION};

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no JSON, or not of the form.
    #[error("this is no result of this program: {0}")]
    Form(#[from] serde_json::Error),
    /// It has no `schema_version`.
    #[error("this is no result of this program: it has no schema_version")]
    NoVersion,
    /// A newer program wrote it.
    #[error("the result is of schema version {0}, and this program reads up to {SCHEMA_VERSION}")]
    Newer(u64),
}

/// Reads a result from a file; `-` is standard input.
///
/// # Errors
///
/// A file that cannot be read or is no result.
pub fn read(path: &Path) -> Result<RunResult, Stop> {
    from_json(&text_of(path)?).map_err(|error| {
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
    let mut value: Value = serde_json::from_str(text)?;
    without_controls(&mut value);
    let version = value.get("schema_version").and_then(Value::as_u64);
    match version.ok_or(ReadError::NoVersion)? {
        0 => return Err(ReadError::NoVersion),
        1 => upgrade_from_1(&mut value),
        version if version > u64::from(SCHEMA_VERSION) => return Err(ReadError::Newer(version)),
        _ => {}
    }
    Ok(serde_json::from_value(value)?)
}

/// Makes control characters spaces: a text of a file must not steer a terminal.
fn without_controls(value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = text.replace(|c: char| c.is_control() && c != '\n', " ");
        }
        Value::Array(values) => values.iter_mut().for_each(without_controls),
        Value::Object(fields) => fields.values_mut().for_each(without_controls),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Version 1 had one device, and its fields at the top; that each graph has one
/// allocation and how long it is held was only implied.
fn upgrade_from_1(value: &mut Value) {
    let bytes = value.pointer("/settings/allocation_bytes").cloned();
    let experiments = value.get_mut("experiments").and_then(Value::as_array_mut);
    for experiment in experiments.into_iter().flatten() {
        name_what_was_implied(experiment, &bytes.clone().unwrap_or_default());
    }
    let mut take = |pointer: &str| value.pointer_mut(pointer).map_or(Value::Null, Value::take);
    let route = take("/kernel/route");
    let device = take("/device");
    let section = serde_json::json!({
        "ordinal": device.get("ordinal").cloned().unwrap_or_default(),
        "device": device,
        "kernel_route": route,
        "unit_bytes": take("/unit_bytes"),
        "experiments": take("/experiments"),
        "repeat": null,
        "stopped": null,
        "verdict": value.get("verdict").cloned().unwrap_or_default(),
    });
    if let Some(result) = value.as_object_mut() {
        for moved in ["device", "unit_bytes", "experiments"] {
            result.remove(moved);
        }
        result.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
        result.insert("devices".to_owned(), vec![section].into());
        result.insert("interrupted".to_owned(), false.into());
    }
    if let Some(kernel) = value.get_mut("kernel").and_then(Value::as_object_mut) {
        kernel.remove("route");
    }
}

/// The allocation of each launched graph, and the hold that the overlap proof names.
fn name_what_was_implied(experiment: &mut Value, bytes: &Value) {
    let hold = experiment.pointer("/overlap/hold_ms").cloned();
    let mut allocations: Vec<Value> = Vec::new();
    let steps = experiment.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        if step.get("action").and_then(Value::as_str) != Some("launch") {
            continue;
        }
        let number = |name: &str| step.get(name).and_then(Value::as_u64);
        if let (Some(graph), Some(address)) = (number("graph"), number("address")) {
            let allocation = serde_json::json!({
                "name": "x",
                "graph": graph,
                "address": address,
                "bytes": bytes,
            });
            if !allocations.contains(&allocation) {
                allocations.push(allocation);
            }
        }
        if let (Some(step), Some(hold)) = (step.as_object_mut(), &hold) {
            step.insert("hold_ms".to_owned(), hold.clone());
        }
    }
    if let Some(experiment) = experiment.as_object_mut() {
        experiment.insert("allocations".to_owned(), allocations.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_is_refused_with_the_reason() {
        for (text, reason) in [
            ("FOOTPRINT: 0 bytes", "no result"),
            ("{}", "no schema_version"),
            ("{\"schema_version\": 99}", "schema version 99"),
            ("{\"schema_version\": 1}", "no result"),
            ("{\"schema_version\": 2}", "no result"),
            ("[]", "no schema_version"),
        ] {
            let error = from_json(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
