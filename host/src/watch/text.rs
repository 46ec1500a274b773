//! The report as text: the account, the graphs that took most, what would save most.

use std::io::{self, Write};
use std::path::Path;

use safe_io::Shown;

use super::findings::signed;
use super::result::{
    Blind, DeviceResult, End, Finding, GraphResult, Group, ProcessResult, Use, WatchResult,
};
use crate::report::style::{self, BOLD, DIM, YELLOW};
use crate::report::table::Table;
use crate::report::{shown, units};

/// Findings that the text shows; the page and the JSON have all.
const MOST_FINDINGS: usize = 8;

/// Writes the report. `rows` graphs are listed, 0 lists all.
///
/// # Errors
///
/// Those of writing.
pub(super) fn write(result: &WatchResult, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let result = &shown(result)?;
    let command = match result.command.is_empty() {
        true => "a recorded command".to_owned(),
        false => result.command.join(" "),
    };
    let end = match result.end {
        Some(End::Code(code)) => format!(", ended with exit code {code}"),
        Some(End::Signal(signal)) => format!(", ended by signal {signal}"),
        None => String::new(),
    };
    writeln!(out, "{BOLD}watched{BOLD:#}  {}{end}", Shown(command))?;
    if result.processes.is_empty() {
        writeln!(out, "{}", nothing_seen(result))?;
    }
    for process in &result.processes {
        writeln!(out)?;
        self::process(process, rows, out)?;
    }
    if !result.processes.is_empty() && result.processes_without_cuda > 0 {
        let others = units::count(result.processes_without_cuda, "other process");
        writeln!(out, "\n{DIM}{others} did not use CUDA.{DIM:#}")?;
    }
    for note in &result.notes {
        writeln!(out, "{DIM}note: {}{DIM:#}", Shown(note))?;
    }
    Ok(())
}

/// Why there is nothing to report.
fn nothing_seen(result: &WatchResult) -> &'static str {
    match (result.processes_without_cuda, result.notes.is_empty()) {
        (0, true) => {
            "No process loaded the watch library: the command is statically linked, set-user-ID, \
             or clears LD_PRELOAD.\n  try: watch the program that uses CUDA itself, linked \
             dynamically"
        }
        _ => {
            "No process of it loaded the CUDA driver, so there is nothing to report.\n  try: \
             `nvidia-smi` shows whether the driver works; a program for the CPU needs no watching"
        }
    }
}

fn process(process: &ProcessResult, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let program = Path::new(&process.executable);
    let program = program.file_name().map_or_else(
        || process.executable.clone(),
        |name| name.to_string_lossy().into_owned(),
    );
    let driver = process.driver_version.map_or_else(String::new, |version| {
        format!(
            ", driver for CUDA {}.{}",
            version / 1000,
            version % 1000 / 10
        )
    });
    let ended = if process.exited {
        ""
    } else {
        "; it was killed, crashed, called _exit or execve, or still runs"
    };
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}  process {}{driver}{ended}",
        Shown(program),
        process.pid
    )?;
    match process.blind {
        Some(Blind::NotIntercepted) => {
            writeln!(
                out,
                "  CUDA started in this process, and none of its calls were intercepted: its \
                 graphs are not in this report.\n  try: a program that is not statically linked \
                 with the driver's functions, and no tool that wraps the same functions"
            )?;
        }
        Some(Blind::NoGraphs) => {
            writeln!(out, "  It instantiated no CUDA graph.")?;
        }
        Some(Blind::NoCuda) | None => {}
    }
    for device in &process.devices {
        self::device(process, device, out)?;
    }
    if !process.groups.is_empty() {
        graphs(process, rows, out)?;
        planned(process, out)?;
    }
    captures(process, out)?;
    findings(&process.findings, out)?;
    for note in &process.notes {
        writeln!(out, "  {DIM}note: {}{DIM:#}", Shown(note))?;
    }
    Ok(())
}

fn device(process: &ProcessResult, device: &DeviceResult, out: &mut dyn Write) -> io::Result<()> {
    let name = device.name.as_deref().unwrap_or("unknown device");
    writeln!(out, "\n  device {}: {}", device.device, Shown(name))?;
    if let Some(memory) = device.graph_memory {
        let execs = process.graphs.iter().filter(|g| g.device == device.device);
        let live = execs.clone().filter(|graph| !graph.destroyed).count();
        writeln!(
            out,
            "  {BOLD}graph memory  {} reserved{BOLD:#}, {} used; at most {} reserved; {}, {live} \
             not destroyed",
            units::bytes(memory.reserved_bytes),
            units::bytes(memory.used_bytes),
            units::bytes(
                device
                    .graph_reserved_peak_bytes
                    .max(memory.reserved_high_bytes)
            ),
            units::count(execs.count(), "graph exec"),
        )?;
    }
    if device.trims > 0 {
        writeln!(
            out,
            "  {} returned {}",
            units::count(usize::try_from(device.trims).unwrap_or(usize::MAX), "trim"),
            units::bytes(device.trimmed_bytes)
        )?;
    }
    let account = &device.account;
    if account.entries.is_empty() {
        return Ok(());
    }
    let total = device
        .total_bytes
        .map_or_else(String::new, |total| format!(" of {}", units::bytes(total)));
    writeln!(
        out,
        "  {} of device memory in use{total}:",
        signed(account.lost_bytes)
    )?;
    let mut entries: Vec<_> = account.entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.bytes));
    for entry in entries {
        let libraries: Vec<String> = entry
            .by_library
            .iter()
            .take(3)
            .map(|(library, bytes)| format!("{} {}", short(library), signed(*bytes)))
            .collect();
        let by = match (libraries.is_empty(), entry.what) {
            (true, _) | (_, Use::Context) => String::new(),
            (false, _) => format!("  {DIM}{}{DIM:#}", Shown(libraries.join(", "))),
        };
        writeln!(
            out,
            "  {:>12}  {}{by}",
            signed(entry.bytes),
            entry.what.as_str()
        )?;
    }
    Ok(())
}

fn graphs(process: &ProcessResult, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let shown = if rows == 0 { usize::MAX } else { rows };
    writeln!(out, "\n  graphs, what took most first:")?;
    let mut table = Table::new([
        "execs",
        "requested",
        "footprint",
        "pool growth",
        "in captures",
        "unfreed",
        "launches",
    ])
    .with_tail("from");
    for group in process.groups.iter().take(shown) {
        let Some(graph) = first_of(process, group) else {
            continue;
        };
        let launches: u64 = execs_of(process, group).map(|graph| graph.launches).sum();
        let origin = graph.origin.as_deref().map_or("unknown", short);
        let from = format!("{origin}: {}{}", nodes(graph), flags(graph.flags));
        table.row_with_tail(
            [
                group.execs.len().to_string(),
                units::bytes(graph.requested_bytes),
                graph
                    .footprint_bytes
                    .map_or("not known".to_owned(), units::bytes),
                signed(group.pool_growth_bytes),
                signed(group.captured_plain_bytes),
                units::bytes(graph.unfreed_bytes),
                launches.to_string(),
            ],
            Shown(from).to_string(),
        );
    }
    out.write_all(table.text().as_bytes())?;
    let left_out = process.groups.len().saturating_sub(shown);
    if left_out > 0 {
        writeln!(
            out,
            "  {DIM}and {} more; --rows 0 lists all{DIM:#}",
            units::count(left_out, "kind of graph")
        )?;
    }
    let plain = process
        .groups
        .iter()
        .all(|group| first_of(process, group).is_some_and(|graph| graph.allocations.is_empty()));
    if plain {
        writeln!(
            out,
            "  These graphs have no memory nodes: what they hold was taken by plain allocations \
             (see \"in captures\")."
        )?;
    }
    Ok(())
}

/// The nodes of a graph in words: `5 kernel, 2 mem-alloc, 1 mem-free`.
pub(crate) fn nodes(graph: &GraphResult) -> String {
    let nodes = graph.nodes.iter();
    let nodes: Vec<String> = nodes
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    match nodes.is_empty() {
        true => "no nodes".to_owned(),
        false => nodes.join(", "),
    }
}

fn flags(flags: u64) -> &'static str {
    match flags & super::planned::AUTO_FREE {
        0 => "",
        _ => "; auto-free",
    }
}

fn planned(process: &ProcessResult, out: &mut dyn Write) -> io::Result<()> {
    for device in &process.planned {
        let differ: Vec<_> = device
            .steps
            .iter()
            .filter(|step| step.planned_used_bytes != step.measured_used_bytes)
            .collect();
        let all = device.steps.len();
        if let Some(first) = differ.first() {
            writeln!(
                out,
                "  {YELLOW}planned{YELLOW:#}  {} of {all} launches differ from the plan; the first: exec \
                 {}, planned {} used, measured {}",
                differ.len(),
                first.exec,
                units::bytes(first.planned_used_bytes),
                units::bytes(first.measured_used_bytes)
            )?;
            if device.assumes_no_overlap {
                writeln!(
                    out,
                    "           (the plan assumes that launches on different streams do not \
                     overlap; graphs that do cannot share memory, R36)"
                )?;
            }
        } else if all > 0 {
            writeln!(
                out,
                "  planned: graph memory after {} as measured",
                match all {
                    1 => "1 recorded launch".to_owned(),
                    all => format!("each of {all} recorded launches"),
                }
            )?;
        }
        for line in &device.left_out {
            writeln!(out, "  {DIM}{}{DIM:#}", Shown(line))?;
        }
    }
    Ok(())
}

fn captures(process: &ProcessResult, out: &mut dyn Write) -> io::Result<()> {
    let taken: i64 = process.captures.iter().map(|c| c.plain_taken_bytes).sum();
    let requested: u64 = process
        .captures
        .iter()
        .map(|c| c.plain_requested_bytes)
        .sum();
    if requested == 0 {
        return Ok(());
    }
    let with = process
        .captures
        .iter()
        .filter(|capture| capture.plain_requested_bytes > 0)
        .count();
    writeln!(
        out,
        "  during {} of {} plain allocations requested {} and took {} of free memory",
        with,
        units::count(process.captures.len(), "capture"),
        units::bytes(requested),
        signed(taken)
    )
}

fn findings(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for finding in findings.iter().take(MOST_FINDINGS) {
        let (style, word) = style::severity(finding.severity);
        let saves = match finding.saving_bytes {
            0 => String::new(),
            bytes => format!(" (saves {})", units::bytes(bytes)),
        };
        writeln!(
            out,
            "  {style}{word}{style:#} {}{saves}{}",
            Shown(&finding.what),
            of(&finding.execs)
        )?;
        writeln!(
            out,
            "         try: {}  {DIM}{}{DIM:#}",
            Shown(&finding.remedy),
            finding.rule
        )?;
    }
    if findings.len() > MOST_FINDINGS {
        let more = findings.len() - MOST_FINDINGS;
        writeln!(
            out,
            "  {DIM}and {} more, in --output and --report{DIM:#}",
            units::count(more, "finding")
        )?;
    }
    Ok(())
}

fn of(execs: &[u64]) -> String {
    match execs {
        [] => String::new(),
        [one] => format!(" [exec {one}]"),
        [first, .., last] if last - first + 1 == execs.len() as u64 => {
            format!(" [execs {first} to {last}]")
        }
        [first, .., last] => format!(" [{} execs, {first} to {last}]", execs.len()),
    }
}

/// The first exec of a group.
pub(crate) fn first_of<'p>(process: &'p ProcessResult, group: &Group) -> Option<&'p GraphResult> {
    let first = group.execs.first()?;
    process.graphs.iter().find(|graph| graph.exec == *first)
}

/// The execs of a group.
pub(crate) fn execs_of<'p>(
    process: &'p ProcessResult,
    group: &'p Group,
) -> impl Iterator<Item = &'p GraphResult> {
    let graphs = process.graphs.iter();
    graphs.filter(|graph| group.execs.contains(&graph.exec))
}

/// The file name of a library.
pub(crate) fn short(library: &str) -> &str {
    library.rsplit('/').next().unwrap_or(library)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn execs_without_a_gap_are_a_range_and_others_are_counted() {
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[4]), " [exec 4]");
        assert_eq!(of(&[4, 5, 6]), " [execs 4 to 6]");
        assert_eq!(of(&[4, 6, 9]), " [3 execs, 4 to 9]");
    }
}
