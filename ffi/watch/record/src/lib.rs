//! The recording of a watched CUDA program.
//!
//! `libgraph_memory_watch.so` is preloaded into a CUDA program and writes what it
//! sees into a folder, the *recording*. This crate is the format of that folder,
//! the code that writes it and the code that reads it.
//!
//! # What is in the folder
//!
//! | file | content |
//! |---|---|
//! | `PID.N.jsonl` | the events of one process, one JSON object a line, in the order in which they were written |
//! | `PID.N.counters` | launch counters of the same process ([`counters`]), a binary file that the process maps |
//! | `graphs/HASH.dot` | a graph as the driver prints it (`cuGraphDebugDotPrint`, verbose); graphs with equal text share one file |
//!
//! `N` counts from 0. It separates processes of one number: a process that calls
//! `execve` keeps its number and begins a second record.
//!
//! The first line of every `.jsonl` file is a [`Event::Process`], whose `format`
//! is [`FORMAT`] and whose `version` is [`VERSION`]. A reader accepts its own
//! version. Within a version, events and fields may be added: readers skip an
//! event that they do not know ([`Event::Unknown`]) and ignore a field that they
//! do not know.
//!
//! Each event is written with one `write(2)`, so a process that is killed loses
//! nothing that was written before. If the disk is full a line can be cut; the
//! reader counts such lines ([`ProcessRecord::damaged_lines`]).
//!
//! # An account that adds up
//!
//! The library reads the free memory of the device, the four graph memory
//! attributes and the stream-ordered pools ([`Reading`]) before and after each
//! call that may take device memory, and writes an [`Event::Call`] when something
//! changed. What a call changed is `after - before`. What changed from the `after`
//! of one event to the `before` of the next event of the same device happened
//! between such calls: lazily loaded kernels, local memory, other processes on
//! the same GPU. Free memory is a number of the whole device.
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

/// What the `format` field of the first line of each record says.
pub const FORMAT: &str = "graph-memory-record";

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The folder of the graphs' DOT files within a recording.
pub const GRAPHS_FOLDER: &str = "graphs";
