//! What a bench run found, as data: the JSON that is kept, and what the text is
//! printed from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::stats::Spread;

/// The version of the JSON's form; changed when a field changes or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub struct BenchResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Where and with what it ran.
    pub machine: Machine,
    /// Whether repetitions and sizes were cut down.
    pub quick: bool,
    /// The figures, in the order in which they were taken.
    pub figures: Vec<Figure>,
    /// The worst verdict of all bars.
    pub verdict: Verdict,
}

/// Where and with what a run was made.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Machine {
    /// `cuda` or `model`.
    pub backend: String,
    /// The device's name.
    pub device: String,
    /// Free device memory before the run.
    pub device_free_bytes: u64,
    /// CUDA version of the driver, `1000 * major + 10 * minor`.
    pub driver_version: Option<u64>,
    /// CUDA version of the runtime that our side loaded, in the same form.
    pub runtime_version: Option<u64>,
    /// The file of that runtime.
    pub runtime_path: Option<String>,
    /// The compiler of the C++ side, if there is a C++ side.
    pub cpp_compiler: Option<String>,
    /// Why there is no C++ side.
    pub no_cpp: Option<String>,
    /// The host's processor.
    pub host_cpu: String,
    /// Processors that this process may use.
    pub host_cpus: usize,
    /// The processors that both sides were bound to while they took turns.
    pub sides_bound_to_cpus: Option<String>,
    /// The operating system and its version.
    pub host_os: String,
    /// The version of this program.
    pub version: String,
}

/// One figure: measurements, and the bars that they are compared with.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figure {
    /// The name for `--only`.
    pub name: String,
    /// The title.
    pub title: String,
    /// The measurements.
    pub rows: Vec<Row>,
    /// What the text has a column for each value of; the rows then are one a
    /// measurement and side.
    #[serde(skip)]
    pub columns: Option<&'static str>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
    /// Why the rest of it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub took_s: f64,
}

/// One measurement.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// Whose it is.
    pub side: Side,
    /// What it depends on, units in the names: `bytes`, `graphs`, `streams`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, u64>,
    /// The value.
    #[serde(flatten)]
    pub value: Value,
}

/// Whose measurement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// This project's Rust.
    Ours,
    /// The counterpart in C++.
    Cpp,
    /// NVIDIA's compiled sample.
    Sample,
    /// Ours against the C++ side, of pairs taken one after the other.
    OursToCpp,
    /// A program that runs under `watch`.
    Watched,
    /// A watched program's time minus that of the same program run alone, of pairs.
    WatchedMinusAlone,
    /// A program that is not ours, run alone.
    Alone,
}

/// A measured value. The name of the field has the unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Microseconds each.
    Us(Spread),
    /// Bytes.
    Bytes(u64),
    /// A quotient.
    Ratio(Spread),
}

/// A number with its unit, as a bar has it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Milliseconds.
    Ms(f64),
    /// Microseconds.
    Us(f64),
    /// A quotient.
    Ratio(f64),
    /// A number of things.
    Count(f64),
}

/// A claim about speed and whether it holds.
#[derive(Debug, Clone, Serialize)]
pub struct Bar {
    /// The claim.
    pub claim: String,
    /// The measured value is to be no more than this.
    pub at_most: Quantity,
    /// The measured value.
    pub measured: Quantity,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a bar is met, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The bar is met.
    Pass,
    /// The value means nothing on this machine.
    NotJudged,
    /// The bar is missed, or a measurement failed.
    Fail,
}

impl Figure {
    /// An empty one.
    pub fn new(name: &str, title: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a measurement.
    pub fn row(&mut self, what: &str, side: Side, at: &[(&str, u64)], value: Value) {
        self.rows.push(Row {
            what: what.to_owned(),
            side,
            at: at.iter().map(|&(key, n)| (key.to_owned(), n)).collect(),
            value,
        });
    }

    /// Adds times in microseconds, if there are any.
    pub fn times(&mut self, what: &str, side: Side, at: &[(&str, u64)], us: &[f64]) {
        if let Some(spread) = Spread::of(us.iter().copied()) {
            self.row(what, side, at, Value::Us(spread));
        }
    }

    /// Adds a bar, judged by the measured value unless there is a reason not to.
    pub fn bar(
        &mut self,
        claim: impl Into<String>,
        at_most: Quantity,
        measured: Quantity,
        not_judged: Option<&str>,
    ) {
        let verdict = match not_judged {
            Some(_) => Verdict::NotJudged,
            None if measured <= at_most => Verdict::Pass,
            None => Verdict::Fail,
        };
        self.bars.push(Bar {
            claim: claim.into(),
            at_most,
            measured,
            verdict,
            reason: not_judged.map(str::to_owned),
        });
    }

    /// Notes that the rest of the figure could not be measured.
    pub fn failed(&mut self, error: &anyhow::Error) {
        self.error = Some(format!("{error:#}"));
    }

    /// The worst verdict of the bars; one that broke off has failed.
    pub fn verdict(&self) -> Verdict {
        if self.error.is_some() {
            return Verdict::Fail;
        }
        let verdicts = self.bars.iter().map(|bar| bar.verdict);
        verdicts.max().unwrap_or(Verdict::Pass)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ours => "ours",
            Self::Cpp => "C++",
            Self::Sample => "sample",
            Self::OursToCpp => "ours/C++",
            Self::Watched => "watched",
            Self::WatchedMinusAlone => "watched - alone",
            Self::Alone => "alone",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_judged_by_its_value_unless_that_means_nothing_here() {
        let mut figure = Figure::new("f", "F");
        figure.bar("a", Quantity::Ratio(1.02), Quantity::Ratio(1.02), None);
        assert_eq!(figure.verdict(), Verdict::Pass);
        figure.bar("b", Quantity::Ms(13.0), Quantity::Ms(99.0), Some("a model"));
        assert_eq!(figure.verdict(), Verdict::NotJudged);
        figure.bar("c", Quantity::Ms(13.0), Quantity::Ms(13.1), None);
        assert_eq!(figure.verdict(), Verdict::Fail);
    }

    #[test]
    fn a_value_that_is_no_number_meets_no_bar() {
        let mut figure = Figure::new("f", "F");
        figure.bar("a", Quantity::Ratio(1.0), Quantity::Ratio(f64::NAN), None);
        assert_eq!(figure.verdict(), Verdict::Fail);
    }

    #[test]
    fn a_row_says_its_unit_in_the_field_s_name() {
        let mut figure = Figure::new("f", "F");
        figure.times("launch", Side::Ours, &[("bytes", 64)], &[3.0]);
        let json = serde_json::to_value(&figure.rows).unwrap();
        assert_eq!(json[0]["us"]["median"], 3.0);
        assert_eq!(json[0]["at"]["bytes"], 64);
    }
}
