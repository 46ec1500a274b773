//! The runtime library in use, and how its return codes become errors.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

use cudart_ffi::loader::{Attempt, LoadError, Place, Search, Version};
use cudart_ffi::{Cudart, cudaError_t};

use crate::error::{CudaError, Result};
use crate::ownership::Ownership;

/// A loaded CUDA runtime, or the simulated one. Every handle borrows it, so it outlives
/// them all:
///
/// ```compile_fail,E0505
/// use cuda_graphs::{Runtime, Stream};
///
/// let runtime = Runtime::built_in_model();
/// let stream = Stream::new(&runtime)?;
/// drop(runtime);
/// stream.synchronize()?;
/// # Ok::<(), cuda_graphs::CudaError>(())
/// ```
///
/// Graph objects are not thread-safe (R55), so handles stay on their thread:
///
/// ```compile_fail,E0277
/// use cuda_graphs::Runtime;
///
/// let runtime = Runtime::built_in_model();
/// std::thread::scope(|scope| scope.spawn(|| runtime.synchronize()));
/// ```
#[derive(Debug)]
pub struct Runtime {
    pub(crate) api: Cudart,
    /// An allocation was dropped instead of freed, and a warning said so.
    pub(crate) has_lost_allocations: Cell<bool>,
    pub(crate) ownership: Ownership,
    close_error: RefCell<Option<CudaError>>,
    failures: Cell<u64>,
}

impl Runtime {
    /// Finds a CUDA runtime library (libcudart 11.4 or later), opens it and binds its
    /// functions. It stays open until the process ends.
    ///
    /// Opening a library runs code in it. `libloading` and `ash` therefore make the caller
    /// write `unsafe`; `nvml-wrapper` does not, and neither does this function. The file is
    /// either one that the caller names, or the installed library that every CUDA program
    /// on this machine would load, and this crate assumes that it is a CUDA runtime, as a
    /// program does that is linked to libcudart. Do not pass a path here that comes from
    /// somebody whom you do not trust.
    ///
    /// # Errors
    ///
    /// [`LoadError`] with every file that was tried and why it was refused.
    pub fn load(search: &Search) -> Result<Self, LoadError> {
        // SAFETY: the files are CUDA runtimes, as the text above says.
        unsafe { Cudart::load(search) }.map(Self::new)
    }

    /// Wraps a bound library.
    #[must_use]
    pub fn new(api: Cudart) -> Self {
        Self {
            api,
            has_lost_allocations: Cell::new(false),
            close_error: RefCell::new(None),
            failures: Cell::new(0),
            ownership: Ownership::default(),
        }
    }

    /// The simulated runtime that is part of this program. It needs no GPU and no driver.
    #[must_use]
    pub fn built_in_model() -> Self {
        // SAFETY: the model's functions are made from the table itself, so each has
        // its line's prototype, and they are part of this program.
        match unsafe { Cudart::from_symbols(cudart_model::symbol) } {
            Ok(api) => Self::new(api),
            // The model's symbols and the required ones are made from one list.
            Err(missing) => unreachable!("the model lacks {}", missing.0.join(", ")),
        }
    }

    /// The library's file, if it has one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.api.path.as_deref()
    }

    /// What led to the library.
    #[must_use]
    pub fn place(&self) -> Place {
        self.api.place
    }

    /// What was tried before this library, and it.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.api.attempts
    }

    /// The library's version; `None` where it reports none (11.x without a driver).
    #[must_use]
    pub fn runtime_version(&self) -> Option<Version> {
        self.api.runtime_version.map(Version)
    }

    /// The newest CUDA version that the driver supports; `None` without a driver.
    #[must_use]
    pub fn driver_version(&self) -> Option<Version> {
        (self.api.driver_version > 0).then_some(Version(self.api.driver_version))
    }

    /// The description that the simulated runtime gives of itself; `None` for a GPU's.
    #[must_use]
    pub fn model_description(&self) -> Option<String> {
        self.api.model_description()
    }

    /// The number of devices.
    ///
    /// # Errors
    ///
    /// 35 `cudaErrorInsufficientDriver` without a driver or with one too old, 100
    /// `cudaErrorNoDevice` without a device.
    #[doc(alias = "cudaGetDeviceCount")]
    pub fn device_count(&self) -> Result<i32> {
        // A failing call leaves the count untouched.
        let mut count: c_int = 0;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe { self.api.cudaGetDeviceCount(&raw mut count) };
        self.check("cudaGetDeviceCount", code)?;
        Ok(count)
    }

    /// Waits until the current device has finished all work.
    ///
    /// # Errors
    ///
    /// Any code of earlier asynchronous work, such as 700 `cudaErrorIllegalAddress`.
    #[doc(alias = "cudaDeviceSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: takes nothing.
        let code = unsafe { self.api.cudaDeviceSynchronize() };
        self.check("cudaDeviceSynchronize", code)
    }

    /// Checks that both version queries succeeded when the library was loaded. Libraries of
    /// 11.x fail the query of their own version without a driver.
    ///
    /// # Errors
    ///
    /// The error of the first query that failed: 35 `cudaErrorInsufficientDriver` without a
    /// driver.
    pub fn check_versions(&self) -> Result<()> {
        self.version_query(|_| true)
    }

    /// Checks that the query of the driver's version succeeded when the library was loaded.
    /// Without a driver it succeeds, and the version is 0.
    ///
    /// # Errors
    ///
    /// The query's error.
    pub fn check_driver_version(&self) -> Result<()> {
        self.version_query(|call| call == "cudaDriverGetVersion")
    }

    fn version_query(&self, of: impl Fn(&str) -> bool) -> Result<()> {
        let mut errors = self.api.version_errors.iter();
        match errors.find(|(call, _)| of(call)) {
            Some(&(call, code)) => Err(self.failure(call, code)),
            None => Ok(()),
        }
    }

    /// The first of two errors: this one, and the failure to close a handle that was
    /// dropped, which nothing else reports. A failure to close is returned once.
    ///
    /// A program that runs several things in turn calls this after each.
    #[must_use]
    pub fn first_error(&self, error: Option<CudaError>) -> Option<CudaError> {
        let unclosed = self.close_error.take();
        error
            .into_iter()
            .chain(unclosed)
            .min_by_key(|error| error.order)
    }

    /// For `Drop`, which cannot return the error of a call that closes a handle.
    pub(crate) fn note_closed(&self, call: &'static str, code: cudaError_t) {
        if let Err(error) = self.check(call, code) {
            log::warn!("{error}");
            self.close_error.borrow_mut().get_or_insert(error);
        }
    }

    /// Refuses a handle that belongs to another runtime: the library of one would take the
    /// other's pointer for its own.
    pub(crate) fn same(&self, other: &Self, call: &'static str, what: &str) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let code = cudaError_t::INVALID_RESOURCE_HANDLE;
        let why = format!("the {what} belongs to another Runtime");
        Err(self.refusal(call, code, why))
    }

    /// The error of a call that this crate does not make, with the reason in place of the
    /// library's description.
    #[cold]
    pub(crate) fn refusal(
        &self,
        call: &'static str,
        code: cudaError_t,
        why: impl Into<String>,
    ) -> CudaError {
        self.error(call, code, Some(why.into()))
    }

    pub(crate) fn check(&self, call: &'static str, code: cudaError_t) -> Result<()> {
        if code.is_success() {
            Ok(())
        } else {
            Err(self.failure(call, code))
        }
    }

    #[cold]
    pub(crate) fn failure(&self, call: &'static str, code: cudaError_t) -> CudaError {
        // SAFETY: takes nothing. It clears the error that is reported here, so that
        // a later call does not return it again; a sticky one comes back anyway.
        unsafe { self.api.cudaGetLastError() };
        self.error(call, code, None)
    }

    fn error(&self, call: &'static str, code: cudaError_t, why: Option<String>) -> CudaError {
        // SAFETY: any code may be passed.
        let name = unsafe { self.api.cudaGetErrorName(code) };
        // SAFETY: as above.
        let text = unsafe { self.api.cudaGetErrorString(code) };
        let name = static_text(name)
            .filter(|name| name != "unrecognized error code")
            .unwrap_or_else(|| "unknown to this runtime".to_owned());
        let text = why
            .or_else(|| static_text(text))
            .unwrap_or_else(|| "no description".to_owned());
        let order = self.failures.get();
        self.failures.set(order + 1);
        CudaError {
            code,
            name,
            text,
            call,
            order,
        }
    }
}

fn static_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the library returns NUL-terminated strings that are never freed.
    Some(
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    )
}
