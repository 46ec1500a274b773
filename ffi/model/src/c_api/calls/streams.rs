//! Streams and events.

use core::ffi::{c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;

pub(in crate::c_api) unsafe fn cudaStreamCreateWithFlags(
    stream: *mut cudaStream_t,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaStreamCreateWithFlags, |call| {
        let out = not_null(stream)?;
        let device = call.thread.device;
        let handle = call.runtime().stream_create(flags, device)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, cudaStream_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) use crate::runtime::STREAM_PRIORITIES as PRIORITIES;

pub(in crate::c_api) unsafe fn cudaStreamCreate(stream: *mut cudaStream_t) -> cudaError_t {
    run(F::cudaStreamCreate, |call| {
        let out = not_null(stream)?;
        let device = call.thread.device;
        let handle = call
            .runtime()
            .stream_create(stream_flags::DEFAULT, device)?;
        // SAFETY: as above.
        unsafe { write(out, cudaStream_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamCreateWithPriority(
    stream: *mut cudaStream_t,
    flags: c_uint,
    priority: c_int,
) -> cudaError_t {
    run(F::cudaStreamCreateWithPriority, |call| {
        let out = not_null(stream)?;
        let device = call.thread.device;
        let runtime = call.runtime();
        let handle = runtime.stream_create_with_priority(flags, priority, device)?;
        // SAFETY: as above.
        unsafe { write(out, cudaStream_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceGetStreamPriorityRange(
    least_priority: *mut c_int,
    greatest_priority: *mut c_int,
) -> cudaError_t {
    run(F::cudaDeviceGetStreamPriorityRange, |_| {
        let [least, greatest] = PRIORITIES;
        for (out, value) in [(least_priority, least), (greatest_priority, greatest)] {
            if !out.is_null() {
                // SAFETY: not null, and the program promises that it can be written.
                unsafe { write(out, value) };
            }
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamGetPriority(
    stream: cudaStream_t,
    priority: *mut c_int,
) -> cudaError_t {
    run(F::cudaStreamGetPriority, |call| {
        let out = not_null(priority)?;
        let device = call.thread.device;
        let priority = call.runtime().stream_priority(stream.0 as u64, device)?;
        // SAFETY: as above.
        unsafe { write(out, priority) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamGetFlags(
    stream: cudaStream_t,
    flags: *mut c_uint,
) -> cudaError_t {
    run(F::cudaStreamGetFlags, |call| {
        let out = not_null(flags)?;
        let device = call.thread.device;
        let flags = call.runtime().stream_flags(stream.0 as u64, device)?;
        // SAFETY: as above.
        unsafe { write(out, flags) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaEventCreate(event: *mut cudaEvent_t) -> cudaError_t {
    run(F::cudaEventCreate, |call| {
        let out = not_null(event)?;
        let handle = call.runtime().event_create(event_flags::DEFAULT)?;
        // SAFETY: as above.
        unsafe { write(out, cudaEvent_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamDestroy(stream: cudaStream_t) -> cudaError_t {
    run(F::cudaStreamDestroy, |call| {
        call.runtime().stream_destroy(stream.0 as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaStreamSynchronize(stream: cudaStream_t) -> cudaError_t {
    run(F::cudaStreamSynchronize, |call| {
        let device = call.thread.device;
        let end = call.runtime().stream_end(stream.0 as u64, device)?;
        call.wait_until(end);
        call.runtime().release_pools();
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaStreamQuery(stream: cudaStream_t) -> cudaError_t {
    run(F::cudaStreamQuery, |call| {
        let device = call.thread.device;
        let end = call.runtime().stream_end(stream.0 as u64, device)?;
        if end > call.runtime().now() {
            Err(cudaError_t::NOT_READY)
        } else {
            Ok(())
        }
    })
}

pub(in crate::c_api) unsafe fn cudaStreamWaitEvent(
    stream: cudaStream_t,
    event: cudaEvent_t,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaStreamWaitEvent, |call| {
        let device = call.thread.device;
        call.runtime()
            .stream_wait_event(stream.0 as u64, event.0 as u64, flags, device)
    })
}

pub(in crate::c_api) unsafe fn cudaEventCreateWithFlags(
    event: *mut cudaEvent_t,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaEventCreateWithFlags, |call| {
        let out = not_null(event)?;
        let handle = call.runtime().event_create(flags)?;
        // SAFETY: as above.
        unsafe { write(out, cudaEvent_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaEventDestroy(event: cudaEvent_t) -> cudaError_t {
    run(F::cudaEventDestroy, |call| {
        call.runtime().event_destroy(event.0 as u64)
    })
}

pub(in crate::c_api) unsafe fn cudaEventRecord(
    event: cudaEvent_t,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaEventRecord, |call| {
        let device = call.thread.device;
        call.runtime()
            .event_record(event.0 as u64, stream.0 as u64, device)
    })
}

pub(in crate::c_api) unsafe fn cudaEventQuery(event: cudaEvent_t) -> cudaError_t {
    run(F::cudaEventQuery, |call| {
        let end = call.runtime().event_end(event.0 as u64)?;
        if end > call.runtime().now() {
            Err(cudaError_t::NOT_READY)
        } else {
            Ok(())
        }
    })
}

pub(in crate::c_api) unsafe fn cudaEventRecordWithFlags(
    event: cudaEvent_t,
    stream: cudaStream_t,
    flags: c_uint,
) -> cudaError_t {
    run(F::cudaEventRecordWithFlags, |call| {
        let device = call.thread.device;
        call.runtime()
            .event_record_with_flags(event.0 as u64, stream.0 as u64, flags, device)
    })
}

pub(in crate::c_api) unsafe fn cudaEventSynchronize(event: cudaEvent_t) -> cudaError_t {
    run(F::cudaEventSynchronize, |call| {
        let end = call.runtime().event_end(event.0 as u64)?;
        call.wait_until(end);
        call.runtime().release_pools();
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaEventElapsedTime(
    ms: *mut f32,
    start: cudaEvent_t,
    end: cudaEvent_t,
) -> cudaError_t {
    run(F::cudaEventElapsedTime, |call| {
        let out = not_null(ms)?;
        let elapsed = call.runtime().event_elapsed(start.0 as u64, end.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, elapsed) };
        Ok(())
    })
}
