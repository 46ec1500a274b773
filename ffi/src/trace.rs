//! What a traced call shows: each argument before it, and after a success the
//! values that it wrote through its out pointers.

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::types::*;

/// An argument or result that can be shown.
pub(crate) trait Traced {
    /// The value itself; `None` for a pointer whose target is written by the call.
    fn value(&self) -> Option<String>;

    /// The value that a successful call wrote behind this pointer. Only called
    /// after the call that got this pointer returned success.
    fn written(&self, _argument: &str) -> Option<String> {
        None
    }

    /// For a result: whether the out pointers have been written.
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
    *const c_void => "{:p}",
    *const cudaGraphNode_t => "{:p}",
    *mut cudaJitOption => "{:p}",
    *mut cudaLibraryOption => "{:p}",
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
                // SAFETY: the call that just succeeded wrote here, so a non-null
                // pointer is valid for reads of this type.
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
    cudaKernel_t
);

macro_rules! out_values {
    ($($ty:ty => $format:literal),* $(,)?) => {$(
        impl Traced for *mut $ty {
            fn value(&self) -> Option<String> {
                None
            }

            fn written(&self, _argument: &str) -> Option<String> {
                // SAFETY: the call that just succeeded wrote here, so a non-null
                // pointer is valid for reads of this type.
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
    *mut c_void => "{:p}",
    cudaDeviceProp => "{:?}",
}

impl Traced for *mut c_void {
    fn value(&self) -> Option<String> {
        Some(format!("{:p}", *self))
    }

    fn written(&self, argument: &str) -> Option<String> {
        // The only untyped values of this name are the u64 attributes of graph memory;
        // a pool's attributes, of which some are an int, have another name.
        if argument != "value" || self.is_null() {
            return None;
        }
        // SAFETY: the attribute call that just succeeded read or wrote a u64 here.
        Some(unsafe { self.cast::<u64>().read_unaligned() }.to_string())
    }
}

impl Traced for *mut cudaMemAllocNodeParams {
    fn value(&self) -> Option<String> {
        None
    }

    fn written(&self, _argument: &str) -> Option<String> {
        // SAFETY: the call that just succeeded read or wrote this struct.
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
        // SAFETY: the call that just succeeded read this struct.
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

/// The arguments of a call, before it: `graph=0x…, flags=0`.
pub(crate) fn in_call(arguments: &[(&str, &dyn Traced)]) -> String {
    let shown: Vec<_> = arguments
        .iter()
        .filter_map(|(name, argument)| argument.value().map(|value| format!("{name}={value}")))
        .collect();
    shown.join(", ")
}

/// What a call wrote: ` { graph=0x… }`, or nothing.
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
