//! Makes graphs run at the same time, and proves that they did.
//!
//! A claim about graphs that overlap means nothing if they did not. So the graphs
//! are held open by a spinning kernel, for a time that is found on this machine: at
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

/// The first hold is this many times what all launches should take.
const HOLD_MARGIN: u32 = 2;

/// The shortest first hold, where launches are so fast that a pause of the host would
/// count for more.
const LEAST_HOLD: Duration = Duration::from_millis(1);

/// No graph is made to run longer than this.
const LONGEST_HOLD: Duration = Duration::from_secs(2);

/// How often the hold is doubled before giving up.
const ATTEMPTS: u32 = 8;

/// What one attempt found.
pub(super) struct Asked {
    /// When the streams were asked, after the last reading of a footprint.
    pub(super) at_ms: f64,
    /// Whether each was still busy.
    pub(super) streams_busy: Vec<bool>,
}

impl Asked {
    /// Asks the streams now.
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
/// a longer hold. Only the last attempt's steps are kept.
pub(super) fn until_proven<'n>(
    lab: &Lab<'_>,
    notebook: &mut Notebook<'n>,
    launches: usize,
    mut attempt: impl FnMut(&mut Notebook<'n>, Duration) -> Result<Asked>,
) -> Result<OverlapProof> {
    let steps_before = notebook.step_count();
    let launch_cost = measure_launch_cost(lab)?;
    let first_hold = launch_cost
        .saturating_mul(u32::try_from(launches).unwrap_or(u32::MAX))
        .saturating_mul(HOLD_MARGIN);
    let mut hold = lab
        .fixed_hold
        .unwrap_or(first_hold.clamp(LEAST_HOLD, LONGEST_HOLD));
    let mut attempts = 1;
    loop {
        let asked = attempt(notebook, hold)?;
        let proof = OverlapProof {
            launch_cost_ms: milliseconds(launch_cost),
            hold_ms: milliseconds(hold),
            attempts,
            asked_at_ms: Some(asked.at_ms),
            streams_busy: asked.streams_busy,
        };
        let give_up = lab.fixed_hold.is_some() || attempts == ATTEMPTS || hold >= LONGEST_HOLD;
        if proof.holds() || give_up {
            return Ok(proof);
        }
        lab.device.graph_memory().trim()?;
        notebook.keep_steps(steps_before);
        hold = (hold * 2).min(LONGEST_HOLD);
        attempts += 1;
    }
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
