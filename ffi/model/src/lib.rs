//! placeholder

pub mod address;
