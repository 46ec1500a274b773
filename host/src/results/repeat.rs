//! The result of `--repeat`: the memory after each run of the experiments, and its trends.

use serde::{Deserialize, Serialize};

use super::Verdict;
use cuda_graphs::Snapshot;

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
