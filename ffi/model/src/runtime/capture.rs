//! Stream capture: calls in a stream become nodes of a graph (R17).
//!
//! One stream by itself, whose nodes make a chain. Other streams cannot join through
//! events, and graphs cannot be launched into a capture: calls that a capture does not
//! take here return 900 and invalidate it.

use std::cell::Cell;

use cudart_ffi::{
    cudaError_t, cudaMemAllocationHandleType, cudaMemAllocationType, cudaMemLocation,
    cudaMemLocationType, cudaStreamCaptureMode,
};

use super::{AllocRequest, KernelRequest, Outcome, Runtime};
use crate::objects::effects::Fill;
use crate::objects::id::StreamId;

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    graph: u64,
    /// The node that the next one comes after.
    last: Option<u64>,
    /// A call was made that a capture does not take.
    invalid: Cell<bool>,
}

impl Runtime {
    /// `cudaStreamBeginCapture`.
    ///
    /// # Errors
    ///
    /// 400 for what is no stream, 900 for the legacy default stream, 401 for one that
    /// captures already, 1 for an unknown mode. Policy: 401 is not measured.
    pub fn begin_capture(
        &mut self,
        stream: u64,
        mode: cudaStreamCaptureMode,
        current: i32,
    ) -> Outcome {
        let id = self.any_stream(stream, current)?;
        if mode.known_name().is_none() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if self
            .devices
            .iter()
            .any(|device| device.default_stream == id)
        {
            return Err(cudaError_t::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.is_capturing(id) {
            return Err(cudaError_t::ILLEGAL_STATE);
        }
        let graph = self.graph_create(0)?;
        self.captures.insert(
            id,
            Capture {
                graph,
                last: None,
                invalid: Cell::new(false),
            },
        );
        Ok(())
    }

    /// `cudaStreamEndCapture`: the graph.
    ///
    /// # Errors
    ///
    /// 400 for what is no stream, 401 for one that does not capture, 901 for a
    /// capture that a call has invalidated. Policy: 401 is not measured.
    pub fn end_capture(&mut self, stream: u64, current: i32) -> Outcome<u64> {
        let id = self.any_stream(stream, current)?;
        let capture = self
            .captures
            .remove(&id)
            .ok_or(cudaError_t::ILLEGAL_STATE)?;
        if capture.invalid.get() {
            self.graph_destroy(capture.graph)?;
            return Err(cudaError_t::STREAM_CAPTURE_INVALIDATED);
        }
        Ok(capture.graph)
    }

    pub(super) fn is_capturing(&self, stream: StreamId) -> bool {
        self.captures.contains_key(&stream)
    }

    /// Refuses a stream that captures, for a call that a capture does not take.
    pub(super) fn not_capturing(&self, stream: StreamId) -> Outcome<StreamId> {
        match self.captures.get(&stream) {
            None => Ok(stream),
            Some(capture) => {
                capture.invalid.set(true);
                Err(cudaError_t::STREAM_CAPTURE_UNSUPPORTED)
            }
        }
    }

    /// `cudaMallocAsync` in a capture.
    pub(super) fn capture_malloc(&mut self, stream: StreamId, bytes: u64) -> Outcome<u64> {
        let device = self.streams.get(stream).map_or(0, |stream| stream.device);
        let request = AllocRequest {
            alloc_type: cudaMemAllocationType::PINNED,
            handle_types: cudaMemAllocationHandleType::NONE,
            location: cudaMemLocation {
                type_: cudaMemLocationType::DEVICE,
                id: i32::try_from(device).unwrap_or(i32::MAX),
            },
            access: Vec::new(),
            bytes,
        };
        let (graph, after) = self.captured_so_far(stream)?;
        let (node, address) = self.add_alloc_node(graph, &after, request)?;
        self.captured(stream, node);
        Ok(address)
    }

    /// `cudaFreeAsync` in a capture.
    pub(super) fn capture_free(&mut self, stream: StreamId, address: u64) -> Outcome {
        let (graph, after) = self.captured_so_far(stream)?;
        let node = self.add_free_node(graph, &after, address)?;
        self.captured(stream, node);
        Ok(())
    }

    /// `cudaMemsetAsync` in a capture.
    pub(super) fn capture_set(&mut self, stream: StreamId, fill: Fill) -> Outcome {
        let (graph, after) = self.captured_so_far(stream)?;
        let node = self.add_set_node(graph, &after, fill)?;
        self.captured(stream, node);
        Ok(())
    }

    /// `cudaLaunchKernel` in a capture.
    pub(super) fn capture_kernel(
        &mut self,
        stream: StreamId,
        request: &KernelRequest,
        arguments: Vec<u64>,
    ) -> Outcome {
        let (graph, after) = self.captured_so_far(stream)?;
        let node = self.add_kernel_node(graph, &after, request, arguments)?;
        self.captured(stream, node);
        Ok(())
    }

    fn captured_so_far(&self, stream: StreamId) -> Outcome<(u64, Vec<u64>)> {
        let capture = self
            .captures
            .get(&stream)
            .ok_or(cudaError_t::ILLEGAL_STATE)?;
        if capture.invalid.get() {
            return Err(cudaError_t::STREAM_CAPTURE_INVALIDATED);
        }
        Ok((capture.graph, capture.last.into_iter().collect()))
    }

    fn captured(&mut self, stream: StreamId, node: u64) {
        if let Some(capture) = self.captures.get_mut(&stream) {
            capture.last = Some(node);
        }
    }
}
