//! Streams and events: when the work submitted to the device ends.
//!
//! The end of every piece of work is known when it is submitted, so a stream
//! is a time and an event is a time.

use crate::clock::Nanos;
use crate::objects::id::ExecId;

/// How a stream orders itself with the legacy default stream of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// It is that stream: its work waits for all blocking streams.
    Default,
    /// Its work waits for the default stream's.
    Blocking,
    /// Not at all.
    NonBlocking,
}

/// A stream: work in it runs in order.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// The device that was current when it was made.
    pub device: usize,
    /// How it orders itself with the default stream.
    pub kind: StreamKind,
    /// What it was made with: no priority counts here.
    pub priority: i32,
    /// When everything in it so far is over; waits for events included.
    pub end: Nanos,
    /// The last launch of a graph with memory nodes in it, and the last one of
    /// another exec than that: who, and when it is over.
    pub graphs: [Option<(ExecId, Nanos)>; 2],
}

impl Stream {
    /// Notes a launch of a graph with memory nodes.
    pub fn note_graph(&mut self, exec: ExecId, end: Nanos) {
        if self.graphs[0].is_some_and(|(last, _)| last != exec) {
            self.graphs[1] = self.graphs[0];
        }
        self.graphs[0] = Some((exec, end));
    }

    /// When the last graph with memory nodes of another exec is over.
    #[must_use]
    pub fn others_end(&self, exec: ExecId) -> Nanos {
        self.graphs
            .iter()
            .flatten()
            .find(|(other, _)| *other != exec)
            .map_or(0, |(_, end)| *end)
    }
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Made without the flag that leaves out times.
    pub timed: bool,
    /// When the work recorded last is over; `None` before the first record.
    pub reached: Option<Nanos>,
}
