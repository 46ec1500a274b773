//! Graphs that run at the same time need memory of their own.
//!
//! The claim is about graphs that overlap, so the overlap is proven in every run:
//! when the last footprint has been read, every stream must still be busy. Then
//! each graph was running, or waiting to, at every launch after its own, and none
//! of its memory could be given to a later one. Where the proof fails the graphs
//! are made to run twice as long and everything is done again.

use std::time::{Duration, Instant};

use super::graphs::alloc_spin_free;
use super::{Experiment, Lab, Notebook, milliseconds};
use crate::cuda::{Result, Stream};
use crate::results::{Action, OverlapProof};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "concurrent-streams",
    title: "Concurrent graphs on several streams",
    shows: "Graphs that may run at the same time cannot share physical memory: each launch \
            adds a unit. That they did overlap is proven, not assumed.",
    run,
};

/// Graphs launched to measure what a launch costs.
const CALIBRATION_LAUNCHES: usize = 4;

/// The first hold is this many times what all launches should take.
const HOLD_MARGIN: u32 = 2;

/// The shortest first hold.
const LEAST_HOLD: Duration = Duration::from_millis(2);

/// No graph is made to run longer than this.
const LONGEST_HOLD: Duration = Duration::from_secs(2);

/// How often the hold is doubled before giving up.
const ATTEMPTS: u32 = 8;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    notebook.baseline()?;
    let steps_before = notebook.step_count();
    let launch_cost = measure_launch_cost(lab)?;

    let launches = u32::try_from(lab.graphs).unwrap_or(u32::MAX);
    let first_hold = launch_cost
        .saturating_mul(launches)
        .saturating_mul(HOLD_MARGIN);
    let mut hold = lab
        .fixed_hold
        .unwrap_or(first_hold.clamp(LEAST_HOLD, LONGEST_HOLD));
    let mut attempts = 1;
    let proof = loop {
        let streams_busy = launch_all(lab, notebook, hold)?;
        let proof = OverlapProof {
            launch_cost_ms: milliseconds(launch_cost),
            hold_ms: milliseconds(hold),
            attempts,
            streams_busy,
        };
        let give_up = lab.fixed_hold.is_some() || attempts == ATTEMPTS || hold >= LONGEST_HOLD;
        if proof.holds() || give_up {
            break proof;
        }
        lab.device.graph_memory().trim()?;
        notebook.keep_steps(steps_before);
        hold = (hold * 2).min(LONGEST_HOLD);
        attempts += 1;
    };

    let unit = lab.unit_bytes();
    let first_check = notebook.check_count_so_far();
    let grown: Vec<_> = (1..=lab.graphs as u64)
        .map(|launches| launches * unit)
        .collect();
    let measured = notebook.used_after(Action::Launch);
    notebook.check_series("R36", "each launch adds one unit", grown, measured);
    let at_end = notebook
        .used_after(Action::Synchronize)
        .last()
        .copied()
        .unwrap_or(0);
    let all = lab.graphs as u64 * unit;
    notebook.check_bytes(
        "R34",
        "all units are still held when all graphs are done",
        all,
        at_end,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// One attempt: a graph and a stream each, launched as fast as the footprint can be
/// read. Returns whether each stream was still busy after the last reading.
fn launch_all(lab: &Lab<'_>, notebook: &mut Notebook<'_>, hold: Duration) -> Result<Vec<bool>> {
    let pairs = notebook
        .step(
            format!("instantiate {} graphs", lab.graphs),
            Action::Instantiate,
        )
        .done(|| {
            let pair = |_| Ok((alloc_spin_free(lab, hold)?, Stream::new(lab.runtime)?));
            (0..lab.graphs).map(pair).collect::<Result<Vec<_>>>()
        })?;
    for (index, ((exec, address), stream)) in pairs.iter().enumerate() {
        let _ = notebook
            .step(
                format!("launch graph {index} on stream {index}"),
                Action::Launch,
            )
            .graph(index)
            .stream(index)
            .address(*address)
            .done(|| exec.launch(stream))?;
    }
    let streams_busy = pairs
        .iter()
        .map(|(_, stream)| stream.is_busy())
        .collect::<Result<_>>()?;
    notebook
        .step("synchronize all streams", Action::Synchronize)
        .done(|| {
            pairs
                .iter()
                .try_for_each(|(_, stream)| stream.synchronize())
        })?;
    for ((exec, _), stream) in pairs {
        exec.destroy()?;
        stream.destroy()?;
    }
    Ok(streams_busy)
}

/// Host time of one first launch and one reading of the footprint, the worst of a few.
fn measure_launch_cost(lab: &Lab<'_>) -> Result<Duration> {
    let memory = lab.device.graph_memory();
    let stream = Stream::new(lab.runtime)?;
    let mut worst = Duration::ZERO;
    for _ in 0..CALIBRATION_LAUNCHES.min(lab.graphs) {
        let (exec, _) = alloc_spin_free(lab, Duration::ZERO)?;
        let start = Instant::now();
        let _ = exec.launch(&stream)?;
        memory.snapshot()?;
        worst = worst.max(start.elapsed());
        stream.synchronize()?;
        exec.destroy()?;
        // So that the next launch maps anew, as the launches to be timed do.
        memory.trim()?;
    }
    memory.reset_high_marks()?;
    Ok(worst)
}
