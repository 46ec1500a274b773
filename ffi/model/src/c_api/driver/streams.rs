//! Streams and captures.

use core::ffi::{c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::pointers::{not_null, write};
use super::entry::{Needs, as_runtime, run};

pub(super) use runtime::PRIORITIES;

pub(in crate::c_api) unsafe fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaStreamCreateWithFlags(stream, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamCreateWithPriority(
    stream: *mut CUstream,
    flags: c_uint,
    priority: c_int,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaStreamCreateWithPriority(stream, flags, priority) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamDestroy_v2(stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the function takes a handle, which is only looked up.
        unsafe { runtime::cudaStreamDestroy(stream) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaStreamSynchronize(stream) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamQuery(stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaStreamQuery(stream) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamWaitEvent(
    stream: CUstream,
    event: CUevent,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaStreamWaitEvent(stream, event, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamGetPriority(
    stream: CUstream,
    priority: *mut c_int,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaStreamGetPriority(stream, priority) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaStreamGetFlags(stream, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamGetCtx(stream: CUstream, pctx: *mut CUcontext) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(pctx)?;
        let (thread, device) = (call.thread.number, call.thread.device);
        let runtime = call.runtime();
        let handle = runtime.stream_context(stream.0 as u64, thread, device)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, CUcontext(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuLaunchHostFunc(
    stream: CUstream,
    function: CUhostFn,
    user_data: *mut c_void,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaLaunchHostFunc(stream, function, user_data) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamBeginCapture_v2(
    stream: CUstream,
    mode: CUstreamCaptureMode,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaStreamBeginCapture(stream, cudaStreamCaptureMode(mode.0)) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_data: *const CUgraphEdgeData,
    dependency_count: usize,
    mode: CUstreamCaptureMode,
) -> CUresult {
    as_runtime(Needs::Context, || {
        let mode = cudaStreamCaptureMode(mode.0);
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaStreamBeginCaptureToGraph(
                stream,
                graph,
                dependencies,
                dependency_data.cast(),
                dependency_count,
                mode,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuStreamEndCapture(
    stream: CUstream,
    graph: *mut CUgraph,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaStreamEndCapture(stream, graph) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamIsCapturing(
    stream: CUstream,
    capture_status: *mut CUstreamCaptureStatus,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it; the status is an unsigned int.
        unsafe { runtime::cudaStreamIsCapturing(stream, capture_status.cast()) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    capture_status_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    dependency_count: *mut usize,
) -> CUresult {
    let no_data = core::ptr::null_mut();
    // SAFETY: the caller guarantees it.
    unsafe {
        cuStreamGetCaptureInfo_v3(
            stream,
            capture_status_out,
            id_out,
            graph_out,
            dependencies,
            no_data,
            dependency_count,
        )
    }
}

pub(in crate::c_api) unsafe fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    capture_status_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    edge_data_out: *mut *const CUgraphEdgeData,
    dependency_count: *mut usize,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it; the status is an unsigned int.
        unsafe {
            runtime::cudaStreamGetCaptureInfo_v3(
                stream,
                capture_status_out.cast(),
                id_out,
                graph_out,
                dependencies,
                edge_data_out.cast(),
                dependency_count,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    dependency_count: usize,
    flags: c_uint,
) -> CUresult {
    let no_data = core::ptr::null();
    // SAFETY: the caller guarantees it.
    unsafe {
        cuStreamUpdateCaptureDependencies_v2(stream, dependencies, no_data, dependency_count, flags)
    }
}

pub(in crate::c_api) unsafe fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    dependency_data: *const CUgraphEdgeData,
    dependency_count: usize,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe {
            runtime::cudaStreamUpdateCaptureDependencies_v2(
                stream,
                dependencies,
                dependency_data.cast(),
                dependency_count,
                flags,
            )
        }
    })
}

pub(in crate::c_api) unsafe fn cuThreadExchangeStreamCaptureMode(
    mode: *mut CUstreamCaptureMode,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it; both types of modes are the same
        // integers.
        unsafe { runtime::cudaThreadExchangeStreamCaptureMode(mode.cast()) }
    })
}

pub(in crate::c_api) unsafe fn cuStreamDestroy(stream: CUstream) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuStreamDestroy_v2(stream) }
}
