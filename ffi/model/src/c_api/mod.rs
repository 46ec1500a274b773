//! The C API: every exported function under its C name.
//!
//! The wrappers are generated from the list of exports, so an export without an
//! implementation in `calls` does not compile. The wrappers contain what all calls have in
//! common: they count the call, may make it fail, add its duration to the time and set the
//! last error. The implementations convert pointers to values for [`crate::runtime`].
//!
//! The requirements for a program are those of CUDA: pointers must be valid for what a call
//! reads and writes. A handle may have any value: it is looked up and never dereferenced.

#![allow(unsafe_code, reason = "it exports C functions")]

mod calls;
pub mod driver;
mod entry;
#[cfg(unix)]
mod fork;
mod loaded_as;
mod nvcc;
mod other_names;
mod output;
pub(crate) mod pointers;
mod unsupported;

#[cfg(unix)]
pub(crate) use fork::prepare_for_forks;

pub use nvcc::NVCC;
pub use other_names::OTHER_NAMES;
pub use unsupported::{UNSUPPORTED, UNSUPPORTED_DRIVER};

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use core::ptr::NonNull;

use cudart_ffi::simulated_runtime_functions;
use cudart_ffi::types::*;

macro_rules! export {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the simulated runtime.")]
            ///
            /// # Safety
            ///
            /// As CUDA documents the function: pointers must be null or valid
            /// for what the call reads and writes. Handles may have any value.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: the caller of this function guarantees the same.
                unsafe { calls::$name($($arg),*) }
            }
        )*

        /// The simulated function with a C name, for a table to bind.
        #[must_use]
        pub fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
            let name = name.to_bytes();
            $(
                if name == stringify!($name).as_bytes() {
                    let function: unsafe extern "C" fn($($ty),*) -> $ret = $name;
                    return NonNull::new(function as *mut c_void);
                }
            )*
            None
        }
    };
}

simulated_runtime_functions!(export);
