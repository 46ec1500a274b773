//! The conformance suite: programs that call functions of the libcudart table. They are
//! recorded on a GPU and compared with the simulated runtime.
//!
//! The example `conformance` records with it, and the test of the same name compares with
//! it. It depends only on the table, so that the recorder on a GPU does not contain the
//! simulated runtime. See the README in the parent folder.

pub mod calls;
pub mod kernel;
pub mod parse;
pub mod program;
pub mod random;
pub mod runner;
pub mod trace;
