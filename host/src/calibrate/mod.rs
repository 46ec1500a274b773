//! `calibrate`: measures on a GPU what a profile of the simulated GPU contains, and writes
//! the profile.
//!
//! [`sizes`] measures sizes and addresses, [`costs`] how long calls take, and [`settings`]
//! is the list of values with their origin, as TOML and as a table.

mod costs;
mod settings;
mod sizes;

use std::io::Write;
use std::process::ExitCode;

use cuda_graphs::{Device, Runtime};
use cudart_model::Profile;
use safe_io::Outputs;

use crate::backend;
use crate::cli::exit::{self, Stop};
use crate::cli::{BackendArgs, BackendChoice, CalibrateArgs, DeviceChoice, output};
use crate::kernel::ptx::KernelSource;
use crate::results::ModelClock;
use settings::{Origin, Settings};

/// Measures a device and writes its profile.
///
/// # Errors
///
/// No GPU, a call that failed, or a file that cannot be written.
pub fn run(args: &CalibrateArgs) -> Result<ExitCode, Stop> {
    if args.on.device == Some(DeviceChoice::All) {
        return Err(Stop::usage(
            "a profile describes one device",
            "name it with --device N",
        ));
    }
    let outputs = Outputs::new(args.on.files_read());
    let mut file = outputs.open(&args.output)?;
    let source = KernelSource::get(args.on.ptx.as_deref())?;
    let on = BackendArgs {
        // On the simulated GPU the costs are those of its profile, which only the virtual
        // clock charges.
        model_clock: args.on.model_clock.or_else(|| {
            let simulated = args.on.backend == BackendChoice::Model;
            simulated.then_some(ModelClock::Virtual)
        }),
        ..args.on.clone()
    };
    let chosen = backend::choose(&on)?;
    if let Some(why) = chosen.why {
        return Err(Stop::waived(
            format!("there is no GPU to measure: {why}"),
            "run on a machine with an NVIDIA GPU; --backend simulated measures the simulated GPU",
        ));
    }
    let runtime = &chosen.runtime;
    let device = Device::new(runtime, chosen.devices.first().copied().unwrap_or(0));
    let settings = measure(runtime, device, &source, &args.on)?;

    let toml = settings.toml();
    // What was measured must be a profile that --model-profile reads, with the same values.
    let read = Profile::from_toml(&toml).map_err(|error| {
        Stop::error(
            format!("the measured values are no profile: {error}"),
            "run it again while nothing else uses the GPU; -vv shows every call",
        )
    })?;
    log::debug!("read back: {read:?}");
    let mut table = Vec::new();
    settings.write_table(&mut table)?;
    output::say(&String::from_utf8_lossy(&table).trim_end());
    file.write_all(toml.as_bytes())
        .and_then(|()| file.flush())?;
    drop(file);
    output::commit(outputs)?;
    let missed = settings
        .in_section("memory")
        .any(|setting| matches!(setting.origin, Origin::TakenOver(_)));
    Ok(ExitCode::from(if missed {
        exit::INCONCLUSIVE
    } else {
        exit::PASS
    }))
}

/// Sizes come first: the first address of a graph is that of a fresh process.
fn measure(
    runtime: &Runtime,
    device: Device<'_>,
    source: &KernelSource,
    on: &BackendArgs,
) -> Result<Settings, Stop> {
    let mut settings = Settings::new(Profile::default());
    device.make_current()?;
    sizes::device(runtime, &device, &mut settings)?;
    let block = sizes::memory(runtime, &device, &mut settings)?;
    let (kernel, load_us) = costs::load(runtime, &device, source, on.kernel_route.into())?;
    costs::all(runtime, &device, &kernel, block, &mut settings)?;
    settings.cost("load_library", load_us);
    Ok(settings)
}
