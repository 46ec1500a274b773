//! Reads environment variables, but ignores them in a process with more rights than its
//! user.

use std::ffi::OsString;

/// The value of the variable. `None` in a process that has more rights than the user who
/// started it, such as a setuid program: if the environment named a folder of libraries,
/// code from that folder would run with those rights. The dynamic linker ignores
/// `LD_LIBRARY_PATH` in the same case.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    if has_more_rights() {
        None
    } else {
        std::env::var_os(name)
    }
}

/// Whether the kernel set `AT_SECURE` when it started the program: the effective user or
/// group differs from the real one, or the file has capabilities (getauxval(3)).
#[cfg(all(target_os = "linux", not(miri)))]
fn has_more_rights() -> bool {
    use core::ffi::c_ulong;

    const AT_SECURE: c_ulong = 23;
    unsafe extern "C" {
        // glibc since 2.16, and musl.
        fn getauxval(kind: c_ulong) -> c_ulong;
    }
    // SAFETY: the function accepts any number, and returns 0 for an unknown one.
    unsafe { getauxval(AT_SECURE) != 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn has_more_rights() -> bool {
    false
}
