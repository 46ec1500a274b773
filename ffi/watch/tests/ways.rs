//! Each way to get the driver's functions is recorded, and each still works.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use graph_memory_record::{Event, NodeType, Way, settings};
use support::{MIB, counts, next_library, notes, watch};

/// All ways give the same record.
#[track_caller]
fn is_seen(way: &str, first: Way) {
    let watched = watch(way, "plain").run();
    assert_eq!(watched.ended_as_alone().stdout(), "done\n");
    let process = watched.process();
    assert_eq!(notes(process), [""; 0]);
    let counts = counts(process);
    let count = |event| counts.get(event).copied().unwrap_or_default();
    for (event, expected) in [
        ("cuda-started", 1),
        ("intercepted", 1),
        ("driver", 1),
        ("device", 1),
        ("context", 1),
        ("capture-begin", 1),
        ("captured-allocation", 1),
        ("capture-end", 1),
        ("instantiate", 1),
        // The first launch, and the first on the second stream.
        ("launch", 2),
        ("exec-destroy", 1),
        ("exit", 1),
    ] {
        assert_eq!(count(event), expected, "{event} by {way}: {counts:?}");
    }
    let seen = process.lines.iter().find_map(|line| match &line.event {
        Event::Intercepted(seen) => Some(seen.way),
        _ => None,
    });
    assert_eq!(seen, Some(first));
    let counters = process.counters.as_ref().unwrap();
    let launches: Vec<_> = counters.execs.iter().map(|c| c.launches).collect();
    assert_eq!(launches, [100]);
    assert!(counters.execs[0].destroyed);
}

#[test]
fn dlsym_is_seen() {
    is_seen("dlsym", Way::Dlsym);
}

#[test]
fn dlsym_in_all_libraries_is_seen() {
    is_seen("default", Way::Dlsym);
}

#[test]
fn cu_get_proc_address_is_seen() {
    is_seen("ask1", Way::Dlsym);
}

#[test]
fn cu_get_proc_address_v2_is_seen() {
    is_seen("ask2", Way::Dlsym);
}

#[test]
fn cu_get_proc_address_for_per_thread_streams_is_seen() {
    is_seen("per-thread", Way::Dlsym);
}

#[test]
fn a_linked_program_is_seen() {
    is_seen("linked", Way::Linked);
}

#[test]
fn per_thread_streams_have_their_own_number() {
    let streams = |way| {
        let watched = watch(way, "plain").run();
        let counters = watched.process().counters.clone().unwrap();
        counters.execs[0].streams[1]
    };
    assert_eq!(streams("ask2"), 1);
    assert_eq!(streams("per-thread"), 2);
}

#[test]
fn the_content_of_the_graph_is_recorded() {
    let watched = watch("ask2", "plain").run();
    let recording = watched.recording.as_ref().unwrap();
    let process = watched.process();
    let mut instantiated = process.lines.iter().filter_map(|line| match &line.event {
        Event::Instantiate(instantiate) => Some(instantiate),
        _ => None,
    });
    let instantiate = instantiated.next().unwrap();
    assert_eq!((instantiate.exec, instantiate.capture), (Some(1), Some(1)));
    assert_eq!((instantiate.flags, instantiate.result), (1, 0));
    let graph = instantiate.graph.as_ref().unwrap();
    let nodes: Vec<_> = graph.nodes.iter().map(|(kind, n)| (*kind, *n)).collect();
    assert_eq!(
        nodes,
        [
            (NodeType::Kernel, 1),
            (NodeType::MemAlloc, 1),
            (NodeType::MemFree, 1)
        ]
    );
    assert_eq!(graph.requested_bytes(), 40 * MIB);
    assert_eq!(graph.unfreed().count(), 0);
    let dot = recording.dot_path(graph.dot.as_deref().unwrap());
    let text = std::fs::read_to_string(dot).unwrap();
    assert!(text.contains("// 1\n"), "printed verbosely: {text}");
    let origin = &instantiate.origin.as_ref().unwrap().library;
    assert!(origin.ends_with("/program"), "{origin}");
}

#[test]
fn the_record_of_a_program_with_the_real_dlsym_says_only_that_cuda_started() {
    let watched = watch("stolen", "plain").run();
    watched.ended_as_alone();
    let counts = counts(watched.process());
    assert_eq!(counts.get("cuda-started"), Some(&1));
    assert_eq!(counts.get("intercepted"), None);
    assert_eq!(counts.get("instantiate"), None);
}

#[test]
fn rtld_next_of_another_preloaded_library_finds_the_same_function() {
    for ours_first in [true, false] {
        let mut program = watch("ask2", "plain");
        let (a, b) = (support::library(), next_library());
        let (first, second) = if ours_first { (a, b) } else { (b, a) };
        let both = format!("{}:{}", first.display(), second.display());
        program.command.env("LD_PRELOAD", both);
        let watched = program.run();
        let printed = "seen by the other library\ndone\n";
        assert_eq!(watched.ended_as_alone().stdout(), printed);
        assert_eq!(counts(watched.process())["instantiate"], 1);
    }
}

#[test]
fn without_a_folder_calls_are_passed_on_and_nothing_is_written() {
    for way in ["dlsym", "default", "ask2", "linked"] {
        let mut program = watch(way, "plain");
        program.command.env_remove(settings::DIRECTORY);
        let watched = program.run();
        assert_eq!(watched.ended_as_alone().stdout(), "done\n");
        assert!(watched.recording.is_none());
    }
}

#[test]
fn the_record_of_a_program_without_cuda_has_no_cuda_events() {
    let watched = watch("dlsym", "nothing").run();
    watched.ended_as_alone();
    let counts = counts(watched.process());
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["exit"]);
    assert!(watched.process().counters.is_none());
}

#[test]
fn a_program_without_a_driver_does_not_find_driver_functions() {
    let mut program = watch("dlsym", "plain");
    program.command.env("LD_LIBRARY_PATH", "/nowhere");
    let watched = program.run();
    assert_eq!(watched.stdout(), "no driver\n");
    assert_eq!(watched.output.status.code(), Some(8));
    assert_eq!(counts(watched.process()).len(), 1);
}
