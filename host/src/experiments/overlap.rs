//! Runs graphs at the same time, and checks that they did overlap.
//!
//! A claim about graphs that overlap means nothing if they did not. So the graphs
//! are kept running by a spinning kernel, for a time that is found on this machine: at
//! first twice what all launches should take, then twice as long as before, until
//! every stream is seen to be busy after the last footprint has been read. Each
//! graph was running then, or waiting to, at every launch after its own.

use std::time::{Duration, Instant};

use super::graphs::alloc_spin_free;
use super::{Lab, Notebook, milliseconds};
use crate::results::OverlapProof;
use cuda_graphs::{Result, Stream};

/// Graphs launched to measure what a launch costs.
const CALIBRATION_LAUNCHES: usize = 2;

/// The first spin time is this many times what all launches should take.
const SPIN_TIME_MARGIN: u32 = 2;

/// The shortest first spin time, where launches are so fast that a pause of the host would
/// count for more.
const LEAST_SPIN_TIME: Duration = Duration::from_millis(1);

/// No graph is made to run longer than this.
const LONGEST_SPIN_TIME: Duration = Duration::from_secs(2);

/// How often the spin time is doubled before giving up.
const ATTEMPTS: u32 = 8;

/// What one attempt found.
pub(super) struct Queried {
    /// When the streams were queried, after the last reading of a footprint.
    pub(super) at_ms: f64,
    /// Whether each was still busy.
    pub(super) streams_busy: Vec<bool>,
}

impl Queried {
    /// Queries the streams now.
    pub(super) fn now<'s, 'rt: 's>(
        notebook: &Notebook<'_>,
        streams: impl IntoIterator<Item = &'s Stream<'rt>>,
    ) -> Result<Self> {
        Ok(Self {
            at_ms: notebook.now_ms(),
            streams_busy: streams
                .into_iter()
                .map(Stream::is_busy)
                .collect::<Result<_>>()?,
        })
    }
}

/// Attempts until the overlap of `launches` graphs is proven, or there is no point in
/// a longer spin time. Only the last attempt's steps are kept.
pub(super) fn until_proven<'n>(
    lab: &Lab<'_>,
    notebook: &mut Notebook<'n>,
    launches: usize,
    mut attempt: impl FnMut(&mut Notebook<'n>, Duration) -> Result<Queried>,
) -> Result<OverlapProof> {
    let steps_before = notebook.step_count();
    let launch_cost = measure_launch_cost(lab)?;
    let first_spin_time = launch_cost
        .saturating_mul(u32::try_from(launches).unwrap_or(u32::MAX))
        .saturating_mul(SPIN_TIME_MARGIN);
    let mut spin_time = lab
        .choices
        .fixed_spin_time
        .unwrap_or(first_spin_time.clamp(LEAST_SPIN_TIME, LONGEST_SPIN_TIME));
    let mut attempts = 1;
    loop {
        let queried = attempt(notebook, spin_time)?;
        let proof = OverlapProof {
            launch_cost_ms: milliseconds(launch_cost),
            spin_time_ms: milliseconds(spin_time),
            attempts,
            queried_at_ms: Some(queried.at_ms),
            streams_busy: queried.streams_busy,
        };
        let give_up = lab.choices.fixed_spin_time.is_some()
            || attempts == ATTEMPTS
            || spin_time >= LONGEST_SPIN_TIME;
        if proof.holds() || give_up {
            return Ok(proof);
        }
        // The next attempt begins as the first did.
        let memory = lab.device.graph_memory();
        memory.trim()?;
        memory.reset_high_marks()?;
        notebook.keep_steps(steps_before);
        spin_time = (spin_time * 2).min(LONGEST_SPIN_TIME);
        attempts += 1;
    }
}

/// Host time of one first launch and one reading of the footprint, the worst of a few.
fn measure_launch_cost(lab: &Lab<'_>) -> Result<Duration> {
    let memory = lab.device.graph_memory();
    let stream = Stream::new(lab.runtime)?;
    let mut worst = Duration::ZERO;
    for _ in 0..CALIBRATION_LAUNCHES.min(lab.choices.graphs) {
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
