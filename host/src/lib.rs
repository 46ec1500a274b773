//! The program `graph-memory-footprint`: how CUDA graph memory nodes reuse virtual
//! addresses and physical memory, shown by experiments whose every claim is checked.
//!
//! What is public here is what the program's `main`, its tests, its benchmarks and
//! `cargo xtask` use:
//!
//! - [`cli`] is the command line, [`run()`] does what it says, and [`exit`] has the exit
//!   codes.
//! - [`experiments`] run calls and note the memory after each; one file each.
//! - [`results`] is what they found, as data, and reads it back from JSON.
//! - [`rules`] are what the checks rest on.
//! - [`kernel`] is the kernels' code.
//! - [`plan`] computes how much memory graphs will hold before they run.
//! - [`watch`] runs a program and reports what its graphs hold.

mod backend;
pub mod cli;
mod compare;
mod completions;
pub mod exit;
pub mod experiments;
mod explain;
mod host_memory;
pub mod kernel;
mod output;
pub mod plan;
mod report;
pub mod results;
pub mod rules;
mod run;
pub mod watch;

pub use output::say;
pub use run::run;
