//! Calls that allocate or free device memory: writes an event for a call that changed
//! memory.

use std::time::Instant;

use cudart_ffi::types::{CUdeviceptr, CUresult};
use graph_memory_record::counters::header;
use graph_memory_record::{Call, Category, Event, Reading};

use crate::guard::shield;
use crate::origin::origin;
use crate::reading::{current_device, last, read};
use crate::start::Watched;
use crate::wrap::Entry;
use crate::{capture, context};

/// A reading of a device's memory before a call.
pub struct Before {
    device: i32,
    reading: Reading,
}

impl Before {
    /// Reads the memory of `device`, or if it is `None`, of the thread's current
    /// device.
    pub fn read(watched: &Watched, entry: &Entry, device: Option<i32>) -> Option<Self> {
        let (state, driver) = (watched.state, watched.driver);
        let current = current_device(driver);
        if let Some(current) = current {
            context::record_current(state, driver, current, entry.name());
        }
        let device = device.or(current)?;
        Some(Self {
            device,
            reading: read(state, driver, device),
        })
    }

    /// The previous reading, for a call that was not expected to change memory.
    pub fn last(watched: &Watched, device: i32) -> Self {
        Self {
            device,
            reading: last(watched.state, device),
        }
    }

    /// Reads the memory again, and writes an event if it changed or if the call is a
    /// plain allocation while a stream captures.
    pub fn record_change(self, watched: &Watched, entry: &Entry, category: Category, done: Done) {
        let state = watched.state;
        let after = read(state, watched.driver, self.device);
        let allocates = done.bytes.is_some() && done.result.is_success();
        let capture = capture::current(state, self.device, allocates.then_some(done.bytes));
        if after == self.reading && !(allocates && capture.is_some()) {
            if let Some(counters) = &state.lock().counters {
                counters.count(header::UNCHANGED_CALLS);
            }
            return;
        }
        state.event(Event::Call(Call {
            call: entry.name().to_owned(),
            category,
            device: self.device,
            bytes: done.bytes,
            address: done.address,
            result: done.result.0.cast_unsigned(),
            duration_ns: done.duration_ns,
            origin: origin(),
            capture,
            before: self.reading,
            after,
        }));
    }
}

/// The outcome of a call.
pub struct Done {
    /// The size that the program requested.
    pub bytes: Option<u64>,
    /// The address or handle that the call returned or freed.
    pub address: Option<u64>,
    /// Its result.
    pub result: CUresult,
    /// How long it took.
    pub duration_ns: u64,
}

/// Nanoseconds that have passed since `start`.
pub fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn recorded(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    category: Category,
    device: Option<i32>,
    described: impl FnOnce(CUresult) -> (Option<u64>, Option<u64>),
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let before = shield(|| Before::read(&watched, entry, device)).flatten();
    let start = Instant::now();
    let result = real();
    let duration_ns = since(start);
    if let Some(before) = before {
        shield(|| {
            let (bytes, address) = described(result);
            let done = Done {
                bytes,
                address,
                result,
                duration_ns,
            };
            before.record_change(&watched, entry, category, done);
        });
    }
    result
}

/// Wraps a call of which only the change of memory is recorded.
pub fn other(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    category: Category,
) -> CUresult {
    recorded(entry, real, category, None, |_| (None, None))
}

/// The same for a call that names its device.
pub fn on_device(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    category: Category,
    device: i32,
) -> CUresult {
    recorded(entry, real, category, Some(device), |_| (None, None))
}

/// Wraps an allocation.
pub fn taken(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    category: Category,
    address: *mut CUdeviceptr,
    size: usize,
) -> CUresult {
    recorded(entry, real, category, None, |result| {
        (Some(size as u64), written(result, address))
    })
}

/// Wraps an allocation in rows, whose size is its pitch times its height.
pub fn taken_in_rows(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    address: *mut CUdeviceptr,
    pitch: *mut usize,
    height: usize,
) -> CUresult {
    recorded(entry, real, Category::Plain, None, |result| {
        let pitch = if result.is_success() && !pitch.is_null() {
            // SAFETY: the driver wrote it.
            Some(unsafe { *pitch })
        } else {
            None
        };
        let bytes = pitch.and_then(|pitch| pitch.checked_mul(height));
        (bytes.map(|b| b as u64), written(result, address))
    })
}

/// The address that a successful call wrote through the caller's pointer.
pub fn written(result: CUresult, pointer: *mut CUdeviceptr) -> Option<u64> {
    if result.is_success() && !pointer.is_null() {
        // SAFETY: the driver wrote it.
        Some(unsafe { *pointer })
    } else {
        None
    }
}

/// Wraps a free.
pub fn returned(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    category: Category,
    address: CUdeviceptr,
) -> CUresult {
    recorded(entry, real, category, None, |_| (None, Some(address)))
}
