//! The wrappers, one for each `wrap` line of the table, exported with the driver's name and
//! prototype.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cudart_ffi::types::*;
use cudart_ffi::watched::*;
use graph_memory_record::Category;

use crate::graph::Flags;
use crate::{account, capture, context, driver, graph, kernel, launch, pool, start};

/// A wrapped function.
#[derive(Debug)]
pub struct Entry {
    name: &'static CStr,
    /// The driver's function, once it is known.
    real: AtomicPtr<c_void>,
    wrapper: fn() -> *mut c_void,
}

impl Entry {
    /// The driver's name.
    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// The driver's name as a C string.
    pub fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// The wrapper's address.
    pub fn wrapper(&self) -> *mut c_void {
        (self.wrapper)()
    }

    /// The driver's function; null if it is not known.
    #[inline]
    pub fn real(&self) -> *mut c_void {
        self.real.load(Ordering::Acquire)
    }

    /// Sets the function that the wrapper calls, unless one is already set. Returns
    /// whether the wrapper now calls `real`.
    pub fn adopt(&self, real: *mut c_void) -> bool {
        let null = ptr::null_mut();
        match self
            .real
            .compare_exchange(null, real, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => true,
            Err(before) => before == real,
        }
    }
}

/// The entry of a name.
pub fn entry(name: &[u8]) -> Option<&'static Entry> {
    // There are few names, and nearly all differ in their length or their first bytes,
    // so a linear search is fast.
    ENTRIES.iter().find(|entry| entry.name.to_bytes() == name)
}

/// All wrapped functions.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// Defines the wrappers and the list of them, and skips `own` lines.
macro_rules! wrappers {
    (@one wrap($($hook:ident)::+ $(, $($extra:expr),*)?) $name:ident($($arg:ident: $ty:ty),*)) => {
        /// The wrapper of the driver's function of this name.
        ///
        /// # Safety
        ///
        /// As the driver documents the function.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
        #[allow(non_snake_case, reason = "the C name")]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> CUresult {
            static ENTRY: &Entry = &ENTRIES[Index::$name as usize];
            let mut real = ENTRY.real();
            if real.is_null() {
                real = driver::resolve(ENTRY);
                if real.is_null() {
                    return CUresult::NOT_FOUND;
                }
            }
            // SAFETY: the driver's function of this name has this prototype, which
            // `cargo xtask abi` compares with its headers.
            let real = unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($ty),*) -> CUresult>(real)
            };
            // SAFETY: the caller's arguments are passed on unchanged.
            $($hook)::+(ENTRY, move || unsafe { real($($arg),*) } $(, $($extra),*)?)
        }
    };
    ($($kind:ident $(($($hook:tt)*))? [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        wrappers! { @split [] $($kind $(($($hook)*))? $name($($arg: $ty),*);)* }
    };
    (@split [$($wrapped:tt)*] wrap($($hook:tt)*) $name:ident($($args:tt)*); $($rest:tt)*) => {
        wrappers! { @one wrap($($hook)*) $name($($args)*) }
        wrappers! { @split [$($wrapped)* $name] $($rest)* }
    };
    (@split [$($wrapped:tt)*] own $name:ident($($args:tt)*); $($rest:tt)*) => {
        wrappers! { @split [$($wrapped)*] $($rest)* }
    };
    (@split [$($name:ident)*]) => {
        /// The entries' indices.
        #[allow(non_camel_case_types, reason = "the C names")]
        enum Index {
            $($name,)*
        }

        static ENTRIES: [Entry; [$(stringify!($name)),*].len()] = [
            $(Entry {
                name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
                real: AtomicPtr::new(ptr::null_mut()),
                wrapper: || $name as *const () as *mut c_void,
            },)*
        ];
    };
}

cudart_ffi::watched_functions!(wrappers);
