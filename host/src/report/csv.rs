//! One row per step, for spreadsheets and data frames.
//!
//! Quoting by RFC 4180 is one function, so no crate is used. The tests read the rows back
//! with a crate.

use std::io::{self, Write};

use safe_io::visible;

use super::Reporter;
use crate::results::{DeviceResult, ExperimentResult, RunResult, Step};

/// The columns, with units in their names.
const COLUMNS: [&str; 19] = [
    "device",
    "experiment",
    "step",
    "label",
    "action",
    "graph",
    "stream",
    "address",
    "spin_time_ms",
    "at_ms",
    "took_ms",
    "used_bytes",
    "used_high_bytes",
    "reserved_bytes",
    "reserved_high_bytes",
    "device_free_bytes",
    "device_total_bytes",
    "launch_footprint_bytes",
    "experiment_verdict",
];

/// Writes the rows when the run has ended.
pub(super) struct Csv {
    out: Box<dyn Write>,
}

impl Csv {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Csv {
    fn begin(&mut self, _result: &RunResult) -> io::Result<()> {
        write_row(&mut self.out, COLUMNS.map(str::to_owned))
    }

    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        for section in &result.devices {
            for experiment in &section.experiments {
                for (index, step) in experiment.steps.iter().enumerate() {
                    write_row(&mut self.out, row(section, experiment, index + 1, step))?;
                }
            }
        }
        self.out.flush()
    }
}

fn row(
    section: &DeviceResult,
    experiment: &ExperimentResult,
    number: usize,
    step: &Step,
) -> [String; COLUMNS.len()] {
    let memory = &step.memory;
    let optional = |value: Option<String>| value.unwrap_or_default();
    [
        section.ordinal.to_string(),
        experiment.name.clone(),
        number.to_string(),
        step.label.clone(),
        step.action.as_str().to_owned(),
        optional(step.graph.map(|graph| graph.to_string())),
        optional(step.stream.map(|stream| stream.to_string())),
        optional(step.address.map(|address| format!("{address:#x}"))),
        optional(step.spin_time_ms.map(|spin_time| spin_time.to_string())),
        step.at_ms.to_string(),
        step.took_ms.to_string(),
        memory.used_bytes.to_string(),
        memory.used_high_bytes.to_string(),
        memory.reserved_bytes.to_string(),
        memory.reserved_high_bytes.to_string(),
        memory.device_free_bytes.to_string(),
        memory.device_total_bytes.to_string(),
        optional(section.launch_footprint_bytes.map(|unit| unit.to_string())),
        experiment.verdict.as_str().to_owned(),
    ]
}

fn write_row(out: &mut dyn Write, fields: [String; COLUMNS.len()]) -> io::Result<()> {
    let fields = fields.map(|field| quoted(&field));
    write!(out, "{}\r\n", fields.join(","))
}

/// Quoted where a comma or a quote would otherwise break the row. Characters that do
/// something where they are shown are escaped, and what a spreadsheet would take for a
/// formula is text.
fn quoted(field: &str) -> String {
    let field = visible::line(field);
    let formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    let field = match formula {
        true => format!("'{field}"),
        false => field.into_owned(),
    };
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_could_break_a_row_is_quoted() {
        assert_eq!(quoted("launch graph 1"), "launch graph 1");
        assert_eq!(quoted("alloc A, free A"), "\"alloc A, free A\"");
        assert_eq!(quoted("the \"first\""), "\"the \"\"first\"\"\"");
    }

    #[test]
    fn a_field_can_steer_neither_a_terminal_nor_a_spreadsheet() {
        assert_eq!(
            quoted("a\u{1b}[2Jb\r\nc\u{202e}d"),
            r"a\u{1b}[2Jb\r\nc\u{202e}d"
        );
        assert_eq!(quoted("=cmd|'/C calc'!A0"), "'=cmd|'/C calc'!A0");
        assert_eq!(quoted("-1.5"), "-1.5");
    }
}
