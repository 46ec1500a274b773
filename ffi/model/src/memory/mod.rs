//! Device memory: the addresses of allocations, and the physical memory that backs them.
//!
//! - [`address`] chooses the virtual addresses of a graph's alloc nodes, `pool` maps
//!   physical memory at them, and `graph_memory` contains both for one graph.
//! - `async_pool` is the stream-ordered pool, and `heap` implements `cudaMalloc`. Both take
//!   their addresses from a `va_window` and keep their allocations in `allocations`.
//! - [`contents`] stores the bytes in memory.

pub mod address;
mod allocations;
pub(crate) mod async_pool;
mod blocks;
pub mod contents;
pub(crate) mod graph_memory;
pub(crate) mod heap;
pub(crate) mod pool;
pub(crate) mod va_window;
