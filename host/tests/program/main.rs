//! The program, from its arguments to what it prints and writes. These files are one
//! crate, because each test crate is linked with the whole program.
//!
//! `environment.rs` stays a crate of its own: it starts a copy of the program that it has
//! written, which Linux refuses (`ETXTBSY`) while another thread starts a process that
//! still has the copy open. `watch.rs` runs on Linux only and starts nothing but `watch`.

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
