//! The experiments beyond the sample, on the model: what each finds, and what makes a
//! check fail.

use crate::support::{experiment, on_the_model, only_device};
use graph_memory_footprint::experiments::{EXPERIMENTS, OF_THE_SAMPLE};
use graph_memory_footprint::results::{
    Action, Check, ExperimentResult, Quantity, RunResult, Verdict,
};
use graph_memory_footprint::rules;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Runs one experiment, and asserts what came of it.
fn run(name: &str, options: &[&str], verdict: Verdict) -> RunResult {
    let (result, code) = on_the_model()
        .args(&["--experiment", name])
        .args(options)
        .result();
    let expected = match verdict {
        Verdict::Pass => 0,
        Verdict::Inconclusive => 3,
        Verdict::Fail => 1,
    };
    assert_eq!((result.verdict, code), (verdict, expected), "{result:#?}");
    result
}

fn launches(experiment: &ExperimentResult) -> Vec<u64> {
    let steps = experiment.steps.iter();
    steps
        .filter(|step| step.action == Action::Launch)
        .map(|step| step.memory.used_bytes / MIB)
        .collect()
}

fn check<'r>(experiment: &'r ExperimentResult, claim: &str) -> &'r Check {
    let found = experiment.checks.iter().find(|c| c.claim.contains(claim));
    found.unwrap_or_else(|| panic!("{}: no check {claim:?}", experiment.name))
}

#[test]
fn all_of_them_pass_in_one_process_and_leave_nothing_behind() {
    let scenario = on_the_model().args(&["--experiment", "all", "--format", "json"]);
    let ended = scenario.ends();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("dropped"), "{}", ended.stderr);
    let result = graph_memory_footprint::results::read::from_json(&ended.stdout).expect("a result");
    let ran: Vec<_> = only_device(&result)
        .experiments
        .iter()
        .map(|experiment| experiment.name.as_str())
        .collect();
    let names: Vec<_> = EXPERIMENTS.iter().map(|e| e.name).collect();
    assert_eq!(ran, names);
}

#[test]
fn without_a_name_only_the_samples_four_run() {
    let (result, _) = on_the_model().result();
    let ran = only_device(&result).experiments.iter();
    assert!(
        ran.map(|e| e.name.as_str())
            .eq(OF_THE_SAMPLE.iter().map(|e| e.name))
    );
    assert_eq!(OF_THE_SAMPLE.len(), 4);
}

#[test]
fn every_rule_that_a_check_names_is_known_and_listed_by_its_experiment() {
    let (result, _) = on_the_model().args(&["--experiment", "all"]).result();
    for ran in &only_device(&result).experiments {
        let described = EXPERIMENTS.iter().find(|e| e.name == ran.name);
        let described = described.expect("it is in the list");
        for id in ran.checks.iter().flat_map(|check| check.rule.split(' ')) {
            assert!(rules::find(id).is_some(), "{}: {id}", ran.name);
            assert!(described.rules.contains(&id), "{}: {id}", ran.name);
        }
    }
}

#[test]
fn they_pass_for_sizes_below_and_beside_a_block_and_for_one_graph() {
    for options in [["--bytes", "1"], ["--bytes", "33MiB"], ["--graphs", "1"]] {
        let _ = run("all", &options, Verdict::Pass);
    }
}

#[test]
fn they_pass_on_other_machines_too() {
    for profile in ["consumer-8gib", "two-devices"] {
        let _ = run("all", &["--model-profile", profile], Verdict::Pass);
    }
}

#[test]
fn r4_a_missing_dependency_triples_the_footprint() {
    let result = run("order-matters", &[], Verdict::Pass);
    assert_eq!(launches(experiment(&result, "order-matters")), [64, 192]);
}

#[test]
fn r35_the_largest_counts_in_one_stream_and_the_sum_on_several() {
    let result = run("size-mix", &[], Verdict::Pass);
    let expected = [64, 128, 256, 256, 256, 256, 128, 256, 256, 64, 192, 448];
    assert_eq!(launches(experiment(&result, "size-mix")), expected);
}

#[test]
fn r37_a_finished_graphs_unit_is_taken_over_and_a_running_ones_is_not() {
    let result = run("finished-elsewhere", &[], Verdict::Pass);
    let experiment = experiment(&result, "finished-elsewhere");
    assert_eq!(launches(experiment), [64, 64, 64, 128]);
    let proof = experiment.overlap.as_ref().expect("a proof");
    assert_eq!(proof.streams_busy, [true]);
}

#[test]
fn a_spin_time_that_is_too_short_is_inconclusive_where_graphs_must_overlap() {
    for (name, claim) in [
        ("finished-elsewhere", "the first graph still runs"),
        ("size-mix", "on three streams at the same time"),
    ] {
        let result = run(name, &["--spin-time", "1us"], Verdict::Inconclusive);
        let experiment = experiment(&result, name);
        assert_eq!(check(experiment, claim).verdict, Verdict::Inconclusive);
        let others = experiment
            .checks
            .iter()
            .filter(|c| !c.claim.contains(claim));
        for other in others {
            assert_eq!(other.verdict, Verdict::Pass, "{}", other.claim);
        }
    }
}

#[test]
fn m1_the_block_of_another_machine_is_found() {
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/model/src/profile");
    let h200 = std::fs::read_to_string(format!("{profiles}/h200.toml")).expect("the profile");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("two-mib-blocks.toml");
    let text = h200.replace("block_mib = 32", "block_mib = 2");
    assert_ne!(text, h200, "the profile names its block");
    std::fs::write(&file, text).expect("a file");
    let (result, code) = on_the_model()
        .args(&["--experiment", "all", "--model-profile"])
        .arg(&file)
        .result();
    assert_eq!(code, 0, "{result:#?}");
    let granularity = experiment(&result, "granularity");
    let found = &check(granularity, "one byte takes one block").measured;
    assert_eq!(*found, Quantity::Bytes(2 * MIB));
}

/// A call that returns something else than it should: the check that looks at its code
/// fails, and the experiment goes on.
#[test]
fn a_code_that_is_not_the_expected_one_fails_its_check_and_no_other() {
    for (name, fault, claim) in [
        ("limits", "cudaGraphClone:1=1", "cloning the graph"),
        ("limits", "cudaGraphDestroyNode:1=1", "removing a node"),
        (
            "limits",
            "cudaGraphAddChildGraphNode:1=1",
            "adding the graph as a child",
        ),
        (
            "relaunch-unfreed",
            "cudaGraphLaunch:3=801",
            "a live allocation returns error 1",
        ),
        (
            "captured",
            "cudaGraphInstantiateWithFlags:4=1",
            "a second exec is refused",
        ),
        (
            "out-of-memory",
            "cudaGraphLaunch:11=1",
            "the launch fails with error 2",
        ),
    ] {
        let scenario = on_the_model().args(&["--experiment", name]);
        let (result, code) = scenario.env("CUDART_MODEL_FAULT", fault).result();
        let experiment = experiment(&result, name);
        assert_eq!((experiment.verdict, code), (Verdict::Fail, 1), "{fault}");
        assert_eq!(experiment.error, None, "{fault}");
        let failed: Vec<_> = experiment
            .checks
            .iter()
            .filter(|check| check.verdict == Verdict::Fail)
            .map(|check| check.claim.as_str())
            .collect();
        assert!(
            matches!(failed.as_slice(), [one] if one.contains(claim)),
            "{fault}: {failed:?}"
        );
    }
}

#[test]
fn m13_the_graphs_leave_the_margin_and_the_refused_launch_takes_at_most_a_block() {
    let leave = 5 * GIB;
    let result = run("out-of-memory", &["--leave", "5GiB"], Verdict::Pass);
    let experiment = experiment(&result, "out-of-memory");
    let free = experiment
        .steps
        .first()
        .expect("a step")
        .memory
        .device_free_bytes;
    for step in &experiment.steps {
        let taken = step.memory.reserved_bytes;
        assert!(taken + leave <= free, "{}: {taken}", step.label);
    }
    let refused = experiment.steps.iter().find(|s| s.action == Action::Refuse);
    let memory = refused.expect("a refused launch").memory;
    assert!(
        memory.used_bytes > free - leave - GIB,
        "the device was filled"
    );
    assert!(memory.reserved_bytes - memory.used_bytes <= 32 * MIB);
}

#[test]
fn a_margin_larger_than_the_device_is_inconclusive_and_takes_nothing() {
    let result = run("out-of-memory", &["--leave", "1TiB"], Verdict::Inconclusive);
    let experiment = experiment(&result, "out-of-memory");
    assert!(launches(experiment).is_empty());
    let check = check(experiment, "there is free memory");
    assert!(
        check
            .reason
            .as_deref()
            .is_some_and(|r| r.contains("--leave"))
    );
}

#[test]
fn what_a_refused_launch_kept_does_not_fail_what_runs_after_it() {
    let scenario = on_the_model().args(&["--experiment", "out-of-memory", "--experiment", "all"]);
    let (result, code) = scenario.result();
    assert_eq!(code, 0, "{result:#?}");
}

#[test]
fn r17_captured_and_built_by_hand_have_one_footprint() {
    let result = run("captured", &[], Verdict::Pass);
    assert_eq!(launches(experiment(&result, "captured")), [64, 64, 64]);
}

#[test]
fn r44_what_the_other_pool_holds_is_missing_from_free_memory_and_from_no_attribute() {
    let result = run("two-pools", &[], Verdict::Pass);
    let steps = &experiment(&result, "two-pools").steps;
    let memory = |label: &str| {
        let step = steps.iter().find(|step| step.label == label);
        step.unwrap_or_else(|| panic!("no step {label:?}")).memory
    };
    let (before, pooled) = (
        memory("before"),
        memory("cudaMallocAsync and cudaFreeAsync"),
    );
    assert_eq!(
        before.device_free_bytes - pooled.device_free_bytes,
        64 * MIB
    );
    assert_eq!((pooled.used_bytes, pooled.reserved_bytes), (0, 0));
    let trimmed = memory("cudaMemPoolTrimTo 0");
    assert_eq!(
        before.device_free_bytes - trimmed.device_free_bytes,
        64 * MIB
    );
    assert_eq!(trimmed.used_bytes, 64 * MIB);
}

#[test]
fn r3_data_goes_through_two_allocations_at_one_address_and_five_ways_of_freeing() {
    let result = run("data-survives", &[], Verdict::Pass);
    let experiment = experiment(&result, "data-survives");
    let arrived = experiment
        .checks
        .iter()
        .filter(|c| c.claim.contains("numbers"));
    let counts: Vec<_> = arrived.map(|check| check.measured.clone()).collect();
    assert_eq!(counts, vec![Quantity::Count(1000); 5]);
}

#[test]
fn r56_the_rounds_of_a_loop_use_memory_of_the_graph_around_it() {
    let result = run("conditional", &[], Verdict::Pass);
    let experiment = experiment(&result, "conditional");
    // The rounds, squared by the kernel that comes after the loop.
    let rounds = experiment
        .checks
        .iter()
        .filter(|check| check.claim.contains("number of rounds"));
    let counts: Vec<_> = rounds.map(|check| check.measured.clone()).collect();
    assert_eq!(counts, [4, 100, 900].map(Quantity::Count));
    let footprints = experiment
        .checks
        .iter()
        .filter(|check| check.claim.contains("footprint of one"));
    for check in footprints {
        assert_eq!(check.measured, Quantity::Bytes(64 * MIB), "{}", check.claim);
    }
}
