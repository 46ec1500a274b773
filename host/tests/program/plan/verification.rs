//! `plan --verify`: planned against measured, on the simulated GPU.

use std::fs;
use std::path::Path;

use graph_memory_footprint::results::Action;
use serde_json::Value;

use super::{EXPERIMENTS, MIB, at, bytes, case, dump, plan, scenario, text, used_after, written};
use crate::support::{bare, experiment, on_the_model};

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
