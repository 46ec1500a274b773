//! Keeps the library invisible to the program: no panic leaves the library, `errno` stays
//! unchanged, and calls that the driver makes within a wrapped call are only passed on.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// Whether this thread is inside a wrapper.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// While this value exists, the thread is inside a wrapper.
pub struct Inside(());

impl Inside {
    /// Enters a wrapper. `None` if the thread is already inside one.
    #[inline]
    pub fn enter() -> Option<Self> {
        INSIDE
            .try_with(|inside| !inside.replace(true))
            .unwrap_or(false)
            .then_some(Self(()))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.set(false));
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE` in glibc.
const CANCEL_DISABLE: c_int = 1;

/// Runs code of the library. A panic in it becomes `None`, `errno` is restored, and the
/// thread cannot be cancelled in it: writing a file is a cancellation point.
#[inline]
pub fn shield<T>(code: impl FnOnce() -> T) -> Option<T> {
    let mut cancellable = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut cancellable) };
    // SAFETY: the C library's own address of the thread's errno.
    let errno = unsafe { *libc::__errno_location() };
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(cancellable, &raw mut cancellable) };
    match result {
        Ok(value) => Some(value),
        Err(payload) => {
            // Dropping the payload could panic again.
            mem::forget(payload);
            None
        }
    }
}

/// Prevents a panic of the library from printing to the program's standard error. The
/// message becomes a note in the record.
pub fn silence_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
        crate::state::internal_fault(&place);
    }));
}

/// Runs code that writes files. If a file would grow beyond `RLIMIT_FSIZE`, the kernel
/// sends `SIGXFSZ`, which by default ends the program. The signal is blocked and consumed,
/// and the write fails with `EFBIG`.
pub fn with_file_size_signal_blocked<T>(code: impl FnOnce() -> T) -> T {
    // SAFETY: all sets are initialised before use, and the mask is restored.
    unsafe {
        let mut only: libc::sigset_t = mem::zeroed();
        let mut before: libc::sigset_t = mem::zeroed();
        let mut pending: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGXFSZ);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, libc::SIGXFSZ) == 1;
        if libc::pthread_sigmask(libc::SIG_BLOCK, &only, &mut before) != 0 {
            return code();
        }
        let value = code();
        let now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if !was_pending {
            while libc::sigtimedwait(&only, std::ptr::null_mut(), &now) == libc::SIGXFSZ {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        value
    }
}
