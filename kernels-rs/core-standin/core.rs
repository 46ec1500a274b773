//! The part of `core` that the kernels need for `nvptx64-nvidia-cuda`, for machines without
//! rustup's prebuilt `core` for that target.
//!
//! `cargo xtask kernel` compiles this file as a crate named `core` and passes it to rustc
//! with `--extern`, so that the kernel's source does not depend on it. The PTX is byte for
//! byte the same as with the real `core`; a test compares them if both are installed. Lang
//! items are renamed from time to time: this file works with rustc 1.95 to 1.98.

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

    impl Copy for u32 {}
    impl Copy for i32 {}
    impl Copy for u64 {}
    impl Copy for i64 {}
    impl Copy for usize {}
    impl<T: PointeeSized> Copy for *const T {}
    impl<T: PointeeSized> Copy for *mut T {}
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

    impl PartialOrd for u64 {
        #[inline(always)]
        fn lt(&self, other: &u64) -> bool {
            *self < *other
        }
    }
}

pub mod intrinsics {
    #[rustc_intrinsic]
    pub fn wrapping_sub<T: super::marker::Copy>(a: T, b: T) -> T;

    #[rustc_intrinsic]
    pub fn wrapping_add<T: super::marker::Copy>(a: T, b: T) -> T;

    #[rustc_intrinsic]
    pub fn wrapping_mul<T: super::marker::Copy>(a: T, b: T) -> T;

    #[rustc_intrinsic]
    pub unsafe fn arith_offset<T>(pointer: *const T, count: isize) -> *const T;
}

impl u64 {
    #[inline(always)]
    pub fn wrapping_sub(self, rhs: u64) -> u64 {
        intrinsics::wrapping_sub(self, rhs)
    }

    #[inline(always)]
    pub fn wrapping_add(self, rhs: u64) -> u64 {
        intrinsics::wrapping_add(self, rhs)
    }

    #[inline(always)]
    pub fn wrapping_mul(self, rhs: u64) -> u64 {
        intrinsics::wrapping_mul(self, rhs)
    }
}

impl i32 {
    #[inline(always)]
    pub fn wrapping_mul(self, rhs: i32) -> i32 {
        intrinsics::wrapping_mul(self, rhs)
    }

    #[inline(always)]
    pub fn wrapping_neg(self) -> i32 {
        intrinsics::wrapping_sub(0, self)
    }
}

impl<T> *const T {
    #[inline(always)]
    pub fn wrapping_add(self, count: usize) -> *const T {
        // SAFETY: any offset may be computed; only an access through the result must
        // be valid.
        unsafe { intrinsics::arith_offset(self, count as isize) }
    }
}

impl<T> *mut T {
    #[inline(always)]
    pub fn wrapping_add(self, count: usize) -> *mut T {
        // SAFETY: as above.
        unsafe { intrinsics::arith_offset(self, count as isize) as *mut T }
    }
}

pub mod arch {
    #[rustc_builtin_macro]
    pub macro asm($($template:tt)*) {}
}
