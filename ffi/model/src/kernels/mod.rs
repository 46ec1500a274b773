//! Kernels: [`module`] reads them from PTX, [`program`] runs those of whole numbers.

pub mod fatbin;
pub mod module;
pub mod program;
