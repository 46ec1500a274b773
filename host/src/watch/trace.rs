//! A trace in Chrome's JSON form, which Perfetto and chrome://tracing show: counters for
//! the memory, slices for captures, instantiations and launches that changed memory.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::result::{ProcessResult, RecordedAction, WatchResult};
use super::text::short;

/// Writes the trace. Times are in microseconds since the first process started.
///
/// # Errors
///
/// Those of writing.
pub(super) fn write(result: &WatchResult, out: &mut dyn Write) -> io::Result<()> {
    let start = result.processes.iter().map(|p| p.start_unix_ns).min();
    let start = start.unwrap_or(0);
    let mut events = Vec::new();
    for process in &result.processes {
        let offset = process.start_unix_ns.saturating_sub(start);
        events.extend(self::process(process, offset));
    }
    let trace = json!({"traceEvents": events, "displayTimeUnit": "ms"});
    serde_json::to_writer(safe_io::visible::JsonText(&mut *out), &trace)?;
    writeln!(out)?;
    out.flush()
}

fn process(process: &ProcessResult, offset: u64) -> Vec<Value> {
    let at = |time_ns: u64| offset.saturating_add(time_ns) as f64 / 1e3;
    let pid = process.pid;
    let name = format!("{} {}", short(&process.executable), process.name);
    let mut events = vec![json!({
        "ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}
    })];
    for device in &process.devices {
        let counter = format!("device {}", device.device);
        for sample in &device.timeline {
            let mut counter = |what: &str, bytes: Option<u64>| {
                if let Some(bytes) = bytes {
                    events.push(json!({
                        "ph": "C", "pid": pid, "ts": at(sample.time_ns),
                        "name": format!("{counter}: {what}"), "args": {"bytes": bytes}
                    }));
                }
            };
            counter("graph memory used", sample.graph_used_bytes);
            counter("graph memory reserved", sample.graph_reserved_bytes);
            counter(
                "stream-ordered pools reserved",
                Some(sample.pools_reserved_bytes),
            );
            counter("free (all processes)", sample.free_bytes);
        }
    }
    let mut slice = |track: &str, name: String, begin: u64, duration_ns: u64, args: Value| {
        events.push(json!({
            "ph": "X", "pid": pid, "tid": track, "name": name,
            "ts": at(begin), "dur": duration_ns as f64 / 1e3, "args": args
        }));
    };
    for capture in &process.captures {
        let end = capture.end_ns.unwrap_or(capture.begin_ns);
        slice(
            "captures",
            format!("capture {}", capture.capture),
            capture.begin_ns,
            end.saturating_sub(capture.begin_ns),
            json!({
                "plain_requested_bytes": capture.plain_requested_bytes,
                "plain_taken_bytes": capture.plain_taken_bytes
            }),
        );
    }
    for graph in &process.graphs {
        slice(
            "instantiations",
            format!("instantiate exec {}", graph.exec),
            graph.time_ns.saturating_sub(graph.instantiate_ns),
            graph.instantiate_ns,
            json!({"requested_bytes": graph.requested_bytes}),
        );
        if let Some(first) = &graph.first_launch {
            slice(
                "launches",
                format!("first launch of exec {}", graph.exec),
                first.time_ns.saturating_sub(first.duration_ns),
                first.duration_ns,
                json!({"pool_growth_bytes": first.pool_growth_bytes}),
            );
        }
    }
    for step in &process.steps {
        let RecordedAction::Launch { exec, .. } = step.action else {
            continue;
        };
        let first = process.graphs.iter().find(|graph| graph.exec == exec);
        let first = first.and_then(|graph| graph.first_launch.as_ref());
        if first.is_some_and(|first| first.time_ns != step.time_ns) {
            slice(
                "launches",
                format!("launch of exec {exec} that changed memory"),
                step.time_ns,
                0,
                json!({"used_bytes": step.used_bytes}),
            );
        }
    }
    events
}
