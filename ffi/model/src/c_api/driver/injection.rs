//! The library that `CUDA_INJECTION64_PATH` names: the driver loads it when it is
//! initialised, and calls its `InitializeInjection`.

use core::ffi::c_int;
use std::sync::Once;

static ONCE: Once = Once::new();

/// Loads the library, once in a process and without a lock held: it makes calls itself.
pub(in crate::c_api) fn load_once() {
    // `is_completed` first: the library's own calls come here while it starts.
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
    // SAFETY: the person who set the variable asks for this library's initialisers.
    let Ok(library) = (unsafe { libloading::Library::new(path) }) else {
        // The driver says nothing either: a tool that was not loaded has no words here.
        return;
    };
    // SAFETY: the name stands for a function without arguments in such a library.
    let initialize = unsafe {
        library.get::<unsafe extern "C" fn() -> c_int>(c"InitializeInjection".to_bytes_with_nul())
    };
    if let Ok(initialize) = initialize {
        // SAFETY: as above.
        unsafe { initialize() };
    }
    // It stays for the life of the process.
    core::mem::forget(library);
}

/// Whether the program has more rights than the person who started it (setuid): then
/// the environment names no library to load.
fn runs_for_somebody_else() -> bool {
    #[cfg(target_os = "linux")]
    {
        use core::ffi::c_ulong;

        unsafe extern "C" {
            fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const AT_SECURE: c_ulong = 23;
        // SAFETY: it reads a value that the kernel gave to the process.
        unsafe { getauxval(AT_SECURE) != 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        // No way to know: better not.
        true
    }
}
