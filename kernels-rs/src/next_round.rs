//! `next_round`, the third kernel of this project: the body of a WHILE node. It counts its
//! rounds in memory and ends the loop itself.
//!
//! It is compiled like `negated_squares`, as a separate crate: `cargo xtask kernel --kernel
//! next-round` with `--with rustc` or `--with rust-cuda`. On any other target the crate
//! contains only the decision, which a test calls.

#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
// rust-cuda's builder adds `no_std` itself.
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), no_std)]

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    /// Sets the value of a conditional node's condition. No library contains this
    /// function: the driver resolves the name when it loads the kernel.
    fn cudaGraphSetConditional(handle: u64, value: u32);
}

/// Adds 1 to the number at `rounds`, and lets the WHILE node of this handle continue as
/// long as the number is below `wanted`. Only one thread of the launch does this.
///
/// # Safety
///
/// Launched by the host, never called. The handle must be that of a conditional node of the
/// graph that launches the kernel, and the address that of a number which only this kernel
/// uses.
#[cfg(target_os = "cuda")]
#[cfg_attr(feature = "rust-cuda", cuda_std::kernel)]
#[cfg_attr(not(feature = "rust-cuda"), unsafe(no_mangle))]
pub unsafe extern "ptx-kernel" fn next_round(handle: u64, rounds: *mut u32, wanted: u64) {
    if (thread() as u64) < 1 {
        // SAFETY: the host guarantees it.
        unsafe {
            let goes_on = count(rounds, wanted);
            cudaGraphSetConditional(handle, goes_on);
        }
    }
}

/// Adds 1 to the number. Returns 1 if it is then below `wanted`, otherwise 0.
///
/// # Safety
///
/// The pointer must be valid for the number.
#[inline(always)]
#[cfg_attr(not(any(target_os = "cuda", test)), allow(dead_code))]
unsafe fn count(rounds: *mut u32, wanted: u64) -> u32 {
    // SAFETY: the caller guarantees it.
    unsafe {
        // Computed in 64 bits and truncated, because the core-standin has no 32-bit
        // addition.
        let next = (*rounds as u64).wrapping_add(1) as u32;
        *rounds = next;
        ((next as u64) < wanted) as u32
    }
}

/// The index of this thread in its block.
#[cfg(target_os = "cuda")]
#[inline(always)]
fn thread() -> u32 {
    let thread: u32;
    // SAFETY: reads a special register, which does not change.
    unsafe {
        core::arch::asm!(
            "mov.u32 {}, %tid.x;",
            out(reg32) thread,
            options(nostack, nomem, pure),
        );
    }
    thread
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn it_goes_on_until_the_wanted_number_is_reached() {
        let mut rounds = 0;
        let mut goes_on = Vec::new();
        for _ in 0..4 {
            // SAFETY: the pointer is to a local variable.
            goes_on.push(unsafe { count(&raw mut rounds, 3) });
        }
        assert_eq!(goes_on, [1, 1, 0, 0]);
        assert_eq!(rounds, 4);
    }

    #[test]
    fn a_number_that_wraps_goes_on() {
        let mut rounds = u32::MAX;
        // SAFETY: the pointer is to a local variable.
        assert_eq!(unsafe { count(&raw mut rounds, 1) }, 1);
        assert_eq!(rounds, 0);
    }
}
