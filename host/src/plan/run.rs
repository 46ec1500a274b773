//! From the arguments of `plan` to its result.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cudart_model::Profile;
use safe_io::Outputs;

use super::analysis::analyse;
use super::args::{PlanArgs, PlanFormat};
use super::description::{Freed, Graph};
use super::forecast::{self, Overlap};
use super::input::{self, Input};
use super::layout::{Layout, Source};
use super::play::{Played, Stage};
use super::programme::{self, ByRule};
use super::result::{Machine, Plan, Programme, SCHEMA_VERSION, VerifiedOn};
use super::scenario::{self, Scenario};
use super::text;
use crate::backend;
use crate::exit::{self, Stop};
use crate::kernel::ptx::KernelSource;
use crate::output;
use crate::report::plan_page;
use crate::results::Verdict;
use cuda_graphs::{Device, Runtime};

/// The most nodes of a programme's graphs that are built on the model; larger ones
/// are planned by rule.
const MOST_ON_MODEL: usize = 50_000;

/// Said where a scenario has steps that the model cannot do.
const PROGRAMME_LEFT_OUT: &str = "the steps of the scenario are not planned, nor verified: the \
                                  model cannot build child graphs with memory nodes";

/// Plans what the arguments name.
///
/// # Errors
///
/// Files that cannot be read, an output that cannot be written, with `--verify` a
/// machine that cannot run it.
pub fn run(args: &PlanArgs) -> Result<ExitCode, Stop> {
    let machine = machine(args)?;
    let input = input::read(&args.files, args.recompute)?;
    // Opened before anything runs, so that a bad path fails early.
    let outputs = Outputs::new(args.files.iter().cloned().chain(args.on.files_read()));
    let mut out = outputs.open(&args.output).map(output::styled)?;
    let report = args.report.as_deref();
    let report = report
        .map(|path| output::page(&outputs, path))
        .transpose()?;
    if args.dump_scenario {
        let graphs = match input {
            Input::Graphs(graphs) => graphs,
            Input::Scenario(scenario) => distinct(&scenario),
        };
        scenario::write(&graphs, &mut out)?;
        output::commit(outputs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut planner = Planner::new(args, machine);
    match input {
        Input::Graphs(graphs) => planner.graphs(&graphs)?,
        Input::Scenario(scenario) => planner.scenario(scenario)?,
    }
    if args.verify {
        planner.verify()?;
    }
    let plan = planner.plan;
    write(&plan, args, &mut out)?;
    if let Some(mut file) = report {
        plan_page::write(&plan, &mut file)?;
    }
    output::commit(outputs)?;
    Ok(ExitCode::from(code(&plan)))
}

fn write(plan: &Plan, args: &PlanArgs, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        PlanFormat::Text => text::write(plan, args.rows, out)?,
        PlanFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, plan)?;
            writeln!(out)?;
        }
    }
    out.flush()
}

/// The machine to plan for: the H200 unless another is named.
fn machine(args: &PlanArgs) -> Result<Profile, Stop> {
    match &args.on.model_profile {
        None => Ok(Profile::default()),
        Some(name) => cudart_model::profile_named(name).map_err(|problem| {
            Stop::usage(
                format!("--model-profile: {problem}"),
                "name a built-in profile, or give a TOML file like one of them",
            )
        }),
    }
}

fn code(plan: &Plan) -> u8 {
    let verifications = plan
        .programmes
        .iter()
        .filter_map(|programme| programme.verification.as_ref());
    let verdict = Verdict::worst(verifications.map(|verification| verification.verdict));
    let impossible = plan.graphs.iter().any(|graph| graph.problem.is_some());
    match verdict {
        Verdict::Fail => exit::FAIL,
        _ if impossible => exit::FAIL,
        Verdict::Inconclusive => exit::INCONCLUSIVE,
        Verdict::Pass => exit::PASS,
    }
}

/// The graphs of a scenario, each once however many are made of it.
fn distinct(scenario: &Scenario) -> Vec<Arc<Graph>> {
    let mut seen = BTreeSet::new();
    let graphs = scenario.instances.iter().map(|instance| &instance.graph);
    graphs
        .filter(|graph| seen.insert(Arc::as_ptr(graph)))
        .map(Arc::clone)
        .collect()
}

/// Why these graphs are not to be run on the model, if so.
fn not_on_model(graphs: &[(&Arc<Graph>, &Layout)], copies: usize) -> Option<&'static str> {
    let nodes: usize = graphs.iter().map(|(graph, _)| graph.nodes.len()).sum();
    let others = |layout: &Layout| layout.source == Source::Dump && layout.reserved_bytes.is_none();
    if nodes.saturating_mul(copies) > MOST_ON_MODEL {
        Some("too large to build there")
    } else if graphs.iter().any(|(graph, _)| graph.has_child_memory()) {
        Some("child graphs with memory nodes cannot be built there")
    } else if graphs.iter().any(|(_, layout)| others(layout)) {
        Some("it would give other addresses than the dump's")
    } else {
        None
    }
}

/// How long graphs run that are to overlap.
#[derive(Debug, Clone, Copy)]
enum Hold {
    /// In a plan: longer than anything takes.
    Planned,
    /// On a GPU: what the user asks for, else what the number of launches needs.
    Run(Option<Duration>),
}

impl Hold {
    fn of(self, launches: usize) -> Overlap {
        match self {
            Self::Planned => Overlap::ON_MODEL,
            Self::Run(Some(hold)) => Overlap { hold },
            Self::Run(None) => Overlap::on_gpu(launches),
        }
    }
}

struct Planner<'a> {
    args: &'a PlanArgs,
    machine: Profile,
    plan: Plan,
    /// How each programme is run to be verified, and what it came to on the model;
    /// `None` for those planned by rule.
    runs: Vec<Option<(Scenario, Played)>>,
}

impl<'a> Planner<'a> {
    fn new(args: &'a PlanArgs, machine: Profile) -> Self {
        let plan = Plan {
            schema_version: SCHEMA_VERSION,
            tool: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            machine: Machine {
                device: machine.device_name.clone(),
                block_bytes: machine.block_bytes(),
                address_step_bytes: machine.granularity().step_bytes(),
                total_bytes: machine.total_bytes(),
            },
            graphs: Vec::new(),
            programmes: Vec::new(),
            verified_on: None,
        };
        Self {
            args,
            machine,
            plan,
            runs: Vec::new(),
        }
    }

    /// Every graph by itself; those that can be launched come back with their layouts.
    fn analyse(&mut self, graphs: &[Arc<Graph>]) -> Vec<(Arc<Graph>, Layout)> {
        let unfreed = unfreed_addresses(graphs);
        let frees_known = |freed: Freed| match freed {
            Freed::AtAddress(address) => unfreed.contains(&address),
            _ => true,
        };
        let mut launchable = Vec::new();
        for graph in graphs {
            let (plan, layout) = analyse(graph, &self.machine, &frees_known);
            self.plan.graphs.push(plan);
            if let Some(layout) = layout {
                launchable.push((Arc::clone(graph), layout));
            }
        }
        launchable
    }

    fn graphs(&mut self, graphs: &[Arc<Graph>]) -> Result<(), Stop> {
        let launchable = self.analyse(graphs);
        let with_memory: Vec<&(Arc<Graph>, Layout)> = launchable
            .iter()
            .filter(|(_, layout)| !layout.allocations.is_empty())
            .collect();
        for (graph, layout) in &with_memory {
            let rule = self.by_rule(&[(graph, layout)]);
            let launches = self.args.launches;
            self.programme(
                not_on_model(&[(graph, layout)], 1),
                |_| forecast::one_stream(graph, launches),
                || rule.one_stream(launches),
            )?;
            let streams = self.args.streams;
            if streams > 1 {
                self.programme(
                    not_on_model(&[(graph, layout)], streams),
                    |hold| forecast::at_once(graph, streams, hold.of(streams)),
                    || rule.at_once(streams),
                )?;
            }
        }
        if with_memory.len() > 1 {
            let pairs: Vec<(&Arc<Graph>, &Layout)> = with_memory
                .iter()
                .map(|(graph, layout)| (graph, layout))
                .collect();
            let all: Vec<Arc<Graph>> = pairs.iter().map(|(graph, _)| Arc::clone(graph)).collect();
            let rule = self.by_rule(&pairs);
            let because = not_on_model(&pairs, 1);
            self.programme(
                because,
                |_| forecast::all_in_one_stream(&all),
                || Some(rule.all_in_one_stream()),
            )?;
            self.programme(
                because,
                |hold| forecast::all_at_once(&all, hold.of(all.len())),
                || Some(rule.all_at_once()),
            )?;
        }
        Ok(())
    }

    fn scenario(&mut self, mut scenario: Scenario) -> Result<(), Stop> {
        if scenario.name.is_empty() {
            "programme".clone_into(&mut scenario.name);
        }
        self.analyse(&distinct(&scenario));
        if !scenario.steps.is_empty() {
            let mut graphs = scenario.instances.iter().map(|instance| &instance.graph);
            if let Some(graph) = graphs.find(|graph| graph.has_child_memory()) {
                // The graphs by themselves are planned by rule.
                let mut plans = self.plan.graphs.iter_mut();
                if let Some(plan) = plans.find(|plan| plan.name == graph.name) {
                    plan.notes.push(PROGRAMME_LEFT_OUT.to_owned());
                }
                return Ok(());
            }
            let (programme, played) = programme::on_model(&scenario, &self.machine)?;
            self.plan.programmes.push(programme);
            self.runs.push(Some((scenario, played)));
        }
        Ok(())
    }

    /// Plans a programme on the model, unless there is a reason not to.
    fn programme(
        &mut self,
        by_rule_because: Option<&'static str>,
        scenario: impl Fn(Hold) -> Scenario,
        by_rule: impl FnOnce() -> Option<Programme>,
    ) -> Result<(), Stop> {
        if by_rule_because.is_some() {
            if let Some(programme) = by_rule() {
                self.plan.programmes.push(Programme {
                    by_rule_because,
                    ..programme
                });
                self.runs.push(None);
            }
            return Ok(());
        }
        let planned = scenario(Hold::Planned);
        let (programme, played) = programme::on_model(&planned, &self.machine)?;
        self.plan.programmes.push(programme);
        let to_run = if self.args.verify {
            scenario(Hold::Run(self.args.spin_time))
        } else {
            planned
        };
        self.runs.push(Some((to_run, played)));
        Ok(())
    }

    fn by_rule<'l>(&self, graphs: &[(&'l Arc<Graph>, &'l Layout)]) -> ByRule<'l> {
        let graphs = graphs
            .iter()
            .map(|(graph, layout)| (graph.name.as_str(), *layout, graph.auto_free));
        ByRule {
            total_bytes: self.machine.total_bytes(),
            graphs: graphs.collect(),
        }
    }

    /// Runs every programme that was planned on the model.
    fn verify(&mut self) -> Result<(), Stop> {
        let source = KernelSource::get(self.args.on.ptx.as_deref())?;
        let chosen = backend::choose(&self.args.on)?;
        if let Some(why) = chosen.why {
            return Err(Stop::waived(
                format!("there is no GPU to verify on: {why}"),
                "run on a machine with an NVIDIA GPU, or leave --verify out; --backend model \
                 verifies on the model",
            ));
        }
        let runtime = &chosen.runtime;
        let device = Device::new(runtime, chosen.devices.first().copied().unwrap_or(0));
        let info = device.info()?;
        if let Some(driver) = runtime.driver_version() {
            let fits = source.header.check(driver.0, info.compute_capability);
            fits.map_err(|refusal| {
                Stop::error(format!("{}: {refusal}", source.origin), refusal.remedy())
            })?;
        }
        device.make_current()?;
        let route = self.args.on.kernel_route.into();
        let kernel = source
            .load(runtime, info.compute_capability, route)
            .map_err(Stop::from)?;
        let stage = Stage {
            runtime,
            device,
            kernel: &kernel,
        };
        for (programme, run) in self.plan.programmes.iter_mut().zip(&self.runs) {
            if let Some((scenario, planned)) = run {
                programme::verify(programme, planned, scenario, &stage)?;
            }
        }
        self.plan.verified_on = Some(verified_on(runtime, info.name));
        Ok(())
    }
}

fn verified_on(runtime: &Runtime, device: String) -> VerifiedOn {
    VerifiedOn {
        device,
        runtime_version: runtime.runtime_version().map(|version| version.to_string()),
        driver_version: runtime.driver_version().map(|version| version.to_string()),
        model: runtime.model_description(),
    }
}

/// Addresses at which some graph leaves an allocation that outlives its launch.
fn unfreed_addresses(graphs: &[Arc<Graph>]) -> BTreeSet<u64> {
    let mut addresses = BTreeSet::new();
    for graph in graphs {
        let freed_by = graph.freed_by();
        let unfreed = graph.allocations().filter_map(|(node, _, address)| {
            let freed = freed_by.get(node as usize).copied().flatten();
            address.filter(|_| freed.is_none())
        });
        addresses.extend(unfreed);
    }
    addresses
}
