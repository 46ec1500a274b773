//! Reads the example recording, and writes a recording and reads it again.

use std::fs;
use std::path::Path;

use graph_memory_record::counters::Counters;
use graph_memory_record::{
    Call, Category, Event, LaunchReason, Line, NodeType, Note, NoteKind, Process, ReadError,
    Reading, Recording, Writer,
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example");
const MIB: u64 = 1 << 20;

fn event(event: Event) -> Line {
    Line {
        time_ns: 5,
        thread: 7,
        event,
    }
}

fn process(pid: u32, version: u32) -> Line {
    event(Event::Process(Process {
        format: graph_memory_record::FORMAT.to_owned(),
        version,
        library_version: "0.1.0".to_owned(),
        pid,
        parent: 1,
        forked: false,
        executable: "/bin/true".to_owned(),
        arguments: vec!["true".to_owned()],
        start_unix_ns: 1,
    }))
}

fn note(text: &str) -> Line {
    event(Event::Note(Note {
        kind: NoteKind::FailedCall,
        text: text.to_owned(),
        call: Some("cuMemGetInfo".to_owned()),
        code: Some(-1),
        count: 1,
    }))
}

#[test]
fn the_example_is_read_in_the_order_in_which_its_processes_began() {
    let recording = Recording::read(EXAMPLE).unwrap();
    assert_eq!(recording.unreadable, []);
    let names: Vec<_> = recording.processes.iter().map(|p| &p.name).collect();
    assert_eq!(names, ["4100.0", "4101.0"]);
    let [shell, program] = &recording.processes[..] else {
        panic!("two processes")
    };
    assert!(!shell.exited() && program.exited());
    assert_eq!((shell.counters.as_ref(), program.damaged_lines), (None, 0));
    let unknown = |line: &&Line| line.event == Event::Unknown;
    assert_eq!(program.lines.iter().filter(unknown).count(), 0);
}

#[test]
fn the_examples_graph_agrees_with_its_dot_file() {
    let recording = Recording::read(EXAMPLE).unwrap();
    let program = &recording.processes[1];
    let graph = program
        .lines
        .iter()
        .find_map(|line| match &line.event {
            Event::Instantiate(instantiate) => instantiate.graph.as_ref(),
            _ => None,
        })
        .unwrap();
    let dot = fs::read_to_string(recording.dot_path(graph.dot.as_deref().unwrap())).unwrap();
    assert_eq!(
        dot.matches("MEM_ALLOC\n").count() as u64,
        graph.nodes[&NodeType::MemAlloc]
    );
    for node in &graph.allocations {
        let text = format!("{{{} | 0x{:016X}}}", node.bytes, node.address);
        assert!(dot.contains(&text), "{text}");
    }
    for address in &graph.frees {
        assert!(dot.contains(&format!("{{dptr}} | {{0x{address:016X}}}")));
    }
    assert_eq!(graph.unfreed().count(), 0);
    assert_eq!(graph.requested_bytes(), 3 * 16 * MIB + 512 + 21504);
}

#[test]
fn the_examples_changes_of_memory_add_up() {
    let recording = Recording::read(EXAMPLE).unwrap();
    let program = &recording.processes[1];
    let first = program.lines.iter().find_map(|line| match &line.event {
        Event::Context(context) => context.reading.free_bytes,
        _ => None,
    });
    let mut by_calls = 0;
    let mut between = 0;
    let mut last = first.unwrap() as i64;
    for line in &program.lines {
        let (before, after) = match &line.event {
            Event::Call(call) => (&call.before, &call.after),
            Event::Launch(launch) => (&launch.before, &launch.after),
            _ => continue,
        };
        let [before, after] = [before, after].map(|r| r.free_bytes.unwrap() as i64);
        between += last - before;
        by_calls += before - after;
        last = after;
    }
    let lost = first.unwrap() as i64 - last;
    assert_eq!(by_calls + between, lost);
    assert_eq!((by_calls, lost), (32 * MIB as i64, 36 * MIB as i64));
}

#[test]
fn launches_without_an_event_are_counted() {
    let recording = Recording::read(EXAMPLE).unwrap();
    let program = &recording.processes[1];
    let counters = program.counters.as_ref().unwrap();
    assert_eq!(counters.unchanged_calls, 37);
    let one = Counters {
        exec: 1,
        launches: 100,
        changed: 1,
        grew: 1,
        destroyed: true,
        streams: vec![0x5581_a0c0],
        ..Counters::default()
    };
    assert_eq!(counters.execs, [one]);
    let launches = program.lines.iter().filter(
        |line| matches!(&line.event, Event::Launch(launch) if launch.reason == LaunchReason::First),
    );
    assert_eq!(launches.count(), 1);
}

#[test]
fn written_events_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let call = event(Event::Call(Call {
        call: "cuMemAlloc_v2".to_owned(),
        category: Category::Plain,
        device: 0,
        bytes: Some(u64::MAX),
        address: None,
        result: 2,
        duration_ns: 9,
        origin: None,
        capture: Some(1),
        before: Reading::default(),
        after: Reading {
            free_bytes: Some(12),
            ..Reading::default()
        },
    }));
    let mut opened = Writer::create(folder.path(), 12, |file| file).unwrap();
    assert_eq!(opened.name, "12.0");
    for line in [&process(12, 1), &call, &note("a \"text\"\nof two lines")] {
        opened.writer.write(line).unwrap();
    }
    // The same process number again makes another record.
    let mut again = Writer::create(folder.path(), 12, |file| file).unwrap();
    again.writer.write(&process(12, 1)).unwrap();
    assert_eq!(again.name, "12.1");
    let recording = Recording::read(folder.path()).unwrap();
    assert_eq!(
        recording.processes[0].lines,
        [call, note("a \"text\"\nof two lines")]
    );
    assert!(recording.processes[1].lines.is_empty());
}

#[test]
fn an_incomplete_line_and_an_unknown_event_do_not_affect_other_lines() {
    let folder = tempfile::tempdir().unwrap();
    let text = |line: &Line| serde_json::to_string(line).unwrap();
    let (first, second) = (text(&process(3, 1)), text(&note("later")));
    let record = format!(
        "{first}\n{}\n{{\"time_ns\":1,\"thread\":1,\"event\":\"of-2031\",\"x\":[1]}}\n{second}\n{}",
        &second[..30],
        &second[..40]
    );
    fs::write(folder.path().join("3.0.jsonl"), record).unwrap();
    let recording = Recording::read(folder.path()).unwrap();
    let read = &recording.processes[0];
    assert_eq!(read.damaged_lines, 2);
    let events: Vec<_> = read.lines.iter().map(|line| &line.event).collect();
    assert_eq!(events, [&Event::Unknown, &note("later").event]);
}

#[test]
fn unreadable_records_are_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        Recording::read(folder.path()),
        Err(ReadError::Empty { .. })
    ));
    let missing = Recording::read(Path::new("/no/such/folder"));
    assert!(matches!(missing, Err(ReadError::Folder { .. })));
    let newer = serde_json::to_string(&process(1, 2)).unwrap();
    fs::write(folder.path().join("1.0.jsonl"), newer).unwrap();
    fs::write(folder.path().join("2.0.jsonl"), "").unwrap();
    fs::write(folder.path().join("notes.jsonl"), "{}").unwrap();
    let recording = Recording::read(folder.path()).unwrap();
    let reasons: Vec<_> = recording.unreadable.iter().map(|(_, why)| &**why).collect();
    let version =
        "it is graph-memory-record version 2, but this program reads graph-memory-record version 1";
    assert_eq!(reasons, [version, "it is empty"]);
}

#[test]
fn a_dot_name_never_leads_out_of_the_recording() {
    let recording = Recording::read(EXAMPLE).unwrap();
    let graphs = Path::new(EXAMPLE).join("graphs");
    assert_eq!(recording.dot_path("../../etc/x.dot"), graphs.join("x.dot"));
}
