//! Streams and events: the times at which submitted work ends.
//!
//! The end of every piece of work is known when it is submitted, so a stream and an event
//! are each represented by a time.

use crate::clock::Nanos;
use crate::objects::id::ExecId;

/// How a stream is ordered with the legacy default stream of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// It is the legacy default stream: its work waits for all blocking streams.
    Default,
    /// Its work waits for that of the default stream.
    Blocking,
    /// It is not ordered with the default stream.
    NonBlocking,
}

/// A stream: work in it runs in order.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// The device that was current when it was created.
    pub device: usize,
    /// How it is ordered with the default stream.
    pub kind: StreamKind,
    /// The priority with which it was created. It has no effect in the simulated
    /// runtime.
    pub priority: i32,
    /// The time at which all work submitted so far ends, including waits for events.
    pub end: Nanos,
    /// The last launch in it of a graph with memory nodes, and the last such launch of
    /// another exec: each with its exec and the time at which it ends.
    pub graphs: [Option<(ExecId, Nanos)>; 2],
}

impl Stream {
    /// Records a launch of a graph with memory nodes.
    pub fn note_graph(&mut self, exec: ExecId, end: Nanos) {
        if self.graphs[0].is_some_and(|(last, _)| last != exec) {
            self.graphs[1] = self.graphs[0];
        }
        self.graphs[0] = Some((exec, end));
    }

    /// The time at which the last launch of another exec with memory nodes ends.
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
    /// Whether it was created without the flag `cudaEventDisableTiming`.
    pub timed: bool,
    /// The time at which the work ends that was recorded last; `None` before the first
    /// record.
    pub reached: Option<Nanos>,
}
