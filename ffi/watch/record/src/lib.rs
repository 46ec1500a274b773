//! The recording of a watched CUDA program.
//!
//! `libgraph_memory_watch.so` is preloaded into a CUDA program and writes its events into a
//! folder, the *recording*. This crate defines the format of that folder, and contains the
//! code that writes and reads it.
//!
//! # What is in the folder
//!
//! | file | content |
//! |---|---|
//! | `PID.N.jsonl` | the events of one process, one JSON object per line, in the order in which they were written |
//! | `PID.N.counters` | launch counters of the same process ([`counters`]), a binary file that the process maps |
//! | `graphs/HASH.dot` | a graph as the driver prints it (`cuGraphDebugDotPrint`, verbose); graphs with equal text share one file |
//!
//! `N` counts from 0, because two records can have the same PID: a process that calls
//! `execve` keeps its PID and begins a second record.
//!
//! The first line of every `.jsonl` file is a [`Event::Process`], whose `format`
//! is [`FORMAT`] and whose `version` is [`VERSION`]. A reader accepts only its own version.
//! A version can get new events and fields: readers skip an unknown event
//! ([`Event::Unknown`]) and ignore an unknown field.
//!
//! Each event is written with one `write(2)`, so a process that is killed loses none of the
//! events before. If the disk is full, a line can be incomplete; the reader counts such
//! lines ([`ProcessRecord::damaged_lines`]).
//!
//! # How the changes of memory are attributed
//!
//! The library reads the free memory of the device, the four graph memory
//! attributes and the stream-ordered pools ([`Reading`]) before and after each call that
//! may allocate device memory, and writes an [`Event::Call`] if something changed. A call
//! changed memory by `after - before`. A difference between the `after` of one event and
//! the `before` of the next event of the same device has another cause: lazily loaded
//! kernels, local memory, or other processes on the same GPU. Free memory is counted for
//! the whole device.
//!
//! # Example
//!
//! ```
//! use graph_memory_record::{Event, Recording};
//!
//! let recording = Recording::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example"))?;
//! for process in &recording.processes {
//!     let instantiated = |line: &&graph_memory_record::Line| {
//!         matches!(line.event, Event::Instantiate(_))
//!     };
//!     println!("{}: {} graphs", process.name, process.lines.iter().filter(instantiated).count());
//! }
//! # Ok::<(), graph_memory_record::ReadError>(())
//! ```

pub mod counters;
mod event;
mod graph;
mod reader;
mod reading;
pub mod settings;
mod writer;

pub use event::*;
pub use graph::*;
pub use reader::{ProcessRecord, ReadError, Recording};
pub use reading::*;
pub use writer::{Opened, Writer};

/// The value of the `format` field in the first line of each record.
pub const FORMAT: &str = "graph-memory-record";

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The subfolder of a recording for the DOT files of graphs.
pub const GRAPHS_FOLDER: &str = "graphs";
