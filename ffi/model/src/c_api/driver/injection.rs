//! The library that `CUDA_INJECTION64_PATH` names: the driver loads it when it is
//! initialized, and calls its `InitializeInjection`.

use core::ffi::c_int;
use std::sync::Once;

static ONCE: Once = Once::new();

/// Loads the library, once in a process. No lock may be held, because the library itself
/// makes calls.
pub(in crate::c_api) fn load_once() {
    // `is_completed` is checked first, because the library's own calls lead here while
    // it starts.
    thread_local! {
        static LOADING: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }
    if ONCE.is_completed() || LOADING.get() {
        return;
    }
    LOADING.set(true);
    ONCE.call_once(|| {
        if !runs_for_somebody_else()
            && let Some(path) = std::env::var_os("CUDA_INJECTION64_PATH")
            && !path.is_empty()
        {
            load(&path);
        }
    });
    LOADING.set(false);
}

fn load(path: &std::ffi::OsStr) {
    // SAFETY: whoever set the variable wants the initialisers of this library to run.
    let Ok(library) = (unsafe { libloading::Library::new(path) }) else {
        // Like the driver, no message is printed if the library cannot be loaded.
        return;
    };
    // SAFETY: in such a library, this name is that of a function without arguments.
    let initialize = unsafe {
        library.get::<unsafe extern "C" fn() -> c_int>(c"InitializeInjection".to_bytes_with_nul())
    };
    if let Ok(initialize) = initialize {
        // SAFETY: as above.
        unsafe { initialize() };
    }
    // The library stays loaded until the process ends.
    core::mem::forget(library);
}

/// Whether the program has more rights than the user who started it (setuid). The
/// environment must then not name a library to load.
fn runs_for_somebody_else() -> bool {
    #[cfg(target_os = "linux")]
    {
        use core::ffi::c_ulong;

        unsafe extern "C" {
            fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const AT_SECURE: c_ulong = 23;
        // SAFETY: the function reads a value that the kernel passed to the process.
        unsafe { getauxval(AT_SECURE) != 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        // There is no way to find out, so no library is loaded.
        true
    }
}
