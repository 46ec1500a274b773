//! Stream captures.

use std::sync::atomic::Ordering;

use cudart_ffi::types::*;
use graph_memory_record::{CaptureBegin, CaptureEnd, CaptureMode, Event};

use crate::context;
use crate::driver::Driver;
use crate::guard::shield;
use crate::origin::origin;
use crate::reading::{current_device, read};
use crate::start::Watched;
use crate::state::State;
use crate::wrap::Entry;

/// An active capture.
#[derive(Debug, Clone, Copy)]
pub struct Capture {
    number: u64,
    thread: i32,
    device: i32,
    allocations: u64,
    bytes: u64,
}

/// A stream's handle as the record contains it: 1 is the legacy default stream, 2 the
/// calling thread's default stream.
#[inline]
pub fn number(stream: CUstream, per_thread: bool) -> u64 {
    match (stream.0 as u64, per_thread) {
        (0, false) => 1,
        (0, true) => 2,
        (handle, _) => handle,
    }
}

fn thread() -> i32 {
    // SAFETY: `gettid` has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// The key of a stream in the map of captures. It contains the thread's number if the
/// stream is the thread's default stream, because each thread has its own.
fn key(stream: CUstream, per_thread: bool) -> u64 {
    match number(stream, per_thread) {
        2 => u64::from(thread().cast_unsigned()) << 32 | 2,
        number => number,
    }
}

/// `cuStreamBeginCapture` and its variants.
pub fn began(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    stream: CUstream,
    mode: u32,
    per_thread: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    if result.is_success() {
        shield(|| {
            let (state, driver) = (watched.state, watched.driver);
            let Some(device) = current_device(driver) else {
                return;
            };
            state.graphs_seen.store(true, Ordering::Relaxed);
            context::record_current(state, driver, device, entry.name());
            let capture = {
                let mut inner = state.lock();
                inner.last_capture += 1;
                let number = inner.last_capture;
                let capture = Capture {
                    number,
                    thread: thread(),
                    device,
                    allocations: 0,
                    bytes: 0,
                };
                let before = inner.captures.insert(key(stream, per_thread), capture);
                if before.is_none() {
                    state.capturing.fetch_add(1, Ordering::Relaxed);
                }
                number
            };
            state.event(Event::CaptureBegin(CaptureBegin {
                capture,
                call: entry.name().to_owned(),
                device,
                stream: number(stream, per_thread),
                mode: match mode {
                    0 => CaptureMode::Global,
                    1 => CaptureMode::ThreadLocal,
                    2 => CaptureMode::Relaxed,
                    _ => CaptureMode::Other,
                },
                origin: origin(),
                reading: read(state, driver, device),
            }));
        });
    }
    result
}

/// `cuStreamEndCapture`.
pub fn ended(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    stream: CUstream,
    graph: *mut CUgraph,
    per_thread: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    shield(|| {
        // After this error the stream is still capturing; after every other one it
        // is not.
        if result == CUresult::STREAM_CAPTURE_WRONG_THREAD {
            return;
        }
        let (state, driver) = (watched.state, watched.driver);
        let capture = {
            let mut inner = state.lock();
            let Some(capture) = inner.captures.remove(&key(stream, per_thread)) else {
                return;
            };
            state.capturing.fetch_sub(1, Ordering::Relaxed);
            if result.is_success() && !graph.is_null() {
                // SAFETY: the driver wrote the handle.
                let graph = unsafe { *graph };
                if !graph.is_null() {
                    inner.graphs.insert(graph.0 as usize, capture.number);
                }
            }
            capture
        };
        state.event(Event::CaptureEnd(CaptureEnd {
            capture: capture.number,
            result: result.0.cast_unsigned(),
            allocations: capture.allocations,
            allocated_bytes: capture.bytes,
            reading: read(state, driver, capture.device),
        }));
    });
    result
}

/// Whether a stream is capturing. This includes a stream that joined another stream's
/// capture through an event.
pub fn captures(state: &State, driver: &Driver, stream: CUstream, per_thread: bool) -> bool {
    if state.capturing.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let mut status = CUstreamCaptureStatus::NONE;
    // SAFETY: the pointer is to a live variable; the stream is the caller's.
    let result = unsafe {
        if per_thread {
            driver.cuStreamIsCapturing_ptsz(stream, &raw mut status)
        } else {
            driver.cuStreamIsCapturing(stream, &raw mut status)
        }
    };
    result.is_success() && status == CUstreamCaptureStatus::ACTIVE
}

/// The capture of a stream: its own, or else the only active capture of the process.
pub fn of_stream(state: &State, stream: CUstream, per_thread: bool) -> Option<u64> {
    let inner = state.lock();
    let own = inner.captures.get(&key(stream, per_thread));
    let only = || {
        let mut all = inner.captures.values();
        all.next().filter(|_| all.next().is_none())
    };
    own.or_else(only).map(|capture| capture.number)
}

/// The capture that is active during a plain call: that of the calling thread, or else the
/// only one on the device. If the call allocates, adds the allocation to the capture's
/// counts.
pub fn current(state: &State, device: i32, allocates: Option<Option<u64>>) -> Option<u64> {
    if state.capturing.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let this = thread();
    let mut inner = state.lock();
    let on_device = inner.captures.values().filter(|c| c.device == device);
    let only = on_device.count() == 1;
    let mut captures = inner.captures.values_mut();
    let capture = captures.find(|c| c.thread == this || (only && c.device == device))?;
    if let Some(bytes) = allocates.flatten() {
        capture.allocations += 1;
        capture.bytes += bytes;
    }
    Some(capture.number)
}
