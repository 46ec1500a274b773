//! The program `graph-memory-footprint`: how much GPU memory CUDA graphs hold, why, and
//! how to reduce it.
//!
//! Public are the parts that `main`, the tests, the benchmarks and `cargo xtask` use:
//!
//! - [`cli`] is the command line: [`cli::run`] runs a command, and [`cli::exit`] has the
//!   exit codes.
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
mod plan;
mod report;
pub mod results;
pub mod rules;
mod run;
mod watch;
