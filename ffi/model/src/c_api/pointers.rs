//! Reading and writing through a program's pointers.

use core::alloc::Layout;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

use cudart_ffi::cudaError_t;

use crate::objects::effects::HostCall;
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
    // SAFETY: the caller guarantees it.
    unsafe { pointer.write_unaligned(value) }
}

/// The handles in a program's array. More than `most` are refused before anything is
/// read: a graph of that many nodes cannot have so many different ones, and none may be
/// named twice.
///
/// # Errors
///
/// 1 for no array, and for more than `most`.
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

/// A program's C string as text; what is not UTF-8 is replaced.
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

/// Copies bytes of the program's memory, for a copy that is made now.
///
/// The address came with a call whose contract is CUDA's: the program's side of a copy
/// can be read until the copy is over.
pub(crate) fn read_host(address: u64, bytes: &mut [u8]) {
    // SAFETY: the program promises this range, as above; a buffer of ours is not in it.
    unsafe {
        core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
    }
}

/// Copies bytes to the program's memory, under the contract of [`read_host`].
pub(crate) fn write_host(address: u64, bytes: &[u8]) {
    // SAFETY: the program promises this range; a buffer of ours is not in it.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
    }
}

/// Whether the program's memory holds these bytes, under the contract of [`read_host`].
pub(crate) fn host_holds(address: u64, bytes: &[u8]) -> bool {
    // SAFETY: the program promises this range; it is only read.
    let there = unsafe { core::slice::from_raw_parts(address as *const u8, bytes.len()) };
    there == bytes
}

/// Zeroed memory of the host for the program, aligned as pages are. It takes pages of the
/// machine only where it is written, and is freed when this goes.
#[derive(Debug)]
pub(crate) struct HostPages {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to this alone, and nothing here reads or writes it.
unsafe impl Send for HostPages {}

impl HostPages {
    /// What the addresses are multiples of.
    const ALIGNMENT: usize = 4096;

    /// So many bytes, more than none. `None`: the host has not so many.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        // Zeroed memory of a small alignment comes untouched from the system, that of a
        // page's is written by the standard library.
        let whole = bytes.checked_add(Self::ALIGNMENT)?;
        let layout = Layout::from_size_align(whole, align_of::<u128>()).ok()?;
        // SAFETY: the layout has bytes.
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

/// Calls a function that the program gave for a host node.
pub(super) fn call_host(call: HostCall) {
    let function = call.function as *const c_void;
    if function.is_null() {
        return;
    }
    // SAFETY: the program gave this address as a function that takes one pointer.
    let function = unsafe {
        core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void)>(function)
    };
    // SAFETY: the program promises that it can be called with this.
    unsafe { function(call.user_data as *mut c_void) };
}
