//! Libraries of kernels.

use core::ffi::{c_char, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::entry::run;
use super::super::pointers::{not_null, string, write};
use crate::functions::FunctionId as F;
use crate::runtime::Outcome;

/// A limit that is larger than the number of options in `cudaJitOption`.
const MAX_JIT_OPTIONS: c_uint = 64;

/// The first bytes of a fat binary and of a cubin (an ELF file).
const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub(in crate::c_api) unsafe fn cudaLibraryLoadData(
    library: *mut cudaLibrary_t,
    code: *const c_void,
    jit_options: *mut cudaJitOption,
    jit_option_values: *mut *mut c_void,
    jit_option_count: c_uint,
    _library_options: *mut cudaLibraryOption,
    _library_option_values: *mut *mut c_void,
    _library_option_count: c_uint,
) -> cudaError_t {
    run(F::cudaLibraryLoadData, |call| {
        let out = not_null(library)?;
        // SAFETY: the program promises code that can be read.
        let ptx = unsafe { ptx_of(code)? };
        match call.runtime().library_load(&ptx) {
            Ok(handle) => {
                // SAFETY: not null, and the program promises that it can be written.
                unsafe { write(out, cudaLibrary_t(handle as *mut c_void)) };
                Ok(())
            }
            Err(refused) => {
                // SAFETY: the program guarantees arrays of this length, and
                // the buffer to which they point.
                unsafe {
                    log_error(
                        jit_options,
                        jit_option_values,
                        jit_option_count,
                        &refused.log,
                    );
                }
                Err(refused.code)
            }
        }
    })
}

/// The PTX text that a program loads. Machine code cannot be simulated.
///
/// # Safety
///
/// `code` must be null or code in a form that the library functions accept: machine code is
/// longer than its first four bytes, and PTX ends with NUL.
pub(in crate::c_api) unsafe fn ptx_of(code: *const c_void) -> Outcome<String> {
    let code = not_null(code.cast_mut())?.cast::<u8>().cast_const();
    // SAFETY: the caller guarantees it; the comparison stops at a NUL.
    if unsafe { starts_with(code, FATBIN) || starts_with(code, ELF) } {
        return Err(cudaError_t::NO_KERNEL_IMAGE_FOR_DEVICE);
    }
    // SAFETY: code that is not machine code is a NUL-terminated text.
    unsafe { string(code.cast()) }
}

/// # Safety
///
/// Bytes up to the first that differs from `mark` must be readable.
unsafe fn starts_with(code: *const u8, mark: [u8; 4]) -> bool {
    mark.iter()
        .enumerate()
        // SAFETY: the caller guarantees it; `all` stops at the first difference.
        .all(|(index, &byte)| unsafe { *code.add(index) } == byte)
}

/// Writes the compiler's error message into the program's error log buffer.
///
/// # Safety
///
/// Both arrays must be null or have `count` entries, and the buffer in them must have the
/// size in them.
pub(in crate::c_api) unsafe fn log_error(
    options: *mut cudaJitOption,
    values: *mut *mut c_void,
    count: c_uint,
    log: &str,
) {
    if options.is_null() || values.is_null() {
        return;
    }
    // CUDA has fewer options, so a larger count is invalid.
    if count > MAX_JIT_OPTIONS {
        return;
    }
    let mut buffer = core::ptr::null_mut::<u8>();
    let mut size = 0_usize;
    for index in 0..count as usize {
        // SAFETY: the caller guarantees it; the index is below the count.
        let (option, value) = unsafe {
            (
                options.add(index).read_unaligned(),
                values.add(index).read_unaligned(),
            )
        };
        match option {
            cudaJitOption::ERROR_LOG_BUFFER => buffer = value.cast(),
            // The size is an unsigned int that is passed as a pointer.
            cudaJitOption::ERROR_LOG_BUFFER_SIZE_BYTES => size = value as usize & 0xffff_ffff,
            _ => {}
        }
    }
    if buffer.is_null() || size == 0 {
        return;
    }
    let length = log.len().min(size - 1);
    // SAFETY: the buffer has `size` bytes, and `length + 1` is at most that.
    unsafe {
        buffer.copy_from_nonoverlapping(log.as_ptr(), length);
        buffer.add(length).write(0);
    }
}

pub(in crate::c_api) unsafe fn cudaLibraryGetKernel(
    kernel: *mut cudaKernel_t,
    library: cudaLibrary_t,
    name: *const c_char,
) -> cudaError_t {
    run(F::cudaLibraryGetKernel, |call| {
        let out = not_null(kernel)?;
        // SAFETY: the program promises a NUL-terminated name.
        let name = unsafe { string(name)? };
        let handle = call.runtime().library_kernel(library.0 as u64, &name)?;
        // SAFETY: as above.
        unsafe { write(out, cudaKernel_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaLibraryUnload(library: cudaLibrary_t) -> cudaError_t {
    run(F::cudaLibraryUnload, |call| {
        call.runtime().library_unload(library.0 as u64)
    })
}
