//! The table of runtime functions, one per line.
//!
//! [`cudart_functions!`](crate::cudart_functions) is the only list of runtime functions in
//! the workspace. The bindings below, [`FUNCTIONS`], the ABI check and the exports of the
//! simulated runtime are generated from it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use core::ptr::NonNull;

use crate::trace::traced;
use crate::types::*;

/// Passes the table to the macro `$callback`, one function per line:
///
/// `presence [first version] fn name(argument: type, …) -> type;`
///
/// - `required`: exported by every runtime from 11.4 on, with the same prototype. A library
///   without it is refused.
/// - `optional`: exported by some versions only. Where a library lacks it, the binding is
///   `None`.
/// - `model`: exported only by this project's simulated runtime.
///
/// Further arguments of the macro are passed to `$callback` before the table.
#[macro_export]
macro_rules! cudart_functions {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! {
            $($($extra)*)?
            required [11.4] fn cudaDriverGetVersion(version: *mut c_int) -> cudaError_t;
            required [11.4] fn cudaRuntimeGetVersion(version: *mut c_int) -> cudaError_t;
            required [11.4] fn cudaGetErrorName(error: cudaError_t) -> *const c_char;
            required [11.4] fn cudaGetErrorString(error: cudaError_t) -> *const c_char;
            required [11.4] fn cudaGetLastError() -> cudaError_t;

            required [11.4] fn cudaGetDeviceCount(count: *mut c_int) -> cudaError_t;
            required [11.4] fn cudaSetDevice(device: c_int) -> cudaError_t;
            required [11.4] fn cudaDeviceGetAttribute(value: *mut c_int, attr: cudaDeviceAttr, device: c_int) -> cudaError_t;
            required [11.4] fn cudaGetDeviceProperties(prop: *mut cudaDeviceProp, device: c_int) -> cudaError_t;
            optional [12.0] fn cudaGetDeviceProperties_v2(prop: *mut cudaDeviceProp, device: c_int) -> cudaError_t;
            required [11.4] fn cudaDeviceSynchronize() -> cudaError_t;

            required [11.4] fn cudaMalloc(dev_ptr: *mut *mut c_void, size: usize) -> cudaError_t;
            required [11.4] fn cudaFree(dev_ptr: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaFreeAsync(dev_ptr: *mut c_void, stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> cudaError_t;
            required [11.4] fn cudaMemsetAsync(dev_ptr: *mut c_void, value: c_int, count: usize, stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaMemcpyAsync(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t) -> cudaError_t;

            required [11.4] fn cudaMallocAsync(dev_ptr: *mut *mut c_void, size: usize, stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaDeviceGetDefaultMemPool(mem_pool: *mut cudaMemPool_t, device: c_int) -> cudaError_t;
            required [11.4] fn cudaMemPoolTrimTo(mem_pool: cudaMemPool_t, min_bytes_to_keep: usize) -> cudaError_t;
            required [11.4] fn cudaMemPoolGetAttribute(mem_pool: cudaMemPool_t, attr: cudaMemPoolAttr, pool_value: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaMemPoolSetAttribute(mem_pool: cudaMemPool_t, attr: cudaMemPoolAttr, pool_value: *mut c_void) -> cudaError_t;

            required [11.4] fn cudaStreamCreateWithFlags(stream: *mut cudaStream_t, flags: c_uint) -> cudaError_t;
            required [11.4] fn cudaStreamDestroy(stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaStreamSynchronize(stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaStreamQuery(stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, flags: c_uint) -> cudaError_t;

            required [11.4] fn cudaStreamBeginCapture(stream: cudaStream_t, mode: cudaStreamCaptureMode) -> cudaError_t;
            required [11.4] fn cudaStreamEndCapture(stream: cudaStream_t, graph: *mut cudaGraph_t) -> cudaError_t;
            required [11.4] fn cudaLaunchKernel(func: *const c_void, grid_dim: dim3, block_dim: dim3, args: *mut *mut c_void, shared_mem_bytes: usize, stream: cudaStream_t) -> cudaError_t;

            required [11.4] fn cudaEventCreateWithFlags(event: *mut cudaEvent_t, flags: c_uint) -> cudaError_t;
            required [11.4] fn cudaEventDestroy(event: cudaEvent_t) -> cudaError_t;
            required [11.4] fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaEventSynchronize(event: cudaEvent_t) -> cudaError_t;
            required [11.4] fn cudaEventElapsedTime(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t) -> cudaError_t;

            required [11.4] fn cudaGraphCreate(graph: *mut cudaGraph_t, flags: c_uint) -> cudaError_t;
            required [11.4] fn cudaGraphDestroy(graph: cudaGraph_t) -> cudaError_t;
            required [11.4] fn cudaGraphClone(clone: *mut cudaGraph_t, original: cudaGraph_t) -> cudaError_t;
            required [11.4] fn cudaGraphDestroyNode(node: cudaGraphNode_t) -> cudaError_t;
            required [11.4] fn cudaGraphAddMemAllocNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *mut cudaMemAllocNodeParams) -> cudaError_t;
            required [11.4] fn cudaGraphAddMemFreeNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, dev_ptr: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaGraphAddKernelNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, params: *const cudaKernelNodeParams) -> cudaError_t;
            required [11.4] fn cudaGraphAddEmptyNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize) -> cudaError_t;
            required [11.4] fn cudaGraphAddChildGraphNode(node: *mut cudaGraphNode_t, graph: cudaGraph_t, dependencies: *const cudaGraphNode_t, dependency_count: usize, child: cudaGraph_t) -> cudaError_t;
            optional [12.3] fn cudaGraphConditionalHandleCreate(handle: *mut c_ulonglong, graph: cudaGraph_t, default_value: c_uint, flags: c_uint) -> cudaError_t;
            required [11.4] fn cudaGraphMemAllocNodeGetParams(node: cudaGraphNode_t, params: *mut cudaMemAllocNodeParams) -> cudaError_t;
            required [11.4] fn cudaGraphMemFreeNodeGetParams(node: cudaGraphNode_t, dev_ptr_out: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaGraphInstantiateWithFlags(exec: *mut cudaGraphExec_t, graph: cudaGraph_t, flags: c_ulonglong) -> cudaError_t;
            required [11.4] fn cudaGraphExecDestroy(exec: cudaGraphExec_t) -> cudaError_t;
            required [11.4] fn cudaGraphLaunch(exec: cudaGraphExec_t, stream: cudaStream_t) -> cudaError_t;
            required [11.4] fn cudaGraphUpload(exec: cudaGraphExec_t, stream: cudaStream_t) -> cudaError_t;

            required [11.4] fn cudaDeviceGetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaDeviceSetGraphMemAttribute(device: c_int, attr: cudaGraphMemAttributeType, value: *mut c_void) -> cudaError_t;
            required [11.4] fn cudaDeviceGraphMemTrim(device: c_int) -> cudaError_t;

            optional [12.8] fn cudaLibraryLoadData(library: *mut cudaLibrary_t, code: *const c_void, jit_options: *mut cudaJitOption, jit_option_values: *mut *mut c_void, jit_option_count: c_uint, library_options: *mut cudaLibraryOption, library_option_values: *mut *mut c_void, library_option_count: c_uint) -> cudaError_t;
            optional [12.8] fn cudaLibraryGetKernel(kernel: *mut cudaKernel_t, library: cudaLibrary_t, name: *const c_char) -> cudaError_t;
            optional [12.8] fn cudaLibraryUnload(library: cudaLibrary_t) -> cudaError_t;

            model [0.1] fn cudartModelDescribe() -> *const c_char;
            model [0.1] fn cudartModelLiveObjects(counts: *mut c_ulonglong, capacity: usize) -> usize;
        }
    };
}

/// Whether a library must export a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every runtime from 11.4 on exports it.
    Required,
    /// Only some versions export it.
    Optional,
    /// Only the simulated runtime exports it.
    Model,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The exported C name.
    pub name: &'static str,
    /// The argument names and types, as Rust source.
    pub arguments: &'static [(&'static str, &'static str)],
    /// The returned type, as Rust source.
    pub returns: &'static str,
    /// Whether a library must export it.
    pub presence: Presence,
    /// The first CUDA version that exports it. For a function of the simulated runtime:
    /// the first version of this project.
    pub since: &'static str,
}

/// The names of all required functions that a library lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSymbols(pub Vec<&'static str>);

/// The type of a field: a plain function pointer for a required function, an `Option` of it
/// for any other.
macro_rules! stored {
    (required, $t:ty) => { $t };
    ($other:ident, $t:ty) => { Option<$t> };
}

macro_rules! presence {
    (required) => {
        Presence::Required
    };
    (optional) => {
        Presence::Optional
    };
    (model) => {
        Presence::Model
    };
}
pub(crate) use presence;

macro_rules! bind {
    (required, $name:ident, $resolve:ident, $missing:ident, $t:ty) => {{
        match $resolve(symbol_name!($name)) {
            // SAFETY: the caller of `bind` guarantees that the symbol of this
            // name is the CUDA runtime's function, which has this prototype in
            // every version from 11.4 on.
            Some(symbol) => Some(unsafe { core::mem::transmute::<NonNull<c_void>, $t>(symbol) }),
            None => {
                $missing.push(stringify!($name));
                None
            }
        }
    }};
    ($other:ident, $name:ident, $resolve:ident, $missing:ident, $t:ty) => {
        $resolve(symbol_name!($name))
            // SAFETY: as above; every version that exports it has this prototype.
            .map(|symbol| unsafe { core::mem::transmute::<NonNull<c_void>, $t>(symbol) })
    };
}

macro_rules! symbol_name {
    ($name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    };
}

macro_rules! unwrap_bound {
    (required, $field:ident) => {
        match $field {
            Some(function) => function,
            None => unreachable!("a missing required function was reported above"),
        }
    };
    ($other:ident, $field:ident) => {
        $field
    };
}

macro_rules! method {
    (required, $since:literal, $name:ident, ($($arg:ident: $ty:ty),*), $ret:ty) => {
        #[doc = concat!("Calls `", stringify!($name), "`; exported from CUDA ", stringify!($since), " on.")]
        ///
        /// # Safety
        ///
        /// As the CUDA runtime documents the function: pointers must be valid for
        /// what the call reads and writes, and handles must be live and made by
        /// this library.
        #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
        #[inline]
        pub unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
            let function = self.$name;
            // SAFETY: the function has this prototype; the caller guarantees the rest.
            traced!($name, ($($arg),*), unsafe { function($($arg),*) })
        }
    };
    ($other:ident, $since:literal, $name:ident, ($($arg:ident: $ty:ty),*), $ret:ty) => {
        #[doc = concat!("Calls `", stringify!($name), "`; exported from ", stringify!($since), " on. Returns `None` if this library does not export it.")]
        ///
        /// # Safety
        ///
        /// As the library documents the function: pointers must be valid for what
        /// the call reads and writes, and handles must be live and made by this
        /// library.
        #[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
        #[inline]
        pub unsafe fn $name(&self, $($arg: $ty),*) -> Option<$ret> {
            let function = self.$name?;
            // SAFETY: the function has this prototype; the caller guarantees the rest.
            Some(traced!($name, ($($arg),*), unsafe { function($($arg),*) }))
        }
    };
}

macro_rules! define_table {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The bound functions of one library.
        #[derive(Debug, Clone, Copy)]
        pub struct Functions {
            $($name: stored!($presence, unsafe extern "C" fn($($ty),*) -> $ret),)*
        }

        impl Functions {
            /// Looks up every function once by calling `resolve` with its name.
            ///
            /// # Errors
            ///
            /// The names of **all** required functions for which `resolve`
            /// returned `None`.
            ///
            /// # Safety
            ///
            /// What `resolve` returns for a name must be the function of that
            /// name in a CUDA runtime of version 11.4 or later, or one with the
            /// same prototype and meaning, and must stay callable for as long as
            /// the table or a copy of it is used.
            pub unsafe fn bind(
                mut resolve: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
            ) -> Result<Self, MissingSymbols> {
                let mut missing = Vec::new();
                $(
                    #[allow(non_snake_case, reason = "the C name")]
                    let $name = bind!($presence, $name, resolve, missing, unsafe extern "C" fn($($ty),*) -> $ret);
                )*
                if !missing.is_empty() {
                    return Err(MissingSymbols(missing));
                }
                Ok(Self { $($name: unwrap_bound!($presence, $name),)* })
            }

            /// Whether this library exports the function of this name.
            #[must_use]
            pub fn exports(&self, name: &str) -> bool {
                $(if name == stringify!($name) {
                    return exported!($presence, self.$name);
                })*
                false
            }

            $(method! { $presence, $since, $name, ($($arg: $ty),*), $ret })*
        }
    };
}

macro_rules! exported {
    (required, $field:expr) => {
        true
    };
    ($other:ident, $field:expr) => {
        $field.is_some()
    };
}

cudart_functions!(define_table);

macro_rules! as_values {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        &[
            $(Function {
                name: stringify!($name),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
                returns: stringify!($ret),
                presence: presence!($presence),
                since: stringify!($since),
            },)*
        ]
    };
}
pub(crate) use as_values;

/// Every line of the table.
pub const FUNCTIONS: &[Function] = cudart_functions!(as_values);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_required_function_is_named_at_once() {
        // SAFETY: nothing is resolved, so nothing can be called.
        let missing = unsafe { Functions::bind(|_| None) }.unwrap_err();
        let required: Vec<_> = FUNCTIONS
            .iter()
            .filter(|f| f.presence == Presence::Required)
            .map(|f| f.name)
            .collect();
        assert_eq!(missing.0, required);
    }

    #[test]
    fn the_trap_spellings_are_not_in_the_table() {
        // Functions whose prototype changed between versions under the same exported
        // name.
        for trap in [
            "cudaGraphInstantiate",
            "cudaGetDriverEntryPoint",
            "cudaGraphExecUpdate",
            "cudaStreamGetCaptureInfo",
            "cudaGraphAddNode",
            "cudaGraphAddDependencies",
            "cudaGraphGetEdges",
        ] {
            assert!(FUNCTIONS.iter().all(|f| f.name != trap), "{trap}");
        }
    }
}
