//! Events in captures: how other streams join a capture and return to its origin.

use std::collections::HashSet;

use cudart_ffi::cudaError_t;

use super::{Branch, add_once};
use crate::objects::id::{EventId, NodeId, StreamId};
use crate::runtime::{Outcome, Runtime};

impl Runtime {
    /// `cudaEventRecord` in a capturing stream: the event refers to the nodes that the
    /// stream's next node would depend on.
    pub(in crate::runtime) fn capture_record(
        &mut self,
        stream: StreamId,
        event: EventId,
    ) -> Outcome {
        self.captured_so_far(stream)?;
        if let Some(branch) = self.captures.streams.get(&stream) {
            self.captures.events.insert(event, branch.clone());
        }
        Ok(())
    }

    /// Called when the event was recorded outside of a capture, or destroyed.
    pub(in crate::runtime) fn forget_captured_event(&mut self, event: EventId) {
        self.captures.events.remove(&event);
    }

    /// The part of `cudaStreamWaitEvent` that concerns captures. Returns whether there
    /// is one: `false` if neither the stream nor the event belongs to a capture.
    ///
    /// # Errors
    ///
    /// 901 for an invalidated capture; 902 if the stream and the event belong to
    /// different captures; 905 if the stream is capturing and the event was recorded
    /// outside of the capture; 906 if the legacy default stream waits for a captured
    /// event; 1 for an event of a capture that has ended or is invalid. All but 901
    /// invalidate the capture.
    pub(in crate::runtime) fn capture_wait(
        &mut self,
        stream: StreamId,
        event: EventId,
        was_recorded: bool,
    ) -> Outcome<bool> {
        let own = self.captures.streams.get(&stream).map(|own| own.capture);
        let Some(recorded) = self.captures.events.get(&event).cloned() else {
            let Some(own) = own else {
                return Ok(false);
            };
            self.captured_so_far(stream)?;
            if was_recorded {
                self.invalidate(own);
                return Err(cudaError_t::STREAM_CAPTURE_ISOLATION);
            }
            return Ok(true);
        };
        if own.is_some() {
            self.captured_so_far(stream)?;
        }
        let of_event = recorded.capture;
        if self.is_legacy(stream) {
            self.invalidate(of_event);
            return Err(cudaError_t::STREAM_CAPTURE_IMPLICIT);
        }
        match own {
            None => {
                self.captures.streams.insert(stream, recorded);
            }
            Some(own) if own == of_event => {
                if let Some(branch) = self.captures.streams.get_mut(&stream) {
                    for &node in &recorded.after {
                        add_once(&mut branch.after, node);
                    }
                }
            }
            Some(own) => {
                self.invalidate(own);
                self.invalidate(of_event);
                return Err(cudaError_t::STREAM_CAPTURE_MERGE);
            }
        }
        Ok(true)
    }

    /// Refuses an event that was recorded in a capture, for a call that needs the time
    /// of the event. With `invalidates`, the call also invalidates the capture.
    ///
    /// # Errors
    ///
    /// 907, or 1 if the capture has ended or is already invalid.
    pub(in crate::runtime) fn not_captured(
        &mut self,
        event: EventId,
        invalidates: bool,
    ) -> Outcome {
        let Some(Branch { capture, .. }) = self.captures.events.get(&event) else {
            return Ok(());
        };
        let capture = *capture;
        if !self.is_valid(capture) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if invalidates {
            self.invalidate(capture);
        }
        Err(cudaError_t::CAPTURED_EVENT)
    }

    /// Refuses a wait for an event of a capture that has ended or is invalid.
    ///
    /// # Errors
    ///
    /// 901 if the stream's own capture is invalid; otherwise 1, which invalidates it.
    pub(in crate::runtime) fn refuse_dead_event(
        &mut self,
        stream: StreamId,
        event: EventId,
    ) -> Outcome {
        let Some(recorded) = self.captures.events.get(&event).map(|event| event.capture) else {
            return Ok(());
        };
        if self.is_valid(recorded) {
            return Ok(());
        }
        if let Some(own) = self.captures.streams.get(&stream).map(|own| own.capture) {
            self.captured_so_far(stream)?;
            self.invalidate(own);
        }
        Err(cudaError_t::INVALID_VALUE)
    }

    /// Whether the last nodes of all streams of a capture come before the next node of
    /// its origin, or were removed by `cudaStreamUpdateCaptureDependencies`.
    pub(super) fn has_joined(&self, number: u64, origin: StreamId) -> bool {
        let (Some(end), Some(capture)) = (
            self.captures.streams.get(&origin),
            self.captures.all.get(&number),
        ) else {
            return false;
        };
        let mut seen: HashSet<u64> = HashSet::new();
        let mut open = [&end.after[..], &capture.dropped].concat();
        while let Some(node) = open.pop() {
            if seen.insert(node) {
                open.extend(self.nodes_before(node));
            }
        }
        let branches = self.captures.streams.values();
        branches
            .filter(|branch| branch.capture == number)
            .flat_map(|branch| &branch.after)
            .chain(&capture.lost)
            .all(|node| seen.contains(node))
    }

    /// The nodes that a node depends on.
    fn nodes_before(&self, node: u64) -> Vec<u64> {
        let before = NodeId::from_handle(node)
            .and_then(|id| self.nodes.get(id))
            .and_then(|place| {
                let graph = self.graphs.get(place.graph)?;
                let node = graph.nodes.get(place.index as usize)?;
                let handles = node
                    .dependencies
                    .iter()
                    .filter_map(|&before| graph.nodes.get(before as usize))
                    .map(|before| before.handle.to_handle());
                Some(handles.collect())
            });
        before.unwrap_or_default()
    }
}
