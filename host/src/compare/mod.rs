//! Compares two results step by step. Each may be a JSON result or a log of NVIDIA's
//! sample.

mod sample_log;
mod series;

use std::path::Path;
use std::process::ExitCode;

use safe_io::Shown;

pub use series::{Pair, Point, Series, side_by_side};

use crate::cli::CompareArgs;
use crate::cli::exit::{self, Stop};
use crate::cli::output;
use crate::report::style::{BOLD, DIM, GREEN, RED};
use crate::report::table::Table;
use crate::report::{self, units};
use crate::results::read;
use crate::results::{Action, BackendKind, RunResult};
use crate::watch;

/// One of the two inputs.
struct Side {
    /// A description.
    what: String,
    series: Vec<Series>,
    /// A log contains only some of the steps, so a missing step is not a difference.
    is_log: bool,
}

/// The numbers of compared and different steps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count {
    /// Steps that are in both.
    compared: usize,
    /// Of these, the ones that differ; and steps that are in one and should be in both.
    different: usize,
}

/// Compares two files.
///
/// # Errors
///
/// Files that cannot be read or are neither result nor log, and errors of writing.
pub fn compare(args: &CompareArgs) -> Result<ExitCode, Stop> {
    if let Some(code) = recordings(args)? {
        return Ok(code);
    }
    let left = side(&args.left)?;
    let right = side(&args.right)?;
    let (text, count) = table(&left, &right, args.quiet);
    output::print(&[&args.left, &args.right], text.as_bytes())?;
    Ok(ExitCode::from(match count.different {
        0 => exit::PASS,
        _ => exit::FAIL,
    }))
}

/// Compares two recordings of `watch`; nothing if neither is one.
fn recordings(args: &CompareArgs) -> Result<Option<ExitCode>, Stop> {
    let (left, right) = (read::text_of(&args.left)?, read::text_of(&args.right)?);
    match (
        watch::is_watch_result(&left),
        watch::is_watch_result(&right),
    ) {
        (false, false) => Ok(None),
        (true, true) => {
            let before = watch::read(&left, &args.left)?;
            let after = watch::read(&right, &args.right)?;
            let (text, different) = watch::compare::table(&before, &after);
            output::print(&[&args.left, &args.right], text.as_bytes())?;
            Ok(Some(ExitCode::from(match different {
                0 => exit::PASS,
                _ => exit::FAIL,
            })))
        }
        _ => Err(Stop::usage(
            "one of the two is a recording of watch and the other is not",
            "give two files that `watch --output` wrote",
        )),
    }
}

fn side(path: &Path) -> Result<Side, Stop> {
    let text = read::text_of(path)?;
    let no = |reason: String| {
        Stop::usage(
            format!("{}: {reason}", path.display()),
            "give a file written with --format json, or the output of NVIDIA's sample",
        )
    };
    if !text.trim_start().starts_with('{') && sample_log::is_log(&text) {
        let series = sample_log::parse(&text)
            .map_err(|error| no(format!("this is not a log of NVIDIA's sample: {error}")))?;
        let device = sample_log::device(&text).map(|device| format!(", {}", Shown(device)));
        return Ok(Side {
            what: format!("NVIDIA's sample{}", device.unwrap_or_default()),
            series,
            is_log: true,
        });
    }
    let result = read::from_json(&text).map_err(|error| no(error.to_string()))?;
    let result = report::shown(&result)?;
    Ok(Side {
        what: described(&result),
        series: all_series(&result),
        is_log: false,
    })
}

fn described(result: &RunResult) -> String {
    let how = match result.backend.kind {
        BackendKind::Cuda => "measured",
        BackendKind::Model => "simulated",
    };
    let devices = result.devices.iter();
    let names: Vec<&str> = devices
        .filter_map(|section| section.device.as_ref())
        .map(|device| device.name.as_str())
        .collect();
    let runtime = result.backend.runtime_version.as_deref();
    let runtime = runtime.map_or_else(String::new, |version| format!(", runtime {version}"));
    let tool = &result.tool;
    format!(
        "{} {}, {how} on {}{runtime}",
        tool.name,
        tool.version,
        names.join(", ")
    )
}

fn all_series(result: &RunResult) -> Vec<Series> {
    let several = result.devices.len() > 1;
    let sections = result.devices.iter().flat_map(|section| {
        section.experiments.iter().map(move |experiment| {
            let name = match several {
                true => format!("device {}: {}", section.ordinal, experiment.name),
                false => experiment.name.clone(),
            };
            Series::of(name, experiment)
        })
    });
    sections.collect()
}

fn table(left: &Side, right: &Side, quiet: bool) -> (String, Count) {
    let mut text = format!(
        "{DIM}A{DIM:#}  {}\n{DIM}B{DIM:#}  {}\n",
        left.what, right.what
    );
    let mut total = Count::default();
    let only_right = right
        .series
        .iter()
        .filter(|b| left.series.iter().all(|a| a.name != b.name));
    for name in left
        .series
        .iter()
        .chain(only_right)
        .map(|series| &series.name)
    {
        let section = Section::new(name, left, right);
        total.compared += section.count.compared;
        total.different += section.count.different;
        text += &section.print(quiet);
    }
    let steps = units::count(total.compared, "step");
    if total.compared == 0 {
        total.different = 1;
        text += &format!("\n{RED}DIFFERENT{RED:#}: no step is in both files\n");
    } else if total.different == 0 {
        text += &format!("\n{GREEN}EQUAL{GREEN:#} in {steps}\n");
    } else {
        let different = total.different;
        text += &format!("\n{RED}DIFFERENT{RED:#} in {different} of {steps}\n");
    }
    (text, total)
}

/// One experiment in both inputs.
struct Section<'s> {
    name: &'s str,
    rows: Vec<Row>,
    count: Count,
    /// A launch of the sample added less than the same launch of this program.
    fell_short: bool,
}

impl<'s> Section<'s> {
    fn new(name: &'s str, left: &Side, right: &Side) -> Self {
        let (a, b) = (left.points(name), right.points(name));
        let mut section = Section {
            name,
            rows: Vec::new(),
            count: Count::default(),
            fell_short: false,
        };
        for pair in side_by_side(a.unwrap_or_default(), b.unwrap_or_default()) {
            let verdict = match (pair.left, pair.right) {
                (Some(_), Some(_)) => Some(pair.is_equal()),
                (Some(point), None) => must_have(point, left, right, b.is_some()),
                (None, Some(point)) => must_have(point, right, left, a.is_some()),
                (None, None) => None,
            };
            section.count.compared += usize::from(verdict.is_some());
            section.count.different += usize::from(verdict == Some(false));
            if let (Some(a), Some(b)) = (pair.left, pair.right) {
                let (a, b) = (a.footprint.used_bytes(), b.footprint.used_bytes());
                let less = (right.is_log && b < a) || (left.is_log && a < b);
                section.fell_short |= less && left.is_log != right.is_log;
            }
            section.rows.push(row(&pair, verdict));
        }
        section
    }

    fn print(&self, quiet: bool) -> String {
        let shown = |row: &&Row| !quiet || row.verdict == Some(false);
        let rows: Vec<&Row> = self.rows.iter().filter(shown).collect();
        if rows.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{BOLD}{}{BOLD:#}\n{}", self.name, aligned(&rows));
        if self.fell_short && self.name == "concurrent-streams" {
            text += "   The sample's first graphs finished before its last launch, so they could \
                     share memory\n   (R37). This program's graphs run until all overlap.\n";
        }
        text
    }
}

/// Whether a step of `one` that the `other` lacks is a difference: not if one of them is
/// a log.
///
/// A log contains only some of the steps. A result contains all of its steps, but may be
/// of other experiments, and the sample trims once more than this program.
fn must_have(point: &Point, one: &Side, other: &Side, other_ran: bool) -> Option<bool> {
    let excused = match (one.is_log, other.is_log) {
        (false, false) => false,
        (_, true) => true,
        (true, false) => !other_ran || point.action == Action::Trim,
    };
    (!excused).then_some(false)
}

impl Side {
    /// The steps of an experiment, if the input contains it.
    fn points(&self, name: &str) -> Option<&[Point]> {
        let series = self.series.iter().find(|series| series.name == name);
        series.map(|series| series.points.as_slice())
    }
}

/// A mark, the step, both used sizes, and other differences.
struct Row {
    verdict: Option<bool>,
    cells: [String; 3],
    more: String,
}

fn row(pair: &Pair<'_>, verdict: Option<bool>) -> Row {
    let size = |point: Option<&Point>| {
        point.map_or_else(
            || "missing".to_owned(),
            |point| units::bytes(point.footprint.used_bytes()),
        )
    };
    let label = [pair.left, pair.right]
        .into_iter()
        .flatten()
        .max_by_key(|point| point.label.len())
        .map(|point| match point.label.as_str() {
            "" => point.action.as_str().to_owned(),
            label => label.to_owned(),
        });
    let mut more = Vec::new();
    if let (Some(a), Some(b)) = (pair.left, pair.right) {
        for (name, a, b) in a.footprint.differences(&b.footprint) {
            if name != "used" {
                more.push(format!(
                    "{name} {} and {}",
                    units::bytes(a),
                    units::bytes(b)
                ));
            }
        }
    }
    Row {
        verdict,
        cells: [label.unwrap_or_default(), size(pair.left), size(pair.right)],
        more: more.join(", "),
    }
}

fn aligned(rows: &[&Row]) -> String {
    let mut table = Table::new(["step", "A used", "B used"]);
    for row in rows {
        table.row_with_tail(row.cells.clone(), row.more.clone());
        match row.verdict {
            Some(true) => table.mark(GREEN, "equal"),
            Some(false) => table.mark(RED, "other"),
            None => {}
        }
    }
    table.text()
}
