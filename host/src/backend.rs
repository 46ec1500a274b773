//! Chooses where to run: a GPU that is fit for it, or the model runtime.

use cudart_ffi::loader::LoadError;
use cudart_ffi::{Cudart, Search};

use crate::cli::{BackendChoice, Cli};
use crate::cuda::{Device, Runtime, Version};
use crate::exit::{Stop, StopKind};

/// The first driver with graph memory nodes (R54).
const FIRST_DRIVER: Version = Version(11040);

/// A runtime to run on, and the device.
#[derive(Debug)]
pub struct Chosen {
    /// The runtime.
    pub runtime: Runtime,
    /// The device's ordinal.
    pub device: i32,
    /// Why the model was taken, where the choice was free.
    pub why: Option<String>,
}

/// Takes what the arguments ask for.
///
/// # Errors
///
/// Wrong usage, a machine that cannot run this, or a call that failed.
pub fn choose(cli: &Cli) -> Result<Chosen, Stop> {
    match cli.backend {
        BackendChoice::Model if cli.cudart.is_some() => Err(Stop::usage(
            "--backend model is the built-in model, and --cudart names another library",
            "leave one of the two out",
        )),
        BackendChoice::Model => model(cli, None),
        BackendChoice::Cuda => gpu(cli),
        // A library that the user named is meant to be used.
        BackendChoice::Auto if cli.cudart.is_some() => gpu(cli),
        BackendChoice::Auto => match gpu(cli) {
            Ok(chosen) => Ok(chosen),
            Err(stop) if stop.kind == StopKind::Usage => Err(stop),
            Err(stop) => model(cli, Some(stop.what)),
        },
    }
}

fn model(cli: &Cli, why: Option<String>) -> Result<Chosen, Stop> {
    let runtime = Runtime::built_in_model();
    let device = fit_device(&runtime, cli.device)?;
    Ok(Chosen {
        runtime,
        device,
        why,
    })
}

fn gpu(cli: &Cli) -> Result<Chosen, Stop> {
    let search = match &cli.cudart {
        Some(path) => Search::explicit(path),
        None => Search::from_environment(),
    };
    let runtime = Runtime::new(Cudart::load(&search).map_err(not_loaded)?);
    let device = fit_device(&runtime, cli.device)?;
    Ok(Chosen {
        runtime,
        device,
        why: None,
    })
}

fn not_loaded(error: LoadError) -> Stop {
    let what = error.to_string();
    if error.explicit.is_some() {
        return Stop::usage(
            what,
            "--cudart takes a libcudart file, or a directory with one in it",
        );
    }
    for attempt in &error.attempts {
        log::info!("tried {}: {}", attempt.candidate, attempt.outcome);
    }
    Stop::waived(
        what,
        "install a CUDA runtime (a toolkit, or the wheel nvidia-cuda-runtime), name one with \
         --cudart, or use --backend model; -v lists what was tried",
    )
}

/// The device to use, if this machine can run graph memory nodes at all: first the
/// driver, then a device, then its memory pools.
fn fit_device(runtime: &Runtime, wanted: Option<i32>) -> Result<i32, Stop> {
    let Some(driver) = runtime.driver_version() else {
        return Err(Stop::waived(
            "there is no NVIDIA driver",
            "run on a machine with an NVIDIA GPU and its driver, or use --backend model",
        ));
    };
    if driver < FIRST_DRIVER {
        return Err(Stop::waived(
            format!(
                "the driver supports CUDA {driver}, and graph memory nodes need {FIRST_DRIVER}"
            ),
            "update the NVIDIA driver (R470 or later), or use --backend model",
        ));
    }
    let count = match runtime.device_count() {
        Ok(count) if count > 0 => count,
        Ok(_) => {
            return Err(Stop::waived(
                "there is no CUDA device",
                "use --backend model",
            ));
        }
        Err(error) => return Err(Stop::waived(error.to_string(), error.advice())),
    };
    let ordinal = match wanted {
        Some(ordinal) if (0..count).contains(&ordinal) => ordinal,
        Some(ordinal) => {
            let allowed = match count {
                1 => "the only device is 0".to_owned(),
                _ => format!("devices are 0 to {}", count - 1),
            };
            return Err(Stop::usage(
                format!("there is no device {ordinal}"),
                allowed,
            ));
        }
        None => fastest(runtime, count)?,
    };
    if !Device::new(runtime, ordinal).supports_memory_pools()? {
        return Err(Stop::waived(
            format!("device {ordinal} does not support memory pools"),
            "choose another with --device (fractional vGPUs have none), or use --backend model",
        ));
    }
    Ok(ordinal)
}

/// The first of the fastest devices.
fn fastest(runtime: &Runtime, count: i32) -> Result<i32, Stop> {
    if count == 1 {
        return Ok(0);
    }
    let mut best = (i64::MIN, 0);
    for ordinal in 0..count {
        let throughput = Device::new(runtime, ordinal).throughput()?;
        if throughput > best.0 {
            best = (throughput, ordinal);
        }
    }
    Ok(best.1)
}
