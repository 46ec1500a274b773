//! The model against runs recorded on a GPU: the same footprints, step by step.

use std::collections::BTreeSet;

use crate::support::{experiment, on_the_model, only_device};
use graph_memory_footprint::results::read;
use graph_memory_footprint::results::{BackendKind, ExperimentResult, RunResult, Verdict};

fn recordings() -> Vec<(String, RunResult)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("the recordings")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            let result = read::from_json(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.display().to_string(), result)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "there are recordings");
    found
}

/// The same run on the model.
fn as_recorded(recorded: &RunResult) -> (RunResult, i32) {
    let bytes = recorded.settings.allocation_bytes.to_string();
    let graphs = recorded.settings.graphs.to_string();
    let mut scenario = on_the_model().args(&["--bytes", &bytes, "--graphs", &graphs]);
    for experiment in &only_device(recorded).experiments {
        scenario = scenario.args(&["--experiment", &experiment.name]);
    }
    scenario.result()
}

/// Each step with what it did to the four attributes.
fn footprints(experiment: &ExperimentResult) -> Vec<(String, [u64; 4])> {
    let steps = experiment.steps.iter();
    steps
        .map(|step| {
            let m = &step.memory;
            let attributes = [
                m.used_bytes,
                m.used_high_bytes,
                m.reserved_bytes,
                m.reserved_high_bytes,
            ];
            (step.label.clone(), attributes)
        })
        .collect()
}

#[test]
fn recordings_are_of_a_gpu_and_name_what_made_them() {
    for (path, recorded) in recordings() {
        assert_eq!(recorded.backend.kind, BackendKind::Cuda, "{path}");
        assert!(recorded.backend.runtime_version.is_some(), "{path}");
        assert!(recorded.backend.driver_version.is_some(), "{path}");
        let device = only_device(&recorded).device.as_ref();
        assert!(
            device.is_some_and(|device| !device.name.is_empty()),
            "{path}"
        );
        assert_eq!(recorded.verdict, Verdict::Pass, "{path}");
    }
}

#[test]
fn the_model_reproduces_every_recorded_footprint() {
    for (path, recorded) in recordings() {
        let (modelled, _) = as_recorded(&recorded);
        let unit = |result: &RunResult| only_device(result).launch_footprint_bytes;
        assert_eq!(unit(&modelled), unit(&recorded), "{path}");
        for measured in &only_device(&recorded).experiments {
            let model = experiment(&modelled, &measured.name);
            assert_eq!(
                footprints(model),
                footprints(measured),
                "{path}: {}",
                measured.name
            );
        }
    }
}

/// Experiments whose graphs get addresses that destroyed graphs gave back, in an order
/// that is not explained: on the H200 eight equal graphs get those of the old ones as
/// 1, 2, 0, 3, 4, ..., and the model's as 0, 1, 2, 3, .... The addresses are the same.
const ORDER_UNEXPLAINED: &[&str] = &["unfreed-allocations"];

#[test]
fn the_model_gives_the_recorded_addresses_relative_to_the_first() {
    let addresses = |experiment: &ExperimentResult| -> Vec<u64> {
        let steps = experiment.steps.iter();
        steps.filter_map(|step| step.address).collect()
    };
    let relative = |addresses: &[u64]| -> Vec<u64> {
        let first = addresses.first().copied().unwrap_or(0);
        addresses.iter().map(|a| a.wrapping_sub(first)).collect()
    };
    let sorted = |mut addresses: Vec<u64>| {
        addresses.sort_unstable();
        relative(&addresses)
    };
    let mut reordered = BTreeSet::new();
    for (path, recorded) in recordings() {
        let (modelled, _) = as_recorded(&recorded);
        for measured in &only_device(&recorded).experiments {
            let name = measured.name.as_str();
            let (model, gpu) = (addresses(experiment(&modelled, name)), addresses(measured));
            if relative(&model) == relative(&gpu) {
                continue;
            }
            assert!(
                ORDER_UNEXPLAINED.contains(&name),
                "{path}: {name}: {model:x?} and not {gpu:x?}"
            );
            assert_eq!(sorted(model), sorted(gpu), "{path}: {name}");
            reordered.insert(measured.name.clone());
        }
    }
    let listed: BTreeSet<_> = ORDER_UNEXPLAINED
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    assert_eq!(
        reordered, listed,
        "what is explained by now leaves the list"
    );
}
