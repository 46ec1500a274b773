//! The `plan` command: the order in which files are read, and how a plan is printed. What graphs will hold is for the crate [`graph_memory_plan`].

mod input;
mod run;
mod text;

pub use run::run;
