//! Reads and writes through pointers of the program.

use core::alloc::Layout;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

use cudart_ffi::cudaError_t;

use crate::objects::effects::HostCall;
use crate::runtime::Outcome;

/// Refuses a null pointer through which a call must write, before the call has any effect.
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
    // SAFETY: the caller guarantees it.
    unsafe { pointer.write_unaligned(value) }
}

/// The handles in a program's array. If there are more than `most`, none is read: a graph
/// with that many nodes cannot have so many distinct ones, and none may be given twice.
///
/// # Errors
///
/// 1 for a null array, and for more than `most` handles.
///
/// # Safety
///
/// `first` must be null or valid for reading `count` pointers, if these are not more than
/// `most`.
pub(super) unsafe fn handles(first: *const c_void, count: usize, most: usize) -> Outcome<Vec<u64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || count > most {
        return Err(cudaError_t::INVALID_VALUE);
    }
    let first = first.cast::<*mut c_void>();
    Ok((0..count)
        .map(|index| {
            // SAFETY: the caller guarantees it; `index` is below `count`.
            let handle = unsafe { first.add(index).read_unaligned() };
            handle as u64
        })
        .collect())
}

/// A C string of the program as text. Bytes that are not UTF-8 are replaced.
///
/// # Safety
///
/// `text` must be null or point at a NUL-terminated string.
pub(super) unsafe fn string(text: *const c_char) -> Outcome<String> {
    if text.is_null() {
        return Err(cudaError_t::INVALID_VALUE);
    }
    // SAFETY: the caller guarantees it.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_string_lossy().into_owned())
}

/// Reads bytes of the program's memory, for a copy that is made now.
///
/// The address comes from a call with CUDA's requirements: the host side of a copy can be
/// read until the copy has finished.
pub(crate) fn read_host(address: u64, bytes: &mut [u8]) {
    // SAFETY: the program guarantees this range, as above; it does not overlap with our
    // buffer.
    unsafe {
        core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
    }
}

/// Writes bytes to the program's memory, with the requirements of [`read_host`].
pub(crate) fn write_host(address: u64, bytes: &[u8]) {
    // SAFETY: the program guarantees this range; it does not overlap with our buffer.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
    }
}

/// Whether the program's memory contains these bytes, with the requirements of
/// [`read_host`].
pub(crate) fn host_holds(address: u64, bytes: &[u8]) -> bool {
    // SAFETY: the program guarantees this range; it is only read.
    let there = unsafe { core::slice::from_raw_parts(address as *const u8, bytes.len()) };
    there == bytes
}

/// Zeroed host memory for the program, aligned to a page. Physical pages are allocated only
/// where it is written. It is freed when this value is dropped.
#[derive(Debug)]
pub(crate) struct HostPages {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: only this value refers to the memory, and nothing here reads or writes it.
unsafe impl Send for HostPages {}

impl HostPages {
    /// The alignment of the addresses in bytes.
    const ALIGNMENT: usize = 4096;

    /// Allocates `bytes` bytes, which must not be 0. `None` if the host has not enough
    /// memory.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        // With a small alignment, the system provides zeroed memory without writing
        // to it. With a page's alignment, the standard library writes the zeros.
        let whole = bytes.checked_add(Self::ALIGNMENT)?;
        let layout = Layout::from_size_align(whole, align_of::<u128>()).ok()?;
        // SAFETY: the size of the layout is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    /// The first address, a multiple of a page.
    pub(crate) fn address(&self) -> u64 {
        (self.start.as_ptr() as u64).next_multiple_of(Self::ALIGNMENT as u64)
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Calls a function that the program passed for a host node.
pub(super) fn call_host(call: HostCall) {
    let function = call.function as *const c_void;
    if function.is_null() {
        return;
    }
    // SAFETY: the program passed this address as a function with one pointer as
    // argument.
    let function = unsafe {
        core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void)>(function)
    };
    // SAFETY: the program guarantees that the function can be called with this argument.
    unsafe { function(call.user_data as *mut c_void) };
}
