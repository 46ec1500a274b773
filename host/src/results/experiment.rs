//! The result of one experiment: its steps, its checks, and why it ended early.

use serde::{Deserialize, Serialize};

use super::Verdict;
use cuda_graphs::Snapshot;

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

#[cfg(test)]
mod tests {
    use super::*;

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
