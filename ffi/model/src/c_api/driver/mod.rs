//! The driver's functions under their C names, on the same state as the runtime's.
//!
//! Most driver functions are a runtime function with two more conditions: `cuInit` was
//! called, and a context is current. `entry` checks these conditions, and the runtime
//! function does the rest.

#![allow(non_snake_case, reason = "the C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation of the C functions contains it"
)]

mod contexts;
mod devices;
mod entry;
mod errors;
mod events;
mod graph_nodes;
mod graphs;
mod injection;
mod kernels;
mod lookup;
mod memory;
mod physical;
mod streams;

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use cudart_ffi::types::*;

pub(super) use injection::load_once as load_injection;
pub(super) use lookup::search;

/// The implementations, under the names of the C functions.
mod calls {
    pub(super) use super::contexts::*;
    pub(super) use super::devices::*;
    pub(super) use super::errors::*;
    pub(super) use super::events::*;
    pub(super) use super::graph_nodes::*;
    pub(super) use super::graphs::*;
    pub(super) use super::kernels::*;
    pub(super) use super::lookup::*;
    pub(super) use super::memory::*;
    pub(super) use super::physical::*;
    pub(super) use super::streams::*;
}

macro_rules! twin {
    ([] $name:ident($($arg:ident: $ty:ty),*)) => {};
    ([$twin:ident] $name:ident($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "` for the per-thread default stream.")]
        ///
        /// # Safety
        ///
        /// The same as for the function itself.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
        pub unsafe extern "C" fn $twin($($arg: $ty),*) -> CUresult {
            // SAFETY: the caller of this function guarantees the same.
            crate::instance::with_per_thread_default(|| unsafe { calls::$name($($arg),*) })
        }
    };
}

macro_rules! twin_address {
    () => {
        None
    };
    ($twin:ident) => {
        Some($twin as *const c_void)
    };
}

macro_rules! export {
    ($($api:ident [$version:literal] fn $name:ident $(+ $twin:ident)? ($($arg:ident: $ty:ty),* $(,)?) -> CUresult;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the simulated driver.")]
            ///
            /// # Safety
            ///
            /// As CUDA documents the function: pointers must be null or valid
            /// for what the call reads and writes. Handles may have any value.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
                // SAFETY: the caller of this function guarantees the same.
                unsafe { calls::$name($($arg),*) }
            }

            twin! { [$($twin)?] $name($($arg: $ty),*) }
        )*

        /// The exported functions, in the order of the list.
        fn entries() -> [lookup::Entry; cudart_ffi::simulated_driver::SIMULATED_DRIVER_FUNCTIONS.len()] {
            [$(lookup::Entry {
                function: $name as *const c_void,
                twin: twin_address!($($twin)?),
            },)*]
        }
    };
}

cudart_ffi::simulated_driver_functions!(export);
