//! The NVIDIA file name under which the library was loaded.
//!
//! Some functions have different prototypes before CUDA 13 under the same name. A program
//! that was linked with `libcudart.so.12` and loads this library under that name calls them
//! with the arguments of 12. The file name therefore determines which arguments they read.

use std::sync::OnceLock;

/// The major version of CUDA in the name of the file: 11, 12, or 13 for any other name.
pub(super) fn major() -> u32 {
    static MAJOR: OnceLock<u32> = OnceLock::new();
    *MAJOR.get_or_init(|| match own_path() {
        Some(path) if path.ends_with("/libcudart.so.12") => 12,
        Some(path) if path.ends_with("/libcudart.so.11.0") => 11,
        _ => 13,
    })
}

/// The path by which the dynamic linker opened the file that contains this code.
#[cfg(target_os = "linux")]
fn own_path() -> Option<String> {
    use core::ffi::{CStr, c_char, c_int, c_void};

    #[repr(C)]
    struct DlInfo {
        file: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    }
    let mut info = DlInfo {
        file: core::ptr::null(),
        base: core::ptr::null_mut(),
        symbol: core::ptr::null(),
        address: core::ptr::null_mut(),
    };
    let here = own_path as fn() -> Option<String> as *const c_void;
    // SAFETY: `info` has the layout documented in dladdr(3), and dladdr writes it.
    let found = unsafe { dladdr(here, &raw mut info) };
    if found == 0 || info.file.is_null() {
        return None;
    }
    // SAFETY: dladdr returned a C string that is valid while the file is loaded.
    let path = unsafe { CStr::from_ptr(info.file) };
    Some(path.to_string_lossy().into_owned())
}

#[cfg(not(target_os = "linux"))]
fn own_path() -> Option<String> {
    None
}
