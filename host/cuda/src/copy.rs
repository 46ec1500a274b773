//! Copies between the host's memory and a device's.

use cudart_ffi::cudaMemcpyKind;

use crate::error::Result;
use crate::region::Region;
use crate::stream::Stream;

/// A number of a type that has the same bytes on the host and on the device.
pub trait Number: Copy + Default + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty)*) => { $(impl Number for $number {} impl sealed::Sealed for $number {})* };
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl<'rt> Stream<'rt> {
    /// Copies numbers to the beginning of a region, in the order of the stream, and waits
    /// until all work in the stream is done.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` where the region is too small, or is graph memory that
    ///   is not allocated now.
    /// - 400 `cudaErrorInvalidResourceHandle` for a region of another [`Runtime`](crate::Runtime).
    /// - 900 `cudaErrorStreamCaptureUnsupported` while the stream is captured.
    /// - Any code of earlier asynchronous work.
    #[doc(alias = "cudaMemcpyAsync")]
    pub fn write<T: Number>(&self, to: &Region<'rt>, numbers: &[T]) -> Result<()> {
        const CALL: &str = "cudaMemcpyAsync";
        self.not_captured(CALL)?;
        to.check_now(self.runtime, CALL, size_of_val(numbers) as u64)?;
        // SAFETY: the stream is live. The source is valid for the reads of that many
        // bytes until the wait below is over. The destination is allocated device memory
        // of at least that many bytes.
        let code = unsafe {
            self.runtime.api.cudaMemcpyAsync(
                to.address().as_ptr(),
                numbers.as_ptr().cast(),
                size_of_val(numbers),
                cudaMemcpyKind::HOST_TO_DEVICE,
                self.raw,
            )
        };
        let copied = self.runtime.check(CALL, code);
        // Whatever the call returned, nothing may read the numbers once this has returned.
        let waited = self.synchronize();
        copied.and(waited)
    }

    /// Copies numbers from the beginning of a region, in the order of the stream, and
    /// waits until all work in the stream is done.
    ///
    /// # Errors
    ///
    /// As [`Stream::write`].
    #[doc(alias = "cudaMemcpyAsync")]
    pub fn read<T: Number>(&self, from: &Region<'rt>, count: usize) -> Result<Vec<T>> {
        const CALL: &str = "cudaMemcpyAsync";
        self.not_captured(CALL)?;
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        from.check_now(self.runtime, CALL, bytes)?;
        let mut numbers = vec![T::default(); count];
        // SAFETY: the stream is live. The destination is valid for the writes of that
        // many bytes until the wait below is over, and every value of those bytes is a
        // number. The source is allocated device memory of at least that many bytes.
        let code = unsafe {
            self.runtime.api.cudaMemcpyAsync(
                numbers.as_mut_ptr().cast(),
                from.address().as_ptr().cast_const(),
                size_of_val(numbers.as_slice()),
                cudaMemcpyKind::DEVICE_TO_HOST,
                self.raw,
            )
        };
        let copied = self.runtime.check(CALL, code);
        // Whatever the call returned, nothing may write there once this has returned.
        let waited = self.synchronize();
        if waited.is_err() {
            // Whether the copy has ended is not known, so the memory is never reused.
            std::mem::forget(numbers);
            return copied.and(waited.map(|()| Vec::new()));
        }
        copied.map(|()| numbers)
    }
}
