//! The kernel that the program launches: whose PTX, and what is known of it.

pub mod ptx;
