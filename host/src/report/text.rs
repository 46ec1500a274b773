//! The text report.

use std::io::{self, Write};

use super::Reporter;
use super::style::{self, BOLD, DIM, RED};
use super::table::{Table, paragraph};
use super::units;
use crate::results::{
    BackendKind, Check, Cycle, DeviceResult, ExperimentResult, Growth, MemoryKind, Repeat,
    RunResult, Step, Trend, Verdict,
};

/// Length of the longest bar in columns, if the width is not known.
const BAR: usize = 16;

/// On a terminal a bar takes the rest of the line, within these bounds.
const BAR_ON_TERMINAL: std::ops::RangeInclusive<usize> = 8..=64;

/// Prints the header immediately, and each experiment when it has finished.
pub(super) struct Text {
    out: Box<dyn Write>,
    /// The terminal's width, if the output is a terminal.
    columns: Option<usize>,
}

impl Text {
    pub(super) fn new(out: Box<dyn Write>, columns: Option<usize>) -> Self {
        Self { out, columns }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl Reporter for Text {
    fn begin(&mut self, result: &RunResult) -> io::Result<()> {
        self.print(&head(result))
    }

    fn device(&mut self, result: &RunResult, section: &DeviceResult) -> io::Result<()> {
        // The header continues with the first device.
        let first = result.devices.first().map(|device| device.ordinal);
        if first != Some(section.ordinal) {
            self.print("\n")?;
        }
        self.print(&device(result, section))
    }

    fn experiment(&mut self, number: usize, experiment: &ExperimentResult) -> io::Result<()> {
        let text = self::experiment(number, experiment, self.columns);
        self.print(&text)
    }

    fn device_end(&mut self, section: &DeviceResult) -> io::Result<()> {
        match &section.repeat {
            Some(repeat) => self.print(&self::repeat(repeat)),
            None => Ok(()),
        }
    }

    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        self.print(&summary(result))
    }
}

/// Prints one line per experiment, with its verdict, and one if the GPU was simulated.
pub(super) struct Verdicts {
    out: Box<dyn Write>,
}

impl Verdicts {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Verdicts {
    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        for (verdict, what) in verdicts(result) {
            writeln!(self.out, "{} {what}", mark(verdict, 0))?;
        }
        // Verdicts alone would look the same on a GPU.
        if result.backend.kind == BackendKind::Model {
            writeln!(self.out, "simulated GPU: nothing was measured on a GPU")?;
        }
        self.out.flush()
    }
}

/// Everything that has a verdict, with its name.
fn verdicts(result: &RunResult) -> Vec<(Verdict, String)> {
    let mut lines = Vec::new();
    for section in &result.devices {
        let on = match result.devices.len() {
            1 => String::new(),
            _ => format!("device {}: ", section.ordinal),
        };
        for experiment in &section.experiments {
            lines.push((experiment.verdict, format!("{on}{}", experiment.name)));
        }
        if let Some(repeat) = &section.repeat {
            let cycles = repeat.cycles.len();
            lines.push((
                repeat.verdict,
                format!("{on}memory over {}", units::count(cycles, "run")),
            ));
        }
        if let Some(stopped) = &section.stopped {
            lines.push((section.verdict, format!("{on}{}", stopped.what)));
        }
    }
    lines
}

fn head(result: &RunResult) -> String {
    let backend = &result.backend;
    let mut rows = Vec::new();
    match backend.kind {
        BackendKind::Cuda => {
            rows.push(("backend", "GPU; all numbers below are measured".to_owned()));
        }
        BackendKind::Model => {
            let model = backend.model.as_deref().unwrap_or_default();
            rows.push(("backend", format!("SIMULATED GPU ({model})")));
        }
    }
    if let Some(why) = &backend.why {
        rows.push(("", format!("because {why}")));
    }
    let version = backend
        .runtime_version
        .as_deref()
        .unwrap_or("unknown version");
    let path = match &backend.runtime_path {
        Some(path) => format!("{path} ({})", backend.runtime_found_by),
        None => backend.runtime_found_by.clone(),
    };
    rows.push(("runtime", format!("{version}, {path}")));
    let driver = backend.driver_version.as_deref().unwrap_or("none");
    rows.push(("driver", format!("supports CUDA {driver}")));
    let kernel = &result.kernel;
    let compiler = kernel.compiler.as_deref().unwrap_or("an unnamed compiler");
    rows.push((
        "kernel",
        format!(
            "{} by {compiler}, PTX {} for {}, {}",
            kernel.name, kernel.ptx_version, kernel.ptx_target, kernel.source,
        ),
    ));
    table(&rows)
}

fn device(result: &RunResult, section: &DeviceResult) -> String {
    let mut rows = Vec::new();
    let described = match &section.device {
        Some(device) => format!("{}: {}", section.ordinal, units::device(device)),
        None => section.ordinal.to_string(),
    };
    rows.push(("device", described));
    if let Some(route) = &section.kernel_route {
        rows.push(("", format!("kernel loaded by {route}")));
    }
    if let Some(unit) = section.launch_footprint_bytes {
        rows.push((
            "launch",
            format!(
                "footprint of one launch: {}, for a graph that allocates {}",
                units::bytes(unit),
                units::bytes(result.settings.allocation_bytes),
            ),
        ));
    }
    if let Some(stopped) = &section.stopped {
        let kind = if stopped.waived { "waived" } else { "error" };
        rows.push((kind, stopped.what.clone()));
        rows.push(("", format!("try: {}", stopped.remedy)));
    }
    table(&rows)
}

/// Two columns: dimmed names, and values.
fn table(rows: &[(&str, String)]) -> String {
    rows.iter()
        .map(|(name, value)| format!("{DIM}{name:8}{DIM:#} {value}\n"))
        .collect()
}

fn experiment(number: usize, experiment: &ExperimentResult, columns: Option<usize>) -> String {
    let mut text = format!("\n{BOLD}{number}  {}{BOLD:#}\n", experiment.title);
    text += &paragraph("   ", &experiment.shows);
    if let Some(proof) = &experiment.overlap {
        let busy = proof.streams_busy.iter().filter(|&&busy| busy).count();
        text += &format!(
            "   Overlap: {busy} of {} busy after the last reading; spin time {}, launch and reading {}, {}.\n",
            units::count(proof.streams_busy.len(), "stream"),
            units::time(proof.spin_time_ms),
            units::time(proof.launch_cost_ms),
            units::count(proof.attempts as usize, "attempt"),
        );
    }
    text.push('\n');
    text += &steps(&experiment.steps, columns);
    text.push('\n');
    text += &checks(&experiment.checks);
    if let Some(error) = &experiment.error {
        text += &format!(
            "   {RED}ERROR{RED:#} {} failed: {} {} ({})\n         try: {}\n",
            error.call, error.code, error.name, error.text, error.advice
        );
    }
    text
}

fn steps(steps: &[Step], columns: Option<usize>) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let most = steps
        .iter()
        .map(|step| step.memory.reserved_bytes)
        .max()
        .unwrap_or(0);
    let mut table = Table::new(["step", "used", "high", "reserved", "high"]);
    for step in steps {
        let memory = &step.memory;
        table.row([
            step.label.clone(),
            units::bytes(memory.used_bytes),
            units::bytes(memory.used_high_bytes),
            units::bytes(memory.reserved_bytes),
            units::bytes(memory.reserved_high_bytes),
        ]);
    }
    table.set_tails(|at, taken| {
        let cells = match columns {
            Some(columns) => columns
                .saturating_sub(taken)
                .clamp(*BAR_ON_TERMINAL.start(), *BAR_ON_TERMINAL.end()),
            None => BAR,
        };
        let memory = steps.get(at).map(|step| step.memory).unwrap_or_default();
        bar(memory.used_bytes, memory.reserved_bytes, most, cells)
    });
    table.text()
}

/// A bar: used bytes in full blocks, the other reserved bytes in light ones.
fn bar(used: u64, reserved: u64, most: u64, width: usize) -> String {
    if most == 0 {
        return String::new();
    }
    let cells = |bytes: u64| (bytes as f64 / most as f64 * width as f64).round() as usize;
    let full = cells(used).min(width);
    let light = cells(reserved).min(width).saturating_sub(full);
    format!("{}{}", "█".repeat(full), "░".repeat(light))
}

fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["check", "expected", "measured"])
        .left(1)
        .left(2)
        .with_tail("rule");
    for check in checks {
        let cells = [
            check.claim.clone(),
            units::quantity(&check.expected),
            units::quantity(&check.measured),
        ];
        table.row_with_tail(cells, format!("{DIM}{}{DIM:#}", check.rule));
        table.mark(style::of(check.verdict), check.verdict.as_str());
        table.note(check.reason.as_deref().unwrap_or_default());
    }
    table.text()
}

/// The trends, and the memory after the first and the last run.
fn repeat(repeat: &Repeat) -> String {
    let done = repeat.cycles.len();
    let text = format!(
        "\n{BOLD}Memory over {}{BOLD:#}, of {} requested; the experiments above are from run {}\n\n",
        units::count(done, "run"),
        repeat.cycles_requested,
        repeat.kept_cycle,
    );
    let (Some(first), Some(last)) = (repeat.cycles.first(), repeat.cycles.last()) else {
        return text;
    };
    let mut table = Table::new(["memory", "first", "last"]).with_tail("growth");
    for trend in &repeat.trends {
        let cells = [
            units::memory_kind(trend.memory).to_owned(),
            measured(first, trend.memory),
            measured(last, trend.memory),
        ];
        table.row_with_tail(cells, units::trend(trend));
        table.mark(style::of(trend.verdict), trend.verdict.as_str());
        table.note(trend.reason.as_deref().unwrap_or_default());
    }
    text + &table.text()
}

/// The memory after the cycle, as a size.
fn measured(cycle: &Cycle, kind: MemoryKind) -> String {
    cycle
        .bytes(kind)
        .map_or_else(|| "?".to_owned(), units::bytes)
}

fn summary(result: &RunResult) -> String {
    let mut text = format!("\n{BOLD}Summary{BOLD:#}\n");
    let lines = verdicts(result);
    let details: Vec<String> = result.devices.iter().flat_map(details).collect();
    // A line without details does not widen the column.
    let beside = lines
        .iter()
        .zip(&details)
        .filter(|(_, detail)| !detail.is_empty());
    let width = beside.map(|((_, what), _)| what.len()).max().unwrap_or(0);
    let wm = widest(lines.iter().map(|&(verdict, _)| verdict));
    for ((verdict, what), detail) in lines.iter().zip(&details) {
        let line = format!("{} {what:<width$}  {detail}", mark(*verdict, wm));
        text += &format!("   {}\n", line.trim_end());
    }
    if result.interrupted {
        text += "   Interrupted with Ctrl-C; the finished experiments are above.\n";
    }
    text
}

/// The details beside each of the device's [`verdicts`].
fn details(section: &DeviceResult) -> Vec<String> {
    let experiments = section.experiments.iter().map(|experiment| {
        let passed = experiment.checks.iter();
        let passed = passed.filter(|check| check.verdict == Verdict::Pass);
        format!(
            "{} of {} checks, {}",
            passed.count(),
            experiment.checks.len(),
            units::time(experiment.duration_ms),
        )
    });
    let repeat = section.repeat.iter().map(|repeat| {
        let growing: Vec<_> = repeat
            .trends
            .iter()
            .filter(|trend| trend.growth == Growth::Grows)
            .map(|trend: &Trend| units::memory_kind(trend.memory))
            .collect();
        match growing.is_empty() {
            true if repeat.trends.iter().any(|t| t.growth == Growth::Unknown) => {
                "too few runs to decide".to_owned()
            }
            true => "flat".to_owned(),
            false => format!("grows: {}", growing.join(", ")),
        }
    });
    let stopped = section.stopped.iter().map(|_| String::new());
    experiments.chain(repeat).chain(stopped).collect()
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
    let style = style::of(verdict);
    format!("{style}{:<width$}{style:#}", verdict.as_str())
}
