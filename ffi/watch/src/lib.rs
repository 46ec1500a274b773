//! `libgraph_memory_watch.so`: preloaded into a CUDA program, it records what the
//! program's CUDA graphs hold, and what else takes the GPU's memory.
//!
//! The launcher sets `LD_PRELOAD` and the variables in
//! [`graph_memory_record::settings`]; the format of what is written is described in
//! [`graph_memory_record`]. Without the variable that names the folder the library
//! passes every call on and does nothing else.
//!
//! # How a call gets here
//!
//! A program gets the driver's functions in one of three ways, and each gives it a
//! wrapper ([`wrap`]): `dlsym` ([`dlsym`]), `cuGetProcAddress` ([`start`]), or by being
//! linked to `libcuda.so.1`, because the wrappers are exported under the driver's
//! names. A wrapper calls the real function and a *hook*, which reads the memory before
//! and after it.
//!
//! Not seen are: statically linked programs and ones for another C library, setuid
//! programs and programs whose environment was cleared (the loader preloads nothing),
//! launches from the device, and programs that take the real `dlsym` out of the C
//! library with `dlvsym`.
//!
//! # Rules
//!
//! - No panic, no allocation for foreign names in `dlsym`, no `errno` that differs, no
//!   output: the program must not notice ([`guard`]).
//! - The hot path, a launch that changes nothing, takes no lock, allocates nothing and
//!   makes no system call ([`launch`]).
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
    reason = "no Rust program uses this crate: its documentation is for its readers"
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
