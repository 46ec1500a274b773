//! Stream-ordered allocations and their pools.

use std::sync::atomic::Ordering;
use std::time::Instant;

use cudart_ffi::types::*;
use graph_memory_record::{CapturedAllocation, Category, Event};

use crate::account::{self, Before, Done, since, written};
use crate::capture;
use crate::driver::Driver;
use crate::guard::shield;
use crate::origin::origin;
use crate::reading::{current_device, pool_attribute, relaxed};
use crate::start::Watched;
use crate::state::State;
use crate::wrap::Entry;

/// What is expected of an allocation before the call.
enum Expected {
    /// The stream is capturing: the call adds a node.
    Node,
    /// The pool has enough free memory, so the call should not change anything.
    /// Contains the pool and its reserved memory in bytes.
    Room(CUmemoryPool, u64),
    /// The pool has to grow.
    Growth(Before),
    /// The pool's state cannot be read.
    Unknown,
}

/// A stream-ordered allocation. `pool` is null for the device's current pool.
///
/// Reading free memory takes longer than such an allocation. It is therefore read only if
/// the pool lacks free memory for the size, or if its reserved memory grew unexpectedly.
pub fn allocated(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    address: *mut CUdeviceptr,
    size: usize,
    pool: CUmemoryPool,
    stream: CUstream,
    per_thread: bool,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let expected = shield(|| {
        if capture::captures(watched.state, watched.driver, stream, per_thread) {
            return Expected::Node;
        }
        relaxed(watched.driver, || {
            expect(&watched, entry, size as u64, pool)
        })
    });
    let start = Instant::now();
    let result = real();
    let duration_ns = since(start);
    shield(|| {
        let done = Done {
            bytes: Some(size as u64),
            address: written(result, address),
            result,
            duration_ns,
        };
        match expected.unwrap_or(Expected::Unknown) {
            Expected::Node => node(&watched, entry, done, stream, per_thread),
            Expected::Growth(before) => {
                before.record_change(&watched, entry, Category::StreamOrdered, done);
            }
            Expected::Room(pool, reserved) => {
                let attribute = CUmemPool_attribute::RESERVED_MEM_CURRENT;
                let now = relaxed(watched.driver, || {
                    pool_attribute(watched.driver, pool, attribute)
                });
                let captures = watched.state.capturing.load(Ordering::Relaxed) > 0;
                if (now != Ok(reserved) || captures || !result.is_success())
                    && let Some(device) = current_device(watched.driver)
                {
                    let before = Before::last(&watched, device);
                    before.record_change(&watched, entry, Category::StreamOrdered, done);
                }
            }
            Expected::Unknown => {}
        }
    });
    result
}

fn expect(watched: &Watched, entry: &Entry, size: u64, pool: CUmemoryPool) -> Expected {
    let (state, driver) = (watched.state, watched.driver);
    let Some(device) = current_device(driver) else {
        return Expected::Unknown;
    };
    let pool = if pool.is_null() {
        let mut current = CUmemoryPool::NULL;
        // SAFETY: the pointer is to a live variable.
        let result = unsafe { driver.cuDeviceGetMemPool(&raw mut current, device) };
        if !result.is_success() {
            return Expected::Unknown;
        }
        current
    } else {
        pool
    };
    know(state, driver, device, pool);
    let used = pool_attribute(driver, pool, CUmemPool_attribute::USED_MEM_CURRENT);
    let reserved = pool_attribute(driver, pool, CUmemPool_attribute::RESERVED_MEM_CURRENT);
    match used.and_then(|used| Ok((used, reserved?))) {
        Ok((used, reserved)) if used.saturating_add(size) <= reserved => {
            Expected::Room(pool, reserved)
        }
        _ => Before::read(watched, entry, Some(device)).map_or(Expected::Unknown, Expected::Growth),
    }
}

/// Gives a pool its number, at its first use.
fn know(state: &State, driver: &Driver, device: i32, pool: CUmemoryPool) {
    let handle = pool.0 as usize;
    let known = |state: &State| {
        let inner = state.lock();
        let pools = inner.pools.get(&device);
        pools.is_some_and(|pools| pools.iter().any(|(known, _)| *known == handle))
    };
    if known(state) {
        return;
    }
    let mut default = CUmemoryPool::NULL;
    // SAFETY: the pointer is to a live variable.
    let result = unsafe { driver.cuDeviceGetDefaultMemPool(&raw mut default, device) };
    let mut inner = state.lock();
    let number = if result.is_success() && default == pool {
        0
    } else {
        inner.last_pool += 1;
        inner.last_pool
    };
    inner
        .pools
        .entry(device)
        .or_default()
        .push((handle, number));
}

/// An allocation that became a graph node.
fn node(watched: &Watched, entry: &Entry, done: Done, stream: CUstream, per_thread: bool) {
    let Some(address) = done.address else {
        return;
    };
    let state = watched.state;
    state.event(Event::CapturedAllocation(CapturedAllocation {
        capture: capture::of_stream(state, stream, per_thread),
        call: entry.name().to_owned(),
        bytes: done.bytes.unwrap_or_default(),
        address,
        origin: origin(),
    }));
}

/// A pool is destroyed. Its handle may later be that of another pool.
pub fn destroyed(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    pool: CUmemoryPool,
) -> CUresult {
    shield(|| {
        if let Some(watched) = Watched::enter() {
            let mut inner = watched.state.lock();
            for pools in inner.pools.values_mut() {
                pools.retain(|(handle, _)| *handle != pool.0 as usize);
            }
        }
    });
    account::other(entry, real, Category::StreamOrdered)
}
