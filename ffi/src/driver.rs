//! The driver's way to a kernel, for runtimes without `cudaLibraryLoadData`.
//!
//! Runtimes before 12.8 cannot load PTX, but a runtime graph is a driver graph:
//! the driver loads the module and adds the kernel node to the same handle. The
//! plain names are used, which take the 56-byte parameters in every driver.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::ptr::NonNull;

use crate::trace::traced;
use crate::types::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUfunction, CUmodule, CUresult, cudaGraph_t, cudaGraphNode_t,
    cudaJitOption, cudaStream_t,
};

/// What the driver's library is called on this platform.
pub const DRIVER_LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// Hands the driver's table to the macro `$callback`, one function a line.
#[macro_export]
macro_rules! driver_functions {
    ($callback:ident) => {
        $callback! {
            fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, option_count: c_uint, options: *mut cudaJitOption, option_values: *mut *mut c_void) -> CUresult;
            fn cuModuleUnload(module: CUmodule) -> CUresult;
            fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
            fn cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_mem_bytes: c_uint, stream: cudaStream_t, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            fn cuGraphAddKernelNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> CUresult;
        }
    };
}

macro_rules! define_driver {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The driver functions that load a kernel, launch it, and add its node to a graph.
        #[derive(Debug, Clone, Copy)]
        pub struct DriverFunctions {
            $($name: unsafe extern "C" fn($($ty),*) -> $ret,)*
        }

        /// The names of the driver's table with their arguments and result, as Rust source.
        pub const DRIVER_FUNCTIONS: &[crate::table::Function] = &[
            $(crate::table::Function {
                name: stringify!($name),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
                returns: stringify!($ret),
                presence: crate::table::Presence::Required,
                since: "11.4",
            },)*
        ];

        impl DriverFunctions {
            /// Binds every function once, by asking `resolve` for each name.
            ///
            /// # Errors
            ///
            /// Names all functions that `resolve` does not know.
            ///
            /// # Safety
            ///
            /// As for [`Functions::bind`](crate::Functions::bind), for the CUDA driver.
            pub unsafe fn bind(
                mut resolve: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
            ) -> Result<Self, crate::table::MissingSymbols> {
                let mut missing = Vec::new();
                $(
                    const _: () = assert!(CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()).is_ok());
                    #[allow(non_snake_case, reason = "the C name")]
                    let $name = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => resolve(name),
                        Err(_) => None,
                    };
                    if $name.is_none() {
                        missing.push(stringify!($name));
                    }
                )*
                match ($($name,)*) {
                    ($(Some($name),)*) => Ok(Self {
                        // SAFETY: the caller promises that this is the driver's
                        // function, which has this prototype in every version.
                        $($name: unsafe {
                            core::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($ty),*) -> $ret>($name)
                        },)*
                    }),
                    _ => Err(crate::table::MissingSymbols(missing)),
                }
            }

            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                ///
                /// # Safety
                ///
                /// As the CUDA driver documents the function; the primary context
                /// must be current on this thread.
                #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
                pub unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                    let function = self.$name;
                    // SAFETY: the function has this prototype; the rest is the caller's promise.
                    traced!($name, ($($arg),*), unsafe { function($($arg),*) })
                }
            )*
        }
    };
}

driver_functions!(define_driver);

/// Loads the driver's table. The library is the very instance that the runtime
/// uses, since the runtime opens it by the same name; it is never closed.
///
/// # Errors
///
/// One line: the library cannot be opened, or lacks functions.
///
/// # Safety
///
/// The library that the system finds by this name must be the CUDA driver, as it must be
/// for the CUDA runtime. Opening it runs its initialisers.
pub unsafe fn load_driver() -> Result<DriverFunctions, String> {
    // SAFETY: the caller's promise.
    let library = unsafe { libloading::Library::new(DRIVER_LIBRARY) }
        .map_err(|error| format!("cannot open the CUDA driver: {error}"))?;
    let resolve = |name: &'static CStr| {
        // SAFETY: only the address is taken here.
        let symbol = unsafe { library.get::<*mut c_void>(name) }.ok()?;
        NonNull::new(*symbol)
    };
    // SAFETY: the caller promises that it is the CUDA driver, and it is never closed.
    let functions = unsafe { DriverFunctions::bind(resolve) }
        .map_err(|missing| format!("{DRIVER_LIBRARY} lacks {}", missing.0.join(", ")))?;
    core::mem::forget(library);
    Ok(functions)
}
