//! A run from arguments to result: chooses a backend, then loads the kernel and runs
//! the experiments on each device, and reports each result as it is made.

mod interrupt;
mod progress;
mod repeat;

use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use safe_io::Outputs;

use crate::backend::{self, Chosen};
use crate::cli::exit::{self, Stop, StopKind};
use crate::cli::{DeviceChoice, RunArgs};
use crate::experiments::{Choices, Experiment, Lab, OF_THE_SAMPLE};
use crate::kernel::ptx::{KERNEL_NAME, KernelSource};
use crate::report;
use crate::results::{
    Backend, BackendKind, DeviceResult, ExperimentResult, KernelInfo, RunResult, SCHEMA_VERSION,
    Settings, Stopped, Tool, Verdict,
};
use cuda_graphs::{Device, Runtime, SpinKernel};
use interrupt::Interrupt;

/// Runs experiments and reports their results.
///
/// # Errors
///
/// [`Stop`] before the first experiment: wrong usage, or a machine that cannot run them.
/// An error in an experiment is part of the result.
pub fn experiments(args: &RunArgs) -> Result<ExitCode, Stop> {
    let source = KernelSource::get(args.on.ptx.as_deref())?;
    let Chosen {
        runtime,
        devices,
        why,
    } = backend::choose(&args.on)?;
    require_consent(args, is_gpu(&runtime))?;
    let outputs = Outputs::new(args.on.files_read());
    if let Some(library) = runtime.path() {
        outputs.add_input(library);
    }
    let reporter = report::open(&args.output, outputs)?;
    let choices = Choices {
        graphs: args.graphs,
        allocation_bytes: args.bytes.as_u64(),
        fixed_spin_time: args.spin_time,
        leave_bytes: args.leave.as_u64(),
    };
    let mut run = Run {
        args,
        choices,
        runtime: &runtime,
        source: &source,
        interrupt: Interrupt::on_ctrl_c(),
        result: empty_result(args, choices, &runtime, &source, why),
        reporter,
    };
    run.all(&devices)?;
    Ok(exit::code_of(&run.result))
}

/// A run in progress.
struct Run<'a> {
    args: &'a RunArgs,
    choices: Choices,
    runtime: &'a Runtime,
    source: &'a KernelSource,
    interrupt: Interrupt,
    result: RunResult,
    reporter: report::Reports,
}

impl<'a> Run<'a> {
    fn all(&mut self, devices: &[i32]) -> Result<(), Stop> {
        let start = Instant::now();
        self.reporter.begin(&self.result)?;
        for &ordinal in devices {
            self.somebody_reads()?;
            if self.interrupt.requested() {
                break;
            }
            self.result.devices.push(DeviceResult::new(ordinal));
            self.device(Device::new(self.runtime, ordinal))?;
        }
        self.result.duration_ms = Some(start.elapsed().as_secs_f64() * 1e3);
        self.result.interrupted = self.interrupt.requested();
        self.conclude();
        self.reporter.end(&self.result)?;
        self.waived_everywhere()
    }

    /// Runs everything on one device, and records an error of closing its handles.
    fn device(&mut self, device: Device<'a>) -> Result<(), Stop> {
        self.section(device)?;
        if let Some(error) = self.runtime.first_error(None) {
            // The experiments have finished, and their results are kept.
            self.note_stop(error.into());
        }
        Ok(())
    }

    /// Runs everything on one device, from the first query to the last experiment.
    fn section(&mut self, device: Device<'a>) -> Result<(), Stop> {
        let (kernel, clock_rate_khz) = match self.kernel(device) {
            Ok(loaded) => loaded,
            Err(stop) => return self.stopped(stop),
        };
        let lab = match Lab::new(self.runtime, device, &kernel, clock_rate_khz, self.choices) {
            Ok(lab) => lab,
            Err(error) => return self.stopped(error.into()),
        };
        let route = kernel.loaded_by();
        self.note(|section| {
            section.kernel_route = Some(route);
            section.launch_footprint_bytes = Some(lab.launch_footprint_bytes());
        });
        self.reporter.device(&self.result)?;

        let chosen = self.chosen();
        let wanted = chosen.len();
        if self.args.repeat == 1 {
            for experiment in chosen {
                self.somebody_reads()?;
                if self.interrupt.requested() {
                    break;
                }
                self.report_experiment(lab.run(experiment))?;
            }
        } else {
            let cycles = repeat::cycles(&lab, &chosen, self.args.repeat, &self.interrupt);
            for experiment in cycles.kept {
                self.report_experiment(experiment)?;
            }
            self.note(|section| section.repeat = Some(cycles.repeat));
        }
        self.end_section(wanted)
    }

    /// Ends the run where what is left of it would be shown to nobody.
    fn somebody_reads(&self) -> Result<(), Stop> {
        match self.reporter.nobody_reads() {
            true => Err(Stop::closed_pipe()),
            false => Ok(()),
        }
    }

    fn report_experiment(&mut self, experiment: ExperimentResult) -> Result<(), Stop> {
        self.note(|section| section.experiments.push(experiment));
        Ok(self.reporter.experiment(&self.result)?)
    }

    fn end_section(&mut self, wanted: usize) -> Result<(), Stop> {
        self.note(|section| {
            let experiments = section.experiments.iter().map(|e| e.verdict);
            let trends = section.repeat.iter().map(|repeat| repeat.verdict);
            // Experiments that were not run have shown nothing.
            let all_ran = match section.experiments.len() == wanted {
                true => Verdict::Pass,
                false => Verdict::Inconclusive,
            };
            section.verdict = Verdict::worst(experiments.chain(trends).chain([all_ran]));
        });
        Ok(self.reporter.device_end(&self.result)?)
    }

    /// Handles a reason why a device cannot run the experiments: with several devices it
    /// is part of the result; with one device there is no result.
    fn stopped(&mut self, stop: Stop) -> Result<(), Stop> {
        if self.args.on.device != Some(DeviceChoice::All) {
            return Err(stop);
        }
        self.note_stop(stop);
        self.reporter.device(&self.result)?;
        Ok(self.reporter.device_end(&self.result)?)
    }

    fn note_stop(&mut self, stop: Stop) {
        let waived = stop.kind == StopKind::Waived;
        self.note(|section| {
            section.stopped = Some(Stopped {
                waived,
                what: stop.what,
                remedy: stop.remedy,
            });
            section.verdict = if waived {
                Verdict::Inconclusive
            } else {
                Verdict::Fail
            };
        });
    }

    /// Makes the device current, if it supports graph memory, and loads the kernel.
    /// Returns the kernel and the device's clock rate.
    fn kernel(&mut self, device: Device<'a>) -> Result<(SpinKernel<'a>, i32), Stop> {
        let info = device.info()?;
        let clock_rate_khz = info.clock_rate_khz;
        self.note(|section| section.device = Some(info));
        backend::needs_memory_pools(self.runtime, device)?;
        let route = self.args.on.kernel_route.into();
        Ok((
            self.source.load_on(self.runtime, device, route)?,
            clock_rate_khz,
        ))
    }

    fn conclude(&mut self) {
        let devices = self.result.devices.iter().map(|device| device.verdict);
        let all_ran = match self.result.devices.is_empty() {
            true => Verdict::Inconclusive,
            false => Verdict::Pass,
        };
        self.result.verdict = Verdict::worst(devices.chain([all_ran]));
    }

    /// If no device can run the experiments, the run is waived, as with one device.
    fn waived_everywhere(&self) -> Result<(), Stop> {
        let devices = &self.result.devices;
        let waived = |device: &DeviceResult| device.stopped.as_ref().is_some_and(|s| s.waived);
        match devices.last().and_then(|device| device.stopped.as_ref()) {
            Some(stopped) if devices.iter().all(waived) => Err(Stop::waived(
                format!(
                    "no device can run the experiments; the last one: {}",
                    stopped.what
                ),
                stopped.remedy.clone(),
            )),
            _ => Ok(()),
        }
    }

    fn chosen(&self) -> Vec<&'static Experiment> {
        if self.args.experiments.is_empty() {
            OF_THE_SAMPLE.iter().collect()
        } else {
            let all = self.args.experiments.iter().copied().flatten();
            let may_fill = may_fill_the_device(self.args, is_gpu(self.runtime));
            all.filter(|experiment| may_fill || !experiment.fills_the_device())
                .collect()
        }
    }

    /// Changes the result of the current device.
    fn note(&mut self, change: impl FnOnce(&mut DeviceResult)) {
        if let Some(section) = self.result.devices.last_mut() {
            change(section);
        }
    }
}

/// Whether an experiment may allocate all free device memory: on a GPU only with
/// `--yes`, on the simulated GPU always.
fn may_fill_the_device(args: &RunArgs, is_gpu: bool) -> bool {
    args.yes || !is_gpu
}

fn is_gpu(runtime: &Runtime) -> bool {
    runtime.model_description().is_none()
}

/// Refuses an experiment that needs `--yes` and was named without it. With `all` such
/// an experiment is only skipped.
fn require_consent(args: &RunArgs, is_gpu: bool) -> Result<(), Stop> {
    if may_fill_the_device(args, is_gpu) {
        return Ok(());
    }
    for chosen in &args.experiments {
        match chosen {
            [one] if one.fills_the_device() => {
                return Err(Stop::usage(
                    format!(
                        "{} allocates all free GPU memory except {} (--leave)",
                        one.name, args.leave
                    ),
                    "add --yes if no other program needs that memory",
                ));
            }
            many => {
                for left_out in many.iter().filter(|one| one.fills_the_device()) {
                    log::warn!(
                        "{} is skipped, because it allocates all free GPU memory; add --yes to run it",
                        left_out.name
                    );
                }
            }
        }
    }
    Ok(())
}

fn empty_result(
    args: &RunArgs,
    choices: Choices,
    runtime: &Runtime,
    source: &KernelSource,
    why: Option<String>,
) -> RunResult {
    let backend = describe(runtime, why);
    let on_model = backend.kind == BackendKind::Model;
    RunResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        backend,
        kernel: KernelInfo {
            name: KERNEL_NAME.to_owned(),
            source: source.origin.clone(),
            ptx_version: source.header.version.to_string(),
            ptx_target: source.header.target.to_string(),
            compiler: source.header.made_by("compiler").map(str::to_owned),
            provenance: source.header.provenance.clone(),
        },
        settings: Settings {
            graphs: choices.graphs,
            allocation_bytes: choices.allocation_bytes,
            fixed_spin_time_ms: choices
                .fixed_spin_time
                .map(|spin_time| spin_time.as_secs_f64() * 1e3),
            repeat: args.repeat,
            model_profile: args.on.model_profile.clone(),
            model_clock: on_model.then(|| backend::model_clock(&args.on)),
        },
        devices: Vec::new(),
        interrupted: false,
        duration_ms: None,
        verdict: Verdict::Pass,
    }
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn consent(arguments: &[&str], is_gpu: bool) -> Result<(), Stop> {
        let program = std::iter::once(&"graph-memory-footprint");
        let cli =
            crate::cli::Cli::try_parse_from(program.chain(arguments)).expect("valid arguments");
        require_consent(&cli.run, is_gpu)
    }

    #[test]
    fn an_experiment_that_allocates_all_gpu_memory_needs_consent() {
        let named = ["--experiment", "out-of-memory"];
        let refused = consent(&named, true).expect_err("consent is required");
        assert_eq!(refused.kind, StopKind::Usage);
        assert!(refused.remedy.contains("--yes"), "{}", refused.remedy);
        assert_eq!(consent(&named, false), Ok(()));
        assert_eq!(consent(&[&named[..], &["--yes"]].concat(), true), Ok(()));
        // With `all` it is skipped, and none of the sample's four needs it.
        assert_eq!(consent(&["--experiment", "all"], true), Ok(()));
        assert_eq!(consent(&[], true), Ok(()));
    }
}
