//! The program `graph-memory-footprint`: how much GPU memory CUDA graphs hold, why, and
//! how to reduce it.
//!
//! Public are the parts that `main`, the tests, the benchmarks and `cargo xtask` use:
//!
//! - [`cli`] is the command line: [`cli::run`] runs a command, and [`cli::exit`] has the
//!   exit codes.
//! - [`plan`] computes how much memory graphs hold, from dumps.
//! - [`watch`] runs a program and reports what its graphs hold.
//! - [`experiments`] call CUDA and record the memory after each step, one file each.
//! - [`results`] are their results as data, which can be read back from JSON.
//! - [`rules`] are the rules that the checks name.
//! - [`kernel`] is the code of the kernels.

mod backend;
mod calibrate;
pub mod cli;
mod compare;
pub mod experiments;
mod host_memory;
pub mod kernel;
pub mod plan;
mod report;
pub mod results;
pub mod rules;
mod run;
pub mod watch;
