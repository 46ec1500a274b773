//! When a process ends, no recorded event is lost; and each process has its own record.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use graph_memory_record::{Event, ProcessRecord};
use support::{counts, notes, watch};

fn launches(process: &ProcessRecord) -> Vec<u64> {
    let counters = process.counters.as_ref();
    counters.map_or_else(Vec::new, |c| c.execs.iter().map(|e| e.launches).collect())
}

/// Checks that the events before the end are in the record, and that there is no exit
/// event.
#[track_caller]
fn keeps_earlier_events(process: &ProcessRecord) {
    assert!(!process.exited());
    assert_eq!(process.damaged_lines, 0);
    assert_eq!(counts(process)["instantiate"], 1);
    assert_eq!(launches(process), [100]);
}

#[test]
fn the_record_of_a_killed_process_keeps_earlier_events() {
    let watched = watch("ask2", "kill").run();
    assert_eq!(watched.signal(), Some(9));
    keeps_earlier_events(watched.process());
}

#[test]
fn the_record_of_an_aborted_process_keeps_earlier_events() {
    let watched = watch("ask2", "abort").run();
    assert_eq!(watched.signal(), Some(6));
    keeps_earlier_events(watched.process());
}

#[test]
fn the_record_of_a_process_that_calls_underscore_exit_keeps_earlier_events() {
    let watched = watch("ask2", "_exit").run();
    assert_eq!(watched.output.status.code(), Some(9));
    keeps_earlier_events(watched.process());
}

#[test]
fn a_forked_child_has_its_own_record() {
    let watched = watch("ask2", "fork").run();
    assert_eq!(watched.ended_as_alone().stdout(), "child 0\ndone\n");
    let recording = watched.recording.as_ref().unwrap();
    let [parent, child] = &recording.processes[..] else {
        panic!("two processes: {recording:?}")
    };
    assert!(!parent.process.forked && child.process.forked);
    assert_eq!(child.process.parent, parent.process.pid);
    assert_eq!(launches(parent), [100]);
    assert_eq!(launches(child), [5]);
    assert!(parent.exited() && child.exited());
    assert_eq!(notes(parent), notes(child));
}

#[test]
fn a_process_that_executes_another_program_has_two_records() {
    let watched = watch("ask2", "exec").run();
    watched.ended_as_alone();
    let recording = watched.recording.as_ref().unwrap();
    let [before, after] = &recording.processes[..] else {
        panic!("two records")
    };
    assert_eq!(before.process.pid, after.process.pid);
    keeps_earlier_events(before);
    assert!(after.exited());
    assert_eq!(launches(after), [100]);
}

#[test]
fn the_last_reading_is_made_while_the_process_ends() {
    let watched = watch("ask2", "leave").run();
    watched.ended_as_alone();
    let last = watched.process().lines.last().unwrap();
    let Event::Exit(exit) = &last.event else {
        panic!("{last:?}")
    };
    assert!(exit.read_at_exit);
    let graph = exit.last[0].1.graph.unwrap();
    assert_eq!(graph.used_bytes, 64 << 20);
}

#[test]
fn the_program_gets_the_same_descriptors_as_without_the_library() {
    let watched = watch("ask2", "descriptors").run();
    assert_eq!(
        watched.ended_as_alone().stdout(),
        "first descriptor 3\ndone\n"
    );
}

#[test]
fn recording_continues_after_the_program_closes_all_descriptors() {
    let watched = watch("ask2", "close").run();
    watched.ended_as_alone();
    let process = watched.process();
    assert_eq!(counts(process)["instantiate"], 1);
    assert_eq!((launches(process), process.exited()), (vec![100], true));
}

#[test]
fn recording_continues_after_the_program_changes_its_folder() {
    let mut program = watch("ask2", "plain");
    program.command.current_dir("/");
    let watched = program.run();
    watched.ended_as_alone();
    assert!(watched.process().exited());
}

/// Writing a file is a cancellation point, but a thread must not be cancelled while the
/// library holds its lock.
#[test]
fn cancelled_threads_do_not_affect_the_library() {
    let watched = watch("ask2", "cancel").run();
    watched.ended_as_alone();
    let process = watched.process();
    assert_eq!((process.damaged_lines, process.exited()), (0, true));
    let instantiated = counts(process)["instantiate"];
    assert!(instantiated > 8, "{instantiated}");
    let counters = process.counters.as_ref().unwrap();
    assert_eq!(counters.execs.len(), instantiated);
}
