//! Reads what `cudaGraphDebugDotPrint` writes.
//!
//! The reader is our own and small. `graphviz-rust` 0.9, `dot-parser` 0.6 and
//! `layout-rs` 0.1 all take the runtime's files, but build the whole tree first:
//! for a dump of 20 000 nodes (8 MB) 4.6, 2.5 and 0.2 s and 670, 110 and 70 MB, for
//! a million nodes (417 MB) the last one 22 s and 3.5 GB, and nested subgraphs
//! overflow its stack. Here a file is a stream of statements, and what is kept of
//! a node is what a plan needs.
//!
//! What CUDA's runtimes 11.8 to 13.5 write is read, also with lines of a log around it;
//! all else that DOT has, such as comments, ports and HTML, is refused.

mod by_name;
mod collect;
mod flatten;
mod label;
mod lexer;
mod parser;
mod raw;

use std::io::Read;

use crate::graph::Graph;
use crate::read_error::ReadError;
use collect::Collector;

/// Reads all graphs of one file. A child graph's nodes become part of the graph
/// that contains it, between two nodes that stand for its begin and end.
///
/// # Errors
///
/// Text that is no DOT or was cut off, a dump without the sizes and addresses that
/// only the verbose flag writes, numbers beyond 64 bits.
pub fn read(input: impl Read, origin: &str) -> Result<Vec<Graph>, ReadError> {
    let mut collector = Collector::new(origin);
    parser::parse(input, &mut collector)?;
    Ok(collector.into_graphs())
}

#[cfg(test)]
mod tests;
