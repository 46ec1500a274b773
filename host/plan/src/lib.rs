//! How much GPU memory CUDA graphs will hold, before they run.
//!
//! - [`dot`] reads the dumps that `cudaGraphDebugDotPrint` writes and [`scenario`] reads
//!   graphs that people describe; both become a [`graph::Graph`].
//! - [`layout`] says where allocations lie and what that maps, [`findings`] what is wrong
//!   or could take less memory, and [`analyse`] makes the plan of one graph of both.
//! - [`schedules`] reads written launch schedules, and [`mod@replay`] runs a scenario on a
//!   GPU or on the simulated runtime.
//! - [`Planner`] does all of it, and [`result::Plan`] is what it returns: plain data.
//!
//! The crate reads no files, has no command line and prints nothing. Addresses and
//! footprints follow the driver's rule as it was found on an H200
//! ([`cudart_model::memory::address`]).
//!
//! ```
//! use graph_memory_plan::{Options, Planner, SpinKernel, dot};
//! # let dump = "digraph dot {\nsubgraph cluster_1 {\n\"graph_1_node_0\"[shape=\"record\" \
//! # label=\"{MEM_ALLOC | {{bytesize | dptr} | {4096 | 0x302000000}}}\"];\n}\n}\n";
//! # let ptx = ".version 5.0\n.target sm_60\n.address_size 64\n\
//! # .visible .entry spin(.param .u64 clocks)\n{\nret;\n}\n";
//! let graphs = dot::read(dump.as_bytes(), "dump.dot")?;
//! let spin = SpinKernel { ptx, name: "spin" };
//! let mut planner = Planner::new(cudart_model::Profile::default(), spin, Options::default());
//! planner.graphs(&graphs.into_iter().map(Into::into).collect::<Vec<_>>())?;
//! let plan = planner.finish();
//! let memory = plan.graphs[0].memory.as_ref().expect("it can be launched");
//! assert_eq!(memory.footprint_bytes, 32 << 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
pub mod dot;
mod error;
pub mod findings;
pub mod graph;
pub mod layout;
mod name;
mod planner;
mod read_error;
mod refusals;
pub mod replay;
pub mod result;
pub mod scenario;
mod schedule;
pub mod schedules;
mod timeline;
mod together;
pub mod units;

pub use analysis::analyse;
pub use error::Error;
pub use name::Name;
pub use planner::{Options, Planner};
pub use read_error::{Position, ReadError};
pub use replay::SpinKernel;

#[cfg(test)]
pub(crate) mod recordings;
