//! The conformance suite: programs over the libcudart table, recorded on a GPU
//! and held against the model.
//!
//! Shared by the example `conformance`, which records, and the test of the same
//! name, which compares. It depends on the table alone, so that what records on
//! a GPU knows nothing of the model. See the README one folder up.

pub mod calls;
pub mod kernel;
pub mod parse;
pub mod program;
pub mod random;
pub mod runner;
pub mod trace;
