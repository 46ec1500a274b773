//! A plan as data: what the text shows, and more, for machines.
//!
//! Sizes are in bytes and the names say so. [`SCHEMA_VERSION`] grows with every
//! change that a reader could trip over, and `schema/plan-v2.schema.json` describes
//! the form: a field that is not in it fails the tests.

use serde::{Deserialize, Serialize};

use super::findings::Finding;
use super::name::Name;
use super::replay::Failure;

/// The version of the JSON form.
pub const SCHEMA_VERSION: u32 = 2;

/// A whole plan.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// [`SCHEMA_VERSION`] of the program that wrote this.
    pub schema_version: u32,
    /// The program and its version.
    pub tool: String,
    /// The GPU that the plan is for.
    pub gpu: Gpu,
    /// One per graph.
    pub graphs: Vec<GraphPlan>,
    /// What could be better about the graphs together.
    pub findings: Vec<Finding>,
    /// What happens when they are launched.
    pub schedules: Vec<Schedule>,
    /// Where the schedules were run as well, if they were.
    pub verified_on: Option<VerifiedOn>,
}

impl Plan {
    /// How many schedules were run and compared with what was planned.
    #[must_use]
    pub fn compared_schedules(&self) -> usize {
        let compared = self.schedules.iter();
        compared
            .filter(|schedule| schedule.verification.is_some())
            .count()
    }
}

/// The GPU that a plan is for.
#[derive(Debug, Clone, Serialize)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// The allocation granularity: physical memory is mapped in blocks of this size.
    pub granularity_bytes: u64,
    /// What addresses are multiples of.
    pub address_alignment_bytes: u64,
    /// Its memory.
    pub total_bytes: u64,
}

/// A graph.
#[derive(Debug, Clone, Serialize)]
pub struct GraphPlan {
    /// Its name in the plan.
    pub name: String,
    /// Where it was described.
    pub origin: String,
    /// How many nodes.
    pub nodes: usize,
    /// How many dependencies.
    pub edges: usize,
    /// How many alloc nodes.
    pub alloc_nodes: usize,
    /// How many free nodes.
    pub free_nodes: usize,
    /// Unknown node types, with how many there are.
    pub unknown_types: Vec<(String, usize)>,
    /// What reading it had to say.
    pub notes: Vec<String>,
    /// Why it can never be launched, if so.
    pub problem: Option<Problem>,
    /// Its memory, where there is no problem: on the GPU with the lowest ordinal of those
    /// that it allocates on.
    pub memory: Option<MemoryPlan>,
    /// The same for further GPUs (R45).
    pub other_devices: Vec<MemoryPlan>,
    /// What could be better or is wrong, the worst first.
    pub findings: Vec<Finding>,
}

/// Why a graph can never be launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What is wrong, one sentence.
    pub what: String,
    /// What to do, one sentence.
    pub remedy: String,
    /// The rules that say so; empty where it is no matter of the driver.
    pub rule: &'static str,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
}

/// A graph's memory when it is launched alone.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryPlan {
    /// The ordinal of the GPU.
    pub device: u16,
    /// The sum of all alloc nodes' sizes.
    pub requested_bytes: u64,
    /// The most that is live at once in the order of [`timeline`](Self::timeline). Branches
    /// that run in parallel may have more.
    pub peak_live_bytes: u64,
    /// The node at which that is first reached.
    pub peak_at: Option<Name>,
    /// What a launch maps: attribute UsedMemCurrent after it (M16).
    pub footprint_bytes: u64,
    /// Of the footprint, bytes that no allocation touches: the cost of whole blocks.
    pub rounding_bytes: u64,
    /// What allocations at the same addresses save: requested, less the bytes touched.
    pub shared_bytes: u64,
    /// Attribute ReservedMemCurrent after the first launch, where the rule determines it.
    pub reserved_bytes: Option<u64>,
    /// What a trim leaves until what the launch left allocated is freed (R42).
    pub kept_after_trim_bytes: u64,
    /// `dump`: the driver's own addresses; `computed`: by the driver's rule.
    pub addresses: AddressSource,
    /// Whether the rule gives the dump's addresses; `None` without a dump, and where
    /// computing them takes too long.
    pub rule_explains_dump: Option<bool>,
    /// The first address.
    pub base_address: u64,
    /// Every allocation, in the order of creation.
    pub allocations: Vec<AllocationPlan>,
    /// Ranges of addresses, ascending, with the allocations that have them in turn.
    pub regions: Vec<RegionPlan>,
    /// What each block of the footprint holds, ascending; none where there are more
    /// than 100 000.
    pub blocks: Vec<BlockPlan>,
    /// The memory nodes in an order in which the graph may run.
    pub timeline: Vec<TimelineEvent>,
}

/// Whose addresses a plan has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressSource {
    /// The driver's, from a dump.
    Dump,
    /// By the driver's rule.
    Computed,
}

/// An allocation.
#[derive(Debug, Clone, Serialize)]
pub struct AllocationPlan {
    /// The alloc node.
    pub node: Name,
    /// The bytes requested.
    pub bytes: u64,
    /// From [`MemoryPlan::base_address`].
    pub offset_bytes: u64,
    /// The free node of this graph; with `None` it is left allocated (R14).
    pub freed_by: Option<Name>,
}

/// A range of addresses.
#[derive(Debug, Clone, Serialize)]
pub struct RegionPlan {
    /// From [`MemoryPlan::base_address`].
    pub offset_bytes: u64,
    /// How long.
    pub bytes: u64,
    /// The alloc nodes in the order of creation; more than one share it.
    pub nodes: Vec<Name>,
}

/// A block of the footprint.
#[derive(Debug, Clone, Serialize)]
pub struct BlockPlan {
    /// From [`MemoryPlan::base_address`].
    pub offset_bytes: u64,
    /// How much of it allocations touch.
    pub touched_bytes: u64,
    /// An allocation that the launch leaves allocated touches it.
    pub left_allocated: bool,
}

/// A memory node's turn.
#[derive(Debug, Clone, Serialize)]
pub struct TimelineEvent {
    /// The node.
    pub node: Name,
    /// `alloc` or `free`.
    pub action: &'static str,
    /// The bytes that it allocates or frees.
    pub bytes: u64,
    /// What is live after it.
    pub live_bytes: u64,
}

/// What happens in a series of launches, waits, frees and trims.
#[derive(Debug, Clone, Serialize)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// What is done, in words.
    pub about: String,
    /// `simulation`: run on the simulated runtime; `rule`: computed from the footprints.
    pub planned_by: PlannedBy,
    /// Why it was not simulated, if so.
    pub by_rule_because: Option<&'static str>,
    /// The GPUs whose memory it is about, ascending.
    pub devices: Vec<u16>,
    /// The highest footprint of all steps, on the first of these.
    pub footprint_bytes: u64,
    /// The same on the others.
    pub other_footprint_bytes: Vec<u64>,
    /// Steps whose call fails.
    pub failing_steps: usize,
    /// The steps, in order.
    pub steps: Vec<ScheduleStep>,
    /// What came of it where it was run.
    pub verification: Option<Verification>,
    /// Why it was not run in a verification, if so.
    pub not_compared: Option<&'static str>,
}

/// How a schedule was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedBy {
    /// Run on the simulated runtime.
    Simulation,
    /// By the rules R35 and R36 from each graph's footprint.
    Rule,
}

/// One step.
#[derive(Debug, Clone, Serialize)]
pub struct ScheduleStep {
    /// What is done.
    pub label: String,
    /// What is to come of it.
    pub planned: Outcome,
    /// What came of it where it was run.
    pub measured: Option<Outcome>,
}

/// What comes of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The call that fails.
    pub failure: Option<Failure>,
    /// UsedMemCurrent after it.
    pub used_bytes: u64,
    /// ReservedMemCurrent after it, where the rule determines it.
    pub reserved_bytes: Option<u64>,
    /// Used and reserved on the other GPUs of the schedule, in their order.
    pub other_devices: Vec<Held>,
    /// Streams that still have work after it, where they were queried.
    pub busy_streams: Option<usize>,
}

/// The verdict of a check, an experiment, a run or a verification, ordered from best to
/// worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every claim was confirmed; what was planned was measured.
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

/// What a GPU holds for graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Held {
    /// UsedMemCurrent.
    pub used_bytes: u64,
    /// ReservedMemCurrent.
    pub reserved_bytes: u64,
}

/// Whether a schedule came out as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The verdict.
    pub verdict: Verdict,
    /// What differed, one a line; or why it is inconclusive.
    pub differences: Vec<String>,
    /// Alloc nodes whose address, from the graph's first, was as planned.
    pub addresses_as_planned: usize,
    /// All alloc nodes.
    pub addresses: usize,
}

/// Where schedules were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedOn {
    /// The device's name.
    pub device: String,
    /// The runtime's version.
    pub runtime_version: Option<String>,
    /// The driver's version.
    pub driver_version: Option<String>,
    /// `None` on a GPU; what the simulated runtime says of itself there.
    pub simulation: Option<String>,
}
