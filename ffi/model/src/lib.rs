//! A CUDA runtime without a GPU: graph memory that answers like the real one.
//!
//! The crate is a `libcudart` (as `libcudart_model.so`, with the C names) and a
//! Rust library whose functions a host binds in its own process, by
//! [`symbol`]. It knows nothing of the programs that call it.
//!
//! - [`runtime`] is the state of one modelled runtime and what each call does;
//!   [`address`], [`pool`] and [`graph_memory`] are where graph memory's rules are.
//! - [`program`] runs kernels of whole numbers from their PTX, [`contents`] is what
//!   memory holds, [`async_pool`] the pool beside the graphs'.
//! - [`profile`] is the machine, [`clock`] its time, [`faults`] the calls that
//!   are to fail, [`instance`] which model a call talks to.
//! - [`abi`] is the C side, and the only unsafe code.
//!
//! Rules R1 to R55 and measurements M1 to M18 are those of the project's rule
//! list. What this crate cannot show, and why: [`limits`].

pub mod abi;
pub mod address;
pub mod async_pool;
pub mod clock;
pub mod contents;
pub mod effects;
pub mod errors;
pub mod exec;
pub mod faults;
pub mod functions;
pub mod graph;
pub mod graph_memory;
pub mod heap;
pub mod instance;
pub mod limits;
pub mod module;
pub mod pool;
pub mod profile;
pub mod program;
pub mod runtime;
pub mod slab;
pub mod stream;

pub use abi::symbol;
pub use clock::ClockKind;
pub use faults::Fault;
pub use functions::FunctionId;
pub use instance::{AlreadyStarted, Config, Isolated, configure, profile_named};
pub use profile::Profile;
pub use runtime::LiveObjects;
