//! A failed CUDA call: code, name, the library's text, the call, and what to do.

use std::fmt;

use cudart_ffi::cudaError_t;

/// What the calls of this layer return.
pub type Result<T, E = CudaError> = std::result::Result<T, E>;

/// A CUDA call that did not return success.
///
/// Unknown codes are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaError {
    /// The code.
    pub code: cudaError_t,
    /// The code's name, from the library.
    pub name: String,
    /// The library's description of the code, or the reason why this crate did not make
    /// the call.
    pub text: String,
    /// The C function that returned it.
    pub call: &'static str,
    /// How many failures this runtime saw before this one.
    pub(crate) order: u64,
}

impl CudaError {
    /// One sentence: what to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        cudart_ffi::advice::advice(self.code, self.call)
    }

    /// Whether the code is this one.
    #[must_use]
    pub fn is(&self, code: cudaError_t) -> bool {
        self.code == code
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} failed: {} {} ({})",
            self.call, self.code.0, self.name, self.text
        )
    }
}

impl std::error::Error for CudaError {}
