use std::sync::Arc;

use super::*;
use crate::recordings::{Recording, SPIN, column, laid_out, recordings};
use crate::scenario;
use crate::schedules::{self, SIMULATED_SPIN};

const MIB: u64 = 1 << 20;

fn replayed(scenario: &Scenario) -> Replayed {
    simulated(scenario, &Profile::default(), SPIN).unwrap_or_else(|error| panic!("{error}"))
}

fn used(replayed: &Replayed) -> Vec<u64> {
    replayed
        .steps
        .iter()
        .map(|step| step.memory.used_bytes / MIB)
        .collect()
}

fn codes(replayed: &Replayed) -> Vec<i32> {
    replayed
        .steps
        .iter()
        .map(|step| step.failure.as_ref().map_or(0, |f| f.code))
        .collect()
}

#[test]
fn every_recorded_graph_plays_as_it_was_measured() {
    let step = |replayed: &Replayed, number: usize| replayed.steps[number].clone();
    for Recording {
        name,
        graph,
        measured,
    } in &recordings("random")
    {
        let recording = Recording {
            name: name.clone(),
            graph: graph.clone(),
            measured: measured.clone(),
        };
        let column = |name| column(&recording, name);
        let scenario = schedules::one_stream(&Arc::new(graph.clone()), 2);
        let replayed = replayed(&scenario);
        assert_eq!(replayed.at_start.used_bytes, column("used0"), "{name}");
        let code = |step: &ReplayedStep| step.failure.as_ref().map_or(0, |f| f.code as u64);
        let launch = step(&replayed, 0);
        assert_eq!(code(&launch), column("launch"), "{name}");
        assert_eq!(launch.memory.used_bytes, column("used"), "{name}");
        assert_eq!(launch.memory.reserved_bytes, column("reserved"), "{name}");
        let again = step(&replayed, 2);
        assert_eq!(code(&again), column("relaunch"), "{name}");
        assert_eq!(again.memory.used_bytes, column("used 2"), "{name}");
        let trimmed = step(&replayed, 4).memory;
        assert_eq!(trimmed.used_bytes, column("trim"), "{name}");
        let end = replayed.steps.last().expect("steps").memory;
        assert_eq!(
            (end.used_bytes, end.reserved_bytes),
            (column("freed+trim"), 0),
            "{name}"
        );
        assert!(
            replayed.built[0].refused.is_empty() && replayed.built[0].not_instantiated.is_none()
        );
    }
}

#[test]
fn r36_graphs_at_once_add_up_and_r35_in_one_stream_they_do_not() {
    for recording in recordings("apps") {
        let graph = Arc::new(recording.graph.clone());
        let unit = column(&recording, "used") / MIB;
        let layout = laid_out(&graph).expect("a layout");
        let held = layout.bytes(&layout.held()) / MIB;
        let at_once = replayed(&schedules::at_once(&graph, 3, SIMULATED_SPIN));
        let expected = [unit, 2 * unit, 3 * unit, 3 * unit, 3 * held];
        assert_eq!(used(&at_once), expected, "{}", recording.name);
        let busy: Vec<_> = at_once.steps.iter().map(|step| step.busy_streams).collect();
        assert_eq!(busy, [Some(1), Some(2), Some(3), Some(0), Some(0)]);
        let both = [Arc::clone(&graph), Arc::clone(&graph)];
        let in_turn = replayed(&schedules::all_in_one_stream(&both));
        assert_eq!(
            used(&in_turn),
            [unit, unit + held, unit + held, 2 * held],
            "{}",
            recording.name
        );
    }
}

fn text(nodes: &str, steps: &str) -> Scenario {
    let text = format!("scenario = 1\n{nodes}\n[schedule]\nsteps = [{steps}]");
    scenario::read(&text, "test").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const UNFREED: &str = "[[graph]]\nname = \"g\"\nnodes = [{ name = \"a\", alloc = \"64MiB\" }]\n";

#[test]
fn r18_r9_a_relaunch_needs_the_allocation_freed() {
    let scenario = text(
        UNFREED,
        "{ launch = \"g\" }, { launch = \"g\" }, { free = \"g.a\" }, { launch = \"g\" }, \
         { free = \"g.a\", stream = 0 }, { launch = \"g\" }, { free = \"g.a\" }, { free = \"g.a\" }, \
         { wait = \"all\" }, { trim = true }",
    );
    let replayed = replayed(&scenario);
    assert_eq!(codes(&replayed), [0, 1, 0, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(used(&replayed), [64, 64, 64, 64, 64, 64, 64, 64, 64, 0]);
}

#[test]
fn r19_auto_free_relaunches_and_r14_a_free_node_elsewhere_frees() {
    let auto = UNFREED.replace("nodes", "auto_free = true\nnodes");
    let steps =
        "{ launch = \"g\", times = 3 }, { free = \"g.a\" }, { wait = \"all\" }, { trim = true }";
    assert_eq!(codes(&replayed(&text(&auto, steps))), [0; 6]);

    let other =
        format!("{UNFREED}[[graph]]\nname = \"h\"\nnodes = [{{ name = \"f\", free = \"g.a\" }}]\n");
    let steps = "{ launch = \"g\" }, { launch = \"h\" }, { launch = \"g\" }, { launch = \"h\" }, \
                 { launch = \"h\" }, { wait = \"all\" }, { trim = true }";
    let replayed = replayed(&text(&other, steps));
    assert_eq!(codes(&replayed)[..4], [0; 4]);
    assert_eq!(used(&replayed).last(), Some(&0));
}

#[test]
fn r30_m10_nodes_that_the_runtime_refuses_are_told_and_the_rest_runs() {
    let nodes = "[[graph]]\nname = \"g\"\nnodes = [{ name = \"a\", alloc = 1 }, { name = \"z\", alloc = 0 }, \
                 { name = \"huge\", alloc = \"1TiB\" }, { name = \"f\", free = \"a\", after = [\"a\", \"z\"] }, \
                 { name = \"f2\", free = \"a\", after = \"f\" }]\n";
    let replayed = replayed(&text(
        nodes,
        "{ launch = \"g\" }, { wait = \"all\" }, { trim = true }",
    ));
    let refused: Vec<_> = replayed.built[0]
        .refused
        .iter()
        .map(|(node, f)| (*node, f.code))
        .collect();
    assert_eq!(refused, [(1, 1), (2, 2), (4, 1)]);
    assert_eq!(
        (codes(&replayed), used(&replayed)),
        (vec![0, 0, 0], vec![32, 32, 0])
    );
}

#[test]
fn m13_out_of_memory_is_a_failed_launch() {
    let nodes =
        "[[graph]]\nname = \"g\"\ncopies = 10\nnodes = [{ name = \"a\", alloc = \"16GiB\" }]\n";
    let replayed = replayed(&text(nodes, "{ launch = \"g\" }"));
    assert_eq!(codes(&replayed), [0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
}
