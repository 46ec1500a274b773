//! Environment variables, unless this process has rights that its user has not.

use std::ffi::OsString;

/// The variable's value; `None` in a program that runs with more rights than whoever
/// started it, such as a setuid one. There the environment is not to be trusted: a folder
/// of libraries that it names would run its code with those rights. The system's own
/// search ignores `LD_LIBRARY_PATH` in the same case.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    if has_more_rights() {
        None
    } else {
        std::env::var_os(name)
    }
}

/// Whether the kernel set `AT_SECURE` when it started the program: the effective user or
/// group is not the real one, or the file has capabilities (getauxval(3)).
#[cfg(all(target_os = "linux", not(miri)))]
fn has_more_rights() -> bool {
    use core::ffi::c_ulong;

    const AT_SECURE: c_ulong = 23;
    unsafe extern "C" {
        // glibc since 2.16, and musl.
        fn getauxval(kind: c_ulong) -> c_ulong;
    }
    // SAFETY: the function takes any number, and answers 0 to one that is not known.
    unsafe { getauxval(AT_SECURE) != 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn has_more_rights() -> bool {
    false
}
