use std::sync::Arc;

use super::*;
use crate::recordings::{self, SPIN, laid_out};
use crate::schedules::{self, SIMULATED_SPIN};

/// What a launch step leaves: code, used, reserved.
fn launches(schedule: &Schedule) -> Vec<(i32, u64, Option<u64>)> {
    let launches = schedule
        .steps
        .iter()
        .filter(|step| step.label.starts_with("launch"));
    launches
        .map(|step| {
            let outcome = &step.planned;
            (
                outcome.failure.as_ref().map_or(0, |f| f.code),
                outcome.used_bytes,
                outcome.reserved_bytes,
            )
        })
        .collect()
}

fn end(schedule: &Schedule) -> (u64, Option<u64>) {
    let last = &schedule.steps.last().expect("steps").planned;
    (last.used_bytes, last.reserved_bytes)
}

#[test]
fn the_rule_says_of_every_recorded_graph_what_the_model_does() {
    let machine = Profile::default();
    for recording in recordings::all() {
        let graph = Arc::new(recording.graph.clone());
        let layout = laid_out(&graph).expect("a layout");
        let rule = ByRule {
            total_bytes: machine.total_bytes(),
            graphs: vec![(&graph.name, &layout, false)],
        };
        let pairs = [
            (rule.one_stream(3), schedules::one_stream(&graph, 3)),
            (
                rule.at_once(3),
                schedules::at_once(&graph, 3, SIMULATED_SPIN),
            ),
        ];
        for (by_rule, scenario) in pairs {
            let by_rule = by_rule.expect("a graph");
            let (simulated, _) = simulated(&scenario, &machine, SPIN).expect("replayed");
            assert_eq!(
                launches(&by_rule),
                launches(&simulated),
                "{}: {}",
                recording.name,
                by_rule.name
            );
            assert_eq!(
                end(&by_rule),
                end(&simulated),
                "{}: {}",
                recording.name,
                by_rule.name
            );
            assert_eq!(
                (by_rule.name, by_rule.about),
                (simulated.name, simulated.about)
            );
        }
    }
}

#[test]
fn r35_r36_the_rule_for_different_graphs_says_what_the_model_does() {
    let machine = Profile::default();
    let graphs: Vec<Arc<_>> = recordings::recordings("apps")
        .into_iter()
        .map(|recording| Arc::new(recording.graph))
        .collect();
    let layouts: Vec<Layout> = graphs
        .iter()
        .map(|graph| laid_out(graph).expect("a layout"))
        .collect();
    let named = graphs
        .iter()
        .zip(&layouts)
        .map(|(graph, layout)| (graph.name.as_str(), layout, false));
    let rule = ByRule {
        total_bytes: machine.total_bytes(),
        graphs: named.collect(),
    };
    let pairs = [
        (
            rule.all_in_one_stream(),
            schedules::all_in_one_stream(&graphs),
        ),
        (
            rule.all_at_once(),
            schedules::all_at_once(&graphs, SIMULATED_SPIN),
        ),
    ];
    for (by_rule, scenario) in pairs {
        let (simulated, _) = simulated(&scenario, &machine, SPIN).expect("replayed");
        assert_eq!(launches(&by_rule), launches(&simulated), "{}", by_rule.name);
        assert_eq!(end(&by_rule), end(&simulated), "{}", by_rule.name);
    }
}

#[test]
fn a_difference_is_a_failure_and_a_missed_overlap_is_inconclusive() {
    let graph = Arc::new(recordings::recordings("apps").remove(0).graph);
    let scenario = schedules::at_once(&graph, 2, SIMULATED_SPIN);
    let (schedule, planned) = simulated(&scenario, &Profile::default(), SPIN).expect("replayed");
    let compared = |change: &dyn Fn(&mut ReplayedStep)| {
        let mut measured = planned.clone();
        change(measured.steps.get_mut(1).expect("a step"));
        let mut steps = schedule.steps.clone();
        for (step, outcome) in steps.iter_mut().zip(&measured.steps) {
            step.measured = Some(outcome.into());
        }
        let compared = compare(&steps, &scenario, &planned, &measured);
        assert_eq!(compared.addresses_as_planned, compared.addresses);
        (compared.verdict, compared.differences.len())
    };
    assert_eq!(compared(&|_| {}), (Verdict::Pass, 0));
    assert_eq!(
        compared(&|step| step.memory.used_bytes -= 1),
        (Verdict::Fail, 1)
    );
    assert_eq!(
        compared(&|step| step.failure = Some(not_planned())),
        (Verdict::Fail, 1)
    );
    let missed = |step: &mut ReplayedStep| {
        step.memory.used_bytes /= 2;
        step.busy_streams = Some(1);
    };
    assert_eq!(compared(&missed), (Verdict::Inconclusive, 1));
    let failed_and_missed = |step: &mut ReplayedStep| {
        missed(step);
        step.failure = Some(not_planned());
    };
    assert_eq!(compared(&failed_and_missed), (Verdict::Fail, 1));
}

fn not_planned() -> Failure {
    Failure {
        call: "cudaGraphLaunch".to_owned(),
        code: 700,
        name: "cudaErrorIllegalAddress".to_owned(),
    }
}
