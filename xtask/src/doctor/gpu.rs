//! The group "run on a GPU": which libcudart the host would take and why not
//! the others, the driver, the devices, and whether each PTX loads there.

use std::ffi::{CStr, c_int};
use std::fs;
use std::path::Path;

use cudart_ffi::advice::advice;
use cudart_ffi::loader::{Attempt, Cudart, Outcome, Search, Version};
use cudart_ffi::ptx::PtxHeader;
use cudart_ffi::types::{cudaDeviceAttr, cudaDeviceProp, cudaError_t};

use super::{Check, Group, Id};
use crate::trouble::Trouble;

/// What was found, before it is judged.
#[derive(Debug, Default)]
pub struct Found {
    /// Every candidate library and what came of it, as text; those that are
    /// simply not there are left out.
    pub tried: Vec<(String, String)>,
    /// The library that the host would use.
    pub library: Option<Library>,
    /// The committed PTX files: name, and head where it can be read.
    pub kernels: Vec<(String, Option<PtxHeader>)>,
}

/// A library that works as a table.
#[derive(Debug)]
pub struct Library {
    /// Its file and version.
    pub shown: String,
    /// The newest CUDA that the driver supports, as 12090; 0 without one.
    pub driver_version: c_int,
    /// The devices, or the code that asking for them ended in.
    pub devices: Result<Vec<Device>, cudaError_t>,
}

/// One GPU.
#[derive(Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub capability: (c_int, c_int),
    /// Whether it has memory pools, which graph memory nodes need (R54).
    pub memory_pools: bool,
}

impl Found {
    /// Looks at this machine with the loader that the host uses.
    pub fn here(root: &Path) -> Self {
        let kernels = crate::ptxas::committed(root).unwrap_or_default();
        let kernels = kernels.iter().map(|file| {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(file).unwrap_or_default();
            (name, PtxHeader::parse(&text).ok())
        });
        let (attempts, library) = match Cudart::load(&Search::from_environment()) {
            Ok(cudart) => (cudart.attempts.clone(), Some(ask(&cudart))),
            Err(error) => (error.attempts, None),
        };
        Self {
            tried: attempts.iter().filter_map(shown).collect(),
            library,
            kernels: kernels.collect(),
        }
    }
}

/// The whole group from what was found.
pub fn group(found: &Found) -> Group {
    let mut checks = vec![runtime(found)];
    checks.extend(found.tried.iter().map(|(candidate, outcome)| {
        let trouble = Trouble::new(
            format!("{candidate} {outcome}"),
            "nothing to do while another serves",
        );
        let mut check = Check::of("also tried", Err(trouble)).optional();
        check.remedy = None;
        check
    }));
    match &found.library {
        Some(library) => {
            checks.push(driver(library));
            checks.extend(devices(library, &found.kernels));
        }
        None => {
            checks.push(Check::skipped("driver", "libcudart"));
            checks.push(Check::skipped("device", "libcudart"));
        }
    }
    let otherwise = "`cargo xtask run` uses the model runtime";
    Group::new(Id::Run, "run on a GPU", otherwise, checks)
}

fn runtime(found: &Found) -> Check {
    let result = found.library.as_ref().map(|library| library.shown.clone());
    Check::of(
        "libcudart",
        result.ok_or_else(|| {
            Trouble::new(
                "no CUDA runtime library of 11.4 or later was found",
                "python3 -m pip install nvidia-cuda-runtime in a virtual environment, or install the CUDA toolkit",
            )
        }),
    )
}

fn driver(library: &Library) -> Check {
    let result = match library.driver_version {
        0 => Err(Trouble::new(
            "no NVIDIA driver is installed, or it is not loaded",
            "install the driver and see that nvidia-smi lists the GPU",
        )),
        version => Ok(format!("supports CUDA {}", Version(version))),
    };
    Check::of("driver", result)
}

fn devices(library: &Library, kernels: &[(String, Option<PtxHeader>)]) -> Vec<Check> {
    if library.driver_version == 0 {
        return vec![Check::skipped("device", "the driver")];
    }
    let devices = match &library.devices {
        Ok(devices) if devices.is_empty() => Err(cudaError_t::NO_DEVICE),
        Ok(devices) => Ok(devices),
        Err(code) => Err(*code),
    };
    match devices {
        Ok(devices) => devices
            .iter()
            .enumerate()
            .flat_map(|(index, device)| device_checks(index, device, library, kernels))
            .collect(),
        Err(code) => {
            let trouble = Trouble::new(
                format!("cudaGetDeviceCount answers {}", code.0),
                advice(code, "cudaGetDeviceCount"),
            );
            vec![Check::of("device", Err(trouble))]
        }
    }
}

fn device_checks(
    index: usize,
    device: &Device,
    library: &Library,
    kernels: &[(String, Option<PtxHeader>)],
) -> Vec<Check> {
    let (major, minor) = device.capability;
    let named = format!("{} ({major}.{minor})", device.name);
    let result = if device.memory_pools {
        Ok(named)
    } else {
        Err(Trouble::new(
            format!("{named} has no memory pools, which graph memory nodes need"),
            "use a GPU and driver with memory pools; vGPUs and WSL may lack them",
        ))
    };
    let mut checks = vec![Check::of(&format!("device {index}"), result)];
    checks.extend(kernels.iter().map(|(file, header)| {
        let result = match header {
            Some(header) => header
                .check(library.driver_version, device.capability)
                .map(|()| {
                    format!(
                        "PTX {} for {} loads on device {index}",
                        header.version, header.target
                    )
                })
                .map_err(|refusal| Trouble::new(refusal.to_string(), refusal.remedy())),
            None => Err(Trouble::new(
                format!("{file} is no PTX"),
                "git checkout kernels-rs/ptx",
            )),
        };
        // Only the embedded file is needed; the others are for comparing.
        let check = Check::of(file, result);
        if Path::new(crate::kernel::EMBEDDED).ends_with(file) {
            check
        } else {
            check.optional()
        }
    }));
    checks
}

/// A candidate that is there and was not taken.
fn shown(attempt: &Attempt) -> Option<(String, String)> {
    match attempt.outcome {
        Outcome::Chosen | Outcome::Absent => None,
        // Bare names that the system's search does not know say nothing.
        Outcome::NotLoadable(_) if attempt.candidate.target.components().count() == 1 => None,
        _ => Some((attempt.candidate.to_string(), attempt.outcome.to_string())),
    }
}

fn ask(cudart: &Cudart) -> Library {
    let file = cudart.path.as_ref().map(|path| path.display().to_string());
    let version = cudart.runtime_version.map_or_else(
        || "version not told without a driver".to_owned(),
        |version| Version(version).to_string(),
    );
    Library {
        shown: format!("{version}, {} ({})", file.unwrap_or_default(), cudart.place),
        driver_version: cudart.driver_version,
        devices: list(cudart),
    }
}

fn list(cudart: &Cudart) -> Result<Vec<Device>, cudaError_t> {
    let mut count = 0;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { cudart.cudaGetDeviceCount(&raw mut count) };
    if !code.is_success() {
        return Err(code);
    }
    (0..count)
        .map(|index| {
            let attribute = |attribute| attribute_of(cudart, attribute, index);
            Ok(Device {
                name: name_of(cudart, index)?,
                capability: (
                    attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MAJOR)?,
                    attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MINOR)?,
                ),
                memory_pools: attribute(cudaDeviceAttr::MEMORY_POOLS_SUPPORTED)? != 0,
            })
        })
        .collect()
}

fn attribute_of(
    cudart: &Cudart,
    attribute: cudaDeviceAttr,
    device: c_int,
) -> Result<c_int, cudaError_t> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { cudart.cudaDeviceGetAttribute(&raw mut value, attribute, device) };
    if code.is_success() {
        Ok(value)
    } else {
        Err(code)
    }
}

fn name_of(cudart: &Cudart, device: c_int) -> Result<String, cudaError_t> {
    let mut properties = Box::new(cudaDeviceProp::zeroed());
    // SAFETY: the buffer is larger than the struct of any version.
    let code = unsafe { cudart.cudaGetDeviceProperties(&raw mut *properties, device) };
    if !code.is_success() {
        return Err(code);
    }
    // SAFETY: the buffer starts zeroed and the name is shorter than its 256
    // bytes, so a NUL ends it.
    let name = unsafe { CStr::from_ptr(properties.name.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}
