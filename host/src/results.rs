//! What a run found: plain data, which the reports print and machines read.
//!
//! Every size is in bytes and every time in milliseconds, and the names say so.
//! [`SCHEMA_VERSION`] grows with every change that a reader could trip over.

use serde::{Deserialize, Serialize};

use crate::cuda::{DeviceInfo, Snapshot};

/// The version of the JSON form of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 1;

/// Everything about one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`] of the program that wrote this.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// Where the experiments ran.
    pub backend: Backend,
    /// The device.
    pub device: DeviceInfo,
    /// The kernel that holds graphs open.
    pub kernel: KernelInfo,
    /// How the run was set up.
    pub settings: Settings,
    /// What one launch of one graph of [`Settings::allocation_bytes`] maps,
    /// measured before the experiments.
    pub unit_bytes: u64,
    /// One result an experiment, in the order of the run.
    pub experiments: Vec<ExperimentResult>,
    /// The worst verdict of all.
    pub verdict: Verdict,
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
    /// The call that loaded it.
    pub route: String,
}

/// How a run was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Graphs an experiment, where it uses several.
    pub graphs: usize,
    /// Bytes that each allocation asks for.
    pub allocation_bytes: u64,
    /// The hold that the user fixed, in milliseconds.
    pub fixed_hold_ms: Option<f64>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes.
    Bytes(u64),
    /// At least this many bytes.
    BytesAtLeast(u64),
    /// Bytes at several steps, in order.
    BytesEach(Vec<u64>),
    /// How many.
    Count(usize),
    /// A virtual address.
    Address(u64),
}

/// The evidence that all graphs of an experiment ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapProof {
    /// Measured host time of one launch and one reading, in milliseconds.
    pub launch_cost_ms: f64,
    /// How long each graph was made to run, in milliseconds; the last attempt's.
    pub hold_ms: f64,
    /// Attempts, each with twice the hold of the one before.
    pub attempts: u32,
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
            hold_ms: 1.0,
            attempts: 1,
            streams_busy: vec![true, true, true],
        };
        assert!(proof.holds());
        proof.streams_busy[0] = false;
        assert!(!proof.holds());
    }
}
