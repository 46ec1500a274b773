//! The exported `dlsym`.
//!
//! `dlsym(RTLD_NEXT, …)` searches the libraries after the one that contains its *caller*,
//! which it finds by the return address. The exported function is therefore a few
//! instructions of assembly: they call [`wrapper_for`] and, for every name that is not a
//! driver function, jump to the real `dlsym` with the caller's return address unchanged.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use graph_memory_record::Way;

use crate::driver;
use crate::guard;
use crate::start;
use crate::state;
use crate::wrap::{self, Entry};

/// The real `dlsym`. [`wrapper_for`] sets it before the assembly reads it.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The type of `dlsym`.
type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Finds a symbol, as `dlsym` of the C library does, but returns wrappers for driver
/// functions.
///
/// # Safety
///
/// As the C library documents it.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {wrapper_for}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "cmp rax, 1",
        "ja 2f",
        "je 3f",
        "jmp qword ptr [rip + {real}]",
        "3:",
        "xor eax, eax",
        "2:",
        "ret",
        wrapper_for = sym wrapper_for,
        real = sym REAL,
    )
}

/// Finds a symbol, as `dlsym` of the C library does, but returns wrappers for driver
/// functions.
///
/// # Safety
///
/// As the C library documents it.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {wrapper_for}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "cmp x16, #1",
        "b.hi 2f",
        "b.eq 3f",
        "adrp x16, {real}",
        "ldr x16, [x16, :lo12:{real}]",
        "br x16",
        "3:",
        "mov x16, #0",
        "2:",
        "mov x0, x16",
        "ret",
        wrapper_for = sym wrapper_for,
        real = sym REAL,
    )
}

/// Replaces the real `dlsym` if it cannot be found.
unsafe extern "C" fn none(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

/// The real `dlsym`. Its symbol version is one of three: that of glibc 2.34 and later, of
/// aarch64, or of x86-64.
fn real() -> *mut c_void {
    let known = REAL.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let mut found = ptr::null_mut();
    for version in [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"] {
        // SAFETY: names and version are C strings.
        found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !found.is_null() {
            break;
        }
    }
    if found.is_null() {
        found = none as Dlsym as *mut c_void;
    }
    REAL.store(found, Ordering::Release);
    found
}

/// Calls the real `dlsym` from this library.
pub fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: `real` is a function of this type.
    let real = unsafe { std::mem::transmute::<*mut c_void, Dlsym>(real()) };
    // SAFETY: the name is a C string; a handle comes from `dlopen` or the caller.
    unsafe { real(handle, name.as_ptr()) }
}

/// Returned by `wrapper_for` for a name that `dlsym` must not find, although the real
/// `dlsym` would find the exported wrapper.
const NOT_FOUND: *mut c_void = ptr::without_provenance_mut(1);

/// The result of `dlsym` for the name of a driver function, or [`NOT_FOUND`]. Null for all
/// other names: then the assembly jumps to the real `dlsym`.
extern "C" fn wrapper_for(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    real();
    // SAFETY: the caller of `dlsym` passes a C string; only its first bytes are read
    // unless they are "cu".
    unsafe {
        if name.is_null() || *name != b'c' as c_char || *name.add(1) != b'u' as c_char {
            return ptr::null_mut();
        }
    }
    if handle == libc::RTLD_NEXT {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(entry) = wrap::entry(name.to_bytes()) else {
        return ptr::null_mut();
    };
    guard::shield(|| answer(handle, name, entry)).unwrap_or(ptr::null_mut())
}

fn answer(handle: *mut c_void, name: &CStr, entry: &'static Entry) -> *mut c_void {
    let mut found = find(handle, name);
    let ours = entry.wrapper();
    if found == ours {
        // A search of all libraries finds the exported wrapper first. The wrapper
        // may be returned only if the real function exists.
        found = driver::real(entry);
    }
    if found.is_null() {
        return NOT_FOUND;
    }
    if state::active().is_none() {
        return found;
    }
    driver::found(found);
    if !entry.adopt(found) {
        // The function of this name is in a second library, so it is returned
        // without a wrapper.
        return found;
    }
    start::intercepted(Way::Dlsym, entry.name());
    ours
}
