//! CUDA graph memory nodes: how they reuse virtual addresses and physical memory,
//! shown by experiments whose every claim is checked.
//!
//! - [`experiments`] do things and note the memory after each; one file each.
//! - [`results`] is what they found, as data; [`report`] prints it.
//! - [`results_file`] reads results back, [`trend`] judges a repeated run.
//! - [`rules`] are what checks rest on; [`explain`] prints them.
//! - [`plan`] says what graphs will hold before they run.
//! - [`backend`] chooses between a GPU and the model runtime.

pub mod backend;
pub mod cli;
pub mod compare;
pub mod exit;
pub mod experiments;
pub mod explain;
pub mod generated;
pub mod host_memory;
pub mod kernel_source;
pub mod machine_code;
pub mod plan;
pub mod report;
pub mod results;
pub mod results_file;
pub mod rules;
mod run;
mod stdout;
pub mod trend;

pub use run::run;
