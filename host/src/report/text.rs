//! Tables for people.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};

use super::Reporter;
use super::units;
use crate::results::{BackendKind, Check, ExperimentResult, RunResult, Step, Verdict};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Columns that a bar takes at its longest.
const BAR: usize = 16;

/// Columns of a wrapped paragraph.
const PARAGRAPH: usize = 84;

/// Prints the head at once, and each experiment when it has ended.
pub(super) struct Text {
    out: Box<dyn Write>,
}

impl Text {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Text {
    fn begin(&mut self, result: &RunResult) -> io::Result<()> {
        write!(self.out, "{}", head(result))?;
        self.out.flush()
    }

    fn experiment(&mut self, result: &RunResult) -> io::Result<()> {
        if let Some(experiment) = result.experiments.last() {
            write!(
                self.out,
                "{}",
                section(result.experiments.len(), experiment)
            )?;
        }
        self.out.flush()
    }

    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        write!(self.out, "{}", summary(result))?;
        self.out.flush()
    }
}

fn head(result: &RunResult) -> String {
    let RunResult {
        backend,
        device,
        kernel,
        settings,
        ..
    } = result;
    let mut rows = Vec::new();
    match backend.kind {
        BackendKind::Cuda => {
            rows.push(("backend", "GPU: the numbers below are measured".to_owned()))
        }
        BackendKind::Model => {
            let model = backend.model.as_deref().unwrap_or_default();
            rows.push(("backend", format!("MODEL, {model}")));
        }
    }
    if let Some(why) = &backend.why {
        rows.push(("", format!("because {why}")));
    }
    let version = backend
        .runtime_version
        .as_deref()
        .unwrap_or("of unknown version");
    let path = match &backend.runtime_path {
        Some(path) => format!("{path} ({})", backend.runtime_found_by),
        None => backend.runtime_found_by.clone(),
    };
    rows.push(("runtime", format!("{version}, {path}")));
    let (major, minor) = device.compute_capability;
    rows.push((
        "device",
        format!(
            "{}: {}, compute capability {major}.{minor}, {} multiprocessors at {}",
            device.ordinal,
            device.name,
            device.multiprocessors,
            units::clock_rate(device.clock_rate_khz),
        ),
    ));
    let driver = backend.driver_version.as_deref().unwrap_or("none");
    rows.push(("driver", format!("supports CUDA {driver}")));
    let compiler = kernel.compiler.as_deref().unwrap_or("an unnamed compiler");
    rows.push((
        "kernel",
        format!(
            "{} by {compiler}, PTX {} for {}, {}, loaded by {}",
            kernel.name, kernel.ptx_version, kernel.ptx_target, kernel.source, kernel.route,
        ),
    ));
    rows.push((
        "unit",
        format!(
            "{}: what one launch of a graph that allocates {} uses",
            units::bytes(result.unit_bytes),
            units::bytes(settings.allocation_bytes),
        ),
    ));
    let mut text = String::new();
    for (name, value) in rows {
        text += &format!("{DIM}{name:8}{DIM:#} {value}\n");
    }
    text
}

fn section(number: usize, experiment: &ExperimentResult) -> String {
    let mut text = format!("\n{BOLD}{number}  {}{BOLD:#}\n", experiment.title);
    for line in wrap(&experiment.shows, PARAGRAPH) {
        text += &format!("   {line}\n");
    }
    if let Some(proof) = &experiment.overlap {
        let busy = proof.streams_busy.iter().filter(|&&busy| busy).count();
        text += &format!(
            "   Overlap: {busy} of {} streams busy after the last reading; hold {}, launch and reading {}, {} {}.\n",
            proof.streams_busy.len(),
            units::time(proof.hold_ms),
            units::time(proof.launch_cost_ms),
            proof.attempts,
            if proof.attempts == 1 {
                "attempt"
            } else {
                "attempts"
            },
        );
    }
    text.push('\n');
    text += &steps(&experiment.steps);
    text.push('\n');
    text += &checks(&experiment.checks);
    if let Some(error) = &experiment.error {
        let red = style(Verdict::Fail);
        text += &format!(
            "   {red}ERROR{red:#} {} failed: {} {} ({})\n         try: {}\n",
            error.call, error.code, error.name, error.text, error.advice
        );
    }
    text
}

fn steps(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let most = steps
        .iter()
        .map(|step| step.memory.reserved_bytes)
        .max()
        .unwrap_or(0);
    let mut rows = vec![[
        "step".to_owned(),
        "used".to_owned(),
        "high".to_owned(),
        "reserved".to_owned(),
        "high".to_owned(),
    ]];
    rows.extend(steps.iter().map(|step| {
        let memory = &step.memory;
        [
            step.label.clone(),
            units::bytes(memory.used_bytes),
            units::bytes(memory.used_high_bytes),
            units::bytes(memory.reserved_bytes),
            units::bytes(memory.reserved_high_bytes),
        ]
    }));
    let bars = std::iter::once(String::new()).chain(
        steps
            .iter()
            .map(|step| bar(step.memory.used_bytes, step.memory.reserved_bytes, most)),
    );
    let widths: Vec<usize> = (0..5)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (index, (row, bar)) in rows.iter().zip(bars).enumerate() {
        let line = format!(
            "   {:<w0$}  {:>w1$}  {:>w2$}  {:>w3$}  {:>w4$}  {bar}",
            row[0],
            row[1],
            row[2],
            row[3],
            row[4],
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3],
            w4 = widths[4],
        );
        let line = line.trim_end();
        text += &if index == 0 {
            format!("{DIM}{line}{DIM:#}\n")
        } else {
            format!("{line}\n")
        };
    }
    text
}

/// Used bytes full, the rest of the reserved ones light.
fn bar(used: u64, reserved: u64, most: u64) -> String {
    if most == 0 {
        return String::new();
    }
    let cells = |bytes: u64| (bytes as f64 / most as f64 * BAR as f64).round() as usize;
    let full = cells(used).min(BAR);
    let light = cells(reserved).min(BAR).saturating_sub(full);
    format!("{}{}", "█".repeat(full), "░".repeat(light))
}

fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let mut rows = vec![["check", "expected", "measured"].map(str::to_owned)];
    rows.extend(checks.iter().map(|check| {
        [
            check.claim.clone(),
            units::quantity(&check.expected),
            units::quantity(&check.measured),
        ]
    }));
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let (w0, w1, w2) = (width(0), width(1), width(2));
    let wm = widest(checks.iter().map(|check| check.verdict));
    let mut text = String::new();
    for (index, [claim, expected, measured]) in rows.iter().enumerate() {
        let cells = format!("{claim:<w0$}  {expected:<w1$}  {measured:<w2$}");
        let Some(check) = index.checked_sub(1).and_then(|index| checks.get(index)) else {
            text += &format!("   {DIM}{:wm$} {cells}  rule{DIM:#}\n", "");
            continue;
        };
        text += &format!(
            "   {} {cells}  {DIM}{}{DIM:#}\n",
            mark(check.verdict, wm),
            check.rule
        );
        if let Some(reason) = &check.reason {
            text += &format!("   {:wm$} {reason}\n", "");
        }
    }
    text
}

fn summary(result: &RunResult) -> String {
    let mut text = format!("\n{BOLD}Summary{BOLD:#}\n");
    let width = result
        .experiments
        .iter()
        .map(|e| e.name.len())
        .max()
        .unwrap_or(0);
    let wm = widest(result.experiments.iter().map(|e| e.verdict));
    for experiment in &result.experiments {
        let passed = experiment
            .checks
            .iter()
            .filter(|c| c.verdict == Verdict::Pass)
            .count();
        text += &format!(
            "   {} {:<width$}  {passed} of {} checks, {}\n",
            mark(experiment.verdict, wm),
            experiment.name,
            experiment.checks.len(),
            units::time(experiment.duration_ms),
        );
    }
    text
}

/// The columns of the longest of these verdicts.
fn widest(verdicts: impl Iterator<Item = Verdict>) -> usize {
    verdicts
        .map(|verdict| verdict.as_str().len())
        .max()
        .unwrap_or(0)
}

/// The verdict, coloured, in this many columns.
fn mark(verdict: Verdict, width: usize) -> String {
    let style = style(verdict);
    format!("{style}{:<width$}{style:#}", verdict.as_str())
}

fn style(verdict: Verdict) -> Style {
    let color = match verdict {
        Verdict::Pass => AnsiColor::Green,
        Verdict::Inconclusive => AnsiColor::Yellow,
        Verdict::Fail => AnsiColor::Red,
    };
    color.on_default().bold()
}

fn wrap(paragraph: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
