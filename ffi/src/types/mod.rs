//! C types by their C names: handles, structs and enumerations of the
//! [runtime](runtime.rs) and of the [driver](driver.rs).
//!
//! Each struct states its size and the offset of every field as in the headers of CUDA 11.7
//! to 13.5 on x86-64. The compiler checks the Rust layout against these numbers; `cargo
//! xtask abi` checks the numbers against real headers.

mod driver;
mod runtime;

pub use driver::*;
pub use runtime::*;

/// One struct of the table, which `cargo xtask abi` compares with a header.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The C name.
    pub name: &'static str,
    /// `sizeof`, in bytes.
    pub size: usize,
    /// Each field.
    pub fields: &'static [Field],
}

/// One field of a [`Layout`].
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The C name.
    pub name: &'static str,
    /// `offsetof`, in bytes.
    pub offset: usize,
    /// `sizeof`, in bytes.
    pub size: usize,
}

/// A scalar type of the table, which `cargo xtask abi` compares with a header.
#[derive(Debug, Clone, Copy)]
pub struct Scalar {
    /// The C name, of a typedef or an enumeration.
    pub name: &'static str,
    /// `sizeof`, in bytes.
    pub size: usize,
}

/// One named constant of the table, which `cargo xtask abi` compares with a header.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// The C enumeration it belongs to.
    pub type_name: &'static str,
    /// The enumerator's C name.
    pub name: &'static str,
    /// Its value.
    pub value: i64,
}

macro_rules! handles {
    ($list:ident: $($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// The null handle; for a stream, the legacy default stream.
            pub const NULL: Self = Self(core::ptr::null_mut());

            /// Whether this is the null handle.
            #[must_use]
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    )*

        /// The handles, for the ABI check.
        pub const $list: &[Scalar] = &[
            $(Scalar {
                name: stringify!($name),
                size: size_of::<$name>(),
            },)*
        ];
    };
}

macro_rules! enums {
    ($list:ident, $constants:ident: $(
        $(#[$doc:meta])*
        $name:ident($repr:ty) {
            $($(#[$vdoc:meta])* $constant:ident = $c_name:ident = $value:literal,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// A transparent integer and not a Rust enum, because a newer
            /// library may return a value that this table does not contain.
            #[repr(transparent)]
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
            pub struct $name(pub $repr);

            impl $name {
                $(
                    $(#[$vdoc])*
                    #[doc = concat!("`", stringify!($c_name), "` = ", stringify!($value), ".")]
                    pub const $constant: Self = Self($value);
                )*

                /// The C enumerator's name, if the table contains it.
                #[must_use]
                pub fn known_name(self) -> Option<&'static str> {
                    match self.0 {
                        $($value => Some(stringify!($c_name)),)*
                        _ => None,
                    }
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match self.known_name() {
                        Some(name) => f.write_str(name),
                        None => write!(f, concat!(stringify!($name), "({})"), self.0),
                    }
                }
            }
        )*

        /// The enumerations, for the ABI check.
        pub const $list: &[Scalar] = &[
            $(Scalar {
                name: stringify!($name),
                size: size_of::<$name>(),
            },)*
        ];

        /// Their constants, for the ABI check.
        pub const $constants: &[Constant] = &[
            $($(Constant {
                type_name: stringify!($name),
                name: stringify!($c_name),
                value: $value,
            },)*)*
        ];
    };
}

macro_rules! flags {
    ($list:ident: $(
        $(#[$doc:meta])*
        $module:ident: $repr:ty {
            $($(#[$vdoc:meta])* $constant:ident = $c_name:ident = $value:literal,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            pub mod $module {
                $(
                    $(#[$vdoc])*
                    #[doc = concat!("`", stringify!($c_name), "` = ", stringify!($value), ".")]
                    pub const $constant: $repr = $value;
                )*
            }
        )*

        /// The flags, for the ABI check.
        pub const $list: &[Constant] = &[
            $($(Constant {
                type_name: "",
                name: stringify!($c_name),
                value: $value,
            },)*)*
        ];
    };
}

macro_rules! structs {
    ($list:ident: $(
        $(#[$doc:meta])*
        $name:ident: $size:literal bytes {
            $($(#[$fdoc:meta])* $field:ident as $c_field:ident: $ty:ty = $offset:literal,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Debug, Clone, Copy)]
            pub struct $name {
                $(
                    $(#[$fdoc])*
                    #[doc = concat!("`", stringify!($c_field), "`, at byte ", $offset, ".")]
                    pub $field: $ty,
                )*
            }

            const _: () = assert!(size_of::<$name>() == $size);
            $(const _: () = assert!(core::mem::offset_of!($name, $field) == $offset);)*

            impl $name {
                /// All bytes zero, which every version reads as default
                /// options.
                #[must_use]
                pub const fn zeroed() -> Self {
                    // SAFETY: every field is an integer, an array of integers, a
                    // nullable pointer, an optional function or such a struct again.
                    unsafe { core::mem::zeroed() }
                }
            }
        )*

        /// The structs, for the ABI check.
        pub const $list: &[Layout] = &[
            $(Layout {
                name: stringify!($name),
                size: $size,
                fields: &[$(Field {
                    name: stringify!($c_field),
                    offset: $offset,
                    size: size_of::<$ty>(),
                },)*],
            },)*
        ];
    };
}

use {enums, flags, handles, structs};
