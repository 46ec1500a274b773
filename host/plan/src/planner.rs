//! From graphs or a scenario to a plan.

use std::sync::Arc;
use std::time::Duration;

use cuda_graphs::Runtime;
use cudart_model::Profile;

use crate::Error;
use crate::analysis::analyse;
use crate::findings;
use crate::graph::{Freed, Graph, Kind};
use crate::layout::{Effort, Layout, Layouts, Source};
use crate::replay::{Replayed, SpinKernel, Stage};
use crate::result::{Gpu, Plan, SCHEMA_VERSION, Schedule, VerifiedOn};
use crate::scenario::{Instance, Scenario};
use crate::schedule::{self, ByRule};
use crate::schedules;
use crate::together::{self, Together};

/// The most nodes of a schedule's graphs that are built on the simulated runtime; larger
/// ones are planned by rule.
const MOST_SIMULATED: usize = 50_000;

/// How often each graph is launched in one stream: the second launch shows what the first
/// one leaves to it.
const LAUNCHES: usize = 2;

/// What computing the addresses of a changed graph may take: a few seconds.
const CHANGED_EFFORT: u64 = 30_000_000;

/// Said where a scenario has steps that the simulated runtime cannot do.
const STEPS_LEFT_OUT: &str = "the steps of the scenario are not planned, nor verified: the \
                              simulated runtime cannot build child graphs with memory nodes";

/// Said where a scenario has steps with a graph that can never be launched.
const STEPS_REFUSED: &str = "the steps of the scenario are not planned, since this graph can \
                             never be launched";

/// What to plan of graphs without a schedule of their own.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// So many concurrent copies of each graph are planned, one per stream; 1 for none.
    pub streams: usize,
    /// How long graphs that are to overlap spin in a verification; without one as long
    /// as their number needs.
    pub spin: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: 2,
            spin: None,
        }
    }
}

/// Why these graphs are not to be run on the simulated runtime, if so.
fn not_simulated(graphs: &[(&Arc<Graph>, &Layout)], copies: usize) -> Option<&'static str> {
    let nodes: usize = graphs.iter().map(|(graph, _)| graph.nodes.len()).sum();
    let others = |layout: &Layout| layout.source == Source::Dump && layout.reserved_bytes.is_none();
    if nodes.saturating_mul(copies) > MOST_SIMULATED {
        Some("too large to build there")
    } else if graphs.iter().any(|(graph, _)| graph.has_child_memory()) {
        Some("child graphs with memory nodes cannot be built there")
    } else if graphs.iter().any(|(_, layout)| others(layout)) {
        Some("it would give other addresses than the dump's")
    } else {
        None
    }
}

/// How long graphs spin that are to overlap.
#[derive(Debug, Clone, Copy)]
enum Spin {
    /// In a plan: longer than anything takes.
    Planned,
    /// In a verification: what was requested, else what the number of launches needs.
    Verified(Option<Duration>),
}

impl Spin {
    fn of(self, launches: usize) -> Duration {
        match self {
            Self::Planned => schedules::SIMULATED_SPIN,
            Self::Verified(Some(spin)) => spin,
            Self::Verified(None) => schedules::spin_on_gpu(launches),
        }
    }
}

/// A schedule's scenario as a verification runs it, and what was planned of it.
#[derive(Debug)]
struct Run {
    scenario: Scenario,
    planned: Replayed,
}

/// Makes a plan.
#[derive(Debug)]
pub struct Planner<'k> {
    gpu: Profile,
    spin: SpinKernel<'k>,
    options: Options,
    plan: Plan,
    /// One per schedule; `None` for those planned by rule.
    runs: Vec<Option<Run>>,
}

impl<'k> Planner<'k> {
    /// Nothing planned yet, for this GPU. The kernel is launched where a scenario is
    /// replayed.
    #[must_use]
    pub fn new(gpu: Profile, spin: SpinKernel<'k>, options: Options) -> Self {
        let plan = Plan {
            schema_version: SCHEMA_VERSION,
            tool: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            gpu: Gpu {
                name: gpu.device_name.clone(),
                granularity_bytes: gpu.block_bytes(),
                address_alignment_bytes: gpu.granularity().step_bytes(),
                total_bytes: gpu.total_bytes(),
            },
            graphs: Vec::new(),
            findings: Vec::new(),
            schedules: Vec::new(),
            verified_on: None,
        };
        Self {
            gpu,
            spin,
            options,
            plan,
            runs: Vec::new(),
        }
    }

    /// What was planned, and with [`verify`](Self::verify) measured.
    #[must_use]
    pub fn finish(self) -> Plan {
        self.plan
    }

    /// Every graph by itself; those that can be launched come back with their layouts.
    fn analyse(&mut self, graphs: &[Arc<Graph>]) -> Vec<(Arc<Graph>, Layout)> {
        let together = Together::new(graphs);
        let frees_known = |freed: Freed| match freed {
            Freed::AtAddress(address) => together.leaves(address),
            _ => true,
        };
        let mut launchable = Vec::new();
        for graph in graphs {
            let (plan, layout) = analyse(graph, &self.gpu, &frees_known);
            self.plan.graphs.push(plan);
            if let Some(layout) = layout {
                launchable.push((Arc::clone(graph), layout));
            }
        }
        launchable
    }

    /// Plans graphs: each by itself, each in the usual schedules, all of them together.
    ///
    /// # Errors
    ///
    /// A GPU on which the simulated runtime can run nothing.
    pub fn graphs(&mut self, graphs: &[Arc<Graph>]) -> Result<(), Error> {
        let launchable = self.analyse(graphs);
        let with_memory: Vec<&(Arc<Graph>, Layout)> = launchable
            .iter()
            .filter(|(_, layout)| !layout.allocations.is_empty())
            .collect();
        let streams = self.options.streams;
        for (graph, layout) in &with_memory {
            let rule = self.by_rule(&[(graph, layout)]);
            self.schedule(
                not_simulated(&[(graph, layout)], 1),
                |_| schedules::one_stream(graph, LAUNCHES),
                || rule.one_stream(LAUNCHES),
            )?;
            if streams > 1 {
                self.schedule(
                    not_simulated(&[(graph, layout)], streams),
                    |spin| schedules::at_once(graph, streams, spin.of(streams)),
                    || rule.at_once(streams),
                )?;
            }
        }
        self.in_turn(&launchable)?;
        if with_memory.len() > 1 {
            let pairs: Vec<(&Arc<Graph>, &Layout)> = with_memory
                .iter()
                .map(|(graph, layout)| (graph, layout))
                .collect();
            let all: Vec<Arc<Graph>> = pairs.iter().map(|(graph, _)| Arc::clone(graph)).collect();
            let rule = self.by_rule(&pairs);
            let because = not_simulated(&pairs, 1);
            self.schedule(
                because,
                |_| schedules::all_in_one_stream(&all),
                || Some(rule.all_in_one_stream()),
            )?;
            self.small_outputs(&pairs)?;
            self.schedule(
                because,
                |spin| schedules::all_at_once(&all, spin.of(all.len())),
                || Some(rule.all_at_once()),
            )?;
        }
        Ok(())
    }

    /// Graphs of which one frees what another allocates are launched in turn (R14).
    fn in_turn(&mut self, launchable: &[(Arc<Graph>, Layout)]) -> Result<(), Error> {
        let graphs: Vec<Arc<Graph>> = launchable
            .iter()
            .map(|(graph, _)| Arc::clone(graph))
            .collect();
        for group in Together::new(&graphs).groups(graphs.len()) {
            let names: Vec<&str> = group.iter().map(|&one| graphs[one].name.as_str()).collect();
            let note = format!(
                "{} belong together: what one leaves allocated another frees (R14)",
                names.join(" and ")
            );
            for plan in &mut self.plan.graphs {
                if names.contains(&plan.name.as_str()) {
                    plan.notes.push(note.clone());
                }
            }
            let pairs: Vec<(&Arc<Graph>, &Layout)> = group
                .iter()
                .map(|&number| (&launchable[number].0, &launchable[number].1))
                .collect();
            let graphs: Vec<Arc<Graph>> =
                pairs.iter().map(|(graph, _)| Arc::clone(graph)).collect();
            // The rules R35 and R36 do not say what a free in another graph gives back.
            if not_simulated(&pairs, 1).is_none() {
                self.schedule(None, |_| schedules::in_turn(&graphs), || None)?;
            }
        }
        Ok(())
    }

    /// What small allocations cost that several of these graphs leave allocated: of the
    /// schedule of all graphs in one stream, which was planned last.
    fn small_outputs(&mut self, graphs: &[(&Arc<Graph>, &Layout)]) -> Result<(), Error> {
        let Some(without) = together::without_outputs(graphs) else {
            return Ok(());
        };
        let Some(before) = self.plan.schedules.last().map(|one| one.footprint_bytes) else {
            return Ok(());
        };
        let after = if not_simulated(graphs, 1).is_none() {
            let scenario = schedules::all_in_one_stream(&without.graphs);
            schedule::simulated(&scenario, &self.gpu, self.spin)?
                .0
                .footprint_bytes
        } else {
            let layouts = without.graphs.iter().map(|graph| {
                let effort = Effort::steps(CHANGED_EFFORT);
                Layouts::of(graph, self.gpu.granularity(), effort).ok()
            });
            let Some(layouts) = layouts.collect::<Option<Vec<_>>>() else {
                return Ok(());
            };
            let computed = layouts.iter().map(|layouts| &layouts.computed);
            let pairs: Vec<_> = without.graphs.iter().zip(computed).collect();
            self.by_rule(&pairs).all_in_one_stream().footprint_bytes
        };
        let finding = together::small_outputs(without, self.gpu.block_bytes(), before, after);
        self.plan.findings.extend(finding);
        Ok(())
    }

    /// Plans graphs, each by itself and all of them in a schedule that is written as
    /// [`schedules::NOTATION`] says.
    ///
    /// # Errors
    ///
    /// A word that is not part of a schedule; a GPU on which the simulated runtime can run
    /// nothing.
    pub fn written(&mut self, graphs: &[Arc<Graph>], text: &str) -> Result<(), Error> {
        let mut scenario = schedules::written(text, schedules::instances(graphs))?;
        let others = |graph: &Arc<Graph>| {
            let layouts = Layouts::of(graph, self.gpu.granularity(), Effort::steps(CHANGED_EFFORT));
            layouts.is_ok_and(|one| {
                one.dumped
                    .is_some_and(|dumped| dumped.reserved_bytes.is_none())
            })
        };
        if graphs.iter().any(others) {
            scenario.about += "; simulated with computed addresses, which are not the dump's";
        }
        self.scenario(scenario)
    }

    /// Plans a scenario: each of its graphs by itself, and its schedule.
    ///
    /// # Errors
    ///
    /// A GPU on which the simulated runtime can run nothing.
    pub fn scenario(&mut self, mut scenario: Scenario) -> Result<(), Error> {
        if scenario.name.is_empty() {
            "schedule".clone_into(&mut scenario.name);
        }
        self.analyse(&scenario.graphs());
        self.freed_by_owner_and_others(&scenario);
        if !scenario.steps.is_empty() {
            if let Some(plan) = self
                .plan
                .graphs
                .iter_mut()
                .find(|plan| plan.problem.is_some())
            {
                plan.notes.push(STEPS_REFUSED.to_owned());
                return Ok(());
            }
            let mut graphs = scenario.instances.iter().map(|instance| &instance.graph);
            if let Some(graph) = graphs.find(|graph| graph.has_child_memory()) {
                // The graphs by themselves are planned by rule.
                let mut plans = self.plan.graphs.iter_mut();
                if let Some(plan) = plans.find(|plan| plan.name == graph.name) {
                    plan.notes.push(STEPS_LEFT_OUT.to_owned());
                }
                return Ok(());
            }
            let (schedule, planned) = schedule::simulated(&scenario, &self.gpu, self.spin)?;
            self.plan.schedules.push(schedule);
            self.runs.push(Some(Run { scenario, planned }));
        }
        Ok(())
    }

    /// Free nodes of other graphs for what its own graph frees: they cannot be added (R15).
    fn freed_by_owner_and_others(&mut self, scenario: &Scenario) {
        for instance in &scenario.instances {
            for node in &instance.graph.nodes {
                let Kind::Free(Freed::Elsewhere(place)) = node.kind else {
                    continue;
                };
                let name = instance.graph.elsewhere(place);
                let Some((owner, allocation)) = scenario.find_allocation(name) else {
                    continue;
                };
                if scenario.instances[owner].graph.freed_by()[allocation].is_none() {
                    continue;
                }
                let finding = findings::freed_by_owner_too(&node.name.to_string(), name);
                let mut plans = self.plan.graphs.iter_mut();
                if let Some(plan) = plans.find(|plan| plan.name == instance.graph.name)
                    && !plan.findings.contains(&finding)
                {
                    plan.findings.push(finding);
                    findings::sort(&mut plan.findings);
                }
            }
        }
    }

    /// Plans a schedule on the simulated runtime, unless there is a reason not to.
    fn schedule(
        &mut self,
        by_rule_because: Option<&'static str>,
        scenario: impl Fn(Spin) -> Scenario,
        by_rule: impl FnOnce() -> Option<Schedule>,
    ) -> Result<(), Error> {
        if let Some(because) = by_rule_because {
            let simulated = scenario(Spin::Planned);
            if simulated.devices().len() > 1 {
                // The rules are for one GPU.
                let note = format!("{} is not planned: {because}", simulated.name);
                for plan in &mut self.plan.graphs {
                    let is_in = |one: &Instance| one.graph.name == plan.name;
                    if simulated.instances.iter().any(is_in) {
                        plan.notes.push(note.clone());
                    }
                }
                return Ok(());
            }
            if let Some(schedule) = by_rule() {
                self.plan.schedules.push(Schedule {
                    by_rule_because,
                    ..schedule
                });
                self.runs.push(None);
            }
            return Ok(());
        }
        let (schedule, planned) =
            schedule::simulated(&scenario(Spin::Planned), &self.gpu, self.spin)?;
        self.plan.schedules.push(schedule);
        let scenario = scenario(Spin::Verified(self.options.spin));
        self.runs.push(Some(Run { scenario, planned }));
        Ok(())
    }

    fn by_rule<'l>(&self, graphs: &[(&'l Arc<Graph>, &'l Layout)]) -> ByRule<'l> {
        let graphs = graphs
            .iter()
            .map(|(graph, layout)| (graph.name.as_str(), *layout, graph.auto_free));
        ByRule {
            total_bytes: self.gpu.total_bytes(),
            graphs: graphs.collect(),
        }
    }

    /// Runs every schedule that was planned on the simulated runtime, and notes what was
    /// measured beside what was planned.
    ///
    /// # Errors
    ///
    /// A CUDA call that fails though no schedule makes it fail.
    pub fn verify(&mut self, stage: &Stage<'_>) -> Result<(), Error> {
        let available = stage.runtime.device_count()?;
        for (schedule, run) in self.plan.schedules.iter_mut().zip(&self.runs) {
            match run {
                Some(Run { scenario, .. }) if too_many_devices(scenario, available) => {
                    schedule.not_compared = Some("it needs more GPUs than there are");
                }
                Some(Run { scenario, planned }) => {
                    schedule::verify(schedule, planned, scenario, stage)?;
                }
                None => schedule.not_compared = schedule.by_rule_because,
            }
        }
        let device = stage.device.info()?.name;
        self.plan.verified_on = Some(verified_on(stage.runtime, device));
        Ok(())
    }
}

/// Whether a scenario of several GPUs needs one that is not there.
fn too_many_devices(scenario: &Scenario, available: i32) -> bool {
    let devices = scenario.devices();
    devices.len() > 1
        && devices
            .iter()
            .any(|&ordinal| i32::from(ordinal) >= available)
}

fn verified_on(runtime: &Runtime, device: String) -> VerifiedOn {
    VerifiedOn {
        device,
        runtime_version: runtime.runtime_version().map(|version| version.to_string()),
        driver_version: runtime.driver_version().map(|version| version.to_string()),
        simulation: runtime.model_description(),
    }
}
