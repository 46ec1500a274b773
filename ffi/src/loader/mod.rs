//! Finds a libcudart, opens it, and binds the table.
//!
//! If a path is given, nothing else is tried. Otherwise [`candidates`] gives the order:
//! first a library that the process has already opened, then Python environments, the
//! system's search by soname (newest first), and the usual installation folders. A library
//! that lacks required functions is skipped. A library that needs a newer driver is skipped
//! if an older library can be used.
//!
//! A library that was opened and accepted is never closed: the table keeps addresses of its
//! functions, and the runtime registers exit handlers.

mod attempt;
pub mod candidates;
mod misfit;

use core::cmp::Reverse;
use core::ffi::{CStr, c_int, c_void};
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use std::path::{Path, PathBuf};

use crate::driver::{NewerDriverFunctions, load_newer_driver};
use crate::table::{Functions, MissingSymbols};
use crate::types::cudaError_t;

pub use attempt::{Attempt, LoadError, Outcome, attempts_text};
pub use candidates::{Candidate, Place, SONAMES, Search};

/// A bound libcudart: the table's functions, and where the library was found.
#[derive(Debug)]
pub struct Cudart {
    functions: Functions,
    /// The driver functions that the simulated runtime exports itself; `None` for a
    /// real runtime.
    own_driver: Option<NewerDriverFunctions>,
    /// Where it was found.
    pub place: Place,
    /// The library's file, if it is known.
    pub path: Option<PathBuf>,
    /// The runtime's version as `1000 * major + 10 * minor`; `None` if the query fails
    /// (11.x without a driver).
    pub runtime_version: Option<c_int>,
    /// The newest CUDA version that the driver supports, in the same form; 0 if there
    /// is no driver.
    pub driver_version: c_int,
    /// The version queries that failed, by their C names. Before 12.0 the query of the
    /// runtime's version fails with code 35 if there is no driver.
    pub version_errors: Vec<(&'static str, cudaError_t)>,
    /// All libraries that were tried; this one is the last.
    pub attempts: Vec<Attempt>,
}

impl Deref for Cudart {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

/// A CUDA version in the runtime's own form, `1000 * major + 10 * minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub c_int);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl Cudart {
    /// Finds, opens and binds a library.
    ///
    /// # Errors
    ///
    /// [`LoadError`] with every candidate and the reason why it was refused.
    ///
    /// # Safety
    ///
    /// Every file that the search finds must be safe to load, since opening a library
    /// runs its initialisers (`libloading` and `ash` require the same). If a file
    /// exports the names of this table, they must be the CUDA runtime's functions.
    ///
    /// ```compile_fail,E0133
    /// let cudart = cudart_ffi::Cudart::load(&cudart_ffi::Search::from_environment());
    /// ```
    pub unsafe fn load(search: &Search) -> Result<Self, LoadError> {
        let mut attempts = Vec::new();
        let mut refused: Vec<Self> = Vec::new();
        for candidate in search.candidates() {
            let file = candidate.canonical();
            if file.is_some() && refused.iter().any(|cudart| cudart.path == file) {
                // The system's search already led to the same file.
                continue;
            }
            // SAFETY: the caller guarantees it.
            match unsafe { Self::open(&candidate) } {
                Ok(cudart) => {
                    if refused
                        .iter()
                        .any(|r| r.path.is_some() && r.path == cudart.path)
                    {
                        continue;
                    }
                    if let Some(outcome) = cudart.refused_by_driver() {
                        log::debug!("{candidate}: {outcome}");
                        attempts.push(Attempt { candidate, outcome });
                        refused.push(cudart);
                        continue;
                    }
                    attempts.push(Attempt {
                        candidate,
                        outcome: Outcome::Chosen,
                    });
                    return Ok(Self { attempts, ..cudart });
                }
                Err(outcome) => {
                    let level = match outcome {
                        Outcome::RelativeFolder => log::Level::Warn,
                        _ => log::Level::Debug,
                    };
                    log::log!(level, "{candidate}: {outcome}");
                    attempts.push(Attempt { candidate, outcome });
                }
            }
        }
        // Every library needs a newer driver. The newest library is returned, so
        // that its own error code says so. Among equals, `min_by_key` returns the
        // first and `max_by_key` the last.
        match refused
            .into_iter()
            .min_by_key(|c| Reverse(c.runtime_version))
        {
            Some(cudart) => Ok(Self { attempts, ..cudart }),
            None => Err(LoadError {
                explicit: search.explicit.clone(),
                attempts,
            }),
        }
    }

    /// Binds the table to functions that are already in the process, such as those of
    /// the simulated runtime.
    ///
    /// # Errors
    ///
    /// The names of all required functions for which `resolve` returned `None`.
    ///
    /// # Safety
    ///
    /// The same as for [`Functions::bind`].
    pub unsafe fn from_symbols(
        mut resolve: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
    ) -> Result<Self, MissingSymbols> {
        // SAFETY: `bind` has the same requirement as this function.
        let functions = unsafe { Functions::bind(&mut resolve) }?;
        // SAFETY: as above; a real CUDA runtime exports none of these names.
        let own_driver = unsafe { NewerDriverFunctions::bind(resolve) }.ok();
        Ok(Self {
            own_driver,
            ..Self::ask_versions(functions, Place::BuiltIn, None)
        })
    }

    /// The driver functions that exist since CUDA 12.3: of the simulated runtime, or of
    /// the driver that a real runtime uses.
    ///
    /// # Errors
    ///
    /// A message of one line, if there is no driver or it is older than 12.3.
    ///
    /// # Safety
    ///
    /// The same as for [`load_newer_driver`].
    pub unsafe fn newer_driver(&self) -> Result<NewerDriverFunctions, String> {
        match self.own_driver {
            Some(own) => Ok(own),
            // SAFETY: the caller guarantees it.
            None => unsafe { load_newer_driver() },
        }
    }

    /// The description of this project's simulated runtime; `None` for a real library.
    #[must_use]
    pub fn model_description(&self) -> Option<String> {
        // SAFETY: the function takes nothing and returns a static string.
        let text = unsafe { self.functions.cudartModelDescribe() }?;
        if text.is_null() {
            return None;
        }
        // SAFETY: the simulated runtime returns a NUL-terminated string that stays
        // valid while the library is loaded.
        Some(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        )
    }

    /// # Safety
    /// The same as for [`Cudart::load`].
    unsafe fn open(candidate: &Candidate) -> Result<Self, Outcome> {
        // SAFETY: the caller guarantees it.
        let library = unsafe { open_library(candidate) }?;
        let resolve = |name: &'static CStr| {
            // SAFETY: only the symbol's address is taken.
            let symbol = unsafe { library.get::<*mut c_void>(name) }.ok()?;
            NonNull::new(*symbol)
        };
        // SAFETY: the caller guarantees that a library with these names is a CUDA
        // runtime. One that lacks a required function is refused below, but stays
        // open.
        let functions = match unsafe { Functions::bind(resolve) } {
            Ok(functions) => functions,
            Err(MissingSymbols(names)) => return Err(Outcome::LacksFunctions(names)),
        };
        // SAFETY: a real runtime exports none of these names, and in the simulated
        // runtime they have the prototypes of the driver's table.
        let own_driver = unsafe { NewerDriverFunctions::bind(resolve) }.ok();
        let path = file_of(&library).or_else(|| candidate.canonical());
        core::mem::forget(library);
        Ok(Self {
            own_driver,
            ..Self::ask_versions(functions, candidate.place, path)
        })
    }

    fn ask_versions(functions: Functions, place: Place, path: Option<PathBuf>) -> Self {
        let mut version_errors = Vec::new();
        let mut note = |call, code: cudaError_t| {
            if !code.is_success() {
                version_errors.push((call, code));
            }
            code.is_success()
        };
        let mut version = 0;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe { functions.cudaRuntimeGetVersion(&raw mut version) };
        let told = note("cudaRuntimeGetVersion", code);
        let runtime_version = (told && version > 0).then_some(version);
        let mut driver_version = 0;
        // SAFETY: as above.
        let code = unsafe { functions.cudaDriverGetVersion(&raw mut driver_version) };
        if !note("cudaDriverGetVersion", code) {
            driver_version = 0;
        }
        Self {
            functions,
            own_driver: None,
            place,
            path,
            runtime_version,
            driver_version,
            version_errors,
            attempts: Vec::new(),
        }
    }

    fn refused_by_driver(&self) -> Option<Outcome> {
        if self.driver_version == 0 {
            return None;
        }
        // With code 35 the call does not write the count, so it must start at 0.
        let mut count = 0;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe { self.functions.cudaGetDeviceCount(&raw mut count) };
        (code == cudaError_t::INSUFFICIENT_DRIVER).then_some(Outcome::DriverTooOld {
            driver: self.driver_version,
            runtime: self.runtime_version,
        })
    }
}

/// # Safety
///
/// The file must be safe to load.
unsafe fn open_library(candidate: &Candidate) -> Result<libloading::Library, Outcome> {
    if candidate.place == Place::AlreadyLoaded {
        return open_already_loaded(&candidate.target).ok_or(Outcome::Absent);
    }
    if candidate.is_relative_folder() {
        return Err(Outcome::RelativeFolder);
    }
    if candidate.is_absent() {
        return Err(Outcome::Absent);
    }
    // SAFETY: the caller guarantees it.
    unsafe { libloading::Library::new(&candidate.target) }
        .map_err(|error| not_loadable(&error, candidate))
}

/// Why a library could not be opened. The system reports "no such file" for a dangling
/// link, for a library of another architecture and for a library whose own dependency is
/// missing. The file itself is therefore checked first.
fn not_loadable(error: &libloading::Error, candidate: &Candidate) -> Outcome {
    let text = system_text(error);
    let own = text.strip_prefix(&format!("{}: ", candidate.target.display()));
    if candidate.place == Place::SystemSearch {
        return match own {
            Some(reason) if reason.contains("No such file") => Outcome::Absent,
            // ERROR_MOD_NOT_FOUND: the text depends on the language of Windows.
            _ if cfg!(windows) && text.contains("os error 126") => Outcome::Absent,
            _ => Outcome::NotLoadable(own.unwrap_or(&text).to_owned()),
        };
    }
    Outcome::NotLoadable(
        misfit::of(&candidate.target).unwrap_or_else(|| own.unwrap_or(&text).to_owned()),
    )
}

#[cfg(target_os = "linux")]
fn open_already_loaded(name: &Path) -> Option<libloading::Library> {
    use libloading::os::unix;
    // libloading does not export this constant. It is 4 with glibc and musl, and another
    // number elsewhere.
    const RTLD_NOLOAD: c_int = 4;
    // SAFETY: with RTLD_NOLOAD nothing is loaded, so no initialiser runs.
    let library = unsafe { unix::Library::open(Some(name), unix::RTLD_LAZY | RTLD_NOLOAD) };
    library.ok().map(Into::into)
}

#[cfg(windows)]
fn open_already_loaded(name: &Path) -> Option<libloading::Library> {
    libloading::os::windows::Library::open_already_loaded(name)
        .ok()
        .map(Into::into)
}

#[cfg(not(any(target_os = "linux", windows)))]
fn open_already_loaded(_name: &Path) -> Option<libloading::Library> {
    None
}

/// The error text of the system.
fn system_text(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The file from which an open library was mapped.
fn file_of(library: &libloading::Library) -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // SAFETY: only the symbol's address is taken.
    let symbol = unsafe { library.get::<*mut c_void>(c"cudaGetErrorName") }.ok()?;
    let address = (*symbol).addr();
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    file_at(&maps, address)
}

fn file_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let file = rest.find('/').and_then(|at| rest.get(at..))?;
        (start..end).contains(&address).then(|| PathBuf::from(file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_as_people_write_it() {
        assert_eq!(Version(11080).to_string(), "11.8");
        assert_eq!(Version(13000).to_string(), "13.0");
    }

    #[test]
    fn the_mapping_of_an_address_names_its_file() {
        let maps = "\
7f00-7f10 r--p 00000000 fe:00 12  /opt/a dir/libcudart.so.12
7f10-7f20 r-xp 00001000 fe:00 12  /opt/a dir/libcudart.so.12
8000-8010 rw-p 00000000 00:00 0 \n";
        assert_eq!(
            file_at(maps, 0x7f15),
            Some(PathBuf::from("/opt/a dir/libcudart.so.12"))
        );
        assert_eq!(file_at(maps, 0x8005), None);
        assert_eq!(file_at(maps, 0x9000), None);
    }
}
