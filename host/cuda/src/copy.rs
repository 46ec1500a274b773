//! Copies between the host's memory and a device's.

use super::error::Result;
use super::graph::DeviceAddress;
use super::stream::Stream;
use cudart_ffi::cudaMemcpyKind;

impl Stream<'_> {
    /// Copies numbers to the device in the order of the stream, and waits for it.
    ///
    /// # Errors
    ///
    /// 1 where not all of them lie in allocated memory, 900 while the stream is
    /// captured; also those of earlier asynchronous work.
    #[doc(alias = "cudaMemcpyAsync")]
    pub fn write(&self, to: DeviceAddress, numbers: &[i32]) -> Result<()> {
        // A graph would keep the address of numbers that it does not own.
        if self.is_captured() {
            return Err(self.captured("cudaMemcpyAsync"));
        }
        // SAFETY: the stream is alive; the source is valid for the reads of that many
        // bytes, and stays so until the wait below is over. The destination is the
        // device's to check.
        let code = unsafe {
            self.runtime.api.cudaMemcpyAsync(
                to.as_ptr(),
                numbers.as_ptr().cast(),
                size_of_val(numbers),
                cudaMemcpyKind::HOST_TO_DEVICE,
                self.raw,
            )
        };
        self.runtime.check("cudaMemcpyAsync", code)?;
        self.synchronize()
    }

    /// Copies numbers from the device in the order of the stream, and waits for them.
    ///
    /// # Errors
    ///
    /// As [`Stream::write`].
    #[doc(alias = "cudaMemcpyAsync")]
    pub fn read(&self, from: DeviceAddress, count: usize) -> Result<Vec<i32>> {
        if self.is_captured() {
            return Err(self.captured("cudaMemcpyAsync"));
        }
        let mut numbers = vec![0; count];
        // SAFETY: the stream is alive; the destination is valid for the writes of that
        // many bytes, and stays so until the wait below is over. The source is the
        // device's to check.
        let code = unsafe {
            self.runtime.api.cudaMemcpyAsync(
                numbers.as_mut_ptr().cast(),
                from.as_ptr().cast_const(),
                size_of_val(numbers.as_slice()),
                cudaMemcpyKind::DEVICE_TO_HOST,
                self.raw,
            )
        };
        let copied = self.runtime.check("cudaMemcpyAsync", code);
        // Whatever came of the copy, nothing may write there once this has returned.
        let waited = self.synchronize();
        copied.and(waited).map(|()| numbers)
    }
}
