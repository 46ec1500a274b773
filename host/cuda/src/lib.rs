//! The safe layer over the table: owned handles, checked codes, no unsafe outside.
//!
//! Every handle borrows the [`Runtime`] it came from and is closed when it goes
//! out of scope, on every path; where a failure to close matters there is a
//! method that closes and tells. Nothing here knows of experiments.
//!
//! Handles are neither `Send` nor `Sync`: graph objects are not thread-safe (R55).

#![allow(unsafe_code, reason = "it is the safe layer over C functions")]

mod allocation;
mod buffer;
mod capture;
mod copy;
mod device;
mod error;
mod event;
mod exec;
mod graph;
mod jit_log;
mod kernel;
mod memory;
mod ownership;
mod pool;
mod refusals;
mod runtime;
mod stream;

pub use allocation::LiveAllocation;
pub use buffer::Buffer;
pub use capture::Capture;
pub use cudart_ffi::cudaError_t;
pub use cudart_ffi::loader::Version;
pub use device::{Device, DeviceInfo};
pub use error::{CudaError, Result};
pub use event::Event;
pub use exec::{GraphExec, Launched};
pub use graph::{AllocNode, DeviceAddress, Graph, Node};
pub use kernel::{BLOCK_THREADS, Kernel, KernelError, KernelLaunch, KernelRoute, RouteChoice};
pub use memory::{GraphMemory, Snapshot};
pub use pool::{KeptFreed, MemoryPool, Pooled};
pub use runtime::Runtime;
pub use stream::Stream;
