//! Chooses where to run: on a usable GPU, or on the simulated GPU.

use cudart_ffi::loader::LoadError;
use cudart_ffi::{Search, cudaError_t};

use cudart_model::{ClockKind, Profile};

use crate::cli::exit::{Stop, StopKind};
use crate::cli::{BackendArgs, BackendChoice, DeviceChoice};
use crate::results::ModelClock;
use cuda_graphs::{Device, Runtime, Version};

/// The first driver with graph memory nodes (R54).
const FIRST_DRIVER: Version = Version(11040);

/// A runtime to run on, and the devices.
#[derive(Debug)]
pub struct Chosen {
    /// The runtime.
    pub runtime: Runtime,
    /// The devices' ordinals, at least one. A single device is known to support graph
    /// memory; with `--device all` each has yet to be checked.
    pub devices: Vec<i32>,
    /// Why the simulated GPU was chosen, if `--backend` left the choice open.
    pub why: Option<String>,
}

/// Chooses a runtime and devices by the arguments.
///
/// # Errors
///
/// Wrong usage, a machine that cannot run this, or a call that failed.
pub fn choose(args: &BackendArgs) -> Result<Chosen, Stop> {
    let model_named = args.model_profile.is_some() || args.model_clock.is_some();
    if model_named && args.backend == BackendChoice::Cuda {
        return Err(Stop::usage(
            "--model-profile and --model-clock apply to the simulated GPU, and --backend cuda requires a real one",
            "omit --backend cuda",
        ));
    }
    if args.cudart.is_some() && (model_named || args.backend == BackendChoice::Model) {
        return Err(Stop::usage(
            "--cudart names a library, and the other options select the built-in simulated runtime",
            "omit --cudart, or omit --backend simulated and the --model options",
        ));
    }
    match args.backend {
        BackendChoice::Model => model(args, None),
        BackendChoice::Cuda => gpu(args),
        // An option for one of the two selects it.
        BackendChoice::Auto if model_named => model(args, None),
        BackendChoice::Auto if args.cudart.is_some() => gpu(args),
        BackendChoice::Auto => match gpu(args) {
            Ok(chosen) => Ok(chosen),
            Err(stop) if stop.kind == StopKind::Usage => Err(stop),
            Err(stop) => model(args, Some(stop.what)),
        },
    }
}

/// The simulated runtime's clock by default.
const DEFAULT_CLOCK: ModelClock = ModelClock::Real;

/// The clock of the simulated runtime that [`choose`] starts: from the option, or else
/// from the environment variable that the simulated runtime reads.
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

/// Configures the simulated runtime from the environment and the options; options have
/// priority.
fn configure_model(args: &BackendArgs) -> Result<(), Stop> {
    let mut config = cudart_model::Config::from_environment()
        .map_err(|problem| Stop::usage(problem, "correct or unset the variable"))?;
    if let Some(name) = &args.model_profile {
        config.profile = profile_named(name)?;
    }
    config.clock = match model_clock(args) {
        ModelClock::Real => ClockKind::Real,
        ModelClock::Virtual => ClockKind::Virtual,
    };
    // If it was configured before in this process, that configuration stays.
    if let Err(error) = cudart_model::configure(config) {
        log::debug!("{error}");
    }
    Ok(())
}

/// The profile that `--model-profile` names.
///
/// # Errors
///
/// A usage error for a name that is neither a built-in profile nor a file of one.
pub fn profile_named(name: &str) -> Result<Profile, Stop> {
    cudart_model::profile_named(name).map_err(|problem| {
        Stop::usage(
            format!("--model-profile: {problem}"),
            "name a built-in profile, or give a TOML file of the same form",
        )
    })
}

fn gpu(args: &BackendArgs) -> Result<Chosen, Stop> {
    let search = match &args.cudart {
        Some(path) => Search::explicit(path),
        None => Search::from_environment(),
    };
    let runtime = Runtime::load(&search).map_err(not_loaded)?;
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
            "give --cudart a libcudart file, or a folder of a toolkit, of Python packages or of an \
             environment",
        );
    }
    for attempt in &error.attempts {
        log::info!("tried {}: {}", attempt.candidate, attempt.outcome);
    }
    Stop::waived(
        what,
        "install the CUDA toolkit, or `python3 -m pip install nvidia-cuda-runtime` (found in an \
         environment, in the user's and in the system's packages), name a library or any folder \
         above it with --cudart, or use --backend simulated; -v lists what was tried",
    )
}

/// What to try when this machine cannot run graph memory nodes: one text for a GPU, and
/// one for the simulated GPU, whose profile decides what it can do.
fn remedy(runtime: &Runtime, on_a_gpu: &str) -> String {
    if runtime.model_description().is_some() {
        "simulate another GPU with --model-profile, such as h200".to_owned()
    } else {
        format!("{on_a_gpu}, or use --backend simulated")
    }
}

/// The devices to use, if this machine can run graph memory nodes. It checks the
/// driver, then the device, then its memory pools.
fn fit_devices(runtime: &Runtime, wanted: Option<DeviceChoice>) -> Result<Vec<i32>, Stop> {
    let Some(driver) = runtime.driver_version() else {
        runtime.check_driver_version()?;
        return Err(Stop::waived(
            "there is no NVIDIA driver",
            remedy(
                runtime,
                "run on a machine with an NVIDIA GPU and its driver",
            ),
        ));
    };
    if driver < FIRST_DRIVER {
        return Err(Stop::waived(
            format!(
                "the driver supports CUDA {driver}, and graph memory nodes need CUDA {FIRST_DRIVER}"
            ),
            remedy(runtime, "update the NVIDIA driver (R470 or later)"),
        ));
    }
    runtime.check_versions()?;
    let count = match runtime.device_count() {
        Ok(count) if count > 0 => count,
        Ok(_) => {
            return Err(Stop::waived(
                "there is no CUDA device",
                remedy(runtime, "run on a machine with an NVIDIA GPU"),
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
    needs_memory_pools(runtime, Device::new(runtime, ordinal))?;
    Ok(vec![ordinal])
}

/// Whether a code means that this machine has no GPU for this library.
fn means_no_gpu(code: cudaError_t) -> bool {
    matches!(
        code,
        cudaError_t::NO_DEVICE | cudaError_t::INSUFFICIENT_DRIVER
    )
}

/// Checks that the device supports memory pools, which graph memory needs (R54).
///
/// # Errors
///
/// A waiver if it does not, or the error of the query.
pub fn needs_memory_pools(runtime: &Runtime, device: Device<'_>) -> Result<(), Stop> {
    if device.supports_memory_pools()? {
        return Ok(());
    }
    Err(Stop::waived(
        format!("device {} does not support memory pools", device.ordinal()),
        remedy(
            runtime,
            "choose another device with --device (fractional vGPUs have no memory pools)",
        ),
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
