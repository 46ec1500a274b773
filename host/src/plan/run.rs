//! From the options of `plan` to its output.

use std::io::{self, Write};
use std::process::ExitCode;

use cudart_model::Profile;
use graph_memory_plan::findings::Severity;
use graph_memory_plan::replay::Stage;
use graph_memory_plan::result::{Plan, Verdict};
use graph_memory_plan::{Options, Planner, SpinKernel, scenario, schedules};
use safe_io::Outputs;

use super::input::{self, Input};
use super::text;
use crate::backend;
use crate::cli::exit::{self, Stop};
use crate::cli::output;
use crate::cli::{PlanArgs, PlanFormat};
use crate::kernel::ptx::{KERNEL_NAME, KernelSource};
use crate::report::{json, plan_page};
use cuda_graphs::Device;

/// Plans what the arguments name.
///
/// # Errors
///
/// Files that cannot be read, an output that cannot be written, with `--verify` a
/// machine that cannot run it.
pub fn run(args: &PlanArgs) -> Result<ExitCode, Stop> {
    let gpu = gpu(args)?;
    let input = input::read(&args.files, args.recompute, args.auto_free)?;
    // Opened before anything runs, so that a bad path fails early.
    let outputs = Outputs::new(args.files.iter().cloned().chain(args.on.files_read()));
    let mut out = outputs.open(&args.output).map(output::styled)?;
    let page = args.report.as_deref();
    let page = page.map(|path| output::page(&outputs, path)).transpose()?;
    if args.dump_scenario {
        let graphs = match input {
            Input::Graphs(graphs) => graphs,
            Input::Scenario(scenario) => scenario.graphs(),
        };
        scenario::write(&graphs, &mut out)?;
        output::commit(outputs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(args, gpu, input)?;
    write(&plan, args, &mut out)?;
    if let Some(mut file) = page {
        plan_page::write(&plan, &mut file)?;
    }
    output::commit(outputs)?;
    Ok(ExitCode::from(code(&plan)))
}

fn plan(args: &PlanArgs, gpu: Profile, input: Input) -> Result<Plan, Stop> {
    let options = Options {
        streams: args.streams,
        spin: args.spin_time,
    };
    let embedded = KernelSource::get(None)?;
    let spin = SpinKernel {
        ptx: &embedded.ptx,
        name: KERNEL_NAME,
    };
    let mut planner = Planner::new(gpu, spin, options);
    match input {
        Input::Graphs(graphs) => match &args.schedule {
            None => planner.graphs(&graphs)?,
            Some(text) => planner.written(&graphs, text)?,
        },
        Input::Scenario(scenario) => {
            let scenario = match &args.schedule {
                None => scenario,
                Some(text) => schedules::written(text, scenario.instances)
                    .map_err(graph_memory_plan::Error::from)?,
            };
            planner.scenario(scenario)?;
        }
    }
    if args.verify {
        verify(&mut planner, args)?;
    }
    let mut plan = planner.finish();
    plan.tool = format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    Ok(plan)
}

fn verify(planner: &mut Planner<'_>, args: &PlanArgs) -> Result<(), Stop> {
    let source = KernelSource::get(args.on.ptx.as_deref())?;
    let chosen = backend::choose(&args.on)?;
    if let Some(why) = chosen.why {
        return Err(Stop::waived(
            format!("there is no GPU to verify on: {why}"),
            "run on a machine with an NVIDIA GPU, or leave --verify out; --backend simulated \
             verifies on the simulated GPU",
        ));
    }
    let device = Device::new(
        &chosen.runtime,
        chosen.devices.first().copied().unwrap_or(0),
    );
    let kernel = source.load_on(&chosen.runtime, device, args.on.kernel_route.into())?;
    let stage = Stage {
        runtime: &chosen.runtime,
        device,
        kernel: &kernel,
    };
    Ok(planner.verify(&stage)?)
}

impl From<graph_memory_plan::Error> for Stop {
    fn from(error: graph_memory_plan::Error) -> Self {
        match error {
            graph_memory_plan::Error::Cuda(error) => error.into(),
            graph_memory_plan::Error::Kernel(error) => error.into(),
            graph_memory_plan::Error::Schedule(error) => Self::usage(
                format!("--schedule: {error}"),
                format!("a schedule has {}", graph_memory_plan::schedules::NOTATION),
            ),
        }
    }
}

fn write(plan: &Plan, args: &PlanArgs, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        PlanFormat::Text => text::write(plan, args.rows, out)?,
        PlanFormat::Json => json::write(out, plan)?,
    }
    out.flush()
}

/// The GPU to plan for: the H200 unless another is named.
fn gpu(args: &PlanArgs) -> Result<Profile, Stop> {
    match &args.on.model_profile {
        None => Ok(Profile::default()),
        Some(name) => backend::profile_named(name),
    }
}

fn code(plan: &Plan) -> u8 {
    let verifications = plan
        .schedules
        .iter()
        .filter_map(|schedule| schedule.verification.as_ref());
    let verdict = Verdict::worst(verifications.map(|verification| verification.verdict));
    let impossible = plan.graphs.iter().any(|graph| {
        let mut findings = graph.findings.iter();
        graph.problem.is_some() || findings.any(|finding| finding.severity == Severity::Error)
    });
    match verdict {
        Verdict::Fail => exit::FAIL,
        _ if impossible => exit::FAIL,
        Verdict::Inconclusive => exit::INCONCLUSIVE,
        Verdict::Pass if plan.verified_on.is_some() && plan.compared_schedules() == 0 => {
            exit::INCONCLUSIVE
        }
        Verdict::Pass => exit::PASS,
    }
}
