//! A table of CUDA runtime functions (libcudart) that is maintained by hand, and a loader.
//!
//! One table serves every runtime from CUDA 11.4 to 13.x. It binds functions whose
//! prototype and structs are the same in all of them, and leaves out those that changed
//! (such as `cudaGraphInstantiate`). Building it needs no CUDA headers or libraries.
//!
//! - [`table`] is the list of functions, one line each; [`Functions`] binds it.
//! - [`types`] contains handles, structs and constants under their C names. The compiler
//!   checks their layouts, and `cargo xtask abi` compares them with real headers.
//! - [`loader`] finds a library; [`driver`] loads kernels with runtimes older than 12.8.
//! - [`ptx`] reads a PTX file and checks whether a driver and a device can load it.
//! - [`environment`] reads environment variables, but not in a setuid program.
//! - [`advice`] says what to do about each error code.
//! - [`simulated_runtime`] and [`simulated_driver`] list the exports of the simulated
//!   runtime, and [`watched`] the functions that the watch library wraps.
//!
//! With the log target `cudart` at level `trace`, every call is logged with its arguments,
//! its result, the values that it wrote and its duration.
//!
//! The crate adds no safety: every call is as unsafe as the C function that it calls.

#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "C names are kept as they are"
)]
#![allow(unsafe_code, reason = "it binds a C library")]

pub mod advice;
pub mod driver;
pub mod environment;
pub mod loader;
pub mod ptx;
pub mod simulated_driver;
pub mod simulated_runtime;
pub mod table;
mod trace;
pub mod types;
pub mod watched;

pub use loader::{Cudart, LoadError, Search};
pub use table::{FUNCTIONS, Function, Functions, MissingSymbols, Presence};
pub use types::*;
