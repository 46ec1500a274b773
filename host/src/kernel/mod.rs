//! The kernels that the program launches: their PTX, and machine code made of it.

pub mod cubin;
pub mod ptx;
