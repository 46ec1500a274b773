//! What was seen of a watched program, as data: what the text shows, and more, for
//! machines.
//!
//! Sizes are in bytes, times in nanoseconds, and the names say so.
//! `schema/watch-v1.schema.json` describes the form: a field that is not in it fails
//! the tests.

use std::collections::BTreeMap;

use graph_memory_plan::findings::Severity;
use serde::{Deserialize, Serialize};

/// What the `format` field says, which distinguishes this file from other results.
pub const FORMAT: &str = "graph-memory-watch";

/// The version of the JSON form.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that was seen of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchResult {
    /// [`FORMAT`].
    pub format: String,
    /// [`SCHEMA_VERSION`] of the program that wrote this.
    pub schema_version: u32,
    /// The program that wrote this, and its version.
    pub tool: String,
    /// The command that was watched; empty where only its recording was read.
    pub command: Vec<String>,
    /// How the command ended, where this program started it.
    pub end: Option<End>,
    /// The processes that used CUDA, by the time at which they started.
    pub processes: Vec<ProcessResult>,
    /// Processes in which no CUDA was seen, such as shells and data loaders.
    pub processes_without_cuda: usize,
    /// Graphs as the driver printed them, by the names that [`GraphResult::dot`] has.
    pub dots: BTreeMap<String, String>,
    /// Notes on the recording as a whole.
    pub notes: Vec<String>,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// A signal of this number ended it.
    Signal(i32),
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessResult {
    /// The name of its record, `PID.N`.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// The path of the program.
    pub executable: String,
    /// Its command line.
    pub arguments: Vec<String>,
    /// When it started, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// `cuDriverGetVersion`, such as 13000.
    pub driver_version: Option<i32>,
    /// Whether it ended by `exit` or by returning from `main`. Otherwise it was killed,
    /// crashed, called `_exit`, or still ran.
    pub exited: bool,
    /// Why little or nothing was seen, if so.
    pub blind: Option<Blind>,
    /// Its devices, by ordinal.
    pub devices: Vec<DeviceResult>,
    /// Graph execs, in the order of instantiation.
    pub graphs: Vec<GraphResult>,
    /// The same execs, equal ones together, the largest first.
    pub groups: Vec<Group>,
    /// Stream captures, in order.
    pub captures: Vec<CaptureResult>,
    /// Launches and what else changes graph memory, in order, as far as it was recorded: an
    /// exec's first launch and those after which memory had changed.
    pub steps: Vec<RecordedStep>,
    /// Calls of `cuGraphInstantiate` that failed.
    pub failed_instantiations: Vec<FailedCall>,
    /// What planning the recorded graphs says beside what was measured.
    pub planned: Vec<PlannedDevice>,
    /// What is wrong or could take less memory, the largest saving first.
    pub findings: Vec<Finding>,
    /// Notes on this record.
    pub notes: Vec<String>,
}

/// Why a process shows little or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blind {
    /// No CUDA driver was found in the process.
    NoCuda,
    /// CUDA started, and no call of it was intercepted.
    NotIntercepted,
    /// CUDA was used, and no graph was instantiated.
    NoGraphs,
}

/// A device of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// Its ordinal in this process.
    pub device: i32,
    /// Its name.
    pub name: Option<String>,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Its memory.
    pub total_bytes: Option<u64>,
    /// Where its memory went.
    pub account: Account,
    /// The four graph memory attributes at the end.
    pub graph_memory: Option<GraphMemory>,
    /// The highest reserved memory of graphs that was read, in bytes.
    pub graph_reserved_peak_bytes: u64,
    /// How often the program trimmed graph memory.
    pub trims: u64,
    /// What the trims gave back, in bytes.
    pub trimmed_bytes: u64,
    /// The readings at every change, by time.
    pub timeline: Vec<Sample>,
}

/// The four graph memory attributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphMemory {
    /// UsedMemCurrent.
    pub used_bytes: u64,
    /// UsedMemHigh.
    pub used_high_bytes: u64,
    /// ReservedMemCurrent.
    pub reserved_bytes: u64,
    /// ReservedMemHigh.
    pub reserved_high_bytes: u64,
}

/// Where a device's memory went, as a sum: the entries add up to `lost_bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The device's memory less its free memory at the last reading. Free memory is of
    /// the whole device, so other processes are in it.
    pub lost_bytes: i64,
    /// What of it is what for.
    pub entries: Vec<Entry>,
}

/// One entry of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What for.
    pub what: Use,
    /// Bytes; negative where more was returned than taken.
    pub bytes: i64,
    /// Who took it, by library, the largest first. Empty where that is not known.
    pub by_library: Vec<(String, i64)>,
}

/// What device memory is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// In use at the first reading: the context, and whatever else was on the device.
    Context,
    /// Plain and virtual allocations outside of captures.
    Plain,
    /// Plain and virtual allocations while a stream captured.
    PlainInCapture,
    /// Stream-ordered pools: what they reserve.
    StreamOrderedPools,
    /// Graph memory: what the device's graph memory pool reserves.
    GraphMemory,
    /// Instantiation, launch, upload, update and destruction of graph execs, beside graph
    /// memory.
    GraphExecs,
    /// Streams and events.
    Streams,
    /// Modules and libraries of kernels.
    Modules,
    /// Kernels loaded at their first launch, and their local memory.
    Kernels,
    /// Arrays.
    Arrays,
    /// Pinned host memory, as far as the device needs memory for it.
    Host,
    /// Calls of an unknown kind.
    Other,
    /// Changed between two calls that the library watches: kernels loaded at their first
    /// launch, local memory, other processes on the device.
    Unexplained,
}

impl Use {
    /// What it is, for a table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "CUDA context and everything before it",
            Self::Plain => "plain allocations",
            Self::PlainInCapture => "plain allocations during captures",
            Self::StreamOrderedPools => "stream-ordered pools, reserved",
            Self::GraphMemory => "graph memory, reserved",
            Self::GraphExecs => "graph execs, beside graph memory",
            Self::Streams => "streams and events",
            Self::Modules => "modules",
            Self::Kernels => "kernels loaded at first launch",
            Self::Arrays => "arrays",
            Self::Host => "pinned host memory",
            Self::Other => "other calls",
            Self::Unexplained => "unexplained, between calls",
        }
    }
}

/// The memory of a device at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When, in nanoseconds since the process's record began.
    pub time_ns: u64,
    /// The call after which it was read.
    pub call: String,
    /// The exec, where it is about one.
    pub exec: Option<u64>,
    /// Free memory of the whole device.
    pub free_bytes: Option<u64>,
    /// UsedMemCurrent.
    pub graph_used_bytes: Option<u64>,
    /// ReservedMemCurrent.
    pub graph_reserved_bytes: Option<u64>,
    /// What the stream-ordered pools reserve.
    pub pools_reserved_bytes: u64,
}

/// A graph exec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphResult {
    /// Its number in the process, from 1.
    pub exec: u64,
    /// The device.
    pub device: i32,
    /// When it was instantiated, in nanoseconds since the record began.
    pub time_ns: u64,
    /// The library or program that instantiated it.
    pub origin: Option<String>,
    /// The capture that made the graph.
    pub capture: Option<u64>,
    /// The instantiation's flags.
    pub flags: u64,
    /// The nodes by type.
    pub nodes: BTreeMap<String, u64>,
    /// The memory allocation nodes.
    pub allocations: Vec<AllocationResult>,
    /// The sum of their sizes.
    pub requested_bytes: u64,
    /// The sum of the sizes that no free node of the graph frees: what a launch leaves
    /// allocated.
    pub unfreed_bytes: u64,
    /// How many allocations those are.
    pub unfreed: usize,
    /// What one launch maps, computed from the addresses (rule M16); nothing without the
    /// driver's dump of the graph, and 0 without memory nodes.
    pub footprint_bytes: Option<u64>,
    /// Free memory that the instantiation took.
    pub instantiate_taken_bytes: i64,
    /// How long the instantiation took.
    pub instantiate_ns: u64,
    /// The first launch.
    pub first_launch: Option<FirstLaunch>,
    /// Launches that succeeded.
    pub launches: u64,
    /// Launches after which the graph memory pool had grown.
    pub launches_that_grew: u64,
    /// Launches that failed.
    pub failed_launches: u64,
    /// The code of the first launch that failed.
    pub failed_code: Option<u32>,
    /// Uploads.
    pub uploads: u64,
    /// Updates.
    pub updates: u64,
    /// On how many streams it was launched.
    pub streams: usize,
    /// Whether it was destroyed.
    pub destroyed: bool,
    /// When, in nanoseconds since the record began, where that was recorded.
    pub destroyed_ns: Option<u64>,
    /// Graph memory in use right after it was destroyed, of all graphs, if it left
    /// allocations.
    pub used_after_destroy_bytes: Option<u64>,
    /// The name of its dump in [`WatchResult::dots`].
    pub dot: Option<String>,
}

/// A memory allocation node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationResult {
    /// Its size.
    pub bytes: u64,
    /// Its address.
    pub address: u64,
    /// The device of the memory.
    pub device: i32,
    /// Whether a free node of the graph frees it.
    pub freed: bool,
    /// The library or program that requested it, where the capture was seen.
    pub origin: Option<String>,
}

/// The first launch of an exec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLaunch {
    /// When, in nanoseconds since the record began.
    pub time_ns: u64,
    /// How long the call took.
    pub duration_ns: u64,
    /// By how much graph memory in use grew.
    pub used_growth_bytes: i64,
    /// By how much the graph memory pool grew.
    pub pool_growth_bytes: i64,
    /// Free memory that the launch took.
    pub taken_bytes: i64,
    /// Graph memory in use after it, of all graphs.
    pub used_bytes: Option<u64>,
}

/// Execs that are alike: same origin, flags, nodes and sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The execs' numbers.
    pub execs: Vec<u64>,
    /// By how much their first launches grew the graph memory pool, together.
    pub pool_growth_bytes: i64,
    /// What plain allocations took during their captures, together; a capture that made
    /// several execs counts once.
    pub captured_plain_bytes: i64,
    /// What their instantiations and first launches took beside graph memory.
    pub exec_taken_bytes: i64,
}

impl Group {
    /// What the group took of the device, of all kinds.
    #[must_use]
    pub fn taken_bytes(&self) -> i64 {
        self.pool_growth_bytes
            .saturating_add(self.captured_plain_bytes)
            .saturating_add(self.exec_taken_bytes)
    }
}

/// Something that changes graph memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// When, in nanoseconds since the record began.
    pub time_ns: u64,
    /// The device.
    pub device: i32,
    /// What.
    pub action: RecordedAction,
    /// UsedMemCurrent after it.
    pub used_bytes: Option<u64>,
}

/// What changes graph memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedAction {
    /// A launch of an exec on a stream; streams count from 0 in the order of their use.
    Launch {
        /// The exec.
        exec: u64,
        /// The stream.
        stream: usize,
    },
    /// An upload.
    Upload {
        /// The exec.
        exec: u64,
        /// The stream.
        stream: usize,
    },
    /// A graph's allocation was freed outside of its graph.
    Free {
        /// Its address.
        address: u64,
    },
    /// A trim of the device's graph memory.
    Trim,
    /// An exec was destroyed.
    Destroy {
        /// The exec.
        exec: u64,
    },
}

/// A stream capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureResult {
    /// Its number, from 1.
    pub capture: u64,
    /// The device.
    pub device: i32,
    /// When it began, in nanoseconds since the record began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: Option<u64>,
    /// `global`, `thread-local` or `relaxed`.
    pub mode: String,
    /// The library or program that began it.
    pub origin: Option<String>,
    /// The code of its end, where it is not 0.
    pub failed_code: Option<u32>,
    /// Plain allocations during it.
    pub plain_allocations: u64,
    /// The bytes that these requested.
    pub plain_requested_bytes: u64,
    /// The free memory that plain allocations took during it.
    pub plain_taken_bytes: i64,
    /// The same by library, the largest first.
    pub by_library: Vec<(String, i64)>,
    /// The execs that were instantiated from its graph.
    pub execs: Vec<u64>,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// When, in nanoseconds since the record began.
    pub time_ns: u64,
    /// The driver's function.
    pub call: String,
    /// Its code.
    pub code: u32,
    /// Who called.
    pub origin: Option<String>,
}

/// The recorded launches, planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDevice {
    /// The device.
    pub device: i32,
    /// First launches that were planned and measured.
    pub steps: Vec<PlannedStep>,
    /// Launches were on several streams. Whether they overlapped is not recorded, so the plan
    /// takes it that they did not; graphs that overlap use more.
    pub assumes_no_overlap: bool,
    /// Why some launches are not in it, one sentence each.
    pub left_out: Vec<String>,
}

/// One launch, planned and measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The exec.
    pub exec: u64,
    /// UsedMemCurrent after the launch, as planned.
    pub planned_used_bytes: u64,
    /// The same as measured.
    pub measured_used_bytes: u64,
}

/// What is wrong or could take less memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was found, one sentence.
    pub what: String,
    /// What to do about it, one sentence.
    pub remedy: String,
    /// The rules that it rests on.
    pub rule: String,
    /// Bytes that the remedy saves; 0 where that is not known or not the point.
    pub saving_bytes: u64,
    /// The execs that it is about.
    pub execs: Vec<u64>,
}
