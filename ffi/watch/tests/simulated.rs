//! With the simulated driver, the recorded values equal those that the program itself
//! reads.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use graph_memory_record::{Event, LaunchReason, Reading};
use support::{counts, notes, watch_simulated};

/// The four attributes and free memory.
fn five(reading: &Reading) -> [u64; 5] {
    let graph = reading.graph.unwrap();
    [
        graph.used_bytes,
        graph.used_high_bytes,
        graph.reserved_bytes,
        graph.reserved_high_bytes,
        reading.free_bytes.unwrap(),
    ]
}

#[test]
fn recorded_values_equal_those_that_the_program_reads() {
    let watched = watch_simulated("measures").run();
    let stdout = watched.ended_as_alone().stdout();
    let process = watched.process();
    assert_eq!(notes(process), [""; 0]);
    let read: Vec<Vec<u64>> = stdout
        .lines()
        .map(|line| line.split(' ').map(|n| n.parse().unwrap()).collect())
        .collect();
    let recorded: Vec<Vec<u64>> = process
        .lines
        .iter()
        .filter_map(|line| match &line.event {
            Event::Launch(launch) if launch.reason == LaunchReason::First => Some(launch),
            _ => None,
        })
        .map(|launch| {
            let numbers = [five(&launch.before), five(&launch.after)].concat();
            [vec![launch.exec], numbers].concat()
        })
        .collect();
    assert_eq!(recorded, read);
    assert_eq!(read.len(), 3);
    let grown: Vec<_> = read.iter().map(|line| line[8] - line[3]).collect();
    assert!(grown.iter().any(|&bytes| bytes > 0), "{read:?}");
    let counters = process.counters.as_ref().unwrap();
    let launches: Vec<_> = counters.execs.iter().map(|c| c.launches).collect();
    assert_eq!(launches, [40; 3]);
}

#[test]
fn the_simulated_driver_calls_the_injection_library_and_prints_each_graph() {
    let watched = watch_simulated("measures").run();
    let process = watched.process();
    let counts = counts(process);
    for event in ["cuda-started", "intercepted", "driver", "device", "context"] {
        assert_eq!(counts.get(event), Some(&1), "{event}: {counts:?}");
    }
    let recording = watched.recording.as_ref().unwrap();
    let mut graphs = 0;
    for line in &process.lines {
        let Event::Instantiate(instantiate) = &line.event else {
            continue;
        };
        let graph = instantiate.graph.as_ref().unwrap();
        let path = recording.dot_path(graph.dot.as_deref().unwrap());
        let text = std::fs::read_to_string(path).unwrap();
        for node in &graph.allocations {
            assert!(
                text.contains(&format!("{} | 0x{:016X}", node.bytes, node.address)),
                "{text}"
            );
        }
        graphs += 1;
    }
    assert_eq!(graphs, 3);
}
