//! Device memory: where allocations lie and what backs them.
//!
//! - [`address`] gives virtual addresses to the alloc nodes of a graph, [`pool`] maps
//!   physical memory at them, and [`graph_memory`] is both for one graph.
//! - [`async_pool`] is the stream-ordered pool, [`heap`] is `cudaMalloc`.
//! - [`contents`] is what memory holds.

pub mod address;
pub mod async_pool;
mod blocks;
pub mod contents;
pub mod graph_memory;
pub mod heap;
pub mod pool;
pub mod va_window;
