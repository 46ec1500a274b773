//! `plan` through the binary: dumps, scenarios, verification, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::{Ended, bare, experiment, on_the_model};
use graph_memory_footprint::results::Action;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// The four experiments, each a scenario file as well.
const EXPERIMENTS: [&str; 4] = [
    "virtual-address-reuse",
    "physical-memory-reuse",
    "concurrent-streams",
    "unfreed-allocations",
];

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenarios")
        .join(format!("{name}.toml"))
}

fn dump(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../ffi/model/tests/data/dot")
        .join(name)
}

fn plan(file: &Path, arguments: &[&str]) -> (Value, i32) {
    let ended = bare()
        .args(&["plan", "--format", "json"])
        .args(arguments)
        .arg(file)
        .ends();
    let plan = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
    let faults: Vec<String> = validator()
        .iter_errors(&plan)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        file.display(),
        faults.join("\n")
    );
    (plan, ended.code)
}

/// The published schema: every plan of these tests is held to it.
fn validator() -> &'static jsonschema::Validator {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let schema = include_str!("../../schema/plan-v2.schema.json");
        let schema = serde_json::from_str(schema).expect("the schema is JSON");
        jsonschema::draft202012::new(&schema).expect("the schema is one")
    })
}

fn text(file: &Path, arguments: &[&str]) -> Ended {
    bare().args(&["plan"]).args(arguments).arg(file).ends()
}

fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value
        .pointer(pointer)
        .unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

fn bytes(value: &Value, pointer: &str) -> u64 {
    at(value, pointer)
        .as_u64()
        .unwrap_or_else(|| panic!("{pointer} is no number"))
}

/// The used bytes after each step of a schedule whose label begins like this.
fn used_after(schedule: &Value, begins: &str) -> Vec<u64> {
    let steps = at(schedule, "/steps").as_array().expect("steps");
    let of_kind = steps.iter().filter(|step| {
        step["label"]
            .as_str()
            .is_some_and(|label| label.starts_with(begins))
    });
    of_kind
        .map(|step| bytes(step, "/planned/used_bytes"))
        .collect()
}

fn written(name: &str, contents: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join(name);
    fs::write(&file, contents).expect("a file");
    (folder, file)
}

#[test]
fn the_four_experiments_as_scenarios_have_the_footprints_of_the_experiments() {
    let (result, code) = on_the_model().result();
    assert_eq!(code, 0);
    for name in EXPERIMENTS {
        let steps = &experiment(&result, name).steps;
        let measured = |action: Action| -> Vec<u64> {
            let of_kind = steps.iter().filter(|step| step.action == action);
            of_kind.map(|step| step.memory.used_bytes).collect()
        };
        let (plan, code) = plan(&scenario(name), &[]);
        assert_eq!(code, 0, "{name}");
        let schedule = at(&plan, "/schedules/0");
        assert_eq!(
            used_after(schedule, "launch"),
            measured(Action::Launch),
            "{name}"
        );
        assert_eq!(
            used_after(schedule, "trim"),
            measured(Action::Trim),
            "{name}"
        );
        assert_eq!(
            used_after(schedule, "free").last(),
            measured(Action::Free).last(),
            "{name}"
        );
        assert_eq!(schedule["failing_steps"], 0, "{name}");
    }
}

#[test]
fn every_scenario_in_the_repository_verifies_on_the_model() {
    let folder = scenario("x");
    let folder = folder.parent().expect("a folder");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the scenarios") {
        let file = entry.expect("an entry").path();
        // In virtual time, so that a busy machine is no difference.
        let arguments = ["--verify", "--backend", "model", "--model-clock", "virtual"];
        let (plan, code) = plan(&file, &arguments);
        assert_eq!(code, 0, "{}: {plan:#}", file.display());
        let verification = at(&plan, "/schedules/0/verification");
        assert_eq!(verification["verdict"], "PASS");
        assert_eq!(
            verification["addresses"],
            verification["addresses_as_planned"]
        );
        assert!(
            !at(&plan, "/verified_on/simulation").is_null(),
            "it says that this was no GPU"
        );
        count += 1;
    }
    assert!(count >= EXPERIMENTS.len());
}

#[test]
fn the_edges_that_a_finding_names_do_save_what_it_says() {
    let file = scenario("forked-branches");
    let (before, _) = plan(&file, &[]);
    let finding = at(&before, "/graphs/0/findings/0");
    assert_eq!(finding["kind"], "missing-edge");
    let promised = bytes(finding, "/footprint_after_bytes");
    assert_eq!(
        bytes(&before, "/graphs/0/memory/footprint_bytes"),
        288 * MIB
    );
    assert_eq!(promised, 96 * MIB);
    // As a person would: add the edges to the file.
    let mut changed = fs::read_to_string(&file).expect("the scenario");
    for edge in at(finding, "/edges").as_array().expect("edges") {
        let (from, to) = (
            edge["from"].as_str().expect("a name"),
            edge["to"].as_str().expect("a name"),
        );
        let node = format!("name = \"{to}\", alloc = \"96MiB\", after = \"fork\"");
        assert!(changed.contains(&node), "{node}");
        let later = node.replace("\"fork\"", &format!("[\"fork\", \"{from}\"]"));
        changed = changed.replace(&node, &later);
    }
    let (_folder, file) = written("changed.toml", &changed);
    let (after, _) = plan(&file, &[]);
    assert_eq!(bytes(&after, "/graphs/0/memory/footprint_bytes"), promised);
    assert_eq!(bytes(&after, "/schedules/0/footprint_bytes"), promised);
}

#[test]
fn a_little_less_halves_the_worked_examples_footprint() {
    let (before, _) = plan(&scenario("just-over-a-block"), &[]);
    let finding = at(&before, "/graphs/0/findings/0");
    assert_eq!(
        (bytes(finding, "/saving_bytes"), finding["kind"].as_str()),
        (32 * MIB, Some("just-over-a-block"))
    );
    let changed = fs::read_to_string(scenario("just-over-a-block")).expect("the scenario");
    let (_folder, file) = written("less.toml", &changed.replace("\"9MiB\"", "\"8MiB\""));
    let (after, _) = plan(&file, &[]);
    assert_eq!(bytes(&before, "/schedules/0/footprint_bytes"), 64 * MIB);
    assert_eq!(bytes(&after, "/schedules/0/footprint_bytes"), 32 * MIB);
}

#[test]
fn a_dump_is_planned_with_the_drivers_addresses_and_without() {
    let file = dump("apps/torch_xf.dot");
    for (arguments, source) in [(&[][..], "dump"), (&["--recompute"], "computed")] {
        let (plan, code) = plan(&file, arguments);
        assert_eq!(code, 0);
        let memory = at(&plan, "/graphs/0/memory");
        assert_eq!(memory["addresses"], source);
        assert_eq!(bytes(memory, "/footprint_bytes"), 128 * MIB);
        assert_eq!(bytes(memory, "/reserved_bytes"), 128 * MIB);
        // What outlives the launch: its result, and what the capture kept.
        assert_eq!(bytes(memory, "/kept_after_trim_bytes"), 64 * MIB);
        let relaunch = at(&plan, "/schedules/0/steps/2");
        assert_eq!(at(relaunch, "/planned/failure/code"), 1, "R18");
    }
}

#[test]
fn several_dumps_are_planned_together() {
    let ended = bare()
        .args(&["plan", "--format", "json"])
        .arg(dump("apps/cupy_chain.dot"))
        .arg(dump("apps/cupy_sum.dot"))
        .ends();
    let plan: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let named = |name: &str| {
        let schedules = at(&plan, "/schedules").as_array().expect("schedules");
        let found = schedules.iter().find(|schedule| schedule["name"] == name);
        bytes(
            found.unwrap_or_else(|| panic!("no {name}")),
            "/footprint_bytes",
        )
    };
    // R35: 64 MiB each, and in one stream they share. R36: at once they do not.
    assert_eq!(named("all graphs in one stream"), 64 * MIB);
    assert_eq!(named("all graphs at once"), 128 * MIB);
    assert_eq!(named("cupy_sum on 2 streams"), 128 * MIB);
}

#[test]
fn a_dump_as_a_scenario_is_the_same_graph() {
    let file = dump("random/g053.dot");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let toml = folder.path().join("g053.toml");
    let output = toml.to_str().expect("UTF-8");
    let ended = text(&file, &["--dump-scenario", "--output", output]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, ""),
        "{}",
        ended.stderr
    );
    let (from_dump, _) = plan(&file, &["--recompute"]);
    let (from_scenario, _) = plan(&toml, &[]);
    for figure in [
        "footprint_bytes",
        "reserved_bytes",
        "requested_bytes",
        "peak_live_bytes",
    ] {
        let pointer = format!("/graphs/0/memory/{figure}");
        assert_eq!(
            bytes(&from_dump, &pointer),
            bytes(&from_scenario, &pointer),
            "{figure}"
        );
    }
    let (_, again) = (
        text(&toml, &["--dump-scenario"]),
        fs::read_to_string(&toml).expect("a scenario"),
    );
    assert!(again.contains("[[graph]]"));
}

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
fn a_difference_between_planned_and_measured_is_shown_and_ends_in_1() {
    let scenario = scenario("virtual-address-reuse");
    let ended = bare()
        .args(&["plan", "--verify", "--backend", "model"])
        .arg(&scenario)
        .env("CUDART_MODEL_FAULT", "cudaGraphLaunch:1=2")
        .ends();
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("FAIL"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("launch g on stream 0: planned"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("2 cudaErrorMemoryAllocation"),
        "{}",
        ended.stdout
    );
}

#[test]
fn graphs_that_did_not_overlap_leave_a_verification_inconclusive() {
    let file = dump("apps/cupy_sum.dot");
    let arguments = [
        "--streams",
        "4",
        "--spin-time",
        "1ns",
        "--verify",
        "--backend",
        "model",
        "--model-clock",
        "virtual",
    ];
    let (plan, code) = plan(&file, &arguments);
    let schedule = at(&plan, "/schedules/1");
    assert_eq!(schedule["name"], "cupy_sum on 4 streams");
    assert_eq!(
        used_after(schedule, "launch"),
        [64, 128, 192, 256].map(|mib| mib * MIB)
    );
    assert_eq!(
        (at(schedule, "/verification/verdict"), code),
        (&Value::from("INCONCLUSIVE"), 3)
    );
    let why = at(schedule, "/verification/differences/0")
        .as_str()
        .expect("text");
    assert!(why.contains("graphs had finished by then"), "{why}");
}

#[test]
fn verification_without_a_gpu_says_so() {
    let scenario = bare()
        .args(&["plan", "--verify"])
        .arg(scenario("virtual-address-reuse"));
    let ended = scenario.ends();
    if ended.code == 0 {
        assert!(ended.stdout.contains("GPU, runtime"), "{}", ended.stdout);
        println!("SKIPPED: this machine has a GPU, and the plan verified on it");
        return;
    }
    ended.refused_with(2, "there is no GPU to verify on");
    ended.refused_with(2, "--backend simulated");
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
fn files_that_cannot_be_read_are_refused_with_line_and_column() {
    let missing = "digraph dot {\nn[label=\"0\nMEM_ALLOC\n\"]; }";
    for (name, contents, what) in [
        (
            "cut.dot",
            "digraph dot {\n\"a\" -> ",
            "cut.dot:2:8: the name of a node should follow",
        ),
        (
            "plain.dot",
            missing,
            "plain.dot:2:1: n is a MEM_ALLOC without its bytesize",
        ),
        ("plain.dot", missing, "cudaGraphDebugDotFlagsVerbose"),
        ("x.json", "{}", "x.json: this is no dump"),
        (
            "s.toml",
            "scenario = 1\nnam = 2",
            "s.toml:2:1: unknown field `nam`",
        ),
        ("s.toml", "scenario = \"1\"", "s.toml:1:12: invalid type"),
        ("empty.dot", "", "empty.dot: this is no dump"),
    ] {
        let (_folder, file) = written(name, contents);
        text(&file, &[]).refused_with(64, what);
    }
    let missing = Path::new("no/such.dot");
    text(missing, &[]).refused_with(64, "cannot read no/such.dot");
    let folder = tempfile::tempdir().expect("a temporary directory");
    text(folder.path(), &[]).refused_with(64, "is a directory");
    text(&scenario("virtual-address-reuse"), &["x.dot"])
        .refused_with(64, "a scenario is planned by itself");
    text(&dump("apps/cupy_sum.dot"), &["--streams", "0"]).refused_with(64, "1 to 4096");
    text(
        &dump("apps/cupy_sum.dot"),
        &["--output", "no/such/folder/x"],
    )
    .refused_with(64, "cannot write");
}

#[test]
fn the_text_shows_what_is_asked_for() {
    let ended = text(
        &dump("apps/torch_xf.dot"),
        &["--streams", "3", "--rows", "6"],
    );
    for part in [
        "footprint    128 MiB: 4 blocks of 32 MiB",
        "after a trim 64 MiB",
        "the driver's, from the dump; the rule gives the same",
        "Addresses, from 0x48ea000000",
        "Live, in an order in which it may run",
        "Left allocated after the launch",
        "1 cudaErrorInvalidValue",
        "torch_xf on 3 streams",
        "footprint 384 MiB, no call fails",
        "more ...",
        "nothing was run on a GPU",
    ] {
        assert!(
            ended.stdout.contains(part),
            "no {part:?} in:\n{}",
            ended.stdout
        );
    }
    assert!(!ended.stdout.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn another_machines_blocks_give_another_footprint() {
    let h200 = bytes(
        &plan(&scenario("just-over-a-block"), &[]).0,
        "/gpu/granularity_bytes",
    );
    let folder = tempfile::tempdir().expect("a temporary directory");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/model/src/profile/h200.toml");
    let text = fs::read_to_string(profile).expect("a profile");
    let smaller = text.replace("block_mib = 32 ", "block_mib = 2 ");
    assert_ne!(text, smaller);
    let file = folder.path().join("small-blocks.toml");
    fs::write(&file, smaller).expect("a file");
    let arguments = ["--model-profile", file.to_str().expect("UTF-8")];
    let (plan, code) = plan(&scenario("just-over-a-block"), &arguments);
    assert_eq!((h200, code), (32 * MIB, 0));
    assert_eq!(bytes(&plan, "/gpu/granularity_bytes"), 2 * MIB);
    assert_eq!(bytes(&plan, "/schedules/0/footprint_bytes"), 34 * MIB);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"))
        .args(["plan", "--rows", "0", "--format", "json"])
        .arg(dump("random/g013.dot"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_report_is_written_beside_the_text() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let page = folder.path().join("plan.html");
    let arguments = ["--report", page.to_str().expect("UTF-8")];
    let ended = text(&scenario("forked-branches"), &arguments);
    assert_eq!(ended.code, 0);
    let page = fs::read_to_string(page).expect("the page");
    for part in [
        "Planned, not measured",
        "Where allocations lie, and when",
        "free 1 -> buffer 2",
        "288 MiB",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn plans_of_every_recorded_dump_are_what_the_schema_says() {
    let mut count = 0;
    for folder in ["random", "apps"] {
        for entry in fs::read_dir(dump(folder)).expect("the recordings") {
            let file = entry.expect("an entry").path();
            if file.extension().is_some_and(|extension| extension == "dot") {
                let (plan, code) = plan(&file, &[]);
                assert_eq!((plan["schema_version"].as_u64(), code), (Some(2), 0));
                count += 1;
            }
        }
    }
    assert_eq!(count, 83);
    let mut broken = plan(&scenario("forked-branches"), &[]).0;
    broken["graphs"][0]["memory"]["footprint"] = Value::from(1);
    assert!(
        !validator().is_valid(&broken),
        "a field that is not in the schema is a fault"
    );
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

/// A dump or scenario of a case that people reported.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("plan/tests/data/cases")
        .join(name)
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
fn a_name_of_65_536_characters_is_printed() {
    let long = "n".repeat(65_536);
    let text_of = format!(
        "scenario = 1\n[[graph]]\nname = \"{long}\"\nnodes = [{{ name = \"{long}\", alloc = 1 }}]\n\
         [schedule]\nsteps = [{{ launch = \"{long}\" }}]\n"
    );
    let (folder, file) = written("long.toml", &text_of);
    let page = folder.path().join("long.html");
    let ended = text(&file, &["--report", page.to_str().expect("UTF-8")]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains(&long));
}

#[test]
fn lines_of_a_log_around_a_dump_are_skipped_with_a_note() {
    let dump = fs::read_to_string(case("memset.dot")).expect("the dump");
    let (_folder, file) = written("log.dot", &format!("[INFO] graph \"a\n\n{dump}\ndone\n"));
    let (plan, code) = plan(&file, &[]);
    assert_eq!(code, 0);
    let notes = at(&plan, "/graphs/0/notes").to_string();
    assert!(notes.contains("1 line before `digraph`"), "{notes}");
}

#[test]
fn graphs_that_are_child_graphs_of_one_another_are_an_error() {
    text(&case("cycle.dot"), &[]).refused_with(64, "graph_1 is a child graph of itself");
    let (plan, code) = plan(&case("mlx.dot"), &[]);
    assert_eq!((code, at(&plan, "/graphs/0/nodes").as_u64()), (0, Some(11)));
    text(&case("hip.dot"), &[]).refused_with(64, "MEM_ALLOC without its bytesize");
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
fn a_verification_in_which_nothing_was_compared_does_not_end_in_0() {
    let arguments = ["--verify", "--backend", "model"];
    // A graph without memory, and one that only the rule can plan.
    let moved = Path::new(env!("CARGO_MANIFEST_DIR")).join("plan/tests/data/dot/moved.dot");
    for file in [case("switch.dot"), moved] {
        let ended = text(&file, &arguments);
        assert_eq!(ended.code, 3, "{}", ended.stdout);
        assert!(
            ended.stdout.contains("NOTHING was compared"),
            "{}",
            ended.stdout
        );
    }
    let (plan, code) = plan(&case("alloc.dot"), &arguments);
    assert_eq!(code, 0);
    assert_eq!(at(&plan, "/schedules/0/verification/verdict"), "PASS");
}

#[test]
fn after_a_trim_is_said_only_where_something_is_left() {
    let left = |name: &str| text(&dump(name), &[]).stdout.contains("after a trim");
    assert!(left("apps/torch_xf.dot") && !left("apps/cupy_chain.dot"));
}

/// Several dumps, planned together.
fn plan_of(files: &[PathBuf], arguments: &[&str]) -> (Value, i32) {
    let ended = bare().args(&["plan", "--format", "json"]).args(arguments);
    let ended = files
        .iter()
        .fold(ended, |command, file| command.arg(file))
        .ends();
    let plan: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
    assert!(validator().is_valid(&plan), "{plan:#}");
    (plan, ended.code)
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
fn a_schedule_is_written_in_any_order_and_a_wrong_word_is_named() {
    let files = [dump("apps/cupy_sum.dot"), dump("apps/cupy_chain.dot")];
    let used = |schedule: &str| {
        let (json, _) = plan_of(&files, &["--schedule", schedule]);
        assert_eq!(at(&json, "/schedules").as_array().map(Vec::len), Some(1));
        used_after(at(&json, "/schedules/0"), "")
    };
    // R35: in one stream they share; R43: after a trim a launch maps again.
    assert_eq!(
        used("cupy_sum cupy_chain wait trim cupy_chain"),
        [64, 64, 64, 0, 64].map(|mib| mib * MIB)
    );
    let torch = [dump("apps/torch_xf.dot")];
    let (json, _) = plan_of(&torch, &["--schedule", "torch_xf wait free:torch_xf trim"]);
    assert_eq!(used_after(at(&json, "/schedules/0"), "trim"), [0]);
    bare()
        .args(&["plan", "--schedule", "cupy_sum nothing"])
        .arg(&files[0])
        .ends()
        .refused_with(64, "`nothing` is no graph and no step");
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
