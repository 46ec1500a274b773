//! What the rules of graph memory say of dumps and scenarios.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{MIB, at, bytes, case, plan, plan_of, scenario, text, used_after, written};

#[test]
fn r26_a_child_graph_with_memory_is_planned_by_rule_also_as_a_scenario() {
    let moved = Path::new(env!("CARGO_MANIFEST_DIR")).join("plan/tests/data/dot/moved.dot");
    let (planned, code) = plan(&moved, &[]);
    assert_eq!(code, 0);
    // As measured: 48 MiB in the child graph, and a block; 16 MiB around it.
    let memory = at(&planned, "/graphs/0/memory");
    assert_eq!(bytes(memory, "/footprint_bytes"), 128 * MIB);
    let because = at(&planned, "/schedules/0/by_rule_because");
    assert!(because.to_string().contains("child graphs"), "{because}");
    assert_eq!(
        used_after(at(&planned, "/schedules/1"), "launch"),
        [128 * MIB, 256 * MIB]
    );

    let dumped = text(&moved, &["--dump-scenario"]);
    let (_folder, file) = written("moved.toml", &dumped.stdout);
    let (again, code) = plan(&file, &[]);
    assert_eq!(code, 0);
    let memory = at(&again, "/graphs/0/memory");
    assert_eq!(bytes(memory, "/footprint_bytes"), 128 * MIB);
    let notes = at(&again, "/graphs/0/notes").to_string();
    assert!(
        notes.contains("steps of the scenario are not planned"),
        "{notes}"
    );
}

#[test]
fn what_can_never_run_is_said_and_ends_in_1() {
    let round = "scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [\n\
                 { name = \"a\", alloc = 1, after = \"c\" },\n{ name = \"b\", kernel = \"k\", after = \"a\" },\n\
                 { name = \"c\", kernel = \"k\", after = \"b\" },\n]\n";
    let (_folder, file) = written("round.toml", round);
    let ended = text(&file, &[]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stdout.contains("the dependencies go round"),
        "{}",
        ended.stdout
    );
    for (size, what) in [
        ("0", "1 cudaErrorInvalidValue"),
        ("\"1TiB\"", "2 cudaErrorMemoryAllocation"),
    ] {
        let text_of = format!(
            "scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [{{ name = \"a\", alloc = {size} }}]\n"
        );
        let (_folder, file) = written("size.toml", &text_of);
        let ended = text(&file, &[]);
        assert_eq!(ended.code, 1);
        assert!(ended.stdout.contains(what), "{}", ended.stdout);
    }
}

#[test]
fn every_rule_that_a_finding_names_is_one_that_can_be_explained() {
    let nodes = r#"scenario = 1
[[graph]]
name = "g"
nodes = [
  { name = "a", alloc = "33MiB" }, { name = "m", work = "memset", uses = "a" },
  { name = "f", free = "a" }, { name = "g", free = "a" }, { name = "b", alloc = 1 },
  { name = "u", alloc = 1 }, { name = "v", free = "u", after = "u" },
]
"#;
    let (_folder, faults) = written("faults.toml", nodes);
    let mut kinds = std::collections::BTreeSet::new();
    for file in [faults, scenario("forked-branches")] {
        let (plan, _) = plan(&file, &[]);
        for finding in at(&plan, "/graphs/0/findings")
            .as_array()
            .expect("findings")
        {
            let rule = finding["rule"].as_str().expect("text");
            let named = graph_memory_footprint::rules::named(rule).count();
            assert_eq!(named, rule.split_whitespace().count(), "{rule}");
            assert!(named > 0, "{finding:?}");
            kinds.insert(finding["kind"].to_string());
        }
    }
    assert!(kinds.len() >= 6, "{kinds:?}");
}

#[test]
fn r56_the_bodies_of_a_conditional_node_are_no_graphs_of_their_own() {
    let (plan, code) = plan(&case("switch.dot"), &[]);
    assert_eq!(code, 0);
    assert_eq!(at(&plan, "/graphs").as_array().map(Vec::len), Some(1));
    assert_eq!(at(&plan, "/schedules").as_array().map(Vec::len), Some(0));
}

#[test]
fn r56_memory_in_a_conditional_body_can_never_be_launched() {
    for (name, node) in [
        ("switch-alloc-in-second.dot", "graph_3_node_0"),
        ("if.dot", "graph_2_node_0"),
        ("while.dot", "graph_2_node_0"),
    ] {
        let (json, code) = plan(&case(name), &[]);
        assert_eq!(code, 1, "{name}");
        assert_eq!(
            at(&json, "/graphs").as_array().map(Vec::len),
            Some(1),
            "{name}"
        );
        let problem = at(&json, "/graphs/0/problem");
        assert_eq!(
            problem["nodes"],
            serde_json::json!([node, "graph_1_node_1"])
        );
        let (what, remedy) = (problem["what"].to_string(), problem["remedy"].to_string());
        assert!(what.contains("cudaGraphInstantiate returns 1"), "{what}");
        assert!(
            remedy.contains("allocate before the conditional node"),
            "{remedy}"
        );
        let rules =
            graph_memory_footprint::rules::named(at(problem, "/rule").as_str().expect("text"));
        assert_eq!(rules.count(), 2, "the rule can be explained");
        let ended = text(&case(name), &["--verify", "--backend", "model"]);
        assert_eq!(ended.code, 1);
        assert!(ended.stdout.contains("CANNOT RUN"), "{}", ended.stdout);
        assert!(
            ended.stdout.contains("NOTHING was compared"),
            "{}",
            ended.stdout
        );
        assert!(!ended.stdout.contains("no call fails"), "{}", ended.stdout);
    }
}

#[test]
fn a_scenario_with_a_graph_that_cannot_run_is_not_followed_by_no_call_fails() {
    let text_of = "scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [\n\
                   { name = \"a\", alloc = 1, after = \"k\" }, { name = \"k\", kernel = \"k\", after = \"a\" },\n]\n\
                   [schedule]\nsteps = [{ launch = \"g\" }]\n";
    let (_folder, file) = written("round.toml", text_of);
    let ended = text(&file, &[]);
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("CANNOT RUN"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("no call fails"), "{}", ended.stdout);
}

#[test]
fn m21_managed_memory_counts_like_pinned_and_host_memory_is_refused() {
    let (managed, code) = plan(&case("managed.dot"), &["--recompute"]);
    assert_eq!(code, 0);
    assert_eq!(
        bytes(&managed, "/graphs/0/memory/footprint_bytes"),
        128 * MIB
    );
    let (host, code) = plan(&case("host.dot"), &[]);
    assert_eq!(code, 1);
    let what = at(&host, "/graphs/0/problem/what").to_string();
    assert!(what.contains("801 cudaErrorNotSupported"), "{what}");
}

#[test]
fn r19_auto_free_lets_a_graph_be_launched_again() {
    let relaunch = |arguments: &[&str]| {
        let (plan, code) = plan(&case("alloc.dot"), arguments);
        assert_eq!(code, 0);
        let failure = at(&plan, "/schedules/0/steps/2/planned/failure");
        let never_freed = at(&plan, "/graphs/0/findings/0/what").to_string();
        (failure["code"].as_i64(), never_freed)
    };
    let (failed, what) = relaunch(&[]);
    assert_eq!(failed, Some(1), "R18");
    assert!(
        what.contains("PyTorch sets it") && what.contains("--auto-free"),
        "{what}"
    );
    let (failed, what) = relaunch(&["--auto-free"]);
    assert_eq!(failed, None, "R19");
    assert!(what.contains("AutoFreeOnLaunch"), "{what}");
}

#[test]
fn r14_a_dump_that_frees_what_another_allocates_is_launched_in_turn_with_it() {
    let files = [case("alloc.dot"), case("free.dot")];
    let (json, code) = plan_of(&files, &["--verify", "--backend", "model"]);
    assert_eq!(code, 0);
    let schedules = at(&json, "/schedules").as_array().expect("schedules");
    let in_turn = schedules
        .iter()
        .find(|one| one["name"] == "alloc, free in turn");
    let in_turn = in_turn.expect("they belong together");
    assert_eq!(in_turn["failing_steps"], 0);
    assert_eq!(used_after(in_turn, "launch"), [64 * MIB; 4]);
    assert_eq!(used_after(in_turn, "trim"), [0]);
    assert_eq!(at(in_turn, "/verification/verdict"), "PASS");
    // The same as a scenario, and as a schedule of one's own.
    for (files, arguments) in [
        (&[case("pair.toml")][..], &[][..]),
        (&files, &["--schedule", "alloc free alloc free wait trim"]),
        (&files, &["--schedule", "1 2@1 wait 1 2@1 wait trim"]),
    ] {
        let (json, code) = plan_of(files, arguments);
        assert_eq!(code, 0);
        let schedule = at(&json, "/schedules/0");
        assert_eq!(schedule["failing_steps"], 0, "{schedule:#}");
        assert_eq!(used_after(schedule, "launch"), [64 * MIB; 4]);
        assert_eq!(used_after(schedule, "trim"), [0]);
    }
}

#[test]
fn r45_what_a_graph_holds_is_told_for_each_gpu() {
    let file = case("two-devices.dot");
    for arguments in [
        &[][..],
        &[
            "--recompute",
            "--verify",
            "--backend",
            "model",
            "--model-profile",
            "two-devices",
        ],
    ] {
        let (json, code) = plan(&file, arguments);
        assert_eq!(code, 0);
        let graph = at(&json, "/graphs/0");
        let (first, second) = (at(graph, "/memory"), at(graph, "/other_devices/0"));
        for (device, memory) in [(0, first), (1, second)] {
            assert_eq!(memory["device"], device);
            assert_eq!(bytes(memory, "/footprint_bytes"), 64 * MIB);
            assert_eq!(bytes(memory, "/reserved_bytes"), 64 * MIB);
            assert_eq!(at(memory, "/allocations").as_array().map(Vec::len), Some(1));
        }
        for schedule in at(&json, "/schedules").as_array().expect("schedules") {
            assert_eq!(schedule["devices"], serde_json::json!([0, 1]));
            assert_eq!(schedule["failing_steps"], 0);
            let verdict = at(schedule, "/verification");
            assert!(verdict.is_null() == arguments.is_empty());
        }
        let launch = at(&json, "/schedules/0/steps/0/planned");
        assert_eq!(bytes(launch, "/used_bytes"), 64 * MIB);
        assert_eq!(bytes(launch, "/other_devices/0/used_bytes"), 64 * MIB);
    }
    // Addresses of each GPU are the driver's own: the rule gives them.
    let (json, _) = plan(&file, &[]);
    assert_eq!(
        at(&json, "/graphs/0/other_devices/0/rule_explains_dump"),
        &Value::from(true)
    );
    assert_eq!(
        bytes(&json, "/graphs/0/other_devices/0/base_address"),
        0xA_0200_0000
    );
    // As a scenario it keeps its devices, and one GPU is too few to verify on.
    let dumped = text(&file, &["--dump-scenario"]);
    let (folder, toml) = written("two.toml", &dumped.stdout);
    let page = folder.path().join("two.html");
    let arguments = [
        "--report",
        page.to_str().expect("UTF-8"),
        "--verify",
        "--backend",
        "model",
    ];
    let ended = text(&toml, &arguments);
    assert_eq!(ended.code, 3, "{}", ended.stdout);
    for part in [
        "GPU 0",
        "GPU 1",
        "footprint 64 MiB, 64 MiB",
        "it needs more GPUs than there are",
    ] {
        assert!(
            ended.stdout.contains(part),
            "no {part:?} in\n{}",
            ended.stdout
        );
    }
    assert!(
        fs::read_to_string(page)
            .expect("the page")
            .contains("64 MiB on GPU 1")
    );
}

#[test]
fn r15_a_free_of_what_its_own_graph_frees_cannot_be_added_and_ends_in_1() {
    let nodes = "scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [\n\
                 { name = \"a\", alloc = 1 }, { name = \"f\", free = \"a\", after = \"a\" },\n]\n\
                 [[graph]]\nname = \"h\"\nnodes = [{ name = \"f\", free = \"g.a\" }]\n\
                 [schedule]\nsteps = [{ launch = \"g\" }, { launch = \"h\" }]\n";
    let (_folder, file) = written("both.toml", nodes);
    let (plan, code) = plan(&file, &[]);
    let finding = at(&plan, "/graphs/1/findings/0");
    assert_eq!((finding["kind"].as_str(), code), (Some("freed-twice"), 1));
    assert_eq!(finding["rule"], "R13 R15");
}
