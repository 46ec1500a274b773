//! Managed memory: prefetches, and advice.
//!
//! The memory never moves here. Advice about a part is stored for the whole allocation.

use core::ffi::{c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::loaded_as;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;
use crate::runtime::Place;

/// The place that a location describes, or `None`.
fn place(location: cudaMemLocation) -> Option<Place> {
    match location.type_.0 {
        1 => Some(Place::Device(location.id)),
        // The host, and NUMA nodes of the host.
        2..=4 => Some(Place::Host),
        _ => None,
    }
}

/// Before 13 the argument is a device instead of a location, and -1 is the host.
fn before_13(location: cudaMemLocation) -> Option<Place> {
    Some(match location.type_.0.cast_signed() {
        -1 => Place::Host,
        device => Place::Device(device),
    })
}

pub(in crate::c_api) unsafe fn cudaMemPrefetchAsync(
    ptr: *const c_void,
    count: usize,
    location: cudaMemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> cudaError_t {
    if loaded_as::major() < 13 {
        // The stream is in the place of the flags, of which only half is read, so it
        // is ignored.
        return run(F::cudaMemPrefetchAsync, |call| {
            let place = before_13(location);
            call.runtime().prefetch(ptr as u64, count as u64, place)
        });
    }
    // SAFETY: the caller of this function guarantees the same.
    unsafe { cudaMemPrefetchAsync_v2(ptr, count, location, flags, stream) }
}

pub(in crate::c_api) unsafe fn cudaMemPrefetchAsync_v2(
    ptr: *const c_void,
    count: usize,
    location: cudaMemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaMemPrefetchAsync, |call| {
        let device = call.thread.device;
        call.runtime().stream_for_work(stream.0 as u64, device)?;
        if flags != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        call.runtime()
            .prefetch(ptr as u64, count as u64, place(location))
    })
}

pub(in crate::c_api) unsafe fn cudaMemAdvise(
    ptr: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    location: cudaMemLocation,
) -> cudaError_t {
    if loaded_as::major() < 13 {
        return run(F::cudaMemAdvise, |call| {
            let place = before_13(location);
            call.runtime()
                .advise(ptr as u64, count as u64, advice, place)
        });
    }
    // SAFETY: the caller of this function guarantees the same.
    unsafe { cudaMemAdvise_v2(ptr, count, advice, location) }
}

pub(in crate::c_api) unsafe fn cudaMemAdvise_v2(
    ptr: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    location: cudaMemLocation,
) -> cudaError_t {
    run(F::cudaMemAdvise, |call| {
        call.runtime()
            .advise(ptr as u64, count as u64, advice, place(location))
    })
}

pub(in crate::c_api) unsafe fn cudaMemRangeGetAttribute(
    data: *mut c_void,
    data_size: usize,
    attribute: cudaMemRangeAttribute,
    ptr: *const c_void,
    count: usize,
) -> cudaError_t {
    run(F::cudaMemRangeGetAttribute, |call| {
        let out = not_null(data)?.cast::<c_int>();
        if data_size != size_of::<c_int>() {
            return Err(cudaError_t::INVALID_VALUE);
        }
        let found = call
            .runtime()
            .range_attribute(ptr as u64, count as u64, attribute)?;
        // SAFETY: not null, and the program guarantees memory of this size.
        unsafe { write(out, found) };
        Ok(())
    })
}
