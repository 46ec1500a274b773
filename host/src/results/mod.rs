//! What a run found: plain data, which the reports print and machines read.
//!
//! Every size is in bytes and every time in milliseconds, and the names say so.
//! [`SCHEMA_VERSION`] grows with every change that a reader could trip over, and
//! `schema/result-v3.schema.json` describes the form: a field that is not in it
//! fails the tests.

pub mod read;
pub(crate) mod trend;

use serde::{Deserialize, Serialize};

use cuda_graphs::{DeviceInfo, Snapshot};

/// The version of the JSON form of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 3;

/// Everything about one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`] of the program that wrote this.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// When the run began, as RFC 3339 in UTC.
    pub started_at: String,
    /// Where the experiments ran.
    pub backend: Backend,
    /// The kernel that keeps graphs running.
    pub kernel: KernelInfo,
    /// How the run was set up.
    pub settings: Settings,
    /// One section a device, in the order of the run; usually there is one.
    pub devices: Vec<DeviceResult>,
    /// Whether the run was ended early from outside (Ctrl-C).
    pub interrupted: bool,
    /// Host time of the whole run, in milliseconds; `None` while the run is under way.
    pub duration_ms: Option<f64>,
    /// The worst verdict of all.
    pub verdict: Verdict,
}

/// What was found on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// The device's ordinal.
    pub ordinal: i32,
    /// The device; `None` if it did not even tell about itself.
    pub device: Option<DeviceInfo>,
    /// The call that loaded the kernel; `None` if it was not loaded.
    pub kernel_route: Option<String>,
    /// What one launch of one graph of [`Settings::allocation_bytes`] maps,
    /// measured before the experiments; `None` if it came to nothing before that.
    pub launch_footprint_bytes: Option<u64>,
    /// One result an experiment, in the order of the run. Of a repeated run, those
    /// of [`Repeat::kept_cycle`].
    pub experiments: Vec<ExperimentResult>,
    /// The memory over many cycles, where they were asked for.
    pub repeat: Option<Repeat>,
    /// Why there are no experiments, if there are none; or what went wrong after them.
    pub stopped: Option<Stopped>,
    /// The worst verdict of this device.
    pub verdict: Verdict,
}

impl DeviceResult {
    /// A device of which nothing is known yet.
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

/// Why a device came to nothing, or what could not be closed when it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Whether the device cannot do this at all, rather than having failed.
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

/// A GPU through a CUDA runtime, or the model of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backend {
    /// Which of the two.
    pub kind: BackendKind,
    /// What the model says of itself; `None` for a GPU.
    pub model: Option<String>,
    /// Why the model was taken where the choice was free.
    pub why: Option<String>,
    /// The runtime library's file; `None` for the built-in model.
    pub runtime_path: Option<String>,
    /// What led to the library.
    pub runtime_found_by: String,
    /// The runtime's version, such as `12.4`.
    pub runtime_version: Option<String>,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver_version: Option<String>,
}

/// Whether numbers were measured or modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// Measured on a GPU.
    Cuda,
    /// Computed by the model runtime.
    Model,
}

/// The kernel in use.
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
    /// What the PTX's header says of how it was made, key and value.
    #[serde(default)]
    pub provenance: Vec<(String, String)>,
}

/// How a run was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Graphs an experiment, where it uses several.
    pub graphs: usize,
    /// The requested size of each allocation, in bytes.
    pub allocation_bytes: u64,
    /// The spin time that the user fixed, in milliseconds.
    pub fixed_spin_time_ms: Option<f64>,
    /// How often the experiments were to run.
    #[serde(default = "once")]
    pub repeat: usize,
    /// The model's machine, a built-in name or a file, where the user named one.
    #[serde(default)]
    pub model_profile: Option<String>,
    /// The model's clock; `None` on a GPU.
    #[serde(default)]
    pub model_clock: Option<ModelClock>,
}

fn once() -> usize {
    1
}

/// Where the model's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ModelClock {
    /// The host's clock; host times include the simulated work.
    Real,
    /// A clock that advances only by the simulated cost of each call.
    Virtual,
}

/// What one experiment found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// The name by which it is chosen.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it shows, in a sentence or two.
    pub shows: String,
    /// What to take away from it.
    #[serde(default)]
    pub teaches: String,
    /// The allocations that its graphs make, and their addresses.
    #[serde(default)]
    pub allocations: Vec<Allocation>,
    /// What was done, and the memory after each step.
    pub steps: Vec<Step>,
    /// What was claimed, and whether it held.
    pub checks: Vec<Check>,
    /// The proof that graphs ran at the same time, where it matters.
    pub overlap: Option<OverlapProof>,
    /// The error that ended the experiment early.
    pub error: Option<FailedCall>,
    /// Host time of the whole experiment, in milliseconds.
    pub duration_ms: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// An allocation that a graph makes whenever it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// What the experiment calls it.
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
    /// What was done, for people.
    pub label: String,
    /// What was done, for machines.
    pub action: Action,
    /// The graph it was done to, counted from 0.
    pub graph: Option<usize>,
    /// The stream it was done in, counted from 0.
    pub stream: Option<usize>,
    /// The virtual address it is about.
    pub address: Option<u64>,
    /// How long the graph's kernel was told to spin, in milliseconds.
    #[serde(default)]
    pub spin_time_ms: Option<f64>,
    /// Host time from the experiment's start to the end of the action, in milliseconds.
    pub at_ms: f64,
    /// Host time of the action alone, in milliseconds.
    pub took_ms: f64,
    /// The memory after it.
    pub memory: Snapshot,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing: the state before.
    Baseline,
    /// Graphs were built and instantiated.
    Instantiate,
    /// A graph's memory was mapped ahead of its launch.
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
    /// A call was made that is to be refused; the memory after it tells whether it
    /// left anything behind.
    Refuse,
}

impl Action {
    /// As in JSON and CSV.
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

/// One claim, and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The rules that it rests on, such as `R35`.
    pub rule: String,
    /// The claim.
    pub claim: String,
    /// What the claim expects.
    pub expected: Quantity,
    /// What was measured.
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
    /// How many.
    Count(usize),
    /// A virtual address.
    Address(u64),
    /// The code that a call returned, 0 for success.
    Code(i32),
    /// Milliseconds.
    Milliseconds(f64),
    /// Less than this many milliseconds.
    MillisecondsBelow(f64),
}

/// The evidence that all graphs of an experiment ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapProof {
    /// Measured host time of one launch and one reading, in milliseconds.
    pub launch_cost_ms: f64,
    /// How long each graph was made to run, in milliseconds; the last attempt's.
    pub spin_time_ms: f64,
    /// Attempts, each with twice the spin time of the one before.
    pub attempts: u32,
    /// Host time from the experiment's start to the moment when the streams were
    /// queried, in milliseconds.
    #[serde(default)]
    pub queried_at_ms: Option<f64>,
    /// Whether each stream still had work when the last footprint had been read.
    pub streams_busy: Vec<bool>,
}

impl OverlapProof {
    /// Whether every stream still had work: then all of them had at every earlier
    /// moment since their launch.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.streams_busy.iter().all(|&busy| busy)
    }
}

/// The experiments run many times in one process: does anything grow?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The requested number of cycles.
    pub cycles_requested: usize,
    /// The memory after each cycle that ended.
    pub cycles: Vec<Cycle>,
    /// The cycle, counted from 1, whose experiments are in the result: the first of
    /// the worst verdict.
    pub kept_cycle: usize,
    /// How each kind of memory moved.
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
    /// Resident memory of this process; `None` where the system does not tell.
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

/// How one kind of memory moved from cycle to cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Which memory.
    pub memory: MemoryKind,
    /// The cycles that were looked at: those after the first few, which fill caches.
    pub cycles: usize,
    /// The slope, in bytes per cycle.
    pub bytes_per_cycle: f64,
    /// What could not be told from nothing, in bytes per cycle.
    pub resolution_bytes_per_cycle: f64,
    /// What follows.
    pub growth: Growth,
    /// Whether that is as it should be.
    pub verdict: Verdict,
    /// Why nothing follows, if nothing does.
    pub reason: Option<String>,
}

/// The kinds of memory that a repeated run watches.
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
    /// No more than could be told from nothing.
    Flat,
    /// By more than that.
    Grows,
    /// Too few cycles to say.
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

/// What came of a check, an experiment, or a run. Ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Everything claimed was measured.
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
