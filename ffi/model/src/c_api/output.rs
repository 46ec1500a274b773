//! Text that kernels write with `printf`: it is kept until a call waits for them, and goes to
//! the standard output of C then, where it keeps its place among what the program writes.

use core::ffi::c_int;

use crate::functions::FunctionId as F;

unsafe extern "C" {
    // On every system; a stream by its name is not.
    safe fn putchar(character: c_int) -> c_int;
}

/// Whether text is written when a call of this function returns without an error: those with
/// which it always was on an H200 (`library/tests/library/prints.h200`), with any stream.
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
            // Closed or full: nobody reads the rest.
            return;
        }
    }
}
