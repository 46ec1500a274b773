//! Stream capture.

use core::ffi::{c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::pointers::{handles, not_null, write};
use crate::functions::FunctionId as F;

/// `cudaStreamCaptureStatus`.
const NONE: c_uint = 0;
const ACTIVE: c_uint = 1;
const INVALIDATED: c_uint = 2;

pub(in crate::c_api) unsafe fn cudaStreamBeginCapture(
    stream: cudaStream_t,
    mode: cudaStreamCaptureMode,
) -> cudaError_t {
    run(F::cudaStreamBeginCapture, |call| {
        let device = call.thread.device;
        call.runtime().begin_capture(stream.0 as u64, mode, device)
    })
}

pub(in crate::c_api) unsafe fn cudaStreamEndCapture(
    stream: cudaStream_t,
    graph: *mut cudaGraph_t,
) -> cudaError_t {
    run(F::cudaStreamEndCapture, |call| {
        let device = call.thread.device;
        let runtime = call.runtime();
        if graph.is_null() && !runtime.capture_graph_is_given(stream.0 as u64, device) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let ended = runtime.end_capture(stream.0 as u64, device);
        if let Ok(out) = not_null(graph) {
            let handle = ended.unwrap_or(0);
            // SAFETY: not null, and the program guarantees that it can be
            // written. An invalidated capture has the handle null.
            unsafe { write(out, cudaGraph_t(handle as *mut c_void)) };
        }
        ended.map(|_| ())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamBeginCaptureToGraph(
    stream: cudaStream_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    edge_data: *const c_void,
    dependency_count: usize,
    mode: cudaStreamCaptureMode,
) -> cudaError_t {
    run(F::cudaStreamBeginCaptureToGraph, |call| {
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length.
        let after =
            unsafe { dependencies_without_data(dependencies, edge_data, dependency_count, most)? };
        let device = call.thread.device;
        call.runtime()
            .begin_capture_to_graph(stream.0 as u64, graph.0 as u64, &after, mode, device)
    })
}

pub(in crate::c_api) unsafe fn cudaStreamIsCapturing(
    stream: cudaStream_t,
    status: *mut c_uint,
) -> cudaError_t {
    run(F::cudaStreamIsCapturing, |call| {
        let out = not_null(status)?;
        let device = call.thread.device;
        let info = call.runtime().capture_info(stream.0 as u64, device)?;
        let status = match info {
            None => NONE,
            Some(info) if info.valid => ACTIVE,
            Some(_) => INVALIDATED,
        };
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, status) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamGetCaptureInfo_v3(
    stream: cudaStream_t,
    status: *mut c_uint,
    id: *mut c_ulonglong,
    graph: *mut cudaGraph_t,
    dependencies: *mut *const cudaGraphNode_t,
    edge_data: *mut *const c_void,
    dependency_count: *mut usize,
) -> cudaError_t {
    run(F::cudaStreamGetCaptureInfo, |call| {
        let status = not_null(status)?;
        let device = call.thread.device;
        let Some(info) = call.runtime().capture_info(stream.0 as u64, device)? else {
            // SAFETY: not null, and the program promises that it can be written.
            unsafe { write(status, NONE) };
            return Ok(());
        };
        if !info.valid {
            // SAFETY: as above.
            unsafe { write(status, INVALIDATED) };
            return Ok(());
        }
        // Handles and pointers have the same size. The array stays at the same
        // address until the stream's next call, as CUDA guarantees.
        let nodes = info.after.as_ptr().cast::<cudaGraphNode_t>();
        // SAFETY: as above; all but the status may be null, and are then not
        // written.
        unsafe {
            write(status, ACTIVE);
            write_if(id, info.id);
            write_if(graph, cudaGraph_t(info.graph as *mut c_void));
            write_if(dependencies, nodes);
            write_if(edge_data, core::ptr::null());
            write_if(dependency_count, info.after.len());
        }
        Ok(())
    })
}

/// Writes a result, unless the program passed null for it.
///
/// # Safety
///
/// `pointer` must be null or valid for a write.
pub(super) unsafe fn write_if<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: the caller guarantees it.
        unsafe { write(pointer, value) };
    }
}

pub(in crate::c_api) unsafe fn cudaStreamUpdateCaptureDependencies_v2(
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *const c_void,
    dependency_count: usize,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaStreamUpdateCaptureDependencies, |call| {
        let device = call.thread.device;
        let most = call.runtime().captured_nodes(stream.0 as u64, device)?;
        // SAFETY: the program promises an array of this length.
        let nodes =
            unsafe { dependencies_without_data(dependencies, edge_data, dependency_count, most)? };
        let device = call.thread.device;
        call.runtime()
            .update_capture_dependencies(stream.0 as u64, &nodes, flags, device)
    })
}

/// Reads dependencies. Edges with data (programmatic launches) are not simulated.
///
/// # Safety
///
/// `first` must be null or valid for reading `count` handles, if these are not more than
/// `most`.
unsafe fn dependencies_without_data(
    first: *const cudaGraphNode_t,
    edge_data: *const c_void,
    count: usize,
    most: usize,
) -> Result<Vec<u64>, cudaError_t> {
    if !edge_data.is_null() {
        return Err(cudaError_t::NOT_SUPPORTED);
    }
    // SAFETY: the caller guarantees it.
    unsafe { handles(first.cast(), count, most) }
}

pub(in crate::c_api) unsafe fn cudaThreadExchangeStreamCaptureMode(
    mode: *mut cudaStreamCaptureMode,
) -> cudaError_t {
    run(
        F::cudaThreadExchangeStreamCaptureMode,
        |call: &mut Call<'_>| {
            let place = not_null(mode)?;
            // SAFETY: not null, and the program promises that it can be read and written.
            let wanted = unsafe { place.read_unaligned() };
            // Any value is accepted, and returned by the next exchange, as on
            // the H200.
            let before = core::mem::replace(&mut call.thread.capture_mode, wanted);
            // SAFETY: as above.
            unsafe { write(place, before) };
            Ok(())
        },
    )
}
