//! Work in a capturing stream: it becomes nodes, in the stream's order.

use cudart_ffi::{
    cudaError_t, cudaMemAllocationHandleType, cudaMemAllocationType, cudaMemLocation,
    cudaMemLocationType,
};

use crate::kernels::program::Arguments;
use crate::objects::effects::{CopyRequest, Fill, HostCall};
use crate::objects::id::StreamId;
use crate::runtime::{AllocRequest, KernelRequest, Outcome, Runtime};

impl Runtime {
    /// `cudaMallocAsync` in a capture. For 0 bytes it adds no node and returns null.
    pub(in crate::runtime) fn capture_malloc(
        &mut self,
        stream: StreamId,
        bytes: u64,
    ) -> Outcome<u64> {
        if bytes == 0 {
            self.captured_so_far(stream)?;
            return Ok(0);
        }
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
        let mut address = 0;
        self.capture_node(stream, |runtime, graph, after| {
            let (node, placed) = runtime.add_alloc_node(graph, after, request)?;
            address = placed;
            Ok(node)
        })?;
        Ok(address)
    }

    /// `cudaFreeAsync` in a capture. For null it adds no node.
    pub(in crate::runtime) fn capture_free(&mut self, stream: StreamId, address: u64) -> Outcome {
        if address == 0 {
            return self.captured_so_far(stream).map(|_| ());
        }
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_free_node(graph, after, address)
        })
    }

    /// `cudaMemsetAsync` in a capture.
    pub(in crate::runtime) fn capture_set(&mut self, stream: StreamId, fill: Fill) -> Outcome {
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_set_node(graph, after, fill)
        })
    }

    /// `cudaMemcpyAsync` in a capture.
    pub(in crate::runtime) fn capture_copy(
        &mut self,
        stream: StreamId,
        copy: CopyRequest,
    ) -> Outcome {
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_copy_node(graph, after, copy)
        })
    }

    /// `cudaLaunchHostFunc` in a capture.
    pub(in crate::runtime) fn capture_host(&mut self, stream: StreamId, call: HostCall) -> Outcome {
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_host_node(graph, after, call)
        })
    }

    /// `cudaEventRecordWithFlags` and, with `wait`, `cudaStreamWaitEvent` of an external
    /// event in a capture.
    pub(in crate::runtime) fn capture_event_node(
        &mut self,
        stream: StreamId,
        event: u64,
        wait: bool,
    ) -> Outcome {
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_event_node(graph, after, event, wait)
        })
    }

    /// `cudaLaunchKernel` in a capture.
    pub(in crate::runtime) fn capture_kernel(
        &mut self,
        stream: StreamId,
        request: &KernelRequest,
        arguments: Arguments,
    ) -> Outcome {
        self.capture_node(stream, |runtime, graph, after| {
            runtime.add_kernel_node(graph, after, request, arguments)
        })
    }

    /// Adds the node that `add` creates to the graph into which a stream captures,
    /// after the stream's last nodes.
    ///
    /// # Errors
    ///
    /// 901 for an invalidated capture, or the error of `add`, which leaves the capture
    /// unchanged.
    pub(in crate::runtime) fn capture_node(
        &mut self,
        stream: StreamId,
        add: impl FnOnce(&mut Self, u64, &[u64]) -> Outcome<u64>,
    ) -> Outcome {
        let (graph, after) = self.captured_so_far(stream)?;
        let node = add(self, graph, &after)?;
        let branch = self.captures.streams.get_mut(&stream);
        branch.ok_or(cudaError_t::ILLEGAL_STATE)?.after = vec![node];
        Ok(())
    }
}
