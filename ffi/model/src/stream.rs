//! Streams and events: when the work handed to the device ends.
//!
//! The end of every piece of work is known when it is handed over, so a stream
//! is a time and an event is a time.

use crate::clock::Nanos;
use crate::slab::Tagged;

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
    /// When everything in it so far is over; waits for events included.
    pub end: Nanos,
}

impl Tagged for Stream {
    const TAG: u64 = 4;
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Made without the flag that leaves out times.
    pub timed: bool,
    /// When the work recorded last is over; `None` before the first record.
    pub reached: Option<Nanos>,
}

impl Tagged for Event {
    const TAG: u64 = 5;
}
