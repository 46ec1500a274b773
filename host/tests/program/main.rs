//! The program, from its arguments to what it prints and writes. These files are one
//! crate, because each test crate is linked with the whole program.

mod beyond;
mod calibrate;
mod cli;
mod compare;
mod documents;
mod experiments;
mod faults;
mod files;
mod hostile;
mod outputs;
mod pages;
mod plan;
mod readme;
mod recordings;
#[path = "../support/mod.rs"]
mod support;
