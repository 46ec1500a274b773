//! What watching adds: to the launch of a graph with and without memory nodes, and to
//! a training step of PyTorch. Each program runs alone and under `watch` at the same
//! time, and the two take turns.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value as Json;

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::{Figure, Quantity, Side as Whose, Value};
use crate::bench::side::Side;
use crate::bench::stats::Spread;

/// Pairs of processes: one process may launch slower than another by chance, and the
/// medians of the pairs are what is compared.
const PROCESSES: usize = 12;

/// Rounds of a pair.
const ROUNDS: usize = 16;

/// Launches a round, and launches before the stream is waited for.
const LAUNCHES: usize = 1000;
const BATCH: usize = 100;

/// Training steps a round, rounds of a pair, and pairs of PyTorch processes.
const STEPS: usize = 200;
const STEP_ROUNDS: usize = 24;
const STEP_PROCESSES: usize = 4;

/// A graph, its size, and the most that watching may add to its launch.
const GRAPHS: [(&str, u64, f64); 2] = [
    ("launch of a graph with memory nodes", 2 << 20, 0.15),
    ("launch of a graph without memory nodes", 0, 0.05),
];

/// The most that a watched training step may take as a multiple of one alone.
const STEP_AT_MOST: f64 = 1.01;

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    if cfg!(not(target_os = "linux")) {
        figure.skipped.push("watch needs Linux".to_owned());
        return Ok(());
    }
    launches(bed, limit, figure)?;
    if bed.on_model {
        figure
            .skipped
            .push("the training step: PyTorch needs a GPU".to_owned());
        return Ok(());
    }
    training(bed, limit, figure)
}

fn launches(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let mut alone = [Vec::new(), Vec::new()];
    let mut watched = alone.clone();
    let mut not_recorded = 0;
    for process in limit.rounds(bed.repeat(PROCESSES)) {
        let result = bed.scratch.path().join(format!("watched-{process}.json"));
        let mut sides = pair(process, || bed.ours(), || bed.ours_watched(&result))?;
        let mut made = 0;
        for (graph, &(_, bytes, _)) in GRAPHS.iter().enumerate() {
            let request = format!("relaunch bytes={bytes} launches={LAUNCHES} batch={BATCH}");
            let rounds = bed.repeat(ROUNDS);
            // The cost of the first call is not measured here.
            take_turns(&mut sides, 1, limit, &request)?;
            let answers = take_turns(&mut sides, rounds, limit, &request)?;
            for (answers, medians) in answers.iter().zip([&mut alone, &mut watched]) {
                let us = each(answers, "launch_ns", LAUNCHES as f64 * 1e3)?;
                medians[graph].extend(Spread::of(us).map(|spread| spread.median));
                made += answers.len() + 1;
            }
        }
        drop(sides);
        // Each request launches once before it measures; half of them were watched.
        let made = (made / 2 * (LAUNCHES + 1)) as u64;
        not_recorded += made.abs_diff(recorded_launches(&result)?);
    }
    for (graph, (what, _, most_us)) in GRAPHS.into_iter().enumerate() {
        figure.times(what, Whose::Alone, &[], &alone[graph]);
        figure.times(what, Whose::Watched, &[], &watched[graph]);
        let added = Spread::of_pairs(&watched[graph], &alone[graph], |w, a| w - a);
        let Some(added) = added else { continue };
        figure.row(what, Whose::WatchedMinusAlone, &[], Value::Us(added));
        figure.bar(
            format!("watching adds to a {what}"),
            Quantity::Us(most_us),
            Quantity::Us(added.median),
            bed.not_judged(),
        );
    }
    figure.bar(
        "launches that were made and not recorded, or the other way round",
        Quantity::Count(0.0),
        Quantity::Count(not_recorded as f64),
        bed.on_model
            .then_some("the simulated runtime makes no driver calls, so nothing is recorded"),
    );
    Ok(())
}

fn training(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let what = "training step of PyTorch";
    let request = format!("step steps={STEPS}");
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    let mut not_recorded = 0;
    for process in limit.rounds(bed.repeat(STEP_PROCESSES)) {
        let result = bed.scratch.path().join(format!("training-{process}.json"));
        let both = pair(
            process,
            || bed.training(None),
            || bed.training(Some(&result)),
        );
        let mut sides = match both {
            Ok(sides) => sides,
            Err(error) if process == 0 => {
                figure.skipped.push(format!(
                    "the {what}: python3 cannot run PyTorch on a GPU ({error:#})"
                ));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        take_turns(&mut sides, 1, limit, &request)?;
        let answers = take_turns(&mut sides, bed.repeat(STEP_ROUNDS), limit, &request)?;
        drop(sides);
        for (answers, medians) in answers.iter().zip([&mut alone, &mut watched]) {
            let us = each(answers, "step_ns", STEPS as f64 * 1e3)?;
            medians.extend(Spread::of(us).map(|spread| spread.median));
        }
        // A step of each request comes before its timed steps.
        let rounds = answers.last().map_or(0, Vec::len) + 1;
        not_recorded += ((rounds * (STEPS + 1)) as u64).abs_diff(recorded_launches(&result)?);
    }
    figure.times(what, Whose::Alone, &[], &alone);
    figure.times(what, Whose::Watched, &[], &watched);
    if let Some(added) = Spread::of_pairs(&watched, &alone, |w, a| w - a) {
        figure.row(what, Whose::WatchedMinusAlone, &[], Value::Us(added));
    }
    if let Some(ratio) = Spread::of_pairs(&watched, &alone, |w, a| w / a) {
        figure.bar(
            format!("{what}: watched / alone"),
            Quantity::Ratio(STEP_AT_MOST),
            Quantity::Ratio(ratio.median),
            bed.not_judged(),
        );
    }
    figure.bar(
        format!("{what}: launches that were made and not recorded, or the other way round"),
        Quantity::Count(0.0),
        Quantity::Count(not_recorded as f64),
        bed.not_judged(),
    );
    Ok(())
}

/// A program alone and watched. Which of them starts first changes from pair to pair: the
/// second may get other memory of the device, which makes it slower or faster.
fn pair(
    process: usize,
    alone: impl FnOnce() -> anyhow::Result<Side>,
    watched: impl FnOnce() -> anyhow::Result<Side>,
) -> anyhow::Result<[Side; 2]> {
    if process.is_multiple_of(2) {
        Ok([alone()?, watched()?])
    } else {
        let watched = watched()?;
        Ok([alone()?, watched])
    }
}

/// The number of launches of all graph execs in a result of `watch`.
fn recorded_launches(result: &Path) -> anyhow::Result<u64> {
    let text = fs::read_to_string(result)
        .with_context(|| format!("watch wrote no result {}", result.display()))?;
    let json: Json = serde_json::from_str(&text)?;
    launches_in(&json).context("the result of watch has no processes with graphs and launches")
}

fn launches_in(result: &Json) -> Option<u64> {
    let mut launches = 0;
    for process in result["processes"].as_array()? {
        for graph in process["graphs"].as_array()? {
            launches += graph["launches"].as_u64()?;
        }
    }
    Some(launches)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn launches_are_summed_over_processes_and_a_changed_form_is_no_zero() {
        let result = json!({"processes": [
            {"graphs": [{"launches": 3}, {"launches": 4}]},
            {"graphs": []},
            {"graphs": [{"launches": 5}]},
        ]});
        assert_eq!(launches_in(&result), Some(12));
        assert_eq!(launches_in(&json!({"processes": [{"graphs": [{}]}]})), None);
        assert_eq!(launches_in(&json!({})), None);
    }
}
