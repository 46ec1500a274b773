//! Processes that fork.
//!
//! A forked child has a copy of the simulated runtime, but none of the parent's other
//! threads, so a lock that one of them held would never be released. The lock is therefore
//! taken before every fork and released in both processes. As on an H200, if the parent has
//! used CUDA, the child cannot: `library/tests/library/fork.h200` contains the result of
//! each call in the child.

use core::ffi::c_int;
use std::cell::RefCell;
use std::sync::MutexGuard;

use crate::instance::{self, State};

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// The locks that are held while the process forks.
struct Held {
    state: Option<MutexGuard<'static, State>>,
    /// Prevents the simulated runtime from being started.
    _start: MutexGuard<'static, ()>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Registers the fork handlers. Called once.
pub(crate) fn prepare_for_forks() {
    // SAFETY: the three functions are `extern "C"`, take no arguments and exist as long
    // as this library is loaded. An error means that there is no memory; forks are then
    // not handled.
    unsafe { pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

extern "C" fn before() {
    let start = instance::lock_start();
    let held = Held {
        state: instance::process_if_started().map(instance::Instance::lock),
        _start: start,
    };
    // While a thread ends, its storage may already be destroyed. The locks are then
    // released.
    let _ = HELD.try_with(|slot| slot.replace(Some(held)));
}

extern "C" fn in_parent() {
    let _ = HELD.try_with(|slot| slot.replace(None));
}

extern "C" fn in_child() {
    let _ = HELD.try_with(|slot| {
        if let Some(mut held) = slot.replace(None)
            && let Some(state) = &mut held.state
        {
            state.note_fork();
        }
    });
}
