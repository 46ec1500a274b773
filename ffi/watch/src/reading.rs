//! Reads a device's memory.

use std::ptr;
use std::sync::atomic::Ordering;

use cudart_ffi::types::*;
use graph_memory_record::{GraphMemory, PoolMemory, Reading};

use crate::driver::Driver;
use crate::state::{DEVICES, State};

/// The four graph memory attributes, in the order of their numbers.
const ATTRIBUTES: [CUgraphMem_attribute; 4] = [
    CUgraphMem_attribute::USED_MEM_CURRENT,
    CUgraphMem_attribute::USED_MEM_HIGH,
    CUgraphMem_attribute::RESERVED_MEM_CURRENT,
    CUgraphMem_attribute::RESERVED_MEM_HIGH,
];

/// The device of the thread's context; `None` without a context.
#[inline]
pub fn current_device(driver: &Driver) -> Option<i32> {
    let mut device = 0;
    // SAFETY: the pointer is to a live variable.
    let result = unsafe { driver.cuCtxGetDevice(&raw mut device) };
    result.is_success().then_some(device)
}

/// The four attributes, in the order of their numbers.
#[inline]
pub fn attributes(driver: &Driver, device: i32) -> Result<[u64; 4], CUresult> {
    let mut values = [0_u64; 4];
    for (attribute, value) in ATTRIBUTES.into_iter().zip(&mut values) {
        // SAFETY: the attributes are of type `cuuint64_t`.
        let result = unsafe {
            driver.cuDeviceGetGraphMemAttribute(device, attribute, ptr::from_mut(value).cast())
        };
        if !result.is_success() {
            return Err(result);
        }
    }
    Ok(values)
}

/// The attributes in the form in which they are recorded.
pub fn graph_memory(values: [u64; 4]) -> GraphMemory {
    let [
        used_bytes,
        used_high_bytes,
        reserved_bytes,
        reserved_high_bytes,
    ] = values;
    GraphMemory {
        used_bytes,
        used_high_bytes,
        reserved_bytes,
        reserved_high_bytes,
    }
}

/// The value of a pool's attribute, which must have the type `cuuint64_t`.
pub fn pool_attribute(
    driver: &Driver,
    pool: CUmemoryPool,
    attribute: CUmemPool_attribute,
) -> Result<u64, CUresult> {
    let mut value = 0_u64;
    // SAFETY: the attributes that are read here are of type `cuuint64_t`.
    let result =
        unsafe { driver.cuMemPoolGetAttribute(pool, attribute, ptr::from_mut(&mut value).cast()) };
    if result.is_success() {
        Ok(value)
    } else {
        Err(result)
    }
}

/// Runs code with the thread's capture mode set to relaxed. In any other mode,
/// `cuMemGetInfo`, `cuMemPoolGetAttribute` and others fail while a stream captures in the
/// global mode, and invalidate the capture.
pub fn relaxed<T>(driver: &Driver, code: impl FnOnce() -> T) -> T {
    let mut mode = CUstreamCaptureMode::RELAXED;
    // SAFETY: the pointer is to a live variable.
    let exchanged = unsafe { driver.cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let value = code();
    if exchanged.is_success() {
        // SAFETY: as above; the mode is the one from before.
        unsafe { driver.cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    }
    value
}

/// Free memory of the thread's device.
fn free(driver: &Driver) -> Result<u64, CUresult> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are to live variables.
    let result = unsafe { driver.cuMemGetInfo_v2(&raw mut free, &raw mut total) };
    if result.is_success() {
        Ok(free as u64)
    } else {
        Err(result)
    }
}

/// Runs code with a context of `device` current. `None` if the process has no such context.
fn on_device<T>(
    state: &State,
    driver: &Driver,
    device: i32,
    code: impl FnOnce() -> T,
) -> Option<T> {
    if current_device(driver) == Some(device) {
        return Some(code());
    }
    let context = {
        let inner = state.lock();
        let mut known = inner.contexts.iter();
        known
            .find(|(_, context)| context.device == device)
            .map(|(handle, _)| CUcontext(*handle as *mut _))?
    };
    with_context(driver, context, code)
}

/// Runs code with a context current.
pub fn with_context<T>(driver: &Driver, context: CUcontext, code: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: the process made this context and did not destroy it; it is popped again.
    unsafe {
        if !driver.cuCtxPushCurrent_v2(context).is_success() {
            return None;
        }
        let value = code();
        let mut popped = CUcontext::NULL;
        driver.cuCtxPopCurrent_v2(&raw mut popped);
        Some(value)
    }
}

/// Reads a device's memory, and stores it as the last reading.
pub fn read(state: &State, driver: &Driver, device: i32) -> Reading {
    relaxed(driver, || read_relaxed(state, driver, device))
}

fn read_relaxed(state: &State, driver: &Driver, device: i32) -> Reading {
    let mut reading = Reading::default();
    match on_device(state, driver, device, || free(driver)) {
        Some(Ok(bytes)) => reading.free_bytes = Some(bytes),
        // The driver's exit handler has already run, so this is not an error.
        Some(Err(CUresult::DEINITIALIZED)) | None => {}
        Some(Err(code)) => state.failed("cuMemGetInfo", code),
    }
    if state.graphs_seen.load(Ordering::Relaxed) {
        match attributes(driver, device) {
            Ok(values) => {
                remember(state, device, values);
                reading.graph = Some(graph_memory(values));
            }
            Err(CUresult::DEINITIALIZED | CUresult::NOT_SUPPORTED) => {}
            Err(code) => state.failed("cuDeviceGetGraphMemAttribute", code),
        }
    }
    let pools = state.lock().pools.get(&device).cloned().unwrap_or_default();
    for (handle, pool) in pools {
        let of = |attribute| pool_attribute(driver, cudaMemPool_t(handle as *mut _), attribute);
        let used = of(CUmemPool_attribute::USED_MEM_CURRENT);
        match used.and_then(|used| Ok((used, of(CUmemPool_attribute::RESERVED_MEM_CURRENT)?))) {
            Ok((used_bytes, reserved_bytes)) => reading.pools.push(PoolMemory {
                pool,
                used_bytes,
                reserved_bytes,
            }),
            Err(CUresult::DEINITIALIZED) => {}
            Err(code) => state.failed("cuMemPoolGetAttribute", code),
        }
    }
    if reading.free_bytes.is_some() {
        state.lock().last.insert(device, reading.clone());
    }
    reading
}

/// The last reading of a device.
pub fn last(state: &State, device: i32) -> Reading {
    state.lock().last.get(&device).cloned().unwrap_or_default()
}

/// Stores the attributes for the next launch. Returns whether they differ from the previous
/// ones.
#[inline]
pub fn remember(state: &State, device: i32, values: [u64; 4]) -> bool {
    let Some(cache) = usize::try_from(device)
        .ok()
        .filter(|&device| device < DEVICES)
        .and_then(|device| state.devices.get(device))
    else {
        return false;
    };
    let mut changed = false;
    for (kept, value) in cache.attributes.iter().zip(values) {
        if kept.load(Ordering::Relaxed) != value {
            kept.store(value, Ordering::Relaxed);
            changed = true;
        }
    }
    changed
}

/// The reserved graph memory in the last reading of a device, in bytes.
pub fn reserved(state: &State, device: i32) -> Option<u64> {
    let cache = state.devices.get(usize::try_from(device).ok()?)?;
    let value = cache.attributes.get(2)?.load(Ordering::Relaxed);
    (value != u64::MAX).then_some(value)
}
