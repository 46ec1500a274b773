//! The start of CUDA in a process: the driver, the first wrapped function, and
//! `InitializeInjection`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::Ordering;

use cudart_ffi::types::CUresult;
use graph_memory_record::{Driver, Event, Intercepted, NoteKind, Way};

use crate::driver;
use crate::guard::{Inside, shield};
use crate::state::{self, State};
use crate::wrap::{self, Entry};

/// The state and the driver, for a hook.
pub struct Watched {
    /// The state.
    pub state: &'static State,
    /// The driver.
    pub driver: &'static driver::Driver,
    /// While it exists, calls that the driver itself makes are only passed on.
    _inside: Inside,
}

impl Watched {
    /// Enters a wrapper. `None` if the call must only be passed on: the process is not
    /// watched, or the driver makes the call within another one.
    #[inline]
    pub fn enter() -> Option<Self> {
        let state = state::active()?;
        let driver = driver::get()?;
        let inside = Inside::enter()?;
        Some(Self {
            state,
            driver,
            _inside: inside,
        })
    }
}

/// Records that a program got a wrapped function.
pub fn intercepted(way: Way, function: &str) {
    let Some(state) = state::active() else {
        return;
    };
    if state.intercepted.load(Ordering::Relaxed) || state.intercepted.swap(true, Ordering::AcqRel) {
        return;
    }
    let function = function.to_owned();
    state.event(Event::Intercepted(Intercepted { way, function }));
    if let Some(driver) = driver::get() {
        let mut version: c_int = 0;
        // SAFETY: the pointer is to a live variable; the call needs no initialisation.
        let result = unsafe { driver.cuDriverGetVersion(&raw mut version) };
        state.event(Event::Driver(Driver {
            library: driver.library().display().to_string(),
            version: result.is_success().then_some(version),
        }));
    }
}

/// `cuInit`.
pub fn init(_entry: &'static Entry, real: impl FnOnce() -> CUresult) -> CUresult {
    real()
}

/// `cuGetProcAddress`: replaces the returned pointer by the wrapper of that function. The
/// pointer determines which function and which variant it is.
pub fn proc_address(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
) -> CUresult {
    let result = real();
    if result.is_success() && !symbol.is_null() && !pfn.is_null() {
        shield(|| {
            // SAFETY: the driver wrote the pointer.
            let function = unsafe { *pfn };
            // SAFETY: the caller passed a C string.
            let symbol = unsafe { CStr::from_ptr(symbol) };
            if let Some(wrapper) = wrapper_of(entry, function, symbol) {
                // SAFETY: as above.
                unsafe { *pfn = wrapper };
            }
        });
    }
    result
}

fn wrapper_of(asked: &Entry, function: *mut c_void, symbol: &CStr) -> Option<*mut c_void> {
    let state = state::active()?;
    if function.is_null() {
        return None;
    }
    let found = wrap::entries().iter().find(|e| e.real() == function);
    if let Some(entry) = found {
        intercepted(Way::ProcAddress, entry.name());
        return Some(entry.wrapper());
    }
    let symbol = symbol.to_str().unwrap_or_default();
    let wrapped = wrap::entries().iter().any(|e| base(e.name()) == symbol);
    let already = wrap::entries().iter().any(|e| e.wrapper() == function);
    if wrapped && !already && asked.real() != function {
        state.note(
            NoteKind::NotWrapped,
            "cuGetProcAddress returned a function whose address is not that of any exported variant",
            Some(symbol),
            None,
        );
    }
    None
}

/// A name without the suffix of its variant, which is the form that `cuGetProcAddress`
/// takes.
fn base(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").unwrap_or(name);
    ["_v2", "_v3", "_v4"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

/// The driver calls this when CUDA starts, if `CUDA_INJECTION64_PATH` names this library.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    shield(|| {
        if let Some(state) = state::active() {
            state.event(Event::CudaStarted);
        }
    });
    1
}
