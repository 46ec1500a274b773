//! `negated_squares`, the study's second kernel: it writes to memory, so that what a
//! graph allocates can be seen to hold data.
//!
//! Compiled by rustc's own NVPTX backend, a crate of its own:
//! `cargo xtask kernel --kernel negated-squares --with rustc`. On any other target it
//! holds the work of one thread alone, which an ordinary test calls.

#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, abi_ptx))]
#![cfg_attr(target_os = "cuda", no_std)]

/// Writes `-(x * x)` to `output` for each of the `count` numbers in `input`, wrapping at
/// 32 bits; a thread a number, in blocks of one dimension.
///
/// # Safety
///
/// Launched by the host, never called. Both addresses are of `count` numbers that this
/// kernel alone uses; they may be the same.
#[cfg(target_os = "cuda")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn negated_squares(input: *const i32, output: *mut i32, count: u64) {
    let at = thread();
    if at < count {
        // SAFETY: the host's promise; `at` is below the count.
        unsafe { negate_square(input, output, at) }
    }
}

/// One thread's work.
///
/// # Safety
///
/// Both pointers must be valid for the number at this place.
#[inline(always)]
#[cfg_attr(not(any(target_os = "cuda", test)), allow(dead_code))]
unsafe fn negate_square(input: *const i32, output: *mut i32, at: u64) {
    let at = at as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let number = *input.wrapping_add(at);
        *output.wrapping_add(at) = number.wrapping_mul(number).wrapping_neg();
    }
}

/// This thread's number in the grid.
#[cfg(target_os = "cuda")]
#[inline(always)]
fn thread() -> u64 {
    let (block, threads, thread): (u32, u32, u32);
    // SAFETY: reads special registers, which do not change.
    unsafe {
        core::arch::asm!(
            "mov.u32 {}, %ctaid.x;",
            "mov.u32 {}, %ntid.x;",
            "mov.u32 {}, %tid.x;",
            out(reg32) block,
            out(reg32) threads,
            out(reg32) thread,
            options(nostack, nomem, pure),
        );
    }
    (block as u64)
        .wrapping_mul(threads as u64)
        .wrapping_add(thread as u64)
}

#[cfg(test)]
mod tests {
    use super::negate_square;

    #[test]
    fn each_number_becomes_its_negated_square_and_wraps() {
        let input = [0, 1, -3, 46_341, i32::MIN];
        let mut output = [7; 5];
        for at in 0..5 {
            // SAFETY: both arrays have five numbers.
            unsafe { negate_square(input.as_ptr(), output.as_mut_ptr(), at) };
        }
        assert_eq!(output, [0, -1, -9, 2_147_479_015, 0]);
    }

    #[test]
    fn a_number_may_be_replaced_in_its_place() {
        let mut numbers = [2, -4];
        let pointer = numbers.as_mut_ptr();
        // SAFETY: the array has two numbers.
        unsafe { negate_square(pointer, pointer, 1) };
        assert_eq!(numbers, [2, -16]);
    }
}
