//! The experiments: one file each, which reads like the explanation of what it
//! shows. An experiment does things, notes the memory after each, and checks its
//! claims; it prints nothing.

mod concurrent_streams;
mod graphs;
mod notebook;
mod physical_memory_reuse;
mod unfreed_allocations;
mod virtual_address_reuse;

use std::time::{Duration, Instant};

pub use notebook::Notebook;

use crate::cuda::{CudaError, Device, Kernel, Result, Runtime, Stream};
use crate::results::{ExperimentResult, FailedCall, Verdict};

/// The experiments, in the order in which they build on each other.
pub const EXPERIMENTS: &[Experiment] = &[
    virtual_address_reuse::EXPERIMENT,
    physical_memory_reuse::EXPERIMENT,
    concurrent_streams::EXPERIMENT,
    unfreed_allocations::EXPERIMENT,
];

/// One experiment.
#[derive(Debug)]
pub struct Experiment {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence or two.
    pub shows: &'static str,
    run: fn(&Lab<'_>, &mut Notebook<'_>) -> Result<()>,
}

/// What every experiment works with.
#[derive(Debug)]
pub struct Lab<'rt> {
    runtime: &'rt Runtime,
    device: Device<'rt>,
    kernel: &'rt Kernel<'rt>,
    clock_rate_khz: i32,
    graphs: usize,
    allocation_bytes: u64,
    fixed_hold: Option<Duration>,
    unit_bytes: u64,
}

/// What the user can choose about the experiments.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// Graphs an experiment, where it uses several.
    pub graphs: usize,
    /// Bytes that each allocation asks for.
    pub allocation_bytes: u64,
    /// How long graphs run, if the user wants to fix it.
    pub fixed_hold: Option<Duration>,
}

impl<'rt> Lab<'rt> {
    /// Makes the lab ready: measures what one launch of one graph maps.
    ///
    /// # Errors
    ///
    /// Those of the calls; 2 for allocations that the device has no memory for.
    pub fn new(
        runtime: &'rt Runtime,
        device: Device<'rt>,
        kernel: &'rt Kernel<'rt>,
        choices: Choices,
    ) -> Result<Self> {
        let mut lab = Self {
            runtime,
            device,
            kernel,
            clock_rate_khz: device.clock_rate_khz()?,
            graphs: choices.graphs,
            allocation_bytes: choices.allocation_bytes,
            fixed_hold: choices.fixed_hold,
            unit_bytes: 0,
        };
        lab.unit_bytes = lab.measure_unit()?;
        Ok(lab)
    }

    /// What one launch of one graph maps, in bytes.
    ///
    /// Physical memory comes in blocks (M1), so this is the allocation's size
    /// rounded up by a granularity that differs from device to device.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Runs one experiment. An error ends it, keeps what was noted so far, and
    /// leaves the device ready for the next one where that is possible.
    #[must_use]
    pub fn run(&self, experiment: &Experiment) -> ExperimentResult {
        let start = Instant::now();
        let mut notebook = Notebook::new(self.device.graph_memory());
        let outcome = (experiment.run)(self, &mut notebook);
        if outcome.is_err() {
            self.recover();
        }
        let error = outcome.err().map(|error| FailedCall::from(&error));
        let (steps, checks, overlap) = notebook.into_parts();
        let verdict = match error {
            Some(_) => Verdict::Fail,
            None => Verdict::worst(checks.iter().map(|check| check.verdict)),
        };
        ExperimentResult {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            shows: experiment.shows.to_owned(),
            steps,
            checks,
            overlap,
            error,
            duration_ms: milliseconds(start.elapsed()),
            verdict,
        }
    }

    fn measure_unit(&self) -> Result<u64> {
        let (exec, _) = graphs::alloc_free(self)?;
        let stream = Stream::new(self.runtime)?;
        let launched = exec.launch(&stream)?;
        debug_assert!(
            launched.live.is_empty(),
            "the graph frees what it allocates"
        );
        stream.synchronize()?;
        let memory = self.device.graph_memory();
        let unit = memory.snapshot()?.used_bytes;
        exec.destroy()?;
        memory.trim()?;
        Ok(unit)
    }

    /// After an error: lets what still runs end, and gives memory back. What fails
    /// here fails because of the error that is being reported.
    fn recover(&self) {
        for outcome in [
            self.runtime.synchronize(),
            self.device.graph_memory().trim(),
        ] {
            if let Err(error) = outcome {
                log::debug!("while cleaning up: {error}");
            }
        }
    }
}

impl From<&CudaError> for FailedCall {
    fn from(error: &CudaError) -> Self {
        Self {
            call: error.call.to_owned(),
            code: error.code.0,
            name: error.name.clone(),
            text: error.text.clone(),
            advice: error.advice().to_owned(),
        }
    }
}

/// In milliseconds, to the nanosecond.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
