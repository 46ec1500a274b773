//! Text that kernels write with `printf`. It is stored until a call synchronizes with them,
//! and then written to the standard output of C, so that it is in the right order with the
//! program's own output.

use core::ffi::c_int;

use crate::functions::FunctionId as F;

unsafe extern "C" {
    // `putchar` is available on every system; the `stdout` stream as a symbol is not.
    safe fn putchar(character: c_int) -> c_int;
}

/// Whether text is written when a call of this function returns without an error. These are
/// the functions with which it always was on an H200 (`library/tests/library/prints.h200`),
/// for any stream.
pub(super) fn is_written_by(function: F) -> bool {
    matches!(
        function,
        F::cudaDeviceSynchronize
            | F::cudaDeviceReset
            | F::cudaStreamSynchronize
            | F::cudaEventSynchronize
            | F::cudaMemcpy
            | F::cudaFree
    )
}

/// Writes text to the standard output.
pub(super) fn write(text: &[u8]) {
    for &byte in text {
        if putchar(byte.into()) < 0 {
            // Standard output is closed or full; the remaining text is dropped.
            return;
        }
    }
}
