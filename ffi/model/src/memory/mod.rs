//! Device memory: where allocations lie and what backs them.
//!
//! - [`address`] gives virtual addresses to the alloc nodes of a graph, `pool` maps
//!   physical memory at them, and `graph_memory` is both for one graph.
//! - `async_pool` is the stream-ordered pool, `heap` is `cudaMalloc`; both take their
//!   addresses from a `va_window`.
//! - [`contents`] is what memory holds.

pub mod address;
pub(crate) mod async_pool;
mod blocks;
pub mod contents;
pub(crate) mod graph_memory;
pub(crate) mod heap;
pub(crate) mod pool;
pub(crate) mod va_window;
