//! What to do about a CUDA error code, one sentence each.
//!
//! The runtime's own texts say what happened; these say what to try next, and
//! where a code means something of its own at one call, they say it for that
//! call. The rules in brackets are those of the graph memory study (R: documented,
//! M: measured on an H200).

use crate::types::cudaError_t;

/// One line of the advice table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// The code.
    pub code: cudaError_t,
    /// The calls that the sentence is about; empty for all others.
    pub calls: &'static [&'static str],
    /// What to do, one sentence or two.
    pub text: &'static str,
}

/// What is said of a code that the table does not have.
pub const GENERAL: &str = "This table has no advice for the code: look it up in the CUDA Runtime API reference under cudaError_t, and if it is not there, the library is newer than this program.";

/// What to do about `code` after the call of this C name (`cudaGraphLaunch`).
#[must_use]
pub fn advice(code: cudaError_t, call: &str) -> &'static str {
    let of_code = || ADVICE.iter().filter(|line| line.code == code);
    of_code()
        .find(|line| line.calls.contains(&call))
        .or_else(|| of_code().find(|line| line.calls.is_empty()))
        .map_or(GENERAL, |line| line.text)
}

macro_rules! table {
    ($($code:literal [$($call:ident)*] $text:literal)*) => {
        /// Every sentence, by code; those of single calls before the general one.
        pub const ADVICE: &[Advice] = &[
            $(Advice {
                code: cudaError_t($code),
                calls: &[$(stringify!($call)),*],
                text: $text,
            },)*
        ];
    };
}

table! {
    0 [] "The call succeeded: nothing is to be done."

    1 [cudaGraphLaunch]
      "Most likely the graph's allocation from an earlier launch is still live: free it first with cudaFree, cudaFreeAsync or a free node in another graph, or instantiate with AutoFreeOnLaunch (R18)."
    1 [cudaFree cudaFreeAsync]
      "The pointer is no live allocation: it was freed already, or the graph that allocates it has not been launched yet (M6, M8)."
    1 [cudaGraphAddMemAllocNode]
      "Check the parameters: the size must not be 0, the allocation type must be pinned, and the location a device that exists (R28, M10)."
    1 [cudaGraphAddMemFreeNode]
      "The address must come from an alloc node's dptr and may be freed once in a graph (R30)."
    1 [cudaGraphAddKernelNode cuGraphAddKernelNode]
      "Check the launch dimensions: no extent may be 0, a block has at most 1024 threads and a grid at most 2^31-1 blocks in x (M11)."
    1 [cudaGraphInstantiateWithFlags]
      "Check the flags: AutoFreeOnLaunch cannot be combined with DeviceLaunch (R21)."
    1 [cudaMemcpyAsync cudaMemsetAsync]
      "Not all of the range is allocated at this moment: it may be larger than the allocation, its graph may not have run yet, or it is freed already (R7, M6)."
    1 [cudaDeviceSetGraphMemAttribute]
      "Only the two high marks can be set, and only to 0 (R49)."
    1 [cudaDeviceGetGraphMemAttribute]
      "The attribute must be one of the four of cudaGraphMemAttributeType, and the value's address not null (R49)."
    1 []
      "An argument is out of range or does not fit the object's state: compare the call's arguments with its documentation (run with the log target cudart at trace to see them)."

    2 [cudaGraphAddMemAllocNode]
      "The allocation is larger than the device could ever back, alone or with those of the other graphs: addresses for graphs end at about twice the device's memory. Ask for fewer bytes, or destroy graphs (M10)."
    2 [cudaGraphLaunch cudaGraphUpload]
      "The device has no memory left to map the graph: free allocations that outlived their graphs, trim with cudaDeviceGraphMemTrim, then launch again; the stream and the graph stay usable (M13)."
    2 [cudaMallocAsync]
      "The pool gets no more memory from the device: free some of it, and trim the graphs' pool with cudaDeviceGraphMemTrim, which this pool does not see (R44)."
    2 []
      "The device's memory is full: free some, trim the graph pool with cudaDeviceGraphMemTrim, ask for less, or stop other programs on this GPU (nvidia-smi lists them)."

    3 []
      "The driver could not be initialised: see whether nvidia-smi works for this user, and whether the process was forked after it had used CUDA."
    4 []
      "CUDA was called while the process exits: destroy graphs and free memory before main returns, not in static destructors."
    9 []
      "The launch dimensions or the shared memory exceed what the device allows: use smaller blocks."

    34 []
      "A toolkit's stub libcuda was loaded instead of the driver's: take the directory named stubs off LD_LIBRARY_PATH."
    35 []
      "There is no NVIDIA driver, or it is older than this CUDA runtime: install or update the driver, or use a libcudart of a version that the driver supports (nvidia-smi shows it)."
    36 []
      "The driver is older than this call needs: update the NVIDIA driver."
    46 []
      "Every GPU is taken or not available: another process may hold it in exclusive mode, or it is in a bad state (nvidia-smi -q shows the compute mode)."
    98 [cudaGraphAddKernelNode cudaLaunchKernel]
      "The kernel's handle is unknown to this runtime: it must be a cudaKernel_t of a library that is still loaded, and of this same libcudart (12.8 or later)."
    98 []
      "The kernel's handle is unknown to this runtime, or the kernel was not compiled for this device."

    100 []
      "The driver sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES, and in a container that it was started with GPUs (docker run --gpus all)."
    101 []
      "There is no device of this number: they count from 0, and CUDA_VISIBLE_DEVICES hides and renumbers them."
    103 []
      "The runtime's check of the driver failed: reinstall the driver, and see that no stub libcuda comes before it."
    127 []
      "CUDA could not start in this process: see whether nvidia-smi works, then restart the program."

    200 []
      "The kernel image is damaged or of no form that this driver knows: build the kernel again."
    209 []
      "The kernel is not built for this device: build it for the device's compute capability or an older one, as PTX, which later devices compile themselves."
    218 []
      "The driver's compiler refused the PTX: its own message has the line; check the file with ptxas, and build the kernel again if it was edited."
    221 []
      "The driver's PTX compiler (libnvidia-ptxjitcompiler) is missing: install the complete driver, or mount that library into the container."
    222 []
      "The PTX is newer than the driver: update the NVIDIA driver, or build the kernel for an older PTX version (rustc's is 5.0)."
    223 []
      "Compiling PTX is switched off: unset CUDA_DISABLE_PTX_JIT, or load a cubin for this device."
    227 []
      "The runtime is too old for the loaded device code: use a newer libcudart."

    304 []
      "The operating system refused something to the driver: check the permissions of /dev/nvidia*, limits such as ulimit -v, and the kernel log (dmesg)."
    400 [cudaGraphAddKernelNode cudaLaunchKernel]
      "The kernel's handle is of the wrong kind: a driver's CUfunction must go through cuGraphAddKernelNode or cuLaunchKernel; also make sure that only one libcudart is in the process."
    400 []
      "A handle is null, destroyed already, or of another device or another libcudart in the same process."
    401 []
      "The object is not in a state that allows the call: finish what was begun with it first."
    500 []
      "The loaded library has no kernel of this name: compare with the .entry lines of the PTX (the kernel must be exported unmangled)."

    600 [cudaStreamQuery]
      "Work in the stream is still running: this is an answer, not a failure."
    600 []
      "The work asked about is not finished: wait with cudaStreamSynchronize or cudaEventSynchronize first."
    700 []
      "A kernel touched memory that is not mapped, perhaps after its free or before its launch: compute-sanitizer finds the place; the process must be restarted."
    719 []
      "A kernel failed while it ran: compute-sanitizer finds the place; the process must be restarted."

    801 [cudaGraphClone]
      "A graph with memory nodes cannot be cloned: build it again instead (R24)."
    801 [cudaGraphInstantiateWithFlags]
      "A graph with memory nodes can have one live instance: destroy the earlier one first, or build a second graph (R25)."
    801 [cudaGraphAddChildGraphNode]
      "A graph with memory nodes cannot become a child by copy: add its nodes to the parent instead (R26)."
    801 [cudaGraphDestroyNode]
      "Nodes of a graph with memory nodes cannot be removed: build the graph again without them (R23)."
    801 [cudaGraphAddMemAllocNode]
      "Graph memory needs a device with memory pools (attribute 115; vGPUs may lack them), and an allocation without export handles (R29, R54)."
    801 []
      "This device, driver or kind of graph does not support the call: graph memory needs memory pools (attribute 115) and a driver for CUDA 11.4 or later (R54)."
    802 []
      "The machine's GPU fabric is not ready: start or wait for nvidia-fabricmanager (NVSwitch systems), then try again."
    803 []
      "The driver's library and its kernel module are of different versions: reboot after a driver update, or mount the host's own libcuda into the container."
    804 []
      "A forward-compatibility libcuda (cuda-compat) was loaded on a GPU that does not support it: take its directory off LD_LIBRARY_PATH, or use a data center GPU."

    900 []
      "The call is not allowed while a stream is being captured: make it before the capture begins or after it ends."
    901 []
      "An earlier call broke the stream's capture: end it, and look for the first call in it that failed."
    902 []
      "The call would join two captures: let a stream wait only for events of its own capture."
    903 []
      "A capture ends in the stream in which it began: call cudaStreamEndCapture with that stream."
    904 []
      "A stream that joined the capture has not come back: record an event in it, and let the first stream wait for that event before the end."
    905 []
      "A captured stream cannot wait for work outside of the capture: record the event within the capture, or wait before it begins."
    906 []
      "The default stream would have to wait for the capture: use another stream, or make the captured one with cudaStreamNonBlocking."
    907 []
      "The event was last recorded within a capture and never happens by itself: wait for the launched graph, or for an event recorded outside."
    908 []
      "The thread that began the capture has to end it, unless its mode is cudaStreamCaptureModeRelaxed."

    999 []
      "The driver failed without saying why: see the kernel log (dmesg) for Xid lines, run nvidia-smi, and reload the driver's module or reboot if it fails too."
}
