//! The four experiments on the model: what each claims, and what breaks a claim.

use crate::support::{experiment, on_the_model, only_device};
use graph_memory_footprint::results::{Action, BackendKind, RunResult, Verdict};

const MIB: u64 = 1 << 20;

fn used_after(result: &RunResult, name: &str, action: Action) -> Vec<u64> {
    let steps = experiment(result, name).steps.iter();
    steps
        .filter(|step| step.action == action)
        .map(|step| step.memory.used_bytes / MIB)
        .collect()
}

#[test]
fn the_golden_traces_of_the_rules_come_out() {
    let (result, code) = on_the_model().result();
    assert_eq!(code, 0, "{result:#?}");
    assert_eq!(result.verdict, Verdict::Pass);
    assert_eq!(result.backend.kind, BackendKind::Model);
    assert_eq!(only_device(&result).launch_footprint_bytes, Some(64 * MIB));
    // E1 to E4 of the rules.
    assert_eq!(
        used_after(&result, "virtual-address-reuse", Action::Launch),
        [64]
    );
    assert_eq!(
        used_after(&result, "physical-memory-reuse", Action::Instantiate),
        [0]
    );
    assert_eq!(
        used_after(&result, "physical-memory-reuse", Action::Launch),
        [64; 9]
    );
    let growth = [64, 128, 192, 256, 320, 384, 448, 512];
    assert_eq!(
        used_after(&result, "concurrent-streams", Action::Launch),
        growth
    );
    assert_eq!(
        used_after(&result, "unfreed-allocations", Action::Launch),
        growth
    );
    assert_eq!(
        used_after(&result, "unfreed-allocations", Action::Free),
        [512]
    );
    assert_eq!(
        used_after(&result, "unfreed-allocations", Action::Trim),
        [512, 0]
    );
    for experiment in &only_device(&result).experiments {
        assert_eq!(
            experiment
                .steps
                .last()
                .map(|step| step.memory.reserved_bytes),
            Some(0)
        );
    }
}

#[test]
fn m1_a_unit_is_the_size_rounded_up_to_the_granularity() {
    for (bytes, unit_mib) in [("1", 32), ("32MiB", 32), ("33MiB", 64), ("100MiB", 128)] {
        let (result, code) = on_the_model()
            .args(&["--bytes", bytes, "--graphs", "2"])
            .result();
        assert_eq!(
            (only_device(&result).launch_footprint_bytes, code),
            (Some(unit_mib * MIB), 0),
            "{bytes}"
        );
    }
}

#[test]
fn a_hold_shorter_than_the_launches_is_inconclusive_and_never_a_pass() {
    let scenario =
        on_the_model().args(&["--experiment", "concurrent-streams", "--spin-time", "1us"]);
    let (result, code) = scenario.result();
    assert_eq!(code, 3);
    let experiment = experiment(&result, "concurrent-streams");
    assert_eq!(experiment.verdict, Verdict::Inconclusive);
    let proof = experiment.overlap.as_ref().expect("there is evidence");
    assert!(!proof.holds());
    let growth = experiment
        .checks
        .iter()
        .find(|check| check.claim.contains("each launch"));
    let growth = growth.expect("the growth is checked");
    assert_eq!(growth.verdict, Verdict::Inconclusive);
    let reason = growth.reason.as_deref().expect("it says why");
    assert!(reason.contains("had finished"), "{reason}");
}

#[test]
fn the_overlap_is_proven_for_every_stream() {
    for graphs in [1, 8, 32] {
        let count = graphs.to_string();
        let scenario =
            on_the_model().args(&["--experiment", "concurrent-streams", "--graphs", &count]);
        let (result, code) = scenario.result();
        assert_eq!(code, 0);
        let proof = experiment(&result, "concurrent-streams")
            .overlap
            .as_ref()
            .expect("a proof");
        assert_eq!(proof.streams_busy, vec![true; graphs]);
    }
}

#[test]
fn one_graph_is_enough_for_every_experiment() {
    let (result, code) = on_the_model().args(&["--graphs", "1"]).result();
    assert_eq!((result.verdict, code), (Verdict::Pass, 0));
}

#[test]
fn experiments_are_chosen_by_name_and_run_in_the_order_given() {
    let names = ["unfreed-allocations", "virtual-address-reuse"];
    let scenario = on_the_model().args(&["--experiment", names[0], "--experiment", names[1]]);
    let (result, _) = scenario.result();
    let ran: Vec<_> = only_device(&result)
        .experiments
        .iter()
        .map(|experiment| &experiment.name)
        .collect();
    assert_eq!(ran, names);
}

#[test]
fn m13_more_than_the_device_has_is_an_error_with_its_code_and_the_rest_goes_on() {
    // Ten graphs of 16 GiB cannot be alive at once on a card of 139 GiB.
    let scenario = on_the_model().args(&["--bytes", "16GiB", "--graphs", "10"]);
    let (result, code) = scenario.result();
    assert_eq!(code, 1);
    for name in ["concurrent-streams", "unfreed-allocations"] {
        let experiment = experiment(&result, name);
        let error = experiment.error.as_ref().expect("the launch fails");
        assert_eq!((error.call.as_str(), error.code), ("cudaGraphLaunch", 2));
        assert_eq!(error.name, "cudaErrorMemoryAllocation");
        assert!(!experiment.steps.is_empty(), "what was done before is kept");
    }
    assert_eq!(
        experiment(&result, "physical-memory-reuse").verdict,
        Verdict::Pass
    );
}
