//! `clock_block`, the kernel of the study: it keeps one GPU thread busy for a
//! given number of clocks and touches no memory.
//!
//! One source, two compilers:
//!
//! - rustc's own NVPTX backend (`cargo xtask kernel --with rustc`);
//! - rust-cuda, with the cargo feature `rust-cuda`
//!   (`cargo xtask kernel --with rust-cuda`).
//!
//! Both say `target_os = "cuda"`, so only the feature tells them apart. On any
//! other target the crate holds the loop alone, where an ordinary test drives
//! it with a made-up clock.

#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]
// rust-cuda's builder adds `no_std` itself.
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), no_std)]

/// Keeps the calling thread busy for at least `clock_count` clocks of its
/// multiprocessor, then returns.
///
/// `clock_count` is in clocks: the device's clock rate in kHz is the number of
/// clocks in a millisecond. Zero or less returns after one look at the clock.
/// The signature is the C++ sample's `clockBlock(clock_t)`: one 64-bit signed
/// parameter, read off the entry as `.param .u64`.
///
/// # Safety
///
/// Launched by the host, never called. It takes no pointer; any value is
/// sound, but a count of 2^62 runs for some seventy years.
#[cfg(target_os = "cuda")]
#[cfg_attr(feature = "rust-cuda", cuda_std::kernel)]
#[cfg_attr(not(feature = "rust-cuda"), unsafe(no_mangle))]
pub unsafe extern "ptx-kernel" fn clock_block(clock_count: i64) {
    spin::<Clock64>(clock_count);
}

/// A counter of clocks that runs on by itself and wraps at 2^64.
trait Clock {
    /// The counter's value now.
    fn now() -> u64;
}

/// Reads the clock until it has advanced by `clock_count`; never returns sooner.
///
/// The difference wraps, so a counter that passes 2^64 in between is no
/// matter. The comparison is signed: a negative count returns at once instead
/// of waiting for 2^63 clocks.
#[inline(always)]
#[cfg_attr(not(any(target_os = "cuda", test)), allow(dead_code))]
fn spin<C: Clock>(clock_count: i64) {
    let start = C::now();
    while (C::now().wrapping_sub(start) as i64) < clock_count {}
}

/// The multiprocessor's own counter, PTX `%clock64`.
#[cfg(target_os = "cuda")]
enum Clock64 {}

#[cfg(target_os = "cuda")]
impl Clock for Clock64 {
    /// `%clock64`, not `%clock`: the 32-bit one comes round every two seconds
    /// at 2 GHz, and a wait longer than that would never end.
    ///
    /// From sm_70 on the 64-bit read is one instruction (`CS2R`), so the wider
    /// counter costs nothing but an add and a compare. On sm_60 it is two
    /// halves, read again until the upper one stood still: 32 instructions for
    /// the kernel against 12 with `%clock` (ptxas 12.9).
    #[inline(always)]
    fn now() -> u64 {
        let clocks: u64;
        // SAFETY: reads a special register. Not `pure`: each read stays where
        // it is and gives a new value, so neither compiler can hoist it out of
        // the loop or drop the loop.
        unsafe {
            core::arch::asm!(
                "mov.u64 {}, %clock64;",
                out(reg64) clocks,
                options(nostack, nomem),
            );
        }
        clocks
    }
}

#[cfg(test)]
mod tests;
