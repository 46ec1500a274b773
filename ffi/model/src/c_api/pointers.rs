//! Reading and writing through a program's pointers.

use core::ffi::{CStr, c_char, c_void};

use cudart_ffi::cudaError_t;

use crate::runtime::Outcome;

/// Refuses null where a call has to write, before it does anything.
pub(super) fn not_null<T>(pointer: *mut T) -> Outcome<*mut T> {
    if pointer.is_null() {
        Err(cudaError_t::INVALID_VALUE)
    } else {
        Ok(pointer)
    }
}

/// Writes a result.
///
/// # Safety
///
/// `pointer` must be valid for a write, aligned or not.
pub(super) unsafe fn write<T>(pointer: *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { pointer.write_unaligned(value) }
}

/// The handles in a program's array.
///
/// # Safety
///
/// `first` must be null or valid for reading `count` pointers.
pub(super) unsafe fn handles(first: *const c_void, count: usize) -> Outcome<Vec<u64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || count > isize::MAX as usize / size_of::<u64>() {
        return Err(cudaError_t::INVALID_VALUE);
    }
    let first = first.cast::<*mut c_void>();
    Ok((0..count)
        .map(|index| {
            // SAFETY: the caller's promise; `index` is below `count`.
            let handle = unsafe { first.add(index).read_unaligned() };
            handle as u64
        })
        .collect())
}

/// A program's C string as text; what is not UTF-8 is replaced.
///
/// # Safety
///
/// `text` must be null or point at a NUL-terminated string.
pub(super) unsafe fn string(text: *const c_char) -> Outcome<String> {
    if text.is_null() {
        return Err(cudaError_t::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_string_lossy().into_owned())
}
