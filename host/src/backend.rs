//! Chooses where to run: a GPU that is fit for it, or the model runtime.

use cudart_ffi::loader::LoadError;
use cudart_ffi::{Cudart, Search, cudaError_t};

use cudart_model::ClockKind;

use crate::cli::{BackendArgs, BackendChoice, DeviceChoice};
use crate::exit::{Stop, StopKind};
use crate::results::ModelClock;
use cuda_graphs::{Device, Runtime, Version};

/// The first driver with graph memory nodes (R54).
const FIRST_DRIVER: Version = Version(11040);

/// A runtime to run on, and the devices.
#[derive(Debug)]
pub struct Chosen {
    /// The runtime.
    pub runtime: Runtime,
    /// The devices' ordinals, at least one. A single one is fit for graph memory;
    /// of all, each has yet to show it.
    pub devices: Vec<i32>,
    /// Why the model was taken, where the choice was free.
    pub why: Option<String>,
}

/// Takes what the arguments ask for.
///
/// # Errors
///
/// Wrong usage, a machine that cannot run this, or a call that failed.
pub fn choose(args: &BackendArgs) -> Result<Chosen, Stop> {
    let model_named = args.model_profile.is_some() || args.model_clock.is_some();
    if model_named && args.backend == BackendChoice::Cuda {
        return Err(Stop::usage(
            "--model-profile and --model-clock are about the model, and --backend cuda asks for a GPU",
            "leave --backend cuda out",
        ));
    }
    if args.cudart.is_some() && (model_named || args.backend == BackendChoice::Model) {
        return Err(Stop::usage(
            "--cudart names a library, and the other options ask for the built-in model",
            "leave --cudart out, or --backend model and the --model options",
        ));
    }
    match args.backend {
        BackendChoice::Model => model(args, None),
        BackendChoice::Cuda => gpu(args),
        // What the user named is meant to be used.
        BackendChoice::Auto if model_named => model(args, None),
        BackendChoice::Auto if args.cudart.is_some() => gpu(args),
        BackendChoice::Auto => match gpu(args) {
            Ok(chosen) => Ok(chosen),
            Err(stop) if stop.kind == StopKind::Usage => Err(stop),
            Err(stop) => model(args, Some(stop.what)),
        },
    }
}

/// The clock that the model has where nothing else is asked for.
const DEFAULT_CLOCK: ModelClock = ModelClock::Real;

/// The clock of the model that [`choose`] starts, from the option or, as the model
/// itself reads it, the environment.
#[must_use]
pub fn model_clock(args: &BackendArgs) -> ModelClock {
    args.model_clock
        .unwrap_or_else(|| match cudart_model::Config::from_environment() {
            Ok(config) if config.clock == ClockKind::Virtual => ModelClock::Virtual,
            _ => DEFAULT_CLOCK,
        })
}

fn model(args: &BackendArgs, why: Option<String>) -> Result<Chosen, Stop> {
    configure_model(args)?;
    let runtime = Runtime::built_in_model();
    let devices = fit_devices(&runtime, args.device)?;
    Ok(Chosen {
        runtime,
        devices,
        why,
    })
}

/// Starts the model as the options and the environment ask; the options win.
fn configure_model(args: &BackendArgs) -> Result<(), Stop> {
    let mut config = cudart_model::Config::from_environment()
        .map_err(|problem| Stop::usage(problem, "mend or unset the variable"))?;
    if let Some(name) = &args.model_profile {
        config.profile = cudart_model::profile_named(name).map_err(|problem| {
            Stop::usage(
                format!("--model-profile: {problem}"),
                "name a built-in profile, or give a TOML file like one of them",
            )
        })?;
    }
    config.clock = match model_clock(args) {
        ModelClock::Real => ClockKind::Real,
        ModelClock::Virtual => ClockKind::Virtual,
    };
    // Another call in this process may have started it; then it is as that one said.
    if let Err(error) = cudart_model::configure(config) {
        log::debug!("{error}");
    }
    Ok(())
}

fn gpu(args: &BackendArgs) -> Result<Chosen, Stop> {
    let search = match &args.cudart {
        Some(path) => Search::explicit(path),
        None => Search::from_environment(),
    };
    let runtime = Runtime::new(Cudart::load(&search).map_err(not_loaded)?);
    let devices = fit_devices(&runtime, args.device)?;
    Ok(Chosen {
        runtime,
        devices,
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

/// The devices to use, if this machine can run graph memory nodes at all: first the
/// driver, then a device, then its memory pools.
fn fit_devices(runtime: &Runtime, wanted: Option<DeviceChoice>) -> Result<Vec<i32>, Stop> {
    let Some(driver) = runtime.driver_version() else {
        runtime.driver_query()?;
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
    runtime.versions_were_told()?;
    let count = match runtime.device_count() {
        Ok(count) if count > 0 => count,
        Ok(_) => {
            return Err(Stop::waived(
                "there is no CUDA device",
                "use --backend model",
            ));
        }
        Err(error) if means_no_gpu(error.code) => {
            return Err(Stop::waived(error.to_string(), error.advice()));
        }
        Err(error) => return Err(error.into()),
    };
    let ordinal = match wanted {
        Some(DeviceChoice::All) => return Ok((0..count).collect()),
        Some(DeviceChoice::Ordinal(ordinal)) if (0..count).contains(&ordinal) => ordinal,
        Some(DeviceChoice::Ordinal(ordinal)) => {
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
    needs_memory_pools(Device::new(runtime, ordinal))?;
    Ok(vec![ordinal])
}

/// Whether a code says that this machine has no GPU for this library.
fn means_no_gpu(code: cudaError_t) -> bool {
    matches!(
        code,
        cudaError_t::NO_DEVICE | cudaError_t::INSUFFICIENT_DRIVER
    )
}

/// Whether the device has what graph memory needs (R54).
///
/// # Errors
///
/// A waiver if it has not, or the query's error.
pub fn needs_memory_pools(device: Device<'_>) -> Result<(), Stop> {
    if device.supports_memory_pools()? {
        return Ok(());
    }
    Err(Stop::waived(
        format!("device {} does not support memory pools", device.ordinal()),
        "choose another with --device (fractional vGPUs have none), or use --backend model",
    ))
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
