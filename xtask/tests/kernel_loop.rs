//! Runs the kernels' own tests in the stable workspace: `kernels-rs` is a
//! workspace of its own, and resolving it needs rust-cuda's repository.

#![allow(unsafe_code, reason = "the kernel is compiled for the host too")]
// The feature `rust-cuda` is the kernel crate's; nobody sets it here.
#![allow(unexpected_cfgs)]

#[path = "../../kernels-rs/src/lib.rs"]
mod clock_block;

#[path = "../../kernels-rs/src/negated_squares.rs"]
mod negated_squares;
