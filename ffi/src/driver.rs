//! Loads kernels through the driver, for runtimes without `cudaLibraryLoadData`.
//!
//! Runtimes before 12.8 cannot load PTX. A graph of the runtime is also a graph of the
//! driver, so the driver loads the module and adds the kernel node to the same graph
//! handle. The table binds the names without suffix (`cuGraphAddKernelNode`), which take
//! the 56-byte parameters in every driver.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::ptr::NonNull;

use crate::trace::traced;
use crate::types::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUcontext, CUfunction, CUgraphEdgeData, CUgraphNodeParams,
    CUmodule, CUresult, cudaGraph_t, cudaGraphNode_t, cudaJitOption, cudaStream_t,
};

/// The file name of the driver's library on this platform.
pub const DRIVER_LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// Passes the driver's table to the macro `$callback`, one function per line.
#[macro_export]
macro_rules! driver_functions {
    ($callback:ident) => {
        $callback! {
            DriverFunctions, DRIVER_FUNCTIONS, Required, "11.4", "The driver functions that load a kernel, launch it, and add its node to a graph.";
            fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult;
            fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, option_count: c_uint, options: *mut cudaJitOption, option_values: *mut *mut c_void) -> CUresult;
            fn cuModuleUnload(module: CUmodule) -> CUresult;
            fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
            fn cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_mem_bytes: c_uint, stream: cudaStream_t, params: *mut *mut c_void, extra: *mut *mut c_void) -> CUresult;
            fn cuGraphAddKernelNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> CUresult;
        }
    };
}

/// Passes the driver functions that only newer drivers export to the macro `$callback`.
///
/// `cuGraphAddNode_v2` adds conditional nodes. The runtime's `cudaGraphAddNode` does the
/// same, but its prototype changed in 13.0.
#[macro_export]
macro_rules! newer_driver_functions {
    ($callback:ident) => {
        $callback! {
            NewerDriverFunctions, NEWER_DRIVER_FUNCTIONS, Optional, "12.3", "The driver functions that came with 12.3.";
            fn cuGraphAddNode_v2(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_data: *const CUgraphEdgeData, dependency_count: usize, params: *mut CUgraphNodeParams) -> CUresult;
        }
    };
}

macro_rules! define_driver {
    ($functions:ident, $list:ident, $presence:ident, $since:literal, $what:literal; $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        #[doc = $what]
        #[derive(Debug, Clone, Copy)]
        pub struct $functions {
            $($name: unsafe extern "C" fn($($ty),*) -> $ret,)*
        }

        /// The names, arguments and results of the driver's table, as Rust source.
        pub const $list: &[crate::table::Function] = &[
            $(crate::table::Function {
                name: stringify!($name),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
                returns: stringify!($ret),
                presence: crate::table::Presence::$presence,
                since: $since,
            },)*
        ];

        impl $functions {
            /// Looks up every function once by calling `resolve` with its name.
            ///
            /// # Errors
            ///
            /// The names of all functions for which `resolve` returned `None`.
            ///
            /// # Safety
            ///
            /// The same as for [`Functions::bind`](crate::Functions::bind), for the CUDA
            /// driver.
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
                    // SAFETY: the function has this prototype; the caller guarantees the rest.
                    traced!($name, ($($arg),*), unsafe { function($($arg),*) })
                }
            )*
        }
    };
}

driver_functions!(define_driver);
newer_driver_functions!(define_driver);

/// Loads the driver's table. The runtime opens the driver under the same name, so this is
/// the same loaded library. It is never closed.
///
/// # Errors
///
/// A message of one line, if the library cannot be opened or lacks functions.
///
/// # Safety
///
/// The library that the system finds under this name must be the CUDA driver. The CUDA
/// runtime relies on the same. Opening the library runs its initialisers.
pub unsafe fn load_driver() -> Result<DriverFunctions, String> {
    // SAFETY: the caller guarantees that the library is the CUDA driver, so `bind` gets
    // the driver's functions.
    unsafe { with_driver(|resolve| DriverFunctions::bind(resolve)) }
}

/// Loads the driver functions that exist since CUDA 12.3.
///
/// # Errors
///
/// The same as for [`load_driver`].
///
/// # Safety
///
/// The same as for [`load_driver`].
pub unsafe fn load_newer_driver() -> Result<NewerDriverFunctions, String> {
    // SAFETY: as above.
    unsafe { with_driver(|resolve| NewerDriverFunctions::bind(resolve)) }
}

type Resolve<'a> = &'a mut dyn FnMut(&'static CStr) -> Option<NonNull<c_void>>;

/// # Safety
///
/// The same as for [`load_driver`].
unsafe fn with_driver<F>(
    bind: impl FnOnce(Resolve<'_>) -> Result<F, crate::table::MissingSymbols>,
) -> Result<F, String> {
    // SAFETY: the caller guarantees it.
    let library = unsafe { libloading::Library::new(DRIVER_LIBRARY) }
        .map_err(|error| format!("cannot open the CUDA driver: {error}"))?;
    let mut resolve = |name: &'static CStr| {
        // SAFETY: only the address is taken here.
        let symbol = unsafe { library.get::<*mut c_void>(name) }.ok()?;
        NonNull::new(*symbol)
    };
    let functions = bind(&mut resolve)
        .map_err(|missing| format!("{DRIVER_LIBRARY} lacks {}", missing.0.join(", ")))?;
    // The library stays open, because the table keeps addresses in it.
    core::mem::forget(library);
    Ok(functions)
}
