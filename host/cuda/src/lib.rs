//! A safe layer over the CUDA runtime's graphs: owned handles, checked codes.
//!
//! It loads libcudart when the program runs, any version from 11.4 to 13.x, and needs no
//! CUDA toolkit to build. Without a GPU it runs on the simulated runtime, which is what the
//! examples here do.
//!
//! ```
//! use cuda_graphs::{Device, Graph, Runtime, Stream};
//!
//! let runtime = Runtime::built_in_model();
//! let device = Device::new(&runtime, 0);
//! device.make_current()?;
//!
//! // A graph that allocates 64 MiB and frees them.
//! let graph = Graph::new(&runtime, device.ordinal())?;
//! let alloc = graph.add_alloc(&[], 64 << 20)?;
//! graph.add_free(&[alloc.node], alloc.address)?;
//! let exec = graph.instantiate()?;
//!
//! let stream = Stream::new(&runtime)?;
//! let launched = exec.launch(&stream)?;
//! assert!(launched.live.is_empty());
//! stream.synchronize()?;
//!
//! // The device keeps the memory mapped for the next launch.
//! let memory = device.graph_memory();
//! assert_eq!(memory.snapshot()?.used_bytes, 64 << 20);
//! drop(exec);
//! memory.trim()?;
//! assert_eq!(memory.snapshot()?.reserved_bytes, 0);
//! # Ok::<(), cuda_graphs::CudaError>(())
//! ```
//!
//! # Map
//!
//! | for | there is |
//! |---|---|
//! | the library | [`Runtime`], and [`Search`] to say where it is |
//! | devices | [`Device`], [`DeviceInfo`] |
//! | the four attributes of graph memory | [`GraphMemory`], [`Snapshot`] |
//! | graphs | [`Graph`], [`Node`], [`AllocNode`], [`GraphExec`], [`Launched`], [`LiveAllocation`] |
//! | loops in graphs | [`WhileNode`], [`Body`] |
//! | streams | [`Stream`], [`Event`], [`Capture`] |
//! | memory outside graphs | [`Buffer`], [`MemoryPool`], [`Pooled`] |
//! | copies, and kernels of this crate | [`Region`] |
//! | kernels | [`Kernel`], [`SpinKernel`], [`NegatedSquares`], [`NextRound`] |
//! | errors | [`CudaError`], [`KernelError`] |
//!
//! # Testing without a GPU
//!
//! `cudart_model::Isolated` gives a thread a simulated runtime of its own, with a clock that
//! only calls move. It counts calls and live objects, and makes calls fail:
//!
//! ```
//! use cuda_graphs::{Graph, Runtime, Stream, cudaError_t};
//! use cudart_model::{Fault, FunctionId, Isolated, LiveObjects};
//!
//! fn launch_once(runtime: &Runtime) -> cuda_graphs::Result<()> {
//!     let graph = Graph::new(runtime, 0)?;
//!     let alloc = graph.add_alloc(&[], 1 << 20)?;
//!     graph.add_free(&[alloc.node], alloc.address)?;
//!     let stream = Stream::new(runtime)?;
//!     let launched = graph.instantiate()?.launch(&stream)?;
//!     assert!(launched.live.is_empty());
//!     stream.synchronize()
//! }
//!
//! let simulated = Isolated::deterministic();
//! simulated.inject([Fault {
//!     function: Some(FunctionId::cudaGraphLaunch),
//!     call: 1,
//!     code: cudaError_t(2),
//! }]);
//! let runtime = Runtime::built_in_model();
//! let error = launch_once(&runtime).expect_err("out of memory");
//! assert_eq!((error.call, error.code.0), ("cudaGraphLaunch", 2));
//! assert_eq!(simulated.live_objects(), LiveObjects::default());
//! launch_once(&runtime)?;
//! # Ok::<(), cuda_graphs::CudaError>(())
//! ```
//!
//! # What is safe
//!
//! Every handle borrows its [`Runtime`] and is closed when it goes out of scope, on every
//! path; where it matters that closing can fail, there is a method that closes and returns
//! the error. A handle of one runtime is refused by another, and a node by another graph.
//! Kernels and buffers outlive every graph, exec and launch that uses them. Handles are
//! neither `Send` nor `Sync`, since graph objects are not thread-safe (R55).
//!
//! Launching a kernel is unsafe, but for three that are part of this crate: [`SpinKernel`],
//! [`NegatedSquares`] and [`NextRound`]. What safe code can do wrong is to use graph memory
//! on the device while it is not allocated: that ends in error 700
//! `cudaErrorIllegalAddress`, or reads what another graph has written.

#![allow(unsafe_code, reason = "it is the safe layer over C functions")]

mod address;
mod allocation;
mod buffer;
mod capture;
mod conditional;
mod copy;
mod device;
mod error;
mod event;
mod exec;
mod graph;
mod kernel;
mod memory;
mod ownership;
mod pool;
mod refusals;
mod region;
mod runtime;
mod stream;
mod uses;

pub use address::DeviceAddress;
pub use allocation::LiveAllocation;
pub use buffer::Buffer;
pub use capture::Capture;
pub use conditional::{Body, WhileNode};
pub use copy::Number;
pub use cudart_ffi::cudaError_t;
pub use cudart_ffi::loader::{LoadError, Search, Version};
pub use cudart_ffi::ptx::{Parameter, PtxHeader, Scalar};
pub use device::{Device, DeviceInfo};
pub use error::{CudaError, Result};
pub use event::Event;
pub use exec::{GraphExec, Launched};
pub use graph::{AllocNode, Graph, Node};
pub use kernel::{
    Argument, Kernel, KernelError, KernelRoute, LaunchConfig, NegatedSquares, NextRound,
    RouteChoice, SpinKernel,
};
pub use memory::{GraphMemory, Snapshot};
pub use pool::{KeptFreed, MemoryPool, Pooled};
pub use region::Region;
pub use runtime::Runtime;
pub use stream::Stream;
