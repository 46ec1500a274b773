//! The code that made a call: the first stack frame outside the CUDA libraries.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};

use graph_memory_record::Origin;

use crate::{driver, process};

/// File names of libraries that do not count as callers: the driver, the runtime, and the
/// CUDA tools that wrap them.
const CUDAS_OWN: [&str; 4] = ["libcuda.so", "libcudart", "libcupti", "libcudadebugger"];

/// The search ends after this many frames. The first frame outside the CUDA libraries is
/// normally found much earlier.
const MOST_FRAMES: usize = 64;

#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

// The unwinder of libgcc_s, with which Rust's standard library is linked.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
}

const NO_REASON: c_int = 0;
const NORMAL_STOP: c_int = 4;

#[derive(Default)]
struct Search {
    own: usize,
    frames: usize,
    /// The address at which the last skipped library is mapped: consecutive frames are
    /// mostly of the same library.
    passed: usize,
    found: Option<PathBuf>,
}

/// The origin of the current call.
pub fn origin() -> Option<Origin> {
    let here = driver::object_of(origin as *const () as *const c_void)?;
    let mut search = Search {
        own: here.1,
        ..Search::default()
    };
    // SAFETY: the callback gets the address of `search`, which lives until the end.
    unsafe { _Unwind_Backtrace(frame, (&raw mut search).cast()) };
    let path = search.found?;
    // For the program itself the dynamic linker returns the name with which it was
    // called.
    let library = if path.is_absolute() {
        path
    } else {
        process::executable()
    };
    Some(Origin {
        library: library.display().to_string(),
    })
}

extern "C" fn frame(context: *mut UnwindContext, argument: *mut c_void) -> c_int {
    // SAFETY: `origin` passes a pointer to its own variable.
    let search = unsafe { &mut *argument.cast::<Search>() };
    search.frames += 1;
    if search.frames > MOST_FRAMES {
        return NORMAL_STOP;
    }
    // SAFETY: the unwinder's context is valid during the callback.
    let address = unsafe { _Unwind_GetIP(context) };
    // The return address can be after the end of the function, so the byte before it is
    // looked up.
    let Some((path, base)) = driver::object_of(address.wrapping_sub(1) as *const c_void) else {
        return NO_REASON;
    };
    if base == search.own || base == search.passed {
        return NO_REASON;
    }
    if driver::get().is_some_and(|driver| driver.base() == base) || is_cudas(&path) {
        search.passed = base;
        return NO_REASON;
    }
    search.found = Some(path);
    NORMAL_STOP
}

fn is_cudas(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| CUDAS_OWN.iter().any(|own| name.starts_with(own)))
}
