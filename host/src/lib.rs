//! CUDA graph memory nodes: how they reuse virtual addresses and physical memory.
