//! A hand-maintained table of the CUDA runtime (libcudart), and its loader.
//!
//! One table serves every runtime from CUDA 11.4 to 13.x. It binds the names
//! whose prototype and structs are the same in all of them, avoids the spellings
//! that changed (`cudaGraphInstantiate` above all), and needs no CUDA header, no
//! import library and no CUDA at build time.
//!
//! - [`table`] is the list of functions, one line each; [`Functions`] binds it.
//! - [`types`] has handles, structs and constants by their C names, with layouts
//!   that the compiler checks here and `cargo xtask abi` against real headers.
//! - [`loader`] finds a library; [`driver`] is the way to a kernel for runtimes
//!   older than 12.8.
//! - [`ptx`] reads a PTX file's head and compares it with driver and device.
//! - [`advice`] is what to do about each code.
//!
//! With the log target `cudart` at `trace` every call is shown with arguments,
//! result, what it wrote, and its time.
//!
//! This crate knows nothing of experiments, and does not wrap: every call is as
//! unsafe as the C function that it calls.

#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "C names are kept as they are"
)]
#![allow(unsafe_code, reason = "it binds a C library")]

pub mod advice;
pub mod driver;
pub mod loader;
pub mod ptx;
pub mod table;
mod trace;
pub mod types;
pub mod watched;

pub use loader::{Cudart, LoadError, Search};
pub use table::{FUNCTIONS, Function, Functions, MissingSymbols, Presence};
pub use types::*;
