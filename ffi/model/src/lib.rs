//! A CUDA runtime without a GPU, whose graph memory behaves like that of a real one.
//!
//! It exports the functions of libcudart and libcuda under their C names. A Rust program
//! binds them in its own process with [`symbol`]; the package `cudart-simulated` contains
//! the same functions as a shared library.
//!
//! - [`c_api`] exports the C functions, and contains all unsafe code.
//! - [`runtime`] is the state of one simulated runtime, and the effect of each call on it.
//! - [`memory`] implements the rules of graph memory: addresses, physical memory, contents.
//! - [`objects`] are streams, graphs and graph execs; `kernels` reads and runs PTX.
//! - [`Profile`] is the GPU to simulate, [`ClockKind`] the kind of clock, and a [`Fault`] a
//!   call that is made to fail. `instance` selects the simulated runtime for a call.
//!
//! Rules R1 to R55 and measurements M1 to M18 are those of the project's rule list.
//! [`limits`] lists what this crate does not simulate, and why.

pub mod c_api;
mod clock;
mod errors;
mod faults;
pub mod functions;
mod instance;
mod kernels;
pub mod limits;
pub mod memory;
pub mod objects;
mod profile;
pub mod runtime;

pub use c_api::symbol;
pub use clock::ClockKind;
pub use faults::Fault;
pub use functions::FunctionId;
pub use instance::{AlreadyStarted, Config, Isolated, configure, profile_named};
pub use profile::{Profile, ProfileError};
pub use runtime::LiveObjects;
