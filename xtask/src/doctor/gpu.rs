//! The group "run on a GPU": which libcudart the host would take and why not
//! the others, the driver, the devices, and whether each PTX loads there.

#![allow(
    unsafe_code,
    reason = "it calls C functions of a library that it loads"
)]

use std::ffi::c_int;
use std::fs;
use std::path::Path;

use cudart_ffi::advice::advice;
use cudart_ffi::loader::{Attempt, Cudart, Outcome, Search, Version};
use cudart_ffi::ptx::{PtxHeader, PtxRefusal};
use cudart_ffi::table::{FUNCTIONS, Presence};
use cudart_ffi::types::{cudaDeviceAttr, cudaDeviceProp, cudaError_t};

use super::{Check, Group, Id, Status};
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
    /// The optional functions of the table that it lacks.
    pub lacks: Vec<&'static str>,
    /// The devices, each or all as far as the library answers.
    pub devices: Result<Vec<Result<Device, Failed>>, Failed>,
}

/// A call that ended in an error.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    /// Its C name.
    pub call: &'static str,
    /// The code.
    pub code: cudaError_t,
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
    /// The clock of its multiprocessors, in kHz.
    pub clock_rate_khz: c_int,
}

impl Found {
    /// Looks at this machine with the loader that the host uses.
    pub fn here(root: &Path) -> Self {
        let kernels = crate::kernel::committed(root).unwrap_or_default();
        let kernels = kernels.iter().map(|file| {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(file).unwrap_or_default();
            (name, PtxHeader::parse(&text).ok())
        });
        // SAFETY: the search finds this machine's installed CUDA runtimes, which the host
        // would load.
        let loaded = unsafe { Cudart::load(&Search::from_environment()) };
        let (attempts, library) = match loaded {
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
            "nothing, because another library is used",
        );
        let mut check = Check::of("also tried", Err(trouble)).optional();
        check.remedy = None;
        check
    }));
    match &found.library {
        Some(library) => {
            checks.push(functions(library));
            checks.push(driver(library));
            checks.extend(devices(library, &found.kernels));
        }
        None => {
            checks.push(Check::skipped("functions", "libcudart"));
            checks.push(Check::skipped("driver", "libcudart"));
            checks.push(Check::skipped("device", "libcudart"));
        }
    }
    let otherwise = "`cargo xtask run` uses the simulated GPU";
    Group::new(Id::Run, "run on a GPU", otherwise, checks)
}

fn runtime(found: &Found) -> Check {
    let result = found.library.as_ref().map(|library| library.shown.clone());
    Check::of(
        "libcudart",
        result.ok_or_else(|| {
            Trouble::new(
                "no CUDA runtime library of 11.4 or later was found",
                "python3 -m pip install nvidia-cuda-runtime, or install the CUDA toolkit",
            )
        }),
    )
}

/// A library that lacks a required function was refused by the loader.
fn functions(library: &Library) -> Check {
    let count = |presence| FUNCTIONS.iter().filter(|f| f.presence == presence).count();
    let mut detail = format!(
        "all {} required, {} of {} optional",
        count(Presence::Required),
        count(Presence::Optional).saturating_sub(library.lacks.len()),
        count(Presence::Optional),
    );
    if !library.lacks.is_empty() {
        detail.push_str("; without ");
        detail.push_str(&library.lacks.join(", "));
    }
    Check::of("functions", Ok(detail))
}

fn driver(library: &Library) -> Check {
    let result = match library.driver_version {
        0 => Err(Trouble::new(
            "no NVIDIA driver is installed, or it is not loaded",
            "install the driver, and check that nvidia-smi lists the GPU",
        )),
        version => Ok(format!("supports CUDA {}", Version(version))),
    };
    Check::of("driver", result)
}

fn devices(library: &Library, kernels: &[(String, Option<PtxHeader>)]) -> Vec<Check> {
    if library.driver_version == 0 {
        return vec![Check::skipped("device", "the driver")];
    }
    let none = Failed {
        call: "cudaGetDeviceCount",
        code: cudaError_t::NO_DEVICE,
    };
    match &library.devices {
        Ok(devices) if devices.is_empty() => vec![failed("device", none)],
        Ok(devices) => {
            let each = devices.iter().enumerate();
            let each: Vec<_> = each
                .map(|(index, device)| match device {
                    Ok(device) => device_checks(index, device, library, kernels),
                    Err(failure) => vec![failed(&format!("device {index}"), *failure)],
                })
                .collect();
            let serves = |checks: &Vec<Check>| checks.iter().all(|c| c.status != Status::Missing);
            // One device is enough: `--device` takes it.
            let one_serves = each.iter().any(serves);
            each.into_iter()
                .flatten()
                .map(|check| if one_serves { check.optional() } else { check })
                .collect()
        }
        Err(failure) => vec![failed("device", *failure)],
    }
}

fn failed(name: &str, Failed { call, code }: Failed) -> Check {
    let trouble = Trouble::new(format!("{call} returns {}", code.0), advice(code, call));
    Check::of(name, Err(trouble))
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
        let mhz = device.clock_rate_khz / 1000;
        Ok(format!("{named}, {mhz} MHz, memory pools"))
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
                .map_err(|refusal| {
                    let remedy = match refusal {
                        PtxRefusal::NewerThanDriver { .. } => format!(
                            "{}, or use the PTX that `cargo xtask kernel --with rustc` makes",
                            refusal.remedy()
                        ),
                        PtxRefusal::NotForDevice { .. } => {
                            format!("{} (--arch)", refusal.remedy())
                        }
                    };
                    Trouble::new(refusal.to_string(), remedy)
                }),
            None => Err(Trouble::new(
                format!("{file} is not PTX"),
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
        // Where the system reports an unknown name and a broken library alike, the
        // refusal of a bare name says nothing.
        Outcome::NotLoadable(_)
            if cfg!(windows) && attempt.candidate.target.components().count() == 1 =>
        {
            None
        }
        _ => Some((attempt.candidate.to_string(), attempt.outcome.to_string())),
    }
}

fn ask(cudart: &Cudart) -> Library {
    let file = cudart.path.as_ref().map(|path| path.display().to_string());
    let version = cudart.runtime_version.map_or_else(
        || "version unknown without a driver".to_owned(),
        |version| Version(version).to_string(),
    );
    Library {
        shown: format!("{version}, {} ({})", file.unwrap_or_default(), cudart.place),
        driver_version: cudart.driver_version,
        lacks: FUNCTIONS
            .iter()
            .filter(|f| f.presence == Presence::Optional && !cudart.exports(f.name))
            .map(|f| f.name)
            .collect(),
        devices: list(cudart),
    }
}

fn list(cudart: &Cudart) -> Result<Vec<Result<Device, Failed>>, Failed> {
    let mut count = 0;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { cudart.cudaGetDeviceCount(&raw mut count) };
    checked("cudaGetDeviceCount", code)?;
    Ok((0..count).map(|index| device(cudart, index)).collect())
}

fn device(cudart: &Cudart, index: c_int) -> Result<Device, Failed> {
    let attribute = |attribute| attribute_of(cudart, attribute, index);
    Ok(Device {
        name: name_of(cudart, index)?,
        capability: (
            attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MAJOR)?,
            attribute(cudaDeviceAttr::COMPUTE_CAPABILITY_MINOR)?,
        ),
        memory_pools: attribute(cudaDeviceAttr::MEMORY_POOLS_SUPPORTED)? != 0,
        clock_rate_khz: attribute(cudaDeviceAttr::CLOCK_RATE)?,
    })
}

fn checked(call: &'static str, code: cudaError_t) -> Result<(), Failed> {
    if code.is_success() {
        Ok(())
    } else {
        Err(Failed { call, code })
    }
}

fn attribute_of(
    cudart: &Cudart,
    attribute: cudaDeviceAttr,
    device: c_int,
) -> Result<c_int, Failed> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { cudart.cudaDeviceGetAttribute(&raw mut value, attribute, device) };
    checked("cudaDeviceGetAttribute", code)?;
    Ok(value)
}

fn name_of(cudart: &Cudart, device: c_int) -> Result<String, Failed> {
    let mut properties = Box::new(cudaDeviceProp::zeroed());
    // SAFETY: the buffer is larger than the struct of any version.
    let code = unsafe { cudart.cudaGetDeviceProperties(&raw mut *properties, device) };
    checked("cudaGetDeviceProperties", code)?;
    Ok(properties.name())
}
