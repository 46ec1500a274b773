//! Failures are recorded as notes and never stop the program.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use graph_memory_record::{Event, LaunchReason, settings};
use support::{counts, notes, watch};

#[test]
fn a_failed_instantiation_is_recorded_and_its_handle_is_not_read() {
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
fn a_folder_that_cannot_be_written_does_not_stop_the_program() {
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

/// When a file reaches its size limit, a write fails as on a full disk, and a signal is
/// sent that would end the program. The signal must not reach the program.
#[test]
fn a_file_size_limit_does_not_stop_the_program_and_earlier_events_stay() {
    let mut program = watch("ask2", "limit");
    program.command.env("TEST_LARGE_DOT", "1");
    let watched = program.run();
    assert_eq!(watched.ended_as_alone().stdout(), "done\n");
    let process = watched.process();
    assert!(process.lines.len() > 5, "{:?}", counts(process));
    assert!(!process.exited(), "the limit was not reached");
    // The counters need more space than the limit allows, so they were kept in memory.
    assert!(process.counters.is_none());
    let dots = watched.folder.path().join("recording/graphs");
    let left = fs::read_dir(dots).map_or(0, Iterator::count);
    assert_eq!(left, 0, "an incomplete file is removed");
}

#[test]
fn a_graph_beyond_the_dot_limit_gives_a_note() {
    let mut program = watch("ask2", "plain");
    program.command.env(settings::DOT_LIMIT, "0");
    let watched = program.run();
    watched.ended_as_alone();
    let notes = notes(watched.process());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("limit of DOT files"), "{notes:?}");
}

#[test]
fn the_dot_setting_selects_the_graphs_that_are_printed() {
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
fn failed_launches_are_recorded_and_counted_separately() {
    let watched = watch("ask2", "launch-failure").run();
    watched.ended_as_alone();
    let process = watched.process();
    let failed = process.lines.iter().filter_map(|line| match &line.event {
        Event::Launch(launch) if launch.reason == LaunchReason::Failed => Some(launch.result),
        _ => None,
    });
    // The first and the second are written, as are the 4th, the 8th and so on.
    assert_eq!(failed.collect::<Vec<_>>(), [719, 719]);
    let counters = &process.counters.as_ref().unwrap().execs[0];
    assert_eq!((counters.launches, counters.failed), (100, 3));
}
