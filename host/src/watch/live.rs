//! The line of progress that `--live` shows.

use std::path::Path;
use std::time::Duration;

use graph_memory_record::{Event, Recording};

use crate::report::units;

/// How long the command has run and what its graphs hold now.
pub(super) fn line(recording: &Path, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let Ok(recording) = Recording::read(recording) else {
        return format!("watch: {seconds} s, no CUDA seen yet");
    };
    let (mut execs, mut reserved) = (0_usize, 0_u64);
    for process in &recording.processes {
        let mut last = 0;
        for line in &process.lines {
            match &line.event {
                Event::Instantiate(call) if call.exec.is_some() => execs += 1,
                Event::Launch(launch) => {
                    last = launch
                        .after
                        .graph
                        .map_or(last, |graph| graph.reserved_bytes);
                }
                _ => {}
            }
        }
        reserved = reserved.saturating_add(last);
    }
    format!(
        "watch: {seconds} s, {}, {} of graph memory",
        units::count(execs, "graph exec"),
        units::bytes(reserved)
    )
}
