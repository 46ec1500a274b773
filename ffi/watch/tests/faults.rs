//! What fails is noted, and never stops the program.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use graph_memory_record::{Event, LaunchReason, settings};
use support::{counts, notes, watch};

#[test]
fn a_failed_instantiation_is_written_and_its_handle_never_looked_at() {
    let watched = watch("ask2", "failure").run();
    let printed = "instantiate 801\nlaunch 400\ndone\n";
    assert_eq!(watched.ended_as_alone().stdout(), printed);
    let process = watched.process();
    let failed = process.lines.iter().find_map(|line| match &line.event {
        Event::Instantiate(failed) => Some(failed),
        _ => None,
    });
    let failed = failed.unwrap();
    assert_eq!((failed.exec, failed.result), (None, 801));
    assert!(failed.graph.is_none());
    assert!(process.exited());
}

#[test]
fn a_folder_that_cannot_be_written_stops_nothing() {
    let program = watch("ask2", "plain");
    fs::remove_dir(program.recording()).unwrap();
    let watched = program.run();
    assert_eq!(watched.ended_as_alone().stdout(), "done\n");
    assert!(watched.recording.is_none());

    let program = watch("ask2", "plain");
    fs::set_permissions(program.recording(), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(program.run().ended_as_alone().stdout(), "done\n");

    let mut program = watch("ask2", "plain");
    program.command.env(settings::DIRECTORY, "relative/folder");
    assert_eq!(program.run().ended_as_alone().stdout(), "done\n");
}

/// A file that may not grow, like a full disk, fails a write: with a signal that would end
/// the program, which must not reach it.
#[test]
fn a_file_that_cannot_grow_stops_nothing_and_keeps_what_was_written() {
    let mut program = watch("ask2", "limit");
    program.command.env("TEST_LARGE_DOT", "1");
    let watched = program.run();
    assert_eq!(watched.ended_as_alone().stdout(), "done\n");
    let process = watched.process();
    assert!(process.lines.len() > 5, "{:?}", counts(process));
    assert!(!process.exited(), "the limit was not reached");
    // The counters need more than the limit: they were kept in memory.
    assert!(process.counters.is_none());
    let dots = watched.folder.path().join("recording/graphs");
    let left = fs::read_dir(dots).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a cut file is removed");
}

#[test]
fn a_dot_file_beyond_the_limit_is_noted() {
    let mut program = watch("ask2", "plain");
    program.command.env(settings::DOT_LIMIT, "0");
    let watched = program.run();
    watched.ended_as_alone();
    let notes = notes(watched.process());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("limit of DOT files"), "{notes:?}");
}

#[test]
fn which_graphs_are_printed_can_be_chosen() {
    let files = |choice: &str| {
        let mut program = watch("ask2", "plain");
        program.command.env(settings::DOT, choice);
        let watched = program.run();
        watched.ended_as_alone();
        let folder = watched.folder.path().join("recording/graphs");
        fs::read_dir(folder).map_or(0, Iterator::count)
    };
    assert_eq!(files(settings::DOT_ALL), 1);
    assert_eq!(files(settings::DOT_MEMORY), 1);
    assert_eq!(files(settings::DOT_NONE), 0);
}

#[test]
fn a_failed_launch_is_written_and_counted_apart() {
    let watched = watch("ask2", "launch-failure").run();
    watched.ended_as_alone();
    let process = watched.process();
    let failed = process.lines.iter().filter_map(|line| match &line.event {
        Event::Launch(launch) if launch.reason == LaunchReason::Failed => Some(launch.result),
        _ => None,
    });
    // The first and the second: then with powers of two.
    assert_eq!(failed.collect::<Vec<_>>(), [719, 719]);
    let counters = &process.counters.as_ref().unwrap().execs[0];
    assert_eq!((counters.launches, counters.failed), (100, 3));
}
