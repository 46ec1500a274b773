//! Devices: their number, the current one, attributes, properties, synchronization.

use core::ffi::c_int;

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;
use crate::runtime::Properties;

pub(in crate::c_api) unsafe fn cudaGetDeviceCount(count: *mut c_int) -> cudaError_t {
    run(F::cudaGetDeviceCount, |call| {
        let out = not_null(count)?;
        let value = call.runtime().device_count();
        // SAFETY: as above.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGetDevice(device: *mut c_int) -> cudaError_t {
    run(F::cudaGetDevice, |call| {
        let out = not_null(device)?;
        // SAFETY: as above.
        unsafe { write(out, call.thread.device) };
        Ok(())
    })
}

/// Simplification: a reset only waits for the device and frees nothing.
pub(in crate::c_api) unsafe fn cudaDeviceReset() -> cudaError_t {
    run(F::cudaDeviceReset, |call| {
        let device = call.thread.device;
        let end = call.runtime().device_end(device)?;
        call.wait_until(end);
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaSetDevice(device: c_int) -> cudaError_t {
    run(F::cudaSetDevice, |call| {
        call.runtime().check_device(device)?;
        call.thread.device = device;
        call.use_device();
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceGetAttribute(
    value: *mut c_int,
    attr: cudaDeviceAttr,
    device: c_int,
) -> cudaError_t {
    run(F::cudaDeviceGetAttribute, |call| {
        let out = not_null(value)?;
        let value = call.runtime().device_attribute(attr, device)?;
        // SAFETY: as above.
        unsafe { write(out, value) };
        Ok(())
    })
}

/// The offsets of the fields of `cudaDeviceProp` that are written. The name, the memory and
/// the compute capability are at the same offset in every version.
struct PropertyLayout {
    clock_rate: Option<usize>,
    multiprocessors: usize,
}

/// The layout of 13.x, whose library exports only the plain name.
const PROPERTIES_13: PropertyLayout = PropertyLayout {
    clock_rate: None,
    multiprocessors: 384,
};
/// The layout of 12.x, whose library also exports the name with `_v2`.
const PROPERTIES_12: PropertyLayout = PropertyLayout {
    clock_rate: Some(348),
    multiprocessors: 388,
};

impl PropertyLayout {
    /// # Safety
    ///
    /// `prop` must be valid for writing a `cudaDeviceProp` of this layout.
    unsafe fn fill(&self, prop: *mut cudaDeviceProp, properties: &Properties) {
        let bytes = prop.cast::<u8>();
        let put = |offset: usize, value: &[u8]| {
            // SAFETY: every offset below is within the struct of every version
            // (728 bytes or more).
            unsafe {
                bytes
                    .add(offset)
                    .copy_from_nonoverlapping(value.as_ptr(), value.len());
            }
        };
        let mut name = [0_u8; 256];
        for (to, from) in name.iter_mut().zip(properties.name.bytes().take(255)) {
            *to = from;
        }
        let [major, minor] = properties.compute_capability;
        put(0, &name);
        put(288, &properties.total_bytes.to_ne_bytes());
        put(308, &32_i32.to_ne_bytes());
        put(320, &1024_i32.to_ne_bytes());
        put(360, &major.to_ne_bytes());
        put(364, &minor.to_ne_bytes());
        if let Some(offset) = self.clock_rate {
            put(offset, &properties.clock_rate_khz.to_ne_bytes());
        }
        put(
            self.multiprocessors,
            &properties.multiprocessors.to_ne_bytes(),
        );
    }
}

pub(in crate::c_api) unsafe fn cudaGetDeviceProperties(
    prop: *mut cudaDeviceProp,
    device: c_int,
) -> cudaError_t {
    run(F::cudaGetDeviceProperties, |call| {
        let out = not_null(prop)?;
        let properties = call.runtime().properties(device)?;
        // SAFETY: not null, and the program promises a struct of CUDA 13.
        unsafe { PROPERTIES_13.fill(out, &properties) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGetDeviceProperties_v2(
    prop: *mut cudaDeviceProp,
    device: c_int,
) -> cudaError_t {
    run(F::cudaGetDeviceProperties_v2, |call| {
        let out = not_null(prop)?;
        let properties = call.runtime().properties(device)?;
        // SAFETY: not null, and the program promises a struct of CUDA 12.
        unsafe { PROPERTIES_12.fill(out, &properties) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaDeviceSynchronize() -> cudaError_t {
    run(F::cudaDeviceSynchronize, |call| {
        let device = call.thread.device;
        let end = call.runtime().device_end(device)?;
        call.wait_until(end);
        call.runtime().release_pools();
        Ok(())
    })
}
