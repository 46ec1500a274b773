//! `libgraph_memory_watch.so`: preloaded into a CUDA program, it records how much memory
//! the program's CUDA graphs hold, and what else uses the GPU's memory.
//!
//! `graph-memory-footprint watch` sets `LD_PRELOAD` and the variables in
//! [`graph_memory_record::settings`]. The crate [`graph_memory_record`] describes the
//! format of the recording. Without the variable that names the folder, the library only
//! passes every call on.
//!
//! # How calls are intercepted
//!
//! A program gets the driver's functions in one of three ways, and in each of them it gets
//! a wrapper ([`wrap`]): from `dlsym` ([`dlsym`]), from `cuGetProcAddress` ([`start`]), or
//! by being linked with `libcuda.so.1`, because the wrappers are exported under the
//! driver's names. A wrapper calls the real function and a *hook*, which reads the memory
//! before and after it.
//!
//! The library does not record: statically linked programs, programs for another C library,
//! setuid programs and programs whose environment was cleared (the dynamic linker preloads
//! nothing), launches from the device, and programs that get the C library's own `dlsym`
//! through `dlvsym`.
//!
//! # Rules
//!
//! - The program must not notice the library: no panic, no allocation in `dlsym` for names
//!   of other libraries, no changed `errno`, no output ([`guard`]).
//! - A launch that changes nothing takes no lock, allocates nothing and makes no system
//!   call ([`launch`]).
//! - No lock is held while the driver is called.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    unsafe_code,
    reason = "it is called by C, calls C, and shares memory with a file"
)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "no Rust program uses this crate; the documentation is for those who read the code"
)]

mod account;
mod capture;
mod context;
mod counters;
mod dlsym;
mod driver;
mod execs;
mod graph;
mod guard;
mod kernel;
mod launch;
mod origin;
mod pool;
mod process;
mod reading;
mod start;
mod state;
mod wrap;
