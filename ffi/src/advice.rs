//! What to do about a CUDA error code, in one or two sentences.
//!
//! The runtime's own texts say what happened; these texts say what to try next. If a code
//! has a special meaning for one call, that call has its own text. Numbers in parentheses
//! are rules of `graph-memory-footprint explain` (R: documented, M: measured on an H200).

use crate::types::cudaError_t;

/// One line of the advice table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// The code.
    pub code: cudaError_t,
    /// The C names of the calls that the text is for. If empty, the text is for every
    /// other call.
    pub calls: &'static [&'static str],
    /// What to do, in one or two sentences.
    pub text: &'static str,
}

/// The text for a code that is not in the table.
pub const GENERAL: &str = "There is no advice for this code: look it up in the CUDA Runtime API reference under cudaError_t; if it is not there, the library is newer than this program.";

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
        /// All texts, ordered by code. The texts for single calls come before the
        /// text for all other calls.
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
    0 [] "The call succeeded; there is nothing to do."

    1 [cudaGraphLaunch]
      "Most likely an allocation of an earlier launch is still live: free it first with cudaFree, cudaFreeAsync or a free node in another graph, or instantiate with AutoFreeOnLaunch (R18)."
    1 [cudaFree cudaFreeAsync]
      "The pointer is not a live allocation: it was already freed, or the graph that allocates it has not been launched yet (M6, M8)."
    1 [cudaGraphAddMemAllocNode]
      "Check the parameters: the size must not be 0, the allocation type must be pinned, and the location a device that exists (R28, M10)."
    1 [cudaGraphAddMemFreeNode]
      "The address must come from an alloc node's dptr and may be freed once in a graph (R30)."
    1 [cudaGraphAddKernelNode cuGraphAddKernelNode]
      "Check the launch dimensions: none may be 0, a block has at most 1024 threads, and a grid at most 2^31-1 blocks in x (M11)."
    1 [cudaGraphInstantiateWithFlags]
      "Check the flags: AutoFreeOnLaunch cannot be combined with DeviceLaunch (R21)."
    1 [cudaMemcpyAsync cudaMemsetAsync]
      "Part of the range is not allocated: it is larger than the allocation, its graph has not run yet, or it was already freed (R7, M6)."
    1 [cudaDeviceSetGraphMemAttribute]
      "Only the two high-water marks can be set, and only to 0 (R49)."
    1 [cudaDeviceGetGraphMemAttribute]
      "The attribute must be one of the four of cudaGraphMemAttributeType, and the value's address not null (R49)."
    1 []
      "An argument is out of range or does not match the state of the object: compare the arguments with the documentation of the call (RUST_LOG=cudart=trace shows them)."

    2 [cudaGraphAddMemAllocNode]
      "The device has no virtual addresses left for this allocation; there are about twice as many for graphs as device memory. Request fewer bytes, or destroy graphs (M10)."
    2 [cudaGraphLaunch cudaGraphUpload]
      "The device has too little free memory to map the graph: free unfreed graph allocations, trim with cudaDeviceGraphMemTrim, then launch again; the stream and the graph stay usable (M13)."
    2 [cudaMallocAsync]
      "The device has too little free memory for the pool: free allocations, and trim graph memory with cudaDeviceGraphMemTrim, which is a separate pool (R44)."
    2 []
      "The device has too little free memory: free allocations, trim graph memory with cudaDeviceGraphMemTrim, request less, or stop other programs on this GPU (nvidia-smi lists them)."

    3 []
      "The driver could not be initialized: check whether nvidia-smi works for this user, and whether the process was forked after it had used CUDA."
    4 []
      "CUDA was called while the process exits: destroy graphs and free memory before main returns, not in static destructors."
    9 []
      "The launch dimensions or the shared memory exceed what the device allows: use smaller blocks."

    34 []
      "A stub libcuda of a toolkit was loaded instead of the driver's: remove the directory named stubs from LD_LIBRARY_PATH."
    35 []
      "There is no NVIDIA driver, or it is older than this CUDA runtime: install or update the driver, or use a libcudart of a version that the driver supports (nvidia-smi shows it)."
    36 []
      "The driver is older than this call needs: update the NVIDIA driver."
    46 []
      "No GPU is available: another process may use it in exclusive mode, or it is in a bad state (nvidia-smi -q shows the compute mode)."
    98 [cudaGraphAddKernelNode cudaLaunchKernel]
      "The kernel's handle is unknown to this runtime: it must be a cudaKernel_t of a library that is still loaded, and of this same libcudart (12.8 or later)."
    98 []
      "The kernel's handle is unknown to this runtime, or the kernel was not compiled for this device."

    100 []
      "The driver sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES, and in a container that it was started with GPUs (docker run --gpus all)."
    101 []
      "There is no device with this number: devices are counted from 0, and CUDA_VISIBLE_DEVICES hides and renumbers them."
    103 []
      "The runtime's check of the driver failed: reinstall the driver, and make sure that no stub libcuda is found before it."
    127 []
      "CUDA could not start in this process: check whether nvidia-smi works, then restart the program."

    200 []
      "The kernel image is damaged or has a format that this driver does not know: build the kernel again."
    209 []
      "The kernel is not built for this device: build it as PTX for the device's compute capability or an older one."
    218 []
      "The driver could not compile the PTX: the compiler's message names the line; check the file with ptxas."
    221 []
      "The driver's PTX compiler (libnvidia-ptxjitcompiler) is missing: install the complete driver, or mount that library into the container."
    222 []
      "The PTX is newer than the driver: update the NVIDIA driver, or build the kernel for an older PTX version."
    223 []
      "Compiling PTX is disabled: unset CUDA_DISABLE_PTX_JIT, or load a cubin for this device."
    227 []
      "The runtime is too old for the loaded device code: use a newer libcudart."

    304 []
      "A system call of the driver failed: check the permissions of /dev/nvidia*, limits such as ulimit -v, and the kernel log (dmesg)."
    400 [cudaGraphAddKernelNode cudaLaunchKernel]
      "The kernel's handle is of the wrong kind: a driver's CUfunction must go through cuGraphAddKernelNode or cuLaunchKernel; also make sure that only one libcudart is in the process."
    400 []
      "A handle is null, already destroyed, or of another device or another libcudart in the same process."
    401 []
      "The state of the object does not allow the call: finish the earlier operation on it first."
    500 []
      "The loaded library has no kernel of this name: compare with the .entry lines of the PTX (the kernel must be exported unmangled)."

    600 [cudaStreamQuery]
      "Work in the stream is still running; this is not an error."
    600 []
      "The work has not finished: wait with cudaStreamSynchronize or cudaEventSynchronize first."
    700 []
      "A kernel accessed memory that is not mapped, perhaps after its free: compute-sanitizer finds the place; the process must be restarted."
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
      "The GPU fabric is not ready: start nvidia-fabricmanager or wait for it (NVSwitch systems), then try again."
    803 []
      "The driver's library and its kernel module are of different versions: reboot after a driver update, or mount the host's own libcuda into the container."
    804 []
      "A forward-compatibility libcuda (cuda-compat) was loaded on a GPU that does not support it: remove its directory from LD_LIBRARY_PATH, or use a data center GPU."

    900 []
      "The call is not allowed while a stream is being captured: make it before the capture begins or after it ends."
    901 []
      "An earlier call invalidated the stream's capture: end the capture, and look for its first call that failed."
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
      "The driver failed for an unknown reason: look for Xid lines in the kernel log (dmesg), run nvidia-smi, and if it fails too, reload the driver's module or reboot."
}
