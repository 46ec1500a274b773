//! The C side: every exported function under its C name.
//!
//! The wrappers are made from the list of exports, so one that has no implementation in
//! `calls` does not compile. They do what all calls have in common (the calls
//! are counted, may be made to fail, cost time, set the last error); the
//! implementations turn pointers into values for [`crate::runtime`].
//!
//! What a program must keep to is what CUDA asks: pointers valid for what a call
//! reads and writes. A handle may be anything: it is looked up, never followed.

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
            /// As CUDA documents the function: pointers must be null or valid for
            /// what the call reads and writes. Handles may be anything.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: the caller of this function guarantees the same.
                unsafe { calls::$name($($arg),*) }
            }
        )*

        /// The simulated function of a C name, as a table binds it.
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
