//! The result of a run as plain data, which the reports print.
//!
//! Sizes are in bytes and times in milliseconds, as the field names say.
//! [`SCHEMA_VERSION`] is increased by every incompatible change.
//! `schema/result-v3.schema.json` describes the JSON form, and a field that is missing
//! there fails the tests.

pub mod read;
pub(crate) mod trend;

use serde::{Deserialize, Serialize};

use cuda_graphs::{DeviceInfo, Snapshot};

/// The version of the JSON form of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 3;

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The [`SCHEMA_VERSION`] of the program that wrote the result.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// When the run began, as RFC 3339 in UTC.
    pub started_at: String,
    /// Where the experiments ran.
    pub backend: Backend,
    /// The kernel that keeps graphs running.
    pub kernel: KernelInfo,
    /// The settings of the run.
    pub settings: Settings,
    /// One entry per device, in the order of the run; usually there is one.
    pub devices: Vec<DeviceResult>,
    /// Whether the run was interrupted with Ctrl-C.
    pub interrupted: bool,
    /// Host time of the whole run, in milliseconds; `None` during the run.
    pub duration_ms: Option<f64>,
    /// The worst verdict of all devices.
    pub verdict: Verdict,
}

/// The result on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// The device's ordinal.
    pub ordinal: i32,
    /// The device; `None` if its properties could not be read.
    pub device: Option<DeviceInfo>,
    /// The call that loaded the kernel; `None` if it was not loaded.
    pub kernel_route: Option<String>,
    /// The footprint of one launch: what one launch of a graph that allocates
    /// [`Settings::allocation_bytes`] maps, measured before the experiments; `None` if an
    /// error occurred before that.
    pub launch_footprint_bytes: Option<u64>,
    /// One result per experiment, in the order of the run. With `--repeat` these are the
    /// results of [`Repeat::kept_cycle`].
    pub experiments: Vec<ExperimentResult>,
    /// The memory after each cycle, with `--repeat`.
    pub repeat: Option<Repeat>,
    /// Why no experiment was run, or an error after the experiments.
    pub stopped: Option<Stopped>,
    /// The worst verdict of this device.
    pub verdict: Verdict,
}

impl DeviceResult {
    /// A device before anything was run on it.
    #[must_use]
    pub fn new(ordinal: i32) -> Self {
        Self {
            ordinal,
            device: None,
            kernel_route: None,
            launch_footprint_bytes: None,
            experiments: Vec::new(),
            repeat: None,
            stopped: None,
            verdict: Verdict::Pass,
        }
    }
}

/// Why no experiment was run on a device, or an error when its handles were closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Whether the device cannot run the experiments, as opposed to an error.
    pub waived: bool,
    /// What happened.
    pub what: String,
    /// What to try.
    pub remedy: String,
}

/// The program that made a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A GPU with a CUDA runtime, or the simulated GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backend {
    /// Which of the two.
    pub kind: BackendKind,
    /// The description of the simulated runtime; `None` on a GPU.
    pub model: Option<String>,
    /// Why the simulated GPU was chosen, if `--backend` left the choice open.
    pub why: Option<String>,
    /// The file of the runtime library; `None` for the built-in simulated runtime.
    pub runtime_path: Option<String>,
    /// How the library was found.
    pub runtime_found_by: String,
    /// The runtime's version, such as `12.4`.
    pub runtime_version: Option<String>,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver_version: Option<String>,
}

/// Whether the numbers were measured or simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// Measured on a GPU.
    Cuda,
    /// Computed by the simulated runtime.
    Model,
}

/// The spinning kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name in the PTX.
    pub name: String,
    /// Where the PTX came from: `embedded`, or a file.
    pub source: String,
    /// The PTX `.version`.
    pub ptx_version: String,
    /// The PTX `.target`.
    pub ptx_target: String,
    /// The compiler that wrote it, if the PTX says.
    pub compiler: Option<String>,
    /// The provenance in the header of the PTX, as keys and values.
    #[serde(default)]
    pub provenance: Vec<(String, String)>,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of graphs per experiment.
    pub graphs: usize,
    /// The requested size of each allocation, in bytes.
    pub allocation_bytes: u64,
    /// The spin time that the user fixed, in milliseconds.
    pub fixed_spin_time_ms: Option<f64>,
    /// The number of requested runs.
    #[serde(default = "once")]
    pub repeat: usize,
    /// The profile of the simulated GPU, a built-in name or a file, if one was given.
    #[serde(default)]
    pub model_profile: Option<String>,
    /// The clock of the simulated GPU; `None` on a GPU.
    #[serde(default)]
    pub model_clock: Option<ModelClock>,
}

fn once() -> usize {
    1
}

/// The clock of the simulated GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ModelClock {
    /// The host's clock; host times include the simulated work.
    Real,
    /// A clock that advances only by the simulated cost of each call.
    Virtual,
}

/// The result of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// The name for `--experiment`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The claims in a few sentences.
    pub shows: String,
    /// What the claims mean for a program.
    #[serde(default)]
    pub teaches: String,
    /// The allocations that its graphs make, and their addresses.
    #[serde(default)]
    pub allocations: Vec<Allocation>,
    /// The steps, with the memory after each.
    pub steps: Vec<Step>,
    /// The checked claims.
    pub checks: Vec<Check>,
    /// Whether graphs ran at the same time, in experiments that need it.
    pub overlap: Option<OverlapProof>,
    /// The error that ended the experiment early.
    pub error: Option<FailedCall>,
    /// Host time of the whole experiment, in milliseconds.
    pub duration_ms: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// An allocation that a graph makes at each launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Its name in the experiment.
    pub name: String,
    /// The graph that makes it, counted from 0.
    pub graph: usize,
    /// Its virtual address, fixed when the alloc node was added (R1).
    pub address: u64,
    /// The requested size in bytes.
    pub bytes: u64,
}

/// One step, and the memory after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// A description of the action.
    pub label: String,
    /// The kind of action.
    pub action: Action,
    /// The graph, counted from 0.
    pub graph: Option<usize>,
    /// The stream, counted from 0.
    pub stream: Option<usize>,
    /// The virtual address.
    pub address: Option<u64>,
    /// The spin time of the graph's kernel, in milliseconds.
    #[serde(default)]
    pub spin_time_ms: Option<f64>,
    /// Host time from the experiment's start to the end of the action, in milliseconds.
    pub at_ms: f64,
    /// Host time of the action, in milliseconds.
    pub took_ms: f64,
    /// The memory after the step.
    pub memory: Snapshot,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing was done: the state at the start.
    Baseline,
    /// Graphs were built and instantiated.
    Instantiate,
    /// A graph was uploaded, which maps its memory before the launch.
    Upload,
    /// A graph was launched.
    Launch,
    /// The host waited.
    Synchronize,
    /// Allocations were freed outside a graph.
    Free,
    /// Graph execs were destroyed.
    Destroy,
    /// The graph memory was trimmed.
    Trim,
    /// Memory was allocated outside a graph.
    Allocate,
    /// A call that CUDA should refuse; the memory after it shows whether it changed
    /// anything.
    Refuse,
}

impl Action {
    /// The name in JSON and CSV.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Instantiate => "instantiate",
            Self::Upload => "upload",
            Self::Launch => "launch",
            Self::Synchronize => "synchronize",
            Self::Free => "free",
            Self::Destroy => "destroy",
            Self::Trim => "trim",
            Self::Allocate => "allocate",
            Self::Refuse => "refuse",
        }
    }
}

/// One checked claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The rules of the claim, such as `R35`.
    pub rule: String,
    /// The claim.
    pub claim: String,
    /// The expected value.
    pub expected: Quantity,
    /// The measured value.
    pub measured: Quantity,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why the check is inconclusive, if it is.
    pub reason: Option<String>,
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes.
    Bytes(u64),
    /// At least this many bytes.
    BytesAtLeast(u64),
    /// At most this many bytes.
    BytesAtMost(u64),
    /// Bytes at several steps, in order.
    BytesEach(Vec<u64>),
    /// A count.
    Count(usize),
    /// A virtual address.
    Address(u64),
    /// The error code that a call returned, 0 for success.
    Code(i32),
    /// Milliseconds.
    Milliseconds(f64),
    /// Less than this many milliseconds.
    MillisecondsBelow(f64),
}

/// The evidence that the graphs of an experiment ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapProof {
    /// Measured host time of one launch and one reading, in milliseconds.
    pub launch_cost_ms: f64,
    /// The spin time of each graph in the last attempt, in milliseconds.
    pub spin_time_ms: f64,
    /// The number of attempts, each with twice the spin time of the previous one.
    pub attempts: u32,
    /// Host time from the experiment's start to the moment when the streams were
    /// queried, in milliseconds.
    #[serde(default)]
    pub queried_at_ms: Option<f64>,
    /// Whether each stream was still busy after the last footprint was read.
    pub streams_busy: Vec<bool>,
}

impl OverlapProof {
    /// Whether every stream was still busy. Then each was busy at every earlier moment
    /// since its launch.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.streams_busy.iter().all(|&busy| busy)
    }
}

/// The experiments run many times in one process, and whether memory grew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The requested number of cycles.
    pub cycles_requested: usize,
    /// The memory after each cycle that ended.
    pub cycles: Vec<Cycle>,
    /// The cycle, counted from 1, whose experiments are in the result: the first with
    /// the worst verdict.
    pub kept_cycle: usize,
    /// The trend of each kind of memory.
    pub trends: Vec<Trend>,
    /// The worst verdict of the trends.
    pub verdict: Verdict,
}

/// The memory after one cycle of experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// Counted from 1.
    pub cycle: usize,
    /// Host time of the cycle, in milliseconds.
    pub duration_ms: f64,
    /// The worst verdict of the cycle's experiments.
    pub verdict: Verdict,
    /// Resident memory of this process; `None` if the system does not report it.
    pub host_resident_bytes: Option<u64>,
    /// The device's memory; `None` if it could not be read.
    pub memory: Option<Snapshot>,
}

impl Cycle {
    /// The bytes of one kind; `None` if they could not be read.
    #[must_use]
    pub fn bytes(&self, kind: MemoryKind) -> Option<u64> {
        let memory = self.memory.as_ref();
        match kind {
            MemoryKind::HostResident => self.host_resident_bytes,
            MemoryKind::DeviceInUse => {
                memory.map(|m| m.device_total_bytes.saturating_sub(m.device_free_bytes))
            }
            MemoryKind::GraphUsed => memory.map(|m| m.used_bytes),
            MemoryKind::GraphReserved => memory.map(|m| m.reserved_bytes),
        }
    }
}

/// The trend of one kind of memory from cycle to cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The kind of memory.
    pub memory: MemoryKind,
    /// The number of evaluated cycles, without the first ones, which fill caches.
    pub cycles: usize,
    /// The slope, in bytes per cycle.
    pub bytes_per_cycle: f64,
    /// The smallest growth that can be detected, in bytes per cycle.
    pub resolution_bytes_per_cycle: f64,
    /// Whether the memory grew.
    pub growth: Growth,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, if the trend is unknown or inconclusive.
    pub reason: Option<String>,
}

/// The kinds of memory that `--repeat` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Resident memory of this process.
    HostResident,
    /// The device's memory that is not free, of all processes.
    DeviceInUse,
    /// Used graph memory.
    GraphUsed,
    /// Reserved graph memory.
    GraphReserved,
}

/// Whether memory grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// It grew by no more than can be detected.
    Flat,
    /// It grew by more than that.
    Grows,
    /// There were too few cycles to decide.
    Unknown,
}

/// A CUDA call that ended an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// The C function.
    pub call: String,
    /// The code.
    pub code: i32,
    /// The code's name.
    pub name: String,
    /// The library's description of it.
    pub text: String,
    /// What to do.
    pub advice: String,
}

/// The verdict of a check, an experiment or a run, ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every claim was confirmed.
    Pass,
    /// The claim's condition could not be brought about, so nothing follows.
    Inconclusive,
    /// Something else was measured, or an error came in the way.
    Fail,
}

impl Verdict {
    /// The worst of several; `Pass` of none.
    pub fn worst(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Pass)
    }

    /// As printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_an_inconclusive_check() {
        use Verdict::{Fail, Inconclusive, Pass};
        assert_eq!(Verdict::worst([Pass, Inconclusive, Fail, Pass]), Fail);
        assert_eq!(Verdict::worst([Pass, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::worst([]), Pass);
    }

    #[test]
    fn one_idle_stream_breaks_the_proof() {
        let mut proof = OverlapProof {
            launch_cost_ms: 0.1,
            spin_time_ms: 1.0,
            attempts: 1,
            queried_at_ms: None,
            streams_busy: vec![true, true, true],
        };
        assert!(proof.holds());
        proof.streams_busy[0] = false;
        assert!(!proof.holds());
    }
}
