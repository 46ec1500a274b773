//! Compares recordings from an H200 with what CUPTI counted, and with what the programs
//! themselves read.

use std::fs;
use std::path::{Path, PathBuf};

use graph_memory_record::{Event, LaunchReason, NodeType, ProcessRecord, Reading, Recording};

const MIB: u64 = 1 << 20;

fn folder(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/h200")).join(name)
}

fn process(name: &str) -> ProcessRecord {
    let mut recording = Recording::read(folder(name)).unwrap();
    assert_eq!(recording.unreadable, []);
    assert_eq!(recording.processes.len(), 1);
    recording.processes.remove(0)
}

fn count(process: &ProcessRecord, is: impl Fn(&Event) -> bool) -> u64 {
    let lines = process.lines.iter().filter(|line| is(&line.event));
    lines.count() as u64
}

/// For each first launch: the exec, and used graph memory before and after it in MiB.
fn first_launches(process: &ProcessRecord) -> Vec<(u64, u64, u64)> {
    let used = |reading: &Reading| reading.graph.unwrap().used_bytes / MIB;
    let launches = process.lines.iter().filter_map(|line| match &line.event {
        Event::Launch(launch) if launch.reason == LaunchReason::First => Some(launch),
        _ => None,
    });
    launches
        .map(|launch| (launch.exec, used(&launch.before), used(&launch.after)))
        .collect()
}

#[test]
fn recorded_graphs_launches_and_captures_are_as_many_as_cupti_counted() {
    let mut compared = 0;
    for entry in fs::read_dir(folder("")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(counts) = fs::read_to_string(path.join("cupti.counts")) else {
            continue;
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        let process = process(name);
        let counters = process.counters.as_ref().unwrap();
        let sum = |of: fn(&graph_memory_record::counters::Counters) -> u64| {
            counters.execs.iter().map(of).sum::<u64>()
        };
        let ok = |result: u32| result == 0;
        for line in counts.lines() {
            let mut parts = line.split(' ');
            let kind = parts.next().unwrap();
            let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
            let (succeeded, failed) = (number(), number());
            let recorded = match kind {
                "instantiate" => {
                    let of = |good: bool| {
                        count(
                            &process,
                            |e| matches!(e, Event::Instantiate(i) if ok(i.result) == good),
                        )
                    };
                    (of(true), of(false))
                }
                "launch" => (
                    sum(|c| c.launches) + counters.unknown_launches,
                    sum(|c| c.failed),
                ),
                "begin" => (count(&process, |e| matches!(e, Event::CaptureBegin(_))), 0),
                "end" => {
                    let of = |good: bool| {
                        count(
                            &process,
                            |e| matches!(e, Event::CaptureEnd(c) if ok(c.result) == good),
                        )
                    };
                    (of(true), of(false))
                }
                "destroy" => {
                    let destroyed = |e: &Event| matches!(e, Event::ExecDestroy(d) if ok(d.result));
                    (count(&process, destroyed), 0)
                }
                "update" => (sum(|c| c.updates), failed),
                "upload" => (sum(|c| c.uploads), failed),
                _ => continue,
            };
            assert_eq!(recorded, (succeeded, failed), "{name}: {kind}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8 * 7, "eight programs, seven functions");
}

#[test]
fn recorded_graph_memory_is_what_the_program_read() {
    let process = process("torch-async");
    let launches = first_launches(&process);
    assert_eq!(launches, [(1, 0, 192), (2, 192, 224), (3, 224, 256)]);
    let counters = process.counters.as_ref().unwrap();
    // A relaunch does not increase used graph memory.
    let grew: Vec<_> = counters
        .execs
        .iter()
        .map(|c| (c.launches, c.grew))
        .collect();
    assert_eq!(grew, [(51, 1); 3]);
    let flags = process.lines.iter().filter_map(|line| match &line.event {
        Event::Instantiate(i) => Some((i.flags, i.graph.as_ref()?.nodes[&NodeType::MemAlloc])),
        _ => None,
    });
    assert_eq!(flags.collect::<Vec<_>>(), [(9, 5), (9, 3), (9, 3)]);
    // Each graph leaves its output of 4096 x 2048 half-precision numbers allocated, at
    // the address of its first allocation. The first graph also leaves the workspace of
    // cuBLASLt allocated.
    let unfreed = process.lines.iter().filter_map(|line| match &line.event {
        Event::Instantiate(i) => {
            let nodes = i.graph.as_ref()?.unfreed();
            Some(nodes.map(|node| node.bytes / MIB).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(
        unfreed.collect::<Vec<_>>(),
        [vec![32, 1, 16], vec![16], vec![16]]
    );
}

#[test]
fn the_dot_file_of_every_graph_is_in_the_recording() {
    for name in ["torch-async", "cupy", "graphMemoryNodes-shared"] {
        let recording = Recording::read(folder(name)).unwrap();
        for line in &recording.processes[0].lines {
            let Event::Instantiate(instantiate) = &line.event else {
                continue;
            };
            let graph = instantiate.graph.as_ref().unwrap();
            let text = fs::read_to_string(recording.dot_path(graph.dot.as_deref().unwrap()));
            let text = text.unwrap();
            for node in &graph.allocations {
                let node = format!("{} | 0x{:016X}", node.bytes, node.address);
                assert!(text.contains(&node), "{name}: {node}");
            }
        }
    }
}

#[test]
fn graphs_of_the_default_allocator_and_of_jax_have_no_memory_nodes() {
    for name in ["torch-default", "jax", "gpt-default-shared"] {
        let process = process(name);
        let graphs = process.lines.iter().filter_map(|line| match &line.event {
            Event::Instantiate(instantiate) => instantiate.graph.as_ref(),
            _ => None,
        });
        assert!(graphs.clone().count() >= 5, "{name}");
        assert!(graphs.clone().all(|g| g.allocations.is_empty()), "{name}");
    }
}

/// The changes during all calls and between them add up to the memory that the device lost,
/// which is what the program's last `cudaMemGetInfo` returned.
#[test]
fn recorded_changes_add_up_to_what_the_program_read() {
    for (name, free_at_end) in [
        ("gpt-default-shared", 148_391_460_864_u64),
        ("gpt-default-own", 148_200_620_032),
        ("cupy", 149_238_710_272),
    ] {
        let process = process(name);
        let free = |reading: &Reading| i128::from(reading.free_bytes.unwrap());
        let (mut calls, mut between) = (0, 0);
        let mut first = None;
        let mut last = 0;
        for line in &process.lines {
            let (before, after) = match &line.event {
                Event::Context(c) => {
                    first.get_or_insert(free(&c.reading));
                    last = free(&c.reading);
                    continue;
                }
                Event::Call(c) => (free(&c.before), free(&c.after)),
                Event::Instantiate(i) => (free(&i.before), free(&i.after)),
                Event::Launch(l) => (free(&l.before), free(&l.after)),
                Event::ExecDestroy(d) => (free(&d.before), free(&d.after)),
                Event::CaptureBegin(c) => (free(&c.reading), free(&c.reading)),
                Event::CaptureEnd(c) => (free(&c.reading), free(&c.reading)),
                _ => continue,
            };
            between += last - before;
            calls += before - after;
            last = after;
        }
        let lost = first.unwrap() - i128::from(free_at_end);
        // Only a small part is not attributed to a call.
        assert!(
            between.unsigned_abs() <= 8 * u128::from(MIB),
            "{name}: {between}"
        );
        assert_eq!(calls + between, lost, "{name}");
    }
}

#[test]
fn one_pool_per_capture_takes_more_memory_during_captures_than_a_shared_pool() {
    let taken = |name| {
        let lines = process(name).lines;
        let in_captures = lines.iter().filter_map(|line| match &line.event {
            Event::Call(call) if call.capture.is_some() => {
                Some(call.before.free_bytes? as i64 - call.after.free_bytes? as i64)
            }
            _ => None,
        });
        in_captures.sum::<i64>() / MIB as i64
    };
    let (shared, own) = (taken("gpt-default-shared"), taken("gpt-default-own"));
    // Everything else is equal, so this is the difference of what the two programs read
    // at their end.
    assert_eq!(
        own - shared,
        (148_391_460_864 - 148_200_620_032) / MIB as i64
    );
}
