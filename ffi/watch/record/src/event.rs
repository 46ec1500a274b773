//! The events of a watched process.

use serde::{Deserialize, Serialize};

use crate::graph::GraphContent;
use crate::reading::Reading;

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The time at which the event was complete, in nanoseconds since the record began
    /// (`CLOCK_MONOTONIC`). Lines of different threads can be out of order by as much
    /// as the writing of a line takes.
    pub time_ns: u64,
    /// The thread's number (`gettid`).
    pub thread: u32,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened. The `event` field names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first line of a record.
    Process(Process),
    /// The driver was found in the process.
    Driver(Driver),
    /// The driver called `InitializeInjection`: CUDA started in this process.
    CudaStarted,
    /// The program got a wrapped function. From this event on, its calls are recorded.
    Intercepted(Intercepted),
    /// A device was seen for the first time.
    Device(Device),
    /// A context was created or made current for the first time.
    Context(Context),
    /// A call that allocated or freed device memory.
    Call(Call),
    /// A stream began to capture.
    CaptureBegin(CaptureBegin),
    /// A stream ended its capture, or the capture failed.
    CaptureEnd(CaptureEnd),
    /// A stream-ordered allocation on a capturing stream: it became a memory allocation
    /// node.
    CapturedAllocation(CapturedAllocation),
    /// A graph was instantiated, or instantiating it failed.
    Instantiate(Instantiate),
    /// A launch of an exec that was its first launch, its first launch on this stream,
    /// changed the graph memory attributes, or failed.
    Launch(Launch),
    /// An exec was uploaded.
    Upload(Upload),
    /// An exec was updated from a graph.
    Update(Update),
    /// An exec was destroyed.
    ExecDestroy(ExecDestroy),
    /// Information about the recording itself, such as an event that could not be
    /// written.
    Note(Note),
    /// The process ended by `exit` or by returning from `main`. If a record lacks this
    /// event, the process was killed, crashed, called `_exit` or `execve`, or is still
    /// running.
    Exit(Exit),
    /// An event that only a later version of the format defines.
    #[serde(other)]
    Unknown,
}

/// A process, at the start of its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// [`FORMAT`](crate::FORMAT).
    pub format: String,
    /// [`VERSION`](crate::VERSION).
    pub version: u32,
    /// The version of the library that wrote the record.
    pub library_version: String,
    /// The number of the process.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// Whether the process was created by `fork` and has not called `execve` since.
    /// Such a process begins a record at its first CUDA call.
    #[serde(default)]
    pub forked: bool,
    /// The path of the program.
    pub executable: String,
    /// The command line. Bytes that are not UTF-8 are replaced.
    pub arguments: Vec<String>,
    /// When the record began, in nanoseconds since 1970 (`CLOCK_REALTIME`).
    pub start_unix_ns: u64,
}

/// The driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// The path of `libcuda.so`.
    pub library: String,
    /// `cuDriverGetVersion`, such as 13000.
    pub version: Option<i32>,
}

/// How a program gets the address of a driver function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// `dlsym` or `dlvsym`.
    Dlsym,
    /// `cuGetProcAddress`.
    ProcAddress,
    /// A library that is linked to `libcuda.so.1`.
    Linked,
}

/// The first wrapped function that a program got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intercepted {
    /// How the program got it.
    pub way: Way,
    /// Its name.
    pub function: String,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its ordinal in this process.
    pub device: i32,
    /// Its name.
    pub name: Option<String>,
    /// Its UUID as `GPU-…`.
    pub uuid: Option<String>,
    /// Its compute capability, major and minor.
    pub compute_capability: Option<(i32, i32)>,
    /// Its total memory in bytes.
    pub total_bytes: Option<u64>,
    /// The smallest size in which `cuMemCreate` allocates on it, in bytes. The
    /// granularity of the graph memory pool is larger and can only be measured:
    /// it is what `reserved_bytes` grows by.
    pub granularity_bytes: Option<u64>,
}

/// A context. The free memory that the device lacks at `reading` was taken by the context
/// and everything before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The context's number: contexts are counted from 1 in the order in which the
    /// process used them.
    pub context: u64,
    /// Its device.
    pub device: i32,
    /// The driver's function through which the library learned of the context.
    pub call: String,
    /// The device's memory immediately after the call.
    pub reading: Reading,
}

/// The code that made a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The path of the library or program of the first stack frame outside the CUDA
    /// driver and runtime libraries.
    pub library: String,
}

/// What the device memory of a call is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// A context and what belongs to it.
    Context,
    /// `cuMemAlloc`, `cuMemAllocPitch`, `cuMemAllocManaged` and their free.
    Plain,
    /// `cuMemCreate` and `cuMemRelease`.
    Virtual,
    /// Arrays and mipmapped arrays.
    Array,
    /// Stream-ordered allocations and their pools.
    StreamOrdered,
    /// Streams and events.
    Stream,
    /// Modules and libraries of kernels.
    Module,
    /// Pinned host memory, and the device memory that is needed to map it.
    Host,
    /// Graph memory: trim, and reset of the high-water marks.
    Graph,
    /// A kernel launch that loaded the kernel or increased local memory.
    Kernel,
    /// A category that only a later version defines.
    #[serde(other)]
    Other,
}

/// A call that changed a device's memory. During a capture, every plain allocation is
/// recorded, even if it changed nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The driver's function, such as `cuMemAlloc_v2`.
    pub call: String,
    /// What the memory is used for.
    pub category: Category,
    /// The device of the thread's context.
    pub device: i32,
    /// The size that the program requested, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The address that the call returned or freed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The call's result (`CUresult`); 0 is success.
    pub result: u32,
    /// How long the call took, in nanoseconds.
    pub duration_ns: u64,
    /// The code that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The active capture: that of the calling thread, or else the only capture of this
    /// process on this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<u64>,
    /// The device's memory before the call.
    pub before: Reading,
    /// The device's memory after the call.
    pub after: Reading,
}

/// Which calls a capture refuses to other threads (`CUstreamCaptureMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaptureMode {
    /// Number 0.
    Global,
    /// Number 1.
    ThreadLocal,
    /// Number 2.
    Relaxed,
    /// A mode that only a later version defines.
    #[serde(other)]
    Other,
}

/// A stream began to capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureBegin {
    /// The capture's number: captures are counted from 1.
    pub capture: u64,
    /// The driver's function.
    pub call: String,
    /// The device of the thread's context.
    pub device: i32,
    /// The stream's handle as a number. 1 is the legacy default stream, 2 the
    /// calling thread's default stream.
    pub stream: u64,
    /// The mode.
    pub mode: CaptureMode,
    /// The code that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The device's memory at this moment.
    pub reading: Reading,
}

/// A stream ended its capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureEnd {
    /// The capture.
    pub capture: u64,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// Number of plain allocations during the capture (`cuMemAlloc`, `cuMemCreate`, and
    /// stream-ordered ones on streams that were not captured).
    pub allocations: u64,
    /// The sum of their requested sizes, in bytes.
    pub allocated_bytes: u64,
    /// The device's memory at this moment.
    pub reading: Reading,
}

/// A stream-ordered allocation that became a node. The graph's
/// [`AllocationNode`](crate::AllocationNode) of the same capture has the same address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapturedAllocation {
    /// The capture, if its beginning was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<u64>,
    /// The driver's function.
    pub call: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The address of the node's allocation.
    pub address: u64,
    /// The code that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A graph was instantiated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instantiate {
    /// The exec's number: execs are counted from 1. Absent if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<u64>,
    /// The driver's function.
    pub call: String,
    /// The device of the thread's context.
    pub device: i32,
    /// The flags: 1 frees unfreed allocations before a relaunch, 2 uploads, 4 allows
    /// launches from the device, 8 uses the priorities of the nodes.
    pub flags: u64,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// How long the call took, in nanoseconds.
    pub duration_ns: u64,
    /// The code that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The capture that made the graph, if a capture did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<u64>,
    /// The graph; absent if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphContent>,
    /// The device's memory before the call.
    pub before: Reading,
    /// The device's memory after the call.
    pub after: Reading,
}

/// The reason why a launch was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchReason {
    /// The first launch of the exec.
    First,
    /// The first launch of the exec on this stream.
    NewStream,
    /// The graph memory attributes changed.
    Changed,
    /// The launch failed.
    Failed,
    /// A reason that only a later version defines.
    #[serde(other)]
    Other,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The exec.
    pub exec: u64,
    /// The reason why the launch was recorded.
    pub reason: LaunchReason,
    /// The number of this launch among the exec's launches, counted from 1.
    pub launch: u64,
    /// The stream's handle as a number.
    pub stream: u64,
    /// The device whose memory is read.
    pub device: i32,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// How long the call took, in nanoseconds. Only first launches are measured; for
    /// others it is 0.
    pub duration_ns: u64,
    /// The device's memory before the call. For a first launch it is read, for others
    /// it is the previous reading.
    pub before: Reading,
    /// The device's memory after the call.
    pub after: Reading,
}

/// An exec was uploaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Upload {
    /// The exec.
    pub exec: u64,
    /// The stream's handle as a number.
    pub stream: u64,
    /// The device whose memory is read.
    pub device: i32,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// The device's memory before the call.
    pub before: Reading,
    /// The device's memory after the call.
    pub after: Reading,
}

/// An exec was updated from a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// The exec.
    pub exec: u64,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// How often this exec was updated so far, including this time. An update is
    /// recorded only if it failed, changed memory, or was the exec's first.
    pub update: u64,
    /// The device whose memory is read.
    pub device: i32,
    /// The capture that made the graph, if a capture did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<u64>,
    /// The device's memory before the call.
    pub before: Reading,
    /// The device's memory after the call.
    pub after: Reading,
}

/// An exec was destroyed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecDestroy {
    /// The exec.
    pub exec: u64,
    /// The call's result (`CUresult`).
    pub result: u32,
    /// The device whose memory is read.
    pub device: i32,
    /// How often the exec was launched.
    pub launches: u64,
    /// The device's memory before the call.
    pub before: Reading,
    /// The device's memory after the call. If `graph.used_bytes` stays above 0,
    /// launches left that memory allocated.
    pub after: Reading,
}

/// The subject of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A driver call that the library itself made failed.
    FailedCall,
    /// An event could not be written. `count` is the number of such events so far.
    LostWrite,
    /// The counters are only in the memory of the process, so they are lost unless the
    /// process ends by `exit`.
    Counters,
    /// A graph was not printed as a DOT file.
    Dot,
    /// `cuGetProcAddress` returned a function that the library does not wrap.
    NotWrapped,
    /// An error in the library itself.
    Internal,
    /// A subject that only a later version defines.
    #[serde(other)]
    Other,
}

/// Information about the recording itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The subject.
    pub kind: NoteKind,
    /// What happened, as one sentence.
    pub text: String,
    /// The call that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Its result: a `CUresult`, or an `errno` for a system call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// How often it happened so far. The note is written when the count is 1, 2, 4, 8
    /// and so on.
    pub count: u64,
}

/// The process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// Whether `last` was read while the process ended. If false, the contexts were
    /// already destroyed, and `last` is an earlier reading.
    pub read_at_exit: bool,
    /// The last reading of each device, by its ordinal.
    pub last: Vec<(i32, Reading)>,
    /// The counters of every exec if the counters file could not be created; otherwise
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<crate::counters::Counters>,
}
