//! Kernels: [`module`] reads them from PTX, [`program`] runs them where it can.

pub mod fatbin;
pub mod module;
pub mod program;
pub mod variables;
