//! Functions of NVIDIA's libraries that are not simulated. They are exported so that
//! programs that refer to them can start. A call returns 801 (`cudaErrorNotSupported`,
//! `CUDA_ERROR_NOT_SUPPORTED`), and a message on standard error names the function once.
//!
//! The lists are those in `library/tests/data/exports/*.txt` without the functions that
//! this crate implements.

#![allow(non_snake_case, reason = "the C names")]

mod driver;
mod runtime;

pub use driver::UNSUPPORTED_DRIVER;
pub use runtime::UNSUPPORTED;

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

static NAMED: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// Prints, once per process and function, that the function is not simulated.
fn name_once(name: &'static str) {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if named.get_or_insert_default().insert(name) {
        // If standard error is closed, the message is dropped.
        let _ = writeln!(
            std::io::stderr(),
            "cudart_model: {name} is not simulated and returns 801"
        );
    }
}

/// Exports functions that call `$refuse` with their name, and lists their names as `$list`.
macro_rules! unsupported {
    ($list:ident, $refuse:ident -> $code:ty: $($name:ident)*) => {
        $(
            /// Not simulated. None of the arguments is read.
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
