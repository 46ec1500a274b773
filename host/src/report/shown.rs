//! Results as text shows them: every string in them made safe for a terminal.

use std::io;

use safe_io::visible;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Reporter;
use crate::results::{DeviceResult, ExperimentResult, RunResult};

/// A copy in which every string is safe to show. It goes through the form that is
/// written as JSON, so no field can be left out.
///
/// # Errors
///
/// A number that JSON has no form for.
pub(crate) fn shown<T: Serialize + DeserializeOwned>(value: &T) -> io::Result<T> {
    let mut value = serde_json::to_value(value)?;
    each_string(&mut value);
    Ok(serde_json::from_value(value)?)
}

fn each_string(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible::indented(text),
        Value::Array(values) => values.iter_mut().for_each(each_string),
        Value::Object(fields) => fields.values_mut().for_each(each_string),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A reporter that gets only what is safe to show.
pub(super) struct Shown<R>(pub(super) R);

impl<R: Reporter> Reporter for Shown<R> {
    fn begin(&mut self, result: &RunResult) -> io::Result<()> {
        self.0.begin(&shown(result)?)
    }

    fn device(&mut self, result: &RunResult, section: &DeviceResult) -> io::Result<()> {
        self.0.device(&shown(result)?, &shown(section)?)
    }

    fn experiment(&mut self, number: usize, experiment: &ExperimentResult) -> io::Result<()> {
        self.0.experiment(number, &shown(experiment)?)
    }

    fn device_end(&mut self, section: &DeviceResult) -> io::Result<()> {
        self.0.device_end(&shown(section)?)
    }

    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        self.0.end(&shown(result)?)
    }
}
