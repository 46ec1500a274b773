//! Functions of NVIDIA's libraries that are not simulated: they are exported, so that
//! programs that name them start. A call returns 801 (`cudaErrorNotSupported`,
//! `CUDA_ERROR_NOT_SUPPORTED`) and is named on standard error once.
//!
//! The lists are `library/tests/data/exports/*.txt` without what this crate has.

#![allow(non_snake_case, reason = "the C names")]

mod driver;
mod runtime;

pub use driver::UNSUPPORTED_DRIVER;
pub use runtime::UNSUPPORTED;

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

static NAMED: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// Says once in a process that a function is not simulated.
fn name_once(name: &'static str) {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if named.get_or_insert_default().insert(name) {
        // Where standard error is closed, nobody wants to know.
        let _ = writeln!(
            std::io::stderr(),
            "cudart_model: {name} is not simulated and returns 801"
        );
    }
}

/// Exports functions that call `$refuse` with their name, and lists them as `$list`.
macro_rules! unsupported {
    ($list:ident, $refuse:ident -> $code:ty: $($name:ident)*) => {
        $(
            /// Not simulated. It reads none of its arguments.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> $code {
                $refuse(stringify!($name))
            }
        )*

        /// The names.
        pub const $list: &[&str] = &[$(stringify!($name),)*];
    };
}

use unsupported;
