//! The experiments, one file each.
//!
//! An experiment calls CUDA, records the memory after each step, and checks its
//! claims. It prints nothing.

mod auto_free;
mod captured;
mod checks;
mod concurrent_streams;
mod conditional;
mod data_survives;
mod finished_elsewhere;
mod granularity;
mod graphs;
mod limits;
mod notebook;
mod order_matters;
mod out_of_memory;
mod overlap;
mod physical_memory_reuse;
mod relaunch_unfreed;
mod size_mix;
mod two_pools;
mod unfreed_allocations;
mod upload;
mod virtual_address_reuse;

use std::cell::Cell;
use std::time::{Duration, Instant};

pub use notebook::Notebook;
use notebook::Notes;

use crate::results::{ExperimentResult, FailedCall, Verdict};
use cuda_graphs::{CudaError, Device, Result, Runtime, Snapshot, SpinKernel, Stream};

/// All experiments: the four of NVIDIA's sample, then those that answer the questions
/// in README.md.
pub const EXPERIMENTS: &[Experiment] = &[
    virtual_address_reuse::EXPERIMENT,
    physical_memory_reuse::EXPERIMENT,
    concurrent_streams::EXPERIMENT,
    unfreed_allocations::EXPERIMENT,
    order_matters::EXPERIMENT,
    auto_free::EXPERIMENT,
    relaunch_unfreed::EXPERIMENT,
    finished_elsewhere::EXPERIMENT,
    size_mix::EXPERIMENT,
    granularity::EXPERIMENT,
    upload::EXPERIMENT,
    limits::EXPERIMENT,
    two_pools::EXPERIMENT,
    captured::EXPERIMENT,
    data_survives::EXPERIMENT,
    conditional::EXPERIMENT,
    // Last, because it may leave memory reserved that no trim returns.
    out_of_memory::EXPERIMENT,
];

/// The experiments of NVIDIA's sample. They run if none is named.
pub const OF_THE_SAMPLE: &[Experiment] = EXPERIMENTS.split_at(4).0;

/// One experiment.
#[derive(Debug)]
pub struct Experiment {
    /// The name for `--experiment`.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The claims, in one to four sentences.
    pub shows: &'static str,
    /// What the claims mean for a program that uses graph memory.
    pub teaches: &'static str,
    /// The rules of its checks and its text, such as `R35`, from [`crate::rules`].
    pub rules: &'static [&'static str],
    run: fn(&Lab<'_>, &mut Notebook<'_>) -> Result<()>,
}

/// What the experiments run on: a runtime, a device, a kernel and settings.
#[derive(Debug)]
pub struct Lab<'rt> {
    runtime: &'rt Runtime,
    device: Device<'rt>,
    kernel: &'rt SpinKernel<'rt>,
    clock_rate_khz: i32,
    choices: Choices,
    launch_footprint_bytes: u64,
    /// Reserved bytes that no trim returned after an experiment.
    lost_bytes: Cell<u64>,
}

/// What the user can choose about the experiments. The result's
/// [`Settings`](crate::results::Settings) are made from it.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// Number of graphs per experiment, in those that use several.
    pub graphs: usize,
    /// The requested size of each allocation, in bytes.
    pub allocation_bytes: u64,
    /// The kernels' spin time, if the user fixes it.
    pub fixed_spin_time: Option<Duration>,
    /// Free device memory that out-of-memory leaves to other programs, in bytes.
    pub leave_bytes: u64,
}

impl<'rt> Lab<'rt> {
    /// Makes the lab and measures the footprint of one launch. `clock_rate_khz` is the
    /// device's nominal clock rate.
    ///
    /// # Errors
    ///
    /// Those of the calls; 2 if the device has too little memory for one allocation.
    pub fn new(
        runtime: &'rt Runtime,
        device: Device<'rt>,
        kernel: &'rt SpinKernel<'rt>,
        clock_rate_khz: i32,
        choices: Choices,
    ) -> Result<Self> {
        let measured = launch_footprint(runtime, device, choices.allocation_bytes);
        let (launch_footprint_bytes, error) = match measured {
            Ok(bytes) => (bytes, None),
            Err(error) => (0, Some(error)),
        };
        match runtime.first_error(error) {
            Some(error) => Err(error),
            None => Ok(Self {
                runtime,
                device,
                kernel,
                clock_rate_khz,
                choices,
                launch_footprint_bytes,
                lost_bytes: Cell::new(0),
            }),
        }
    }

    /// The footprint of one launch: what one launch of a graph with one allocation maps,
    /// in bytes.
    ///
    /// It is the allocation's size rounded up to the allocation granularity (M1), which
    /// differs between devices.
    #[must_use]
    pub fn launch_footprint_bytes(&self) -> u64 {
        self.launch_footprint_bytes
    }

    /// The allocation granularity in bytes: what one launch of a graph that allocates a
    /// single byte maps (M1). Each call measures it.
    ///
    /// # Errors
    ///
    /// Those of the calls.
    pub fn block_bytes(&self) -> Result<u64> {
        launch_footprint(self.runtime, self.device, 1)
    }

    /// Whether this runs on a GPU, so that the host times of calls are meaningful.
    pub(crate) fn is_measured(&self) -> bool {
        self.runtime.model_description().is_none()
    }

    /// The device's current graph memory; `None` if it cannot be read.
    #[must_use]
    pub fn memory_now(&self) -> Option<Snapshot> {
        self.device.graph_memory().snapshot().ok()
    }

    /// Runs one experiment. After an error the result contains the steps and checks so
    /// far, and the device is cleaned up for the next experiment if possible.
    #[must_use]
    pub fn run(&self, experiment: &Experiment) -> ExperimentResult {
        let start = Instant::now();
        let mut notebook = Notebook::new(self.device.graph_memory(), self.lost_bytes.get());
        let outcome = (experiment.run)(self, &mut notebook);
        if outcome.is_err() {
            self.recover();
        }
        let error = self.runtime.first_error(outcome.err());
        let error = error.as_ref().map(FailedCall::from);
        let Notes {
            steps,
            checks,
            allocations,
            overlap,
        } = notebook.into_notes();
        let verdict = match error {
            Some(_) => Verdict::Fail,
            // An experiment without checks has shown nothing.
            None if checks.is_empty() => Verdict::Inconclusive,
            None => Verdict::worst(checks.iter().map(|check| check.verdict)),
        };
        ExperimentResult {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            shows: experiment.shows.to_owned(),
            teaches: experiment.teaches.to_owned(),
            allocations,
            steps,
            checks,
            overlap,
            error,
            duration_ms: milliseconds(start.elapsed()),
            verdict,
        }
    }

    /// After an error: waits for running work and trims. Errors here are consequences of
    /// the reported one, so they are only logged.
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

/// What one launch of a graph that allocates and frees `bytes` maps, in bytes. The device
/// has no graph memory in use before it, and none reserved after it.
pub(crate) fn launch_footprint<'rt>(
    runtime: &'rt Runtime,
    device: Device<'rt>,
    bytes: u64,
) -> Result<u64> {
    let (exec, _) = graphs::alloc_free(runtime, device, bytes)?;
    let stream = Stream::new(runtime)?;
    let launched = exec.launch(&stream)?;
    debug_assert!(
        launched.live.is_empty(),
        "the graph frees what it allocates"
    );
    stream.synchronize()?;
    let memory = device.graph_memory();
    let footprint = memory.snapshot()?.used_bytes;
    exec.destroy()?;
    memory.trim()?;
    Ok(footprint)
}

impl Experiment {
    /// Whether it allocates all free device memory except a margin, so that a GPU user
    /// must allow it with `--yes`.
    #[must_use]
    pub fn fills_the_device(&self) -> bool {
        self.name == out_of_memory::EXPERIMENT.name
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
