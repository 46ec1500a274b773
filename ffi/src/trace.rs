//! The text of a traced call: each argument before the call, and after a success the values
//! that the call wrote through its out pointers.

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::types::*;

/// Makes one call. If the log target `cudart` is at level `trace`, the call is logged, so
/// that a reader can follow all CUDA calls of a run. If it is not, the cost is one
/// comparison.
macro_rules! traced {
    ($name:ident, ($($arg:ident),*), $call:expr) => {{
        use crate::trace::{Traced, in_call, out_call};
        if log::log_enabled!(target: "cudart", log::Level::Trace) {
            let before = in_call(&[$((stringify!($arg), &$arg as &dyn Traced)),*]);
            let start = std::time::Instant::now();
            let result = $call;
            let elapsed = start.elapsed();
            let after = out_call(&[$((stringify!($arg), &$arg as &dyn Traced)),*], Traced::succeeded(&result));
            log::trace!(
                target: "cudart",
                "{}({before}) -> {}{after}  [{:.1} us]",
                stringify!($name),
                Traced::value(&result).unwrap_or_default(),
                elapsed.as_secs_f64() * 1e6,
            );
            result
        } else {
            $call
        }
    }};
}
pub(crate) use traced;

/// An argument or result that can be shown.
pub(crate) trait Traced {
    /// The value itself; `None` for a pointer whose target is written by the call.
    fn value(&self) -> Option<String>;

    /// The value that a successful call wrote through this pointer. Called only after
    /// the call with this pointer returned success.
    fn written(&self, _argument: &str) -> Option<String> {
        None
    }

    /// For a result: whether the call succeeded, so that its out pointers are written.
    fn succeeded(&self) -> bool {
        true
    }
}

macro_rules! plain {
    ($($ty:ty => $format:literal),* $(,)?) => {$(
        impl Traced for $ty {
            fn value(&self) -> Option<String> {
                Some(format!($format, self))
            }
        }
    )*};
}

plain! {
    c_int => "{}",
    c_uint => "{}",
    c_ulonglong => "{}",
    usize => "{}",
    cudaDeviceAttr => "{:?}",
    cudaGraphMemAttributeType => "{:?}",
    cudaMemPoolAttr => "{:?}",
    cudaMemcpyKind => "{:?}",
    cudaStreamCaptureMode => "{:?}",
}

/// Pointers to data that the call reads. `{:p}` of a reference would print the address of
/// the argument itself.
macro_rules! pointers {
    ($($ty:ty),* $(,)?) => {$(
        impl Traced for $ty {
            fn value(&self) -> Option<String> {
                Some(format!("{:p}", *self))
            }
        }
    )*};
}

pointers! {
    *const c_void,
    *const cudaGraphNode_t,
    *mut cudaJitOption,
    *mut cudaLibraryOption,
    *const CUDA_KERNEL_NODE_PARAMS_v1,
    *const CUgraphEdgeData,
    *mut CUgraphNodeParams,
}

macro_rules! handles {
    ($($ty:ty),*) => {$(
        impl Traced for $ty {
            fn value(&self) -> Option<String> {
                Some(format!("{:p}", self.0))
            }
        }

        impl Traced for *mut $ty {
            fn value(&self) -> Option<String> {
                None
            }

            fn written(&self, _argument: &str) -> Option<String> {
                // SAFETY: the call succeeded and wrote through this pointer,
                // so if it is not null, it is valid for reads of this type.
                unsafe { self.as_ref() }.and_then(Traced::value)
            }
        }
    )*};
}

handles!(
    cudaGraph_t,
    cudaGraphNode_t,
    cudaGraphExec_t,
    cudaStream_t,
    cudaEvent_t,
    cudaMemPool_t,
    cudaLibrary_t,
    cudaKernel_t,
    CUcontext,
    CUmodule,
    CUfunction
);

macro_rules! out_values {
    ($($ty:ty => $format:literal),* $(,)?) => {$(
        impl Traced for *mut $ty {
            fn value(&self) -> Option<String> {
                None
            }

            fn written(&self, _argument: &str) -> Option<String> {
                // SAFETY: the call succeeded and wrote through this pointer,
                // so if it is not null, it is valid for reads of this type.
                unsafe { self.as_ref() }.map(|value| format!($format, value))
            }
        }
    )*};
}

out_values! {
    c_int => "{}",
    c_ulonglong => "{}",
    usize => "{}",
    f32 => "{}",
    cudaDeviceProp => "{:?}",
}

impl Traced for *mut *mut c_void {
    fn value(&self) -> Option<String> {
        None
    }

    fn written(&self, argument: &str) -> Option<String> {
        // The other arguments are arrays that the caller passes in, which may be
        // empty.
        if argument != "dev_ptr" {
            return None;
        }
        // SAFETY: the allocation succeeded and wrote the address here.
        unsafe { self.as_ref() }.map(|&address| format!("{address:p}"))
    }
}

impl Traced for *mut c_void {
    fn value(&self) -> Option<String> {
        Some(format!("{:p}", *self))
    }

    fn written(&self, argument: &str) -> Option<String> {
        // The only untyped arguments with this name are the graph memory attributes,
        // which are u64. The attributes of pools, some of which are int, have
        // another name.
        if argument != "value" || self.is_null() {
            return None;
        }
        // SAFETY: the attribute call succeeded and read or wrote a u64 here.
        Some(unsafe { self.cast::<u64>().read_unaligned() }.to_string())
    }
}

impl Traced for *mut cudaMemAllocNodeParams {
    fn value(&self) -> Option<String> {
        None
    }

    fn written(&self, _argument: &str) -> Option<String> {
        // SAFETY: the call succeeded and read or wrote this struct.
        unsafe { self.as_ref() }.map(|params| {
            format!(
                "{{ bytesize: {}, dptr: {:p} }}",
                params.bytesize, params.dptr
            )
        })
    }
}

impl Traced for *const cudaKernelNodeParams {
    fn value(&self) -> Option<String> {
        Some(format!("{:p}", *self))
    }

    fn written(&self, _argument: &str) -> Option<String> {
        // SAFETY: the call succeeded and read this struct.
        unsafe { self.as_ref() }.map(|params| {
            let (grid, block) = (params.grid_dim, params.block_dim);
            format!(
                "{{ func: {:p}, grid: {}x{}x{}, block: {}x{}x{} }}",
                params.func, grid.x, grid.y, grid.z, block.x, block.y, block.z
            )
        })
    }
}

impl Traced for dim3 {
    fn value(&self) -> Option<String> {
        Some(format!("{}x{}x{}", self.x, self.y, self.z))
    }
}

impl Traced for *const c_char {
    fn value(&self) -> Option<String> {
        if self.is_null() {
            return Some("NULL".to_owned());
        }
        // SAFETY: the table's only strings are NUL-terminated names and texts that
        // live at least as long as the call.
        Some(format!("{:?}", unsafe { CStr::from_ptr(*self) }))
    }
}

impl Traced for cudaError_t {
    fn value(&self) -> Option<String> {
        Some(match self.known_name() {
            Some(name) => format!("{} {name}", self.0),
            None => self.0.to_string(),
        })
    }

    fn succeeded(&self) -> bool {
        self.is_success()
    }
}

/// Shown with the runtime's names, because the codes are the same.
impl Traced for CUresult {
    fn value(&self) -> Option<String> {
        cudaError_t(self.0).value()
    }

    fn succeeded(&self) -> bool {
        self.0 == 0
    }
}

/// The arguments of a call, as they are before it: `graph=0x…, flags=0`.
pub(crate) fn in_call(arguments: &[(&str, &dyn Traced)]) -> String {
    let shown: Vec<_> = arguments
        .iter()
        .filter_map(|(name, argument)| argument.value().map(|value| format!("{name}={value}")))
        .collect();
    shown.join(", ")
}

/// What a call wrote: ` { graph=0x… }`, or an empty string.
pub(crate) fn out_call(arguments: &[(&str, &dyn Traced)], succeeded: bool) -> String {
    if !succeeded {
        return String::new();
    }
    let written: Vec<_> = arguments
        .iter()
        .filter_map(|(name, argument)| {
            argument
                .written(name)
                .map(|value| format!("{name}={value}"))
        })
        .collect();
    if written.is_empty() {
        String::new()
    } else {
        format!(" {{ {} }}", written.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_shown_as_what_it_is_and_not_as_where_it_lies() {
        let (code, nodes) = (
            0x10_0000 as *const c_void,
            0x20_0000 as *const cudaGraphNode_t,
        );
        let arguments: &[(&str, &dyn Traced)] = &[("code", &code), ("dependencies", &nodes)];
        assert_eq!(in_call(arguments), "code=0x100000, dependencies=0x200000");
    }

    #[test]
    fn an_array_without_elements_is_not_looked_into() {
        let no_elements = core::ptr::NonNull::<*mut c_void>::dangling().as_ptr();
        let mut address = 0x20_0000 as *mut c_void;
        let pointer = &raw mut address;
        let arguments: &[(&str, &dyn Traced)] = &[("args", &no_elements), ("dev_ptr", &pointer)];
        assert_eq!(out_call(arguments, true), " { dev_ptr=0x200000 }");
    }

    #[test]
    fn out_values_are_shown_after_a_success_only() {
        let mut count: c_int = 7;
        let pointer = &raw mut count;
        let arguments: &[(&str, &dyn Traced)] = &[("count", &pointer), ("device", &3)];
        assert_eq!(in_call(arguments), "device=3");
        assert_eq!(out_call(arguments, true), " { count=7 }");
        assert_eq!(out_call(arguments, false), "");
    }

    #[test]
    fn an_attribute_value_is_read_as_u64() {
        let mut bytes: u64 = 1 << 40;
        let pointer: *mut c_void = (&raw mut bytes).cast();
        assert_eq!(
            out_call(&[("value", &pointer)], true),
            " { value=1099511627776 }"
        );
        assert_eq!(out_call(&[("dev_ptr", &pointer)], true), "");
    }
}
