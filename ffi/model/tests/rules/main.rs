//! The rules, one by one, through the C functions.

mod golden;
mod program;
