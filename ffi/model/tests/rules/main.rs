//! Tests of the rules R1 to R55 and the measurements M1 to M18, one by one, through the C
//! functions. `cudart_model::limits` lists the rules that are not tested here, and why.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

mod addresses;
mod attributes;
mod calls;
mod capture;
mod data;
mod golden;
mod lifetime;
mod limits;
mod physical;
mod program;
mod relaunch;
mod support;
