//! From a recording to what it says: one pass over the events of each process.

mod account;
mod graphs;

use std::collections::BTreeMap;
use std::fs;

use graph_memory_record::{Event, Line, ProcessRecord, Recording};

use super::findings;
use super::planned;
use super::result::{
    Blind, CaptureResult, FORMAT, FailedCall, ProcessResult, SCHEMA_VERSION, WatchResult,
};
use account::Accounts;
use graphs::Graphs;

/// Everything that a recording says.
#[must_use]
pub fn analyse(recording: &Recording) -> WatchResult {
    let mut result = WatchResult {
        format: FORMAT.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        command: Vec::new(),
        end: None,
        processes: Vec::new(),
        processes_without_cuda: 0,
        dots: BTreeMap::new(),
        notes: Vec::new(),
    };
    for (name, reason) in &recording.unreadable {
        result
            .notes
            .push(format!("the record {name} cannot be read: {reason}"));
    }
    for record in &recording.processes {
        let process = self::process(record);
        if process.blind == Some(Blind::NoCuda) {
            result.processes_without_cuda += 1;
            continue;
        }
        for name in process.graphs.iter().filter_map(|graph| graph.dot.as_ref()) {
            if result.dots.contains_key(name) {
                continue;
            }
            match fs::read_to_string(recording.dot_path(name)) {
                Ok(text) => drop(result.dots.insert(name.clone(), text)),
                Err(error) => result
                    .notes
                    .push(format!("the graph {name} cannot be read: {error}")),
            }
        }
        result.processes.push(process);
    }
    for process in &mut result.processes {
        planned::plan(process, &result.dots);
        findings::find(process, &result.dots);
    }
    result
}

/// What one process did, before anything is planned.
fn process(record: &ProcessRecord) -> ProcessResult {
    let mut lines: Vec<&Line> = record.lines.iter().collect();
    // Lines of several threads can be out of order by the time that writing takes.
    lines.sort_by_key(|line| line.time_ns);
    let mut accounts = Accounts::default();
    let mut graphs = Graphs::new(record.counters.as_ref());
    let mut captures: Vec<CaptureResult> = Vec::new();
    let mut failed = Vec::new();
    let mut notes = Vec::new();
    let (mut driver_version, mut started, mut intercepted) = (None, false, false);
    let mut has_driver = false;
    for line in lines {
        accounts.note(line);
        graphs.note(line);
        match &line.event {
            Event::Driver(driver) => {
                has_driver = true;
                driver_version = driver.version.or(driver_version);
            }
            Event::CudaStarted => started = true,
            Event::Intercepted(_) => intercepted = true,
            Event::CaptureBegin(begin) => captures.push(CaptureResult {
                capture: begin.capture,
                device: begin.device,
                begin_ns: line.time_ns,
                end_ns: None,
                mode: mode(begin.mode).to_owned(),
                origin: begin.origin.as_ref().map(|origin| origin.library.clone()),
                failed_code: None,
                plain_allocations: 0,
                plain_requested_bytes: 0,
                plain_taken_bytes: 0,
                by_library: Vec::new(),
                execs: Vec::new(),
            }),
            Event::CaptureEnd(end) => {
                if let Some(capture) = captures.iter_mut().find(|c| c.capture == end.capture) {
                    capture.end_ns = Some(line.time_ns);
                    capture.failed_code = (end.result != 0).then_some(end.result);
                    capture.plain_allocations = end.allocations;
                    capture.plain_requested_bytes = end.allocated_bytes;
                }
            }
            Event::Instantiate(call) if call.result != 0 => failed.push(FailedCall {
                time_ns: line.time_ns,
                call: call.call.clone(),
                code: call.result,
                origin: call.origin.as_ref().map(|origin| origin.library.clone()),
            }),
            Event::Note(note) => {
                let times = match note.count {
                    0 | 1 => String::new(),
                    count => format!(" ({count} times)"),
                };
                notes.push(format!("{}{times}", note.text));
            }
            _ => {}
        }
    }
    let taken = accounts.taken_in_captures();
    for capture in &mut captures {
        if let Some(taken) = taken.get(&capture.capture) {
            capture.plain_taken_bytes = taken.values().sum();
            capture.by_library = account::largest_first(taken);
        }
    }
    let (graphs, steps) = graphs.finish();
    for graph in &graphs {
        let of = graph.capture;
        if let Some(capture) = captures.iter_mut().find(|c| Some(c.capture) == of) {
            capture.execs.push(graph.exec);
        }
    }
    if record.damaged_lines > 0 {
        notes.push(format!(
            "{} lines of the record are cut short: the disk was full, or the process was killed \
             while it wrote",
            record.damaged_lines
        ));
    }
    if let Some(counters) = &record.counters {
        if counters.lost_events > 0 {
            notes.push(format!(
                "{} events could not be written",
                counters.lost_events
            ));
        }
        if counters.unknown_launches > 0 {
            notes.push(format!(
                "{} launches were of graph execs whose instantiation was not seen",
                counters.unknown_launches
            ));
        }
    }
    notes.extend(
        record
            .counters_error
            .iter()
            .map(|error| format!("the launch counters cannot be read: {error}")),
    );
    let blind = match () {
        () if started && !intercepted => Some(Blind::NotIntercepted),
        () if !has_driver && !started && !intercepted => Some(Blind::NoCuda),
        () if !started && accounts.is_empty() && graphs.is_empty() => Some(Blind::NoCuda),
        () if graphs.is_empty() && failed.is_empty() => Some(Blind::NoGraphs),
        () => None,
    };
    let groups = graphs::groups(&graphs, &captures);
    let about = &record.process;
    ProcessResult {
        name: record.name.clone(),
        pid: about.pid,
        parent: about.parent,
        executable: about.executable.clone(),
        arguments: about.arguments.clone(),
        start_unix_ns: about.start_unix_ns,
        driver_version,
        exited: record.exited(),
        blind,
        devices: accounts.finish(),
        graphs,
        groups,
        captures,
        steps,
        failed_instantiations: failed,
        planned: Vec::new(),
        findings: Vec::new(),
        notes,
    }
}

fn mode(mode: graph_memory_record::CaptureMode) -> &'static str {
    use graph_memory_record::CaptureMode;
    match mode {
        CaptureMode::Global => "global",
        CaptureMode::ThreadLocal => "thread-local",
        CaptureMode::Relaxed => "relaxed",
        CaptureMode::Other => "unknown",
    }
}
