//! Contexts and devices.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;

use cudart_ffi::types::*;
use graph_memory_record::{Context, Device, Event, NoteKind};

use crate::driver::Driver;
use crate::guard::shield;
use crate::process;
use crate::reading::{current_device, read, relaxed, with_context};
use crate::start::Watched;
use crate::state::{self, DEVICES, State};
use crate::wrap::Entry;

/// A call that creates a context or retains the primary context.
pub fn created(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    context: *mut CUcontext,
    primary: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    if result.is_success() && !context.is_null() {
        shield(|| {
            // SAFETY: the driver wrote the handle.
            let context = unsafe { *context };
            record(
                watched.state,
                watched.driver,
                context,
                primary,
                entry.name(),
            );
        });
    }
    result
}

/// A call that destroys a context.
pub fn destroyed(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    context: CUcontext,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let known = shield(|| watched.state.lock().contexts.remove(&(context.0 as usize))).flatten();
    drop(watched);
    let result = match known {
        Some(known) => crate::account::on_device(
            entry,
            real,
            graph_memory_record::Category::Context,
            known.device,
        ),
        None => real(),
    };
    if !result.is_success()
        && let (Some(known), Some(state)) = (known, state::active())
    {
        shield(|| state.lock().contexts.insert(context.0 as usize, known));
    }
    result
}

/// A call that releases or resets a device's primary context, which may destroy it.
pub fn released(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    device: CUdevice,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    shield(|| {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are to live variables.
        let queried = unsafe {
            watched
                .driver
                .cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut active)
        };
        if queried.is_success() && active == 0 {
            let mut inner = watched.state.lock();
            inner
                .contexts
                .retain(|_, c| !(c.primary && c.device == device));
        }
        let _ = entry;
    });
    result
}

/// Records the thread's context if no context of its device is known. Such a context was
/// created before the library wrapped the program's calls.
#[inline]
pub fn record_current(state: &State, driver: &Driver, device: i32, call: &str) {
    let bit = 1_u64 << (device.cast_unsigned() % 64);
    if state.known_devices.load(Ordering::Relaxed) & bit != 0 {
        return;
    }
    let mut context = CUcontext::NULL;
    // SAFETY: the pointer is to a live variable.
    let result = unsafe { driver.cuCtxGetCurrent(&raw mut context) };
    if result.is_success() && !context.is_null() {
        relaxed(driver, || record(state, driver, context, false, call));
    }
}

fn record(state: &State, driver: &Driver, context: CUcontext, primary: bool, call: &str) {
    if context.is_null() || state.lock().contexts.contains_key(&(context.0 as usize)) {
        return;
    }
    let Some(Some(device)) = with_context(driver, context, || current_device(driver)) else {
        return;
    };
    let (number, new) = {
        let mut inner = state.lock();
        let known = state::Context { device, primary };
        if inner.contexts.insert(context.0 as usize, known).is_some() {
            // Another thread recorded it in the meantime.
            return;
        }
        inner.last_context += 1;
        (inner.last_context, inner.described.insert(device))
    };
    let bit = 1_u64 << (device.cast_unsigned() % 64);
    state.known_devices.fetch_or(bit, Ordering::Relaxed);
    process::read_at_exit();
    if new {
        state.event(Event::Device(describe(driver, device)));
        if usize::try_from(device).is_ok_and(|d| d >= DEVICES) {
            let text = "the attributes of devices from ordinal 64 on are not compared";
            state.note(NoteKind::FailedCall, text, None, None);
        }
    }
    let reading = read(state, driver, device);
    state.event(Event::Context(Context {
        context: number,
        device,
        call: call.to_owned(),
        reading,
    }));
}

/// Describes a device. A property whose query fails is absent.
fn describe(driver: &Driver, device: i32) -> Device {
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: the pointer is to a live variable.
        let result = unsafe { driver.cuDeviceGetAttribute(&raw mut value, which, device) };
        result.is_success().then_some(value)
    };
    let major = attribute(CUdevice_attribute::COMPUTE_CAPABILITY_MAJOR);
    let minor = attribute(CUdevice_attribute::COMPUTE_CAPABILITY_MINOR);
    let mut total = 0;
    // SAFETY: the pointer is to a live variable.
    let has_total = unsafe { driver.cuDeviceTotalMem_v2(&raw mut total, device) };
    Device {
        device,
        name: name(driver, device),
        uuid: uuid(driver, device),
        compute_capability: major.zip(minor),
        total_bytes: has_total.is_success().then_some(total as u64),
        granularity_bytes: granularity(driver, device),
    }
}

fn name(driver: &Driver, device: i32) -> Option<String> {
    let mut buffer = [0 as c_char; 256];
    // SAFETY: the buffer has this length; one byte stays zero.
    let result =
        unsafe { driver.cuDeviceGetName(buffer.as_mut_ptr(), buffer.len() as c_int - 1, device) };
    // SAFETY: the buffer ends with a zero.
    let name = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    result
        .is_success()
        .then(|| name.to_string_lossy().into_owned())
}

fn uuid(driver: &Driver, device: i32) -> Option<String> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the pointer is to a live variable.
    let result = unsafe { driver.cuDeviceGetUuid(&raw mut uuid, device) };
    if !result.is_success() {
        return None;
    }
    let mut text = String::from("GPU-");
    for (index, byte) in uuid.bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", *byte as u8));
    }
    Some(text)
}

fn granularity(driver: &Driver, device: i32) -> Option<u64> {
    let prop = CUmemAllocationProp {
        type_: CUmemAllocationType::PINNED,
        requested_handle_types: CUmemAllocationHandleType::NONE,
        location: CUmemLocation {
            type_: CUmemLocationType::DEVICE,
            id: device,
        },
        win32_handle_meta_data: std::ptr::null_mut(),
        alloc_flags: CUmemAllocationFlags::default(),
    };
    let mut bytes = 0;
    // SAFETY: the pointers are to live variables.
    let result = unsafe {
        driver.cuMemGetAllocationGranularity(
            &raw mut bytes,
            &raw const prop,
            CUmemAllocationGranularity_flags::MINIMUM,
        )
    };
    result.is_success().then_some(bytes as u64)
}
