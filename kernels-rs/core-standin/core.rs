//! Just enough of `core` to compile `clock_block` for `nvptx64-nvidia-cuda`
//! where rustup's prebuilt one is not installed.
//!
//! `cargo xtask kernel` compiles this file as a crate named `core` and hands
//! it to rustc with `--extern`, so that the kernel's source need not know.
//! The PTX is byte for byte what the real `core` gives; a test compares them
//! wherever both are at hand. Lang items are renamed now and then: this set
//! fits rustc 1.95 to 1.98.

#![no_core]
#![feature(no_core, lang_items, intrinsics, rustc_attrs, decl_macro, auto_traits)]
#![allow(internal_features, missing_docs)]
#![rustc_coherence_is_core]

pub mod marker {
    #[lang = "pointee_sized"]
    pub trait PointeeSized {}

    #[lang = "meta_sized"]
    pub trait MetaSized: PointeeSized {}

    #[lang = "sized"]
    pub trait Sized: MetaSized {}

    #[lang = "copy"]
    pub trait Copy {}

    impl Copy for u64 {}
    impl Copy for i64 {}
    impl Copy for bool {}
    impl<T: PointeeSized> Copy for &T {}

    #[lang = "freeze"]
    pub unsafe auto trait Freeze {}

    #[lang = "legacy_receiver"]
    pub trait LegacyReceiver {}

    impl<T: PointeeSized> LegacyReceiver for &T {}
}

pub mod cmp {
    #[lang = "partial_ord"]
    pub trait PartialOrd<Rhs: super::marker::PointeeSized = Self>:
        super::marker::PointeeSized
    {
        fn lt(&self, other: &Rhs) -> bool;
    }

    impl PartialOrd for i64 {
        #[inline(always)]
        fn lt(&self, other: &i64) -> bool {
            *self < *other
        }
    }
}

pub mod intrinsics {
    #[rustc_intrinsic]
    pub fn wrapping_sub<T: super::marker::Copy>(a: T, b: T) -> T;
}

impl u64 {
    #[inline(always)]
    pub fn wrapping_sub(self, rhs: u64) -> u64 {
        intrinsics::wrapping_sub(self, rhs)
    }
}

pub mod arch {
    #[rustc_builtin_macro]
    pub macro asm($($template:tt)*) {}
}
