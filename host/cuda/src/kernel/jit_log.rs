//! What a just-in-time compiler has to say.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudart_ffi::cudaJitOption;

/// How long a compiler's error log may be, in bytes.
const BYTES: usize = 8192;

/// The buffer that the compiler of a library writes its errors to, until the library is
/// unloaded: it may run as late as the first use of a kernel. Only raw pointers lead to
/// the bytes, since the driver has one.
#[derive(Debug)]
pub(super) struct JitLog {
    bytes: *mut [u8],
}

impl JitLog {
    pub(super) fn new() -> Self {
        Self {
            bytes: Box::into_raw(vec![0; BYTES].into_boxed_slice()),
        }
    }

    /// The options that name the buffer, and their values.
    pub(super) fn options(&self) -> ([cudaJitOption; 2], [*mut c_void; 2]) {
        let options = [
            cudaJitOption::ERROR_LOG_BUFFER,
            cudaJitOption::ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The size is passed as the value of a pointer.
        let size = ptr::without_provenance_mut(BYTES);
        (options, [self.bytes.cast(), size])
    }

    /// The log as one line, without the NUL bytes after it.
    pub(super) fn text(&self) -> String {
        // SAFETY: the bytes were allocated and set to 0 above, and are freed with this
        // value. The compiler runs within calls of this thread, none of which is under
        // way.
        let log = unsafe { &*self.bytes };
        let text = CStr::from_bytes_until_nul(log)
            .map(CStr::to_bytes)
            .unwrap_or(log);
        String::from_utf8_lossy(text)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Leaves the buffer to a driver that still has the library.
    pub(super) fn leave(&mut self) {
        self.bytes = Box::into_raw(Box::default());
    }

    /// Passes on what there is.
    pub(super) fn report(&self) {
        let text = self.text();
        if !text.is_empty() {
            log::error!("the PTX compiler said: {text}");
        }
    }
}

impl Drop for JitLog {
    fn drop(&mut self) {
        // SAFETY: the bytes came from a box. Whoever has a log unloads the library before
        // it ends, or leaves the buffer unused.
        drop(unsafe { Box::from_raw(self.bytes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_compiler_writes_is_one_line() {
        let log = JitLog::new();
        assert_eq!(log.text(), "");
        let (_, [buffer, size]) = log.options();
        let said = b"ptxas error : here\n   and there\n\0";
        assert!(said.len() < size.addr());
        // SAFETY: the buffer is longer than what is said.
        unsafe { ptr::copy_nonoverlapping(said.as_ptr(), buffer.cast(), said.len()) };
        assert_eq!(log.text(), "ptxas error : here and there");
    }
}
