//! Launches, uploads, updates and destruction of execs.
//!
//! A launch must be fast. If it changes nothing, the library looks up the exec in a table,
//! increments two counters and, for a graph with memory nodes, reads the four attributes.

use std::sync::atomic::Ordering;
use std::time::Instant;

use cudart_ffi::types::*;
use graph_memory_record::counters::{header, slot};
use graph_memory_record::{Event, ExecDestroy, Launch, LaunchReason, Reading, Update, Upload};

use crate::account::since;
use crate::capture;
use crate::execs::Exec;
use crate::guard::shield;
use crate::reading::{self, attributes, read, relaxed};
use crate::start::Watched;
use crate::wrap::Entry;

/// After this number of launches with a change, only some further ones are written.
const WRITTEN_CHANGES: u64 = 64;

/// `cuGraphLaunch`.
#[inline]
pub fn launched(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    handle: CUgraphExec,
    stream: CUstream,
    per_thread: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    // A launch into a capturing stream adds a child graph node instead.
    if watched.state.capturing.load(Ordering::Relaxed) > 0
        && shield(|| capture::captures(watched.state, watched.driver, stream, per_thread))
            .unwrap_or(false)
    {
        return real();
    }
    let Some(exec) = watched.state.execs.find(handle.0 as usize) else {
        let result = real();
        shield(|| unknown(&watched));
        return result;
    };
    if exec.slot.field(slot::LAUNCHES).load(Ordering::Relaxed) == 0 {
        return first(&watched, real, exec, capture::number(stream, per_thread));
    }
    let result = real();
    if result.is_success() {
        let launch = exec.slot.add(slot::LAUNCHES);
        let stream = capture::number(stream, per_thread);
        if exec.slot.stream(stream) {
            shield(|| again(&watched, exec, stream, launch, LaunchReason::NewStream));
        } else if exec.memory_devices != 0 {
            compare(&watched, exec, stream, launch);
        }
    } else {
        shield(|| failed(&watched, exec, capture::number(stream, per_thread), result));
    }
    result
}

/// Reads the attributes after a launch, and writes an event if they changed.
#[inline]
fn compare(watched: &Watched, exec: Exec, stream: u64, launch: u64) {
    let mut devices = exec.memory_devices;
    while devices != 0 {
        let device = devices.trailing_zeros();
        devices &= devices - 1;
        let device = device.cast_signed();
        let read = if watched.state.capturing.load(Ordering::Relaxed) == 0 {
            attributes(watched.driver, device)
        } else {
            relaxed(watched.driver, || attributes(watched.driver, device))
        };
        let Ok(values) = read else {
            continue;
        };
        if !same(watched, device, values) {
            shield(|| changed(watched, exec, device, stream, launch, values));
        }
    }
}

/// Whether the attributes equal those of the previous reading.
#[inline]
fn same(watched: &Watched, device: i32, values: [u64; 4]) -> bool {
    let cache = usize::try_from(device).ok();
    let Some(cache) = cache.and_then(|device| watched.state.devices.get(device)) else {
        return true;
    };
    let kept = cache.attributes.iter().zip(values);
    let mut equal = true;
    for (kept, value) in kept {
        equal &= kept.load(Ordering::Relaxed) == value;
    }
    equal
}

#[cold]
fn changed(watched: &Watched, exec: Exec, device: i32, stream: u64, launch: u64, values: [u64; 4]) {
    let state = watched.state;
    let grew = reading::reserved(state, device).is_some_and(|before| values[2] > before);
    let high = high(state, device);
    reading::remember(state, device, values);
    let changes = exec.slot.add(slot::CHANGED);
    if grew {
        exec.slot.add(slot::GREW);
    }
    // Attributes that change with every launch must not fill the disk.
    if changes <= WRITTEN_CHANGES
        || grew
        || high.is_some_and(|high| values[1] > high)
        || changes.is_power_of_two()
    {
        let before = reading::last(state, device);
        let exec = Exec { device, ..exec };
        write(watched, exec, stream, launch, LaunchReason::Changed, before);
    }
}

fn high(state: &crate::state::State, device: i32) -> Option<u64> {
    let cache = state.devices.get(usize::try_from(device).ok()?)?;
    Some(cache.attributes.get(1)?.load(Ordering::Relaxed))
}

/// The first launch of an exec: memory is read before and after it.
#[cold]
fn first(watched: &Watched, real: impl FnOnce() -> CUresult, exec: Exec, stream: u64) -> CUresult {
    let before = shield(|| read(watched.state, watched.driver, exec.device));
    let start = Instant::now();
    let result = real();
    let duration_ns = since(start);
    shield(|| {
        if !result.is_success() {
            failed(watched, exec, stream, result);
            return;
        }
        let before = before.unwrap_or_default();
        let launch = exec.slot.add(slot::LAUNCHES);
        exec.slot.stream(stream);
        let after = read(watched.state, watched.driver, exec.device);
        if before.graph != after.graph {
            exec.slot.add(slot::CHANGED);
        }
        if reserved(&after) > reserved(&before) {
            exec.slot.add(slot::GREW);
        }
        watched.state.event(Event::Launch(Launch {
            exec: exec.number,
            reason: LaunchReason::First,
            launch,
            stream,
            device: exec.device,
            result: 0,
            duration_ns,
            before,
            after,
        }));
    });
    result
}

fn reserved(reading: &Reading) -> Option<u64> {
    reading.graph.map(|graph| graph.reserved_bytes)
}

#[cold]
fn again(watched: &Watched, exec: Exec, stream: u64, launch: u64, reason: LaunchReason) {
    let before = reading::last(watched.state, exec.device);
    write(watched, exec, stream, launch, reason, before);
}

fn write(
    watched: &Watched,
    exec: Exec,
    stream: u64,
    launch: u64,
    reason: LaunchReason,
    before: Reading,
) {
    let after = read(watched.state, watched.driver, exec.device);
    watched.state.event(Event::Launch(Launch {
        exec: exec.number,
        reason,
        launch,
        stream,
        device: exec.device,
        result: 0,
        duration_ns: 0,
        before,
        after,
    }));
}

#[cold]
fn failed(watched: &Watched, exec: Exec, stream: u64, result: CUresult) {
    let failures = exec.slot.add(slot::FAILED);
    if !failures.is_power_of_two() {
        return;
    }
    let before = reading::last(watched.state, exec.device);
    watched.state.event(Event::Launch(Launch {
        exec: exec.number,
        reason: LaunchReason::Failed,
        launch: exec.slot.field(slot::LAUNCHES).load(Ordering::Relaxed) + 1,
        stream,
        device: exec.device,
        result: result.0.cast_unsigned(),
        duration_ns: 0,
        before,
        after: read(watched.state, watched.driver, exec.device),
    }));
}

/// A launch of an exec whose instantiation was not recorded.
fn unknown(watched: &Watched) {
    let state = watched.state;
    let field = state.unknown_launches.get_or_init(|| {
        let mut inner = state.lock();
        let (counters, error) = inner.counters();
        let field = counters.header_field(header::UNKNOWN_LAUNCHES);
        drop(inner);
        if let Some(error) = error {
            state.counters_failed(&error);
        }
        field
    });
    if let Some(field) = field {
        field.fetch_add(1, Ordering::Relaxed);
    }
}

/// `cuGraphUpload`.
pub fn uploaded(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    handle: CUgraphExec,
    stream: CUstream,
    per_thread: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let Some(exec) = watched.state.execs.find(handle.0 as usize) else {
        return real();
    };
    let uploads = exec.slot.field(slot::UPLOADS);
    let first = uploads.load(Ordering::Relaxed) == 0;
    let before = shield(|| {
        if first {
            read(watched.state, watched.driver, exec.device)
        } else {
            reading::last(watched.state, exec.device)
        }
    });
    let result = real();
    shield(|| {
        if result.is_success() {
            exec.slot.add(slot::UPLOADS);
        }
        let same = exec.memory_devices == 0
            || attributes(watched.driver, exec.device)
                .is_ok_and(|values| same(&watched, exec.device, values));
        if first || !same || !result.is_success() {
            watched.state.event(Event::Upload(Upload {
                exec: exec.number,
                stream: capture::number(stream, per_thread),
                device: exec.device,
                result: result.0.cast_unsigned(),
                before: before.unwrap_or_default(),
                after: read(watched.state, watched.driver, exec.device),
            }));
        }
    });
    result
}

/// `cuGraphExecUpdate`.
pub fn updated(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    handle: CUgraphExec,
    graph: CUgraph,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let Some(exec) = watched.state.execs.find(handle.0 as usize) else {
        return real();
    };
    let first = exec.slot.field(slot::UPDATES).load(Ordering::Relaxed) == 0;
    let before = first
        .then(|| shield(|| read(watched.state, watched.driver, exec.device)))
        .flatten();
    let result = real();
    shield(|| {
        let updates = if result.is_success() {
            exec.slot.add(slot::UPDATES)
        } else {
            exec.slot.field(slot::UPDATES).load(Ordering::Relaxed)
        };
        if first || !result.is_success() {
            let state = watched.state;
            let capture = state.lock().graphs.get(&(graph.0 as usize)).copied();
            state.event(Event::Update(Update {
                exec: exec.number,
                result: result.0.cast_unsigned(),
                update: updates,
                device: exec.device,
                capture,
                before: before.unwrap_or_else(|| reading::last(state, exec.device)),
                after: read(state, watched.driver, exec.device),
            }));
        }
    });
    result
}

/// `cuGraphExecDestroy`.
pub fn destroyed(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    handle: CUgraphExec,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let (state, driver) = (watched.state, watched.driver);
    // Removed before the call, because once the driver has destroyed this exec, another
    // thread can get a new exec with the same handle.
    let removed = shield(|| {
        let exec = {
            let _writers = state.lock();
            state.execs.remove(handle.0 as usize)
        }?;
        Some((exec, read(state, driver, exec.device)))
    });
    let result = real();
    if let Some((exec, before)) = removed.flatten() {
        shield(|| {
            if result.is_success() {
                exec.slot.field(slot::DESTROYED).store(1, Ordering::Relaxed);
            } else {
                let _writers = state.lock();
                state.execs.insert(handle.0 as usize, exec);
            }
            state.event(Event::ExecDestroy(ExecDestroy {
                exec: exec.number,
                result: result.0.cast_unsigned(),
                device: exec.device,
                launches: exec.slot.field(slot::LAUNCHES).load(Ordering::Relaxed),
                before,
                after: read(state, driver, exec.device),
            }));
        });
    }
    result
}
