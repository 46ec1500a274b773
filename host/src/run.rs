//! A run from arguments to result: choose a backend, load the kernel, run the
//! experiments, report each as it ends.

use std::process::ExitCode;

use crate::backend::{self, Chosen};
use crate::cli::Cli;
use crate::cuda::{Device, Kernel, KernelError, Runtime};
use crate::exit::{self, Stop};
use crate::experiments::{Choices, EXPERIMENTS, Experiment, Lab};
use crate::kernel_source::{KERNEL_NAME, KernelSource};
use crate::report;
use crate::results::{
    Backend, BackendKind, KernelInfo, RunResult, SCHEMA_VERSION, Settings, Tool, Verdict,
};

/// Does what the arguments ask for.
///
/// # Errors
///
/// [`Stop`] where there is no result: wrong usage, a machine that cannot run this,
/// or an error before the first experiment. An error in an experiment is part of
/// the result.
pub fn run(cli: &Cli) -> Result<ExitCode, Stop> {
    let source = KernelSource::get(cli.ptx.as_deref())?;
    let mut reporter = report::open(cli)?;
    let Chosen {
        runtime,
        device,
        why,
    } = backend::choose(cli)?;
    let verdict = run_on(
        cli,
        &runtime,
        Device::new(&runtime, device),
        &source,
        why,
        &mut *reporter,
    )?;
    Ok(exit::code_of(verdict))
}

fn run_on(
    cli: &Cli,
    runtime: &Runtime,
    device: Device<'_>,
    source: &KernelSource,
    why: Option<String>,
    reporter: &mut dyn report::Reporter,
) -> Result<Verdict, Stop> {
    let info = device.info()?;
    if let Some(driver) = runtime.driver_version() {
        source
            .header
            .check(driver.0, info.compute_capability)
            .map_err(|refusal| {
                Stop::error(format!("{}: {refusal}", source.origin), refusal.remedy())
            })?;
    }
    device.make_current()?;
    let kernel = Kernel::load(runtime, &source.ptx, KERNEL_NAME, cli.kernel_route.into())
        .map_err(kernel_stop)?;
    let choices = Choices {
        graphs: cli.graphs,
        allocation_bytes: cli.bytes.as_u64(),
        fixed_hold: cli.hold,
    };
    let lab = Lab::new(runtime, device, &kernel, choices)?;

    let mut result = RunResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        backend: describe(runtime, why),
        device: info,
        kernel: KernelInfo {
            name: KERNEL_NAME.to_owned(),
            source: source.origin.clone(),
            ptx_version: source.header.version.to_string(),
            ptx_target: source.header.target.to_string(),
            compiler: source.header.made_by("compiler").map(str::to_owned),
            route: kernel.route().to_string(),
        },
        settings: Settings {
            graphs: choices.graphs,
            allocation_bytes: choices.allocation_bytes,
            fixed_hold_ms: choices.fixed_hold.map(|hold| hold.as_secs_f64() * 1e3),
        },
        unit_bytes: lab.unit_bytes(),
        experiments: Vec::new(),
        verdict: Verdict::Pass,
    };
    let all: Vec<&Experiment> = EXPERIMENTS.iter().collect();
    let chosen = if cli.experiments.is_empty() {
        &all
    } else {
        &cli.experiments
    };
    reporter.begin(&result)?;
    for experiment in chosen {
        let outcome = lab.run(experiment);
        result.verdict = result.verdict.max(outcome.verdict);
        result.experiments.push(outcome);
        reporter.experiment(&result)?;
    }
    reporter.end(&result)?;
    Ok(result.verdict)
}

fn describe(runtime: &Runtime, why: Option<String>) -> Backend {
    let model = runtime.model_description();
    Backend {
        kind: if model.is_some() {
            BackendKind::Model
        } else {
            BackendKind::Cuda
        },
        model,
        why,
        runtime_path: runtime.path().map(|path| path.display().to_string()),
        runtime_found_by: runtime.place().to_string(),
        runtime_version: runtime.runtime_version().map(|version| version.to_string()),
        driver_version: runtime.driver_version().map(|version| version.to_string()),
    }
}

fn kernel_stop(error: KernelError) -> Stop {
    let remedy = match &error {
        KernelError::Cuda { error, .. } => error.advice(),
        KernelError::NoRoute(_) => {
            "use a CUDA runtime of 12.8 or later, or leave --kernel-route out"
        }
        KernelError::Nul(_) => "give a PTX text file",
    };
    Stop::error(format!("the kernel cannot be loaded: {error}"), remedy)
}
