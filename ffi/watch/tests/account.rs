//! Changes of memory are attributed to the right calls, and captures are not disturbed.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use std::collections::BTreeMap;

use graph_memory_record::{Call, Category, Event, ProcessRecord, Reading};
use support::{MIB, count_library, counts, library, watch};

fn calls(process: &ProcessRecord) -> impl Iterator<Item = &Call> {
    process.lines.iter().filter_map(|line| match &line.event {
        Event::Call(call) => Some(call),
        _ => None,
    })
}

fn free(reading: &Reading) -> u64 {
    reading.free_bytes.expect("free memory")
}

#[test]
fn changes_of_memory_add_up() {
    let watched = watch("ask2", "plain").run();
    watched.ended_as_alone();
    let process = watched.process();
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    let mut last = 4096 * MIB;
    for line in &process.lines {
        let (name, before, after) = match &line.event {
            Event::Context(c) => ("context".to_owned(), 4096 * MIB, free(&c.reading)),
            Event::Call(c) => (format!("{:?}", c.category), free(&c.before), free(&c.after)),
            Event::Launch(l) => ("launch".to_owned(), free(&l.before), free(&l.after)),
            _ => continue,
        };
        let between = last as i64 - before as i64;
        *sums.entry("between".to_owned()).or_default() += between;
        *sums.entry(name).or_default() += before as i64 - after as i64;
        last = after;
    }
    let mib = MIB as i64;
    let expected = [
        ("between", 0),
        ("context", 100 * mib),
        ("Graph", -64 * mib),
        ("launch", 64 * mib),
        ("Kernel", 3 * mib),
        ("Module", 2 * mib),
        ("Plain", 11 * mib),
        ("Stream", mib / 2),
        ("StreamOrdered", 64 * mib),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(k, v)| (k.to_owned(), v)).into();
    assert_eq!(sums, expected);
    let Some(Event::Exit(exit)) = process.lines.last().map(|line| &line.event) else {
        panic!("no exit")
    };
    assert_eq!(free(&exit.last[0].1), last);
}

#[test]
fn only_the_growth_of_a_pool_is_recorded() {
    let watched = watch("ask2", "plain").run();
    let process = watched.process();
    let pooled = |c: &&Call| c.category == Category::StreamOrdered;
    let reserved: Vec<_> = calls(process)
        .filter(pooled)
        .map(|call| (call.before.pools[0].reserved_bytes, call.after.pools[0]))
        .map(|(before, after)| (before / MIB, after.reserved_bytes / MIB, after.pool))
        .collect();
    // 12, 24 and 36 MiB are used. The pool had enough memory for the second allocation.
    assert_eq!(reserved, [(0, 32, 0), (32, 64, 0)]);
    let counters = process.counters.as_ref().unwrap();
    assert_eq!(counters.lost_events, 0);
}

#[test]
fn readings_do_not_invalidate_a_capture_in_the_global_mode() {
    // The test driver invalidates a capture if memory is read in another mode than
    // relaxed.
    let watched = watch("per-thread", "plain").run();
    watched.ended_as_alone();
    let ends = watched
        .process()
        .lines
        .iter()
        .filter_map(|l| match &l.event {
            Event::CaptureEnd(end) => Some(end),
            _ => None,
        });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].result, 0);
    assert_eq!((ends[0].allocations, ends[0].allocated_bytes), (1, 6 * MIB));
}

#[test]
fn a_plain_allocation_during_a_capture_is_attributed_to_the_capture() {
    let watched = watch("ask2", "plain").run();
    let plain: Vec<_> = calls(watched.process())
        .filter(|call| call.category == Category::Plain)
        .map(|call| (call.bytes, call.capture))
        .collect();
    assert_eq!(plain, [(Some(5 * MIB), None), (Some(6 * MIB), Some(1))]);
}

#[test]
fn only_the_first_launch_of_a_kernel_is_recorded() {
    let watched = watch("ask2", "kernels").run();
    watched.ended_as_alone();
    let kernels = calls(watched.process()).filter(|c| c.category == Category::Kernel);
    let taken: Vec<_> = kernels
        .map(|c| (free(&c.before) - free(&c.after)) / MIB)
        .collect();
    assert_eq!(taken, [3; 300]);
}

#[test]
fn launches_of_all_threads_are_counted() {
    let watched = watch("ask2", "threads").run();
    watched.ended_as_alone();
    let counters = watched.process().counters.as_ref().unwrap();
    assert_eq!(counters.execs[0].launches, 8 * 1000 + 100);
}

#[test]
fn launches_of_ten_thousand_graphs_are_counted_separately() {
    let watched = watch("ask2", "many").run();
    watched.ended_as_alone();
    let process = watched.process();
    let counts = counts(process);
    assert_eq!(counts["instantiate"], 10_000);
    let counters = process.counters.as_ref().unwrap();
    assert_eq!(counters.execs.len(), 10_000);
    // The last exec was launched and destroyed.
    let last = counters.of(10_000).unwrap();
    assert_eq!((last.launches, last.destroyed), (100, true));
    assert!(counters.execs[..9_999].iter().all(|c| c.launches == 0));
    // All graphs have the same text, so there is one file.
    let folder = watched.folder.path().join("recording/graphs");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn memory_that_a_launch_leaves_allocated_is_recorded() {
    let watched = watch("ask2", "unfreed").run();
    let graph = watched.process().lines.iter().find_map(|l| match &l.event {
        Event::Instantiate(instantiate) => instantiate.graph.as_ref(),
        _ => None,
    });
    let unfreed: Vec<_> = graph.unwrap().unfreed().map(|node| node.bytes).collect();
    assert_eq!(unfreed, [40 * MIB]);
}

#[test]
fn launches_are_counted_for_the_right_exec_when_a_handle_is_reused() {
    let watched = watch("ask2", "churn").run();
    watched.ended_as_alone();
    let counters = watched.process().counters.as_ref().unwrap();
    assert_eq!(counters.execs.len(), 9001);
    for (index, exec) in counters.execs[..9000].iter().enumerate() {
        let (round, k) = (index / 3, index as u64 % 3);
        assert_eq!(exec.launches, k + 1, "exec {}", exec.exec);
        assert_eq!(exec.destroyed, k > 0 || round % 2 == 1);
    }
}

#[test]
fn a_launch_that_changes_nothing_makes_no_allocation_no_write_and_no_wait() {
    let mut program = watch("ask2", "hot");
    let both = format!("{}:{}", library().display(), count_library().display());
    program.command.env("LD_PRELOAD", both);
    let watched = program.run();
    // The counting library works: it counted what happened before these launches.
    let printed = "counted 0, before that many\ndone\n";
    assert_eq!(watched.ended_as_alone().stdout(), printed);
    let counters = watched.process().counters.as_ref().unwrap();
    assert_eq!(counters.execs[0].launches, 10_100);
}
