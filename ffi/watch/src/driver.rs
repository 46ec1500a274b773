//! The real driver: the addresses of its functions, and bindings for those that the library
//! calls itself.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use cudart_ffi::types::*;

use crate::dlsym::find;
use crate::wrap::{self, Entry};

/// Defines the bindings of the table's `own` lines, and skips `wrap` lines.
macro_rules! bindings {
    ($($kind:ident $(($($hook:tt)*))? [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        bindings! { @split [] $($kind $name($($arg: $ty),*);)* }
    };
    (@split [$($own:tt)*] own $name:ident($($args:tt)*); $($rest:tt)*) => {
        bindings! { @split [$($own)* $name($($args)*);] $($rest)* }
    };
    (@split [$($own:tt)*] wrap $name:ident($($args:tt)*); $($rest:tt)*) => {
        bindings! { @split [$($own)*] $($rest)* }
    };
    (@split [$($name:ident($($arg:ident: $ty:ty),*);)*]) => {
        /// The driver's functions that the library calls itself. A function that the
        /// driver lacks returns [`CUresult::NOT_FOUND`].
        #[derive(Debug)]
        #[allow(non_snake_case, reason = "the C names")]
        pub struct Driver {
            library: PathBuf,
            base: usize,
            $($name: *mut c_void,)*
        }

        impl Driver {
            fn bind(handle: *mut c_void, library: PathBuf, base: usize) -> Self {
                Self {
                    library,
                    base,
                    $($name: find(
                        handle,
                        CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes())
                            .unwrap_or_default(),
                    ),)*
                }
            }

            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                ///
                /// # Safety
                ///
                /// As the driver documents the function.
                #[inline]
                #[allow(non_snake_case, reason = "the C name")]
                pub unsafe fn $name(&self, $($arg: $ty),*) -> CUresult {
                    if self.$name.is_null() {
                        return CUresult::NOT_FOUND;
                    }
                    // SAFETY: the driver's function of this name has this prototype,
                    // which `cargo xtask abi` compares with its headers.
                    let function = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($ty),*) -> CUresult>(self.$name)
                    };
                    // SAFETY: the caller guarantees it.
                    unsafe { function($($arg),*) }
                }
            )*
        }
    };
}

cudart_ffi::watched_functions!(bindings);

// SAFETY: the pointers are functions, which any thread may call.
unsafe impl Send for Driver {}
// SAFETY: as above.
unsafe impl Sync for Driver {}

static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();

/// The driver, once one was found.
#[inline]
pub fn get() -> Option<&'static Driver> {
    DRIVER.get()?.as_ref()
}

impl Driver {
    /// The path of its library.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The address at which its library is mapped.
    pub fn base(&self) -> usize {
        self.base
    }
}

/// Makes the library that contains this driver function the driver, unless there is already
/// one.
pub fn found(function: *mut c_void) {
    DRIVER.get_or_init(|| {
        let (path, base) = object_of(function)?;
        // Opened by its path, or if that fails by its name: a relative path is
        // useless after `chdir`.
        let handle = loaded(path.as_os_str()).or_else(|| loaded(path.file_name()?))?;
        for entry in wrap::entries() {
            let real = find(handle, entry.c_name());
            if !real.is_null() && real != entry.wrapper() {
                entry.adopt(real);
            }
        }
        Some(Driver::bind(handle, path, base))
    });
}

/// The handle of a library that is already loaded.
fn loaded(name: &OsStr) -> Option<*mut c_void> {
    let name = CString::new(name.as_bytes()).ok()?;
    // SAFETY: a C string; RTLD_NOLOAD only finds what is loaded already.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// The real function of a wrapper. The wrapper's address was the result of a search of all
/// libraries, or a program that is linked with the driver called it. The function is the
/// next one after this library, or else the one in a `libcuda.so.1` that is loaded without
/// global symbols.
pub fn real(entry: &Entry) -> *mut c_void {
    let known = entry.real();
    if !known.is_null() {
        return known;
    }
    let next = find(libc::RTLD_NEXT, entry.c_name());
    if !next.is_null() {
        return next;
    }
    let Some(handle) = loaded(OsStr::new("libcuda.so.1")) else {
        return ptr::null_mut();
    };
    let found = find(handle, entry.c_name());
    if found == entry.wrapper() {
        return ptr::null_mut();
    }
    found
}

/// The same as [`real`], for a wrapper that is called before its function is known, because
/// the program is linked with the driver.
#[cold]
pub fn resolve(entry: &'static Entry) -> *mut c_void {
    crate::guard::shield(|| {
        let function = real(entry);
        if function.is_null() {
            return ptr::null_mut();
        }
        if crate::state::active().is_some() {
            found(function);
            crate::start::intercepted(graph_memory_record::Way::Linked, entry.name());
        }
        entry.adopt(function);
        entry.real()
    })
    .unwrap_or(ptr::null_mut())
}

/// The file that contains an address, and the address at which the file is mapped.
pub fn object_of(address: *const c_void) -> Option<(PathBuf, usize)> {
    // SAFETY: the struct is plain data; `dladdr` takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let name = CStr::from_ptr(info.dli_fname).to_bytes();
        let path = PathBuf::from(OsStr::from_bytes(name));
        Some((path, info.dli_fbase as usize))
    }
}
