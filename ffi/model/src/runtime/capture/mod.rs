//! Stream capture: calls in a stream become nodes of a graph (R17).
//!
//! A capture begins in one stream, its origin. Other streams join it when they wait for an
//! event that was recorded in it (`fork`). For each stream the capture stores the nodes
//! that the stream's next node will depend on. A call that a capture does not allow
//! invalidates it: further captured calls return 901, and so does the end of the capture.
//!
//! `work` adds the nodes, and `rules` contains which calls captures forbid.

mod fork;
mod rules;
mod work;

use std::collections::{BTreeMap, HashMap};

use cudart_ffi::{cudaError_t, cudaStreamCaptureMode};

use super::{Outcome, Runtime};
use crate::objects::id::{EventId, StreamId};
use crate::objects::stream::StreamKind;

/// The host thread that makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// A number that is different for each thread.
    pub thread: u64,
    /// Its capture mode, which determines the calls that captures forbid to it: global
    /// unless the thread has exchanged it.
    pub mode: cudaStreamCaptureMode,
    /// Its current device.
    pub device: i32,
    /// Whether the null stream is the thread's own default stream in this call.
    pub per_thread_default: bool,
}

impl Default for Caller {
    fn default() -> Self {
        Self {
            thread: 0,
            mode: cudaStreamCaptureMode::GLOBAL,
            device: 0,
            per_thread_default: false,
        }
    }
}

/// The active captures.
#[derive(Debug, Default)]
pub struct Captures {
    /// By the number that `cudaStreamGetCaptureInfo` returns.
    all: BTreeMap<u64, Capture>,
    streams: HashMap<StreamId, Branch>,
    events: HashMap<EventId, Branch>,
}

/// One capture.
#[derive(Debug)]
struct Capture {
    graph: u64,
    mode: cudaStreamCaptureMode,
    /// The thread that began it.
    thread: u64,
    origin: StreamId,
    /// Whether the program passed the graph when the capture began.
    given: bool,
    /// Whether no call has invalidated it.
    valid: bool,
    /// The last nodes of streams that were destroyed since.
    lost: Vec<u64>,
    /// Nodes that `cudaStreamUpdateCaptureDependencies` removed from the dependencies
    /// of a stream's next node. They need not come before the end of the origin.
    dropped: Vec<u64>,
}

/// A point in a capture: that of a stream, or one that an event has recorded.
#[derive(Debug, Clone)]
struct Branch {
    capture: u64,
    /// The nodes that the next node will depend on.
    after: Vec<u64>,
}

/// The result of `cudaStreamGetCaptureInfo` for a capturing stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureInfo<'a> {
    /// Whether the capture is still valid.
    pub valid: bool,
    /// The capture's number.
    pub id: u64,
    /// Its graph.
    pub graph: u64,
    /// The nodes that the stream's next node will depend on. The array stays at the
    /// same address until a call captures or waits in this stream, or ends the capture.
    pub after: &'a [u64],
}

impl Runtime {
    /// `cudaStreamBeginCapture`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 900 for the legacy default stream, 401
    /// for a stream that is already capturing, 1 for an unknown mode.
    pub fn begin_capture(
        &mut self,
        stream: u64,
        mode: cudaStreamCaptureMode,
        current: i32,
    ) -> Outcome {
        self.begin(stream, mode, current, None)
    }

    /// `cudaStreamBeginCaptureToGraph`: the nodes are added to a graph of the program,
    /// and the first ones depend on the given nodes.
    ///
    /// # Errors
    ///
    /// The same as for [`begin_capture`](Self::begin_capture), and 1 for a handle that
    /// is not a graph and for dependencies that are not nodes of it.
    pub fn begin_capture_to_graph(
        &mut self,
        stream: u64,
        graph: u64,
        after: &[u64],
        mode: cudaStreamCaptureMode,
        current: i32,
    ) -> Outcome {
        let id = self.graph_id(graph)?;
        self.dependencies(id, after)?;
        self.begin(stream, mode, current, Some((graph, after)))
    }

    fn begin(
        &mut self,
        stream: u64,
        mode: cudaStreamCaptureMode,
        current: i32,
        given: Option<(u64, &[u64])>,
    ) -> Outcome {
        let id = self.any_stream(stream, current)?;
        if mode.known_name().is_none() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.refuse_beside_legacy(id)?;
        if self.is_legacy(id) {
            return Err(cudaError_t::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.is_capturing(id) || given.is_some_and(|(graph, _)| self.captures_into(graph)) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        let is_given = given.is_some();
        let (graph, after) = match given {
            Some((graph, after)) => (graph, after.to_vec()),
            None => (self.graph_create(0)?, Vec::new()),
        };
        // A capture has the same number as its graph.
        let number = self.graph(self.graph_id(graph)?)?.number;
        let captures = &mut self.captures;
        captures.all.insert(
            number,
            Capture {
                graph,
                mode,
                thread: self.caller.thread,
                origin: id,
                given: is_given,
                valid: true,
                lost: Vec::new(),
                dropped: Vec::new(),
            },
        );
        captures.streams.insert(
            id,
            Branch {
                capture: number,
                after,
            },
        );
        Ok(())
    }

    /// `cudaStreamEndCapture`: returns the graph.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 906 for the legacy default stream while a
    /// blocking stream captures, 401 for a stream that is not capturing, and 903 for a
    /// stream other than the origin, which invalidates the capture. The other errors
    /// end the capture and destroy its graph, even if the program or a conditional node
    /// owns it: 901 if a call has invalidated the capture, 904 if a stream has not
    /// joined the origin again, and 908 from another thread than the one that began the
    /// capture, if its mode is not relaxed.
    pub fn end_capture(&mut self, stream: u64, current: i32) -> Outcome<u64> {
        let id = self.working_stream(stream, current)?;
        let number = self
            .captures
            .streams
            .get(&id)
            .ok_or(cudaError_t::ILLEGAL_STATE)?
            .capture;
        let capture = self
            .captures
            .all
            .get(&number)
            .ok_or(cudaError_t::ILLEGAL_STATE)?;
        let graph = capture.graph;
        let wrong_thread =
            capture.mode != cudaStreamCaptureMode::RELAXED && capture.thread != self.caller.thread;
        if capture.origin != id {
            self.invalidate(number);
            return Err(cudaError_t::STREAM_CAPTURE_UNMATCHED);
        }
        let outcome = if !capture.valid {
            Err(cudaError_t::STREAM_CAPTURE_INVALIDATED)
        } else if !self.has_joined(number, id) {
            Err(cudaError_t::STREAM_CAPTURE_UNJOINED)
        } else if wrong_thread {
            Err(cudaError_t::STREAM_CAPTURE_WRONG_THREAD)
        } else {
            Ok(graph)
        };
        self.forget_capture(number);
        if outcome.is_err()
            && let Ok(graph) = self.graph_id(graph)
        {
            self.remove_graph(graph);
        }
        outcome
    }

    /// Whether the program may pass no pointer for the graph to `cudaStreamEndCapture`:
    /// it passed the graph itself when the capture began, as NVIDIA's sample
    /// graphConditionalNodes does.
    pub fn capture_graph_is_given(&mut self, stream: u64, current: i32) -> bool {
        let Ok(id) = self.working_stream(stream, current) else {
            return false;
        };
        let captures = &self.captures;
        captures
            .streams
            .get(&id)
            .and_then(|branch| captures.all.get(&branch.capture))
            .is_some_and(|capture| capture.given)
    }

    /// `cudaStreamIsCapturing` and `cudaStreamGetCaptureInfo`: `None` for a stream that
    /// is not capturing.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream; 906 for the legacy default stream while a
    /// blocking stream captures.
    pub fn capture_info(&mut self, stream: u64, current: i32) -> Outcome<Option<CaptureInfo<'_>>> {
        let id = self.any_stream(stream, current)?;
        if self.is_legacy(id) && self.captures_beside_legacy().next().is_some() {
            return Err(cudaError_t::STREAM_CAPTURE_IMPLICIT);
        }
        Ok(self.captures.streams.get(&id).and_then(|branch| {
            let capture = self.captures.all.get(&branch.capture)?;
            Some(CaptureInfo {
                valid: capture.valid,
                id: branch.capture,
                graph: capture.graph,
                after: &branch.after,
            })
        }))
    }

    /// `cudaStreamUpdateCaptureDependencies`: sets the nodes that the stream's next
    /// node will depend on, or adds to them.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 401 for a stream that is not capturing,
    /// 901 for an invalidated capture, 1 for unknown flags and for a handle that is not
    /// a node of the captured graph.
    pub fn update_capture_dependencies(
        &mut self,
        stream: u64,
        nodes: &[u64],
        flags: u32,
        current: i32,
    ) -> Outcome {
        const ADD: u32 = 0;
        const SET: u32 = 1;
        let id = self.any_stream(stream, current)?;
        if !self.is_capturing(id) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        let (graph, mut after) = self.captured_so_far(id)?;
        let mut dropped = Vec::new();
        match flags {
            ADD => {}
            SET => dropped.append(&mut after),
            _ => return Err(cudaError_t::INVALID_VALUE),
        }
        let graph = self.graph_id(graph)?;
        for &node in nodes {
            self.dependencies(graph, &[node])?;
            add_once(&mut after, node);
        }
        if let Some(branch) = self.captures.streams.get_mut(&id) {
            branch.after = after;
            if let Some(capture) = self.captures.all.get_mut(&branch.capture) {
                capture.dropped.append(&mut dropped);
            }
        }
        Ok(())
    }

    /// The number of nodes of the graph into which a stream captures.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 401 for a stream that is not capturing,
    /// 901 for an invalidated capture.
    pub fn captured_nodes(&mut self, stream: u64, current: i32) -> Outcome<usize> {
        let id = self.any_stream(stream, current)?;
        if !self.is_capturing(id) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        let (graph, _) = self.captured_so_far(id)?;
        self.node_count(graph)
    }

    /// Sets the thread that makes the following calls.
    pub fn set_caller(&mut self, caller: Caller) {
        self.caller = caller;
    }

    /// Called when a stream is destroyed. If it is the origin of a capture, the capture
    /// ends and its graph is destroyed. If it is another stream, the origin must still
    /// join the nodes that it captured.
    pub(super) fn capture_lost_stream(&mut self, stream: StreamId) {
        let Some(branch) = self.captures.streams.remove(&stream) else {
            return;
        };
        let Some(capture) = self.captures.all.get_mut(&branch.capture) else {
            return;
        };
        if capture.origin == stream {
            let graph = capture.graph;
            self.forget_capture(branch.capture);
            if let Ok(graph) = self.graph_id(graph) {
                self.remove_graph(graph);
            }
        } else {
            capture.lost.extend(branch.after);
        }
    }

    /// Whether a capture adds nodes to a graph.
    pub(super) fn captures_into(&self, graph: u64) -> bool {
        self.captures
            .all
            .values()
            .any(|capture| capture.graph == graph)
    }

    fn forget_capture(&mut self, number: u64) {
        self.captures.all.remove(&number);
        self.captures
            .streams
            .retain(|_, branch| branch.capture != number);
    }

    pub(super) fn is_capturing(&self, stream: StreamId) -> bool {
        self.captures.streams.contains_key(&stream)
    }

    pub(super) fn is_legacy(&self, stream: StreamId) -> bool {
        self.streams
            .get(stream)
            .is_some_and(|stream| stream.kind == StreamKind::Default)
    }

    /// The captures with a blocking stream, for which the legacy default stream would
    /// have to wait.
    fn captures_beside_legacy(&self) -> impl Iterator<Item = u64> {
        self.captures.streams.iter().filter_map(|(&id, branch)| {
            let kind = self.streams.get(id)?.kind;
            (kind == StreamKind::Blocking).then_some(branch.capture)
        })
    }

    /// Whether a capture is active and not invalidated.
    fn is_valid(&self, number: u64) -> bool {
        self.captures
            .all
            .get(&number)
            .is_some_and(|capture| capture.valid)
    }

    fn invalidate(&mut self, number: u64) {
        if let Some(capture) = self.captures.all.get_mut(&number) {
            capture.valid = false;
        }
    }

    /// The graph into which a stream captures, and the nodes that its next node will
    /// depend on.
    fn captured_so_far(&self, stream: StreamId) -> Outcome<(u64, Vec<u64>)> {
        let branch = self
            .captures
            .streams
            .get(&stream)
            .ok_or(cudaError_t::ILLEGAL_STATE)?;
        match self.captures.all.get(&branch.capture) {
            Some(capture) if capture.valid => Ok((capture.graph, branch.after.clone())),
            _ => Err(cudaError_t::STREAM_CAPTURE_INVALIDATED),
        }
    }
}

fn add_once(nodes: &mut Vec<u64>, node: u64) {
    if !nodes.contains(&node) {
        nodes.push(node);
    }
}
