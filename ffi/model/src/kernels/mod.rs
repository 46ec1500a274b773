//! Kernels: [`module`] reads them from PTX, and [`program`] runs those that can be
//! simulated.

pub mod fatbin;
pub mod module;
pub mod program;
pub mod variables;
