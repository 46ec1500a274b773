//! The recorded graphs, planned: footprints from their addresses, and the recorded
//! launches replayed on the simulated runtime, beside what was measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cudart_model::Profile;
use graph_memory_plan::graph::Graph;
use graph_memory_plan::layout::Layout;
use graph_memory_plan::scenario::{Instance, Scenario, Step};
use graph_memory_plan::{SpinKernel, dot, replay};

use super::result::{
    GraphResult, PlannedDevice, PlannedStep, ProcessResult, RecordedAction, WatchResult,
};
use crate::kernel::ptx::{KERNEL_NAME, KernelSource};

/// The instantiation flag with which a relaunch frees what the launch before it left.
pub(super) const AUTO_FREE: u64 = 1;

/// The most nodes and steps that are replayed for a report.
const MOST_NODES: usize = 50_000;
const MOST_STEPS: usize = 2_000;

/// Adds to a process what planning its graphs says.
pub(super) fn plan(process: &mut ProcessResult, dots: &BTreeMap<String, String>) {
    let granularity = Profile::default().granularity();
    for graph in &mut process.graphs {
        if let Some(described) = described(graph, dots) {
            let layout = Layout::dumped(&described, granularity);
            graph.footprint_bytes = layout.map(|layout| layout.used_bytes());
        }
    }
    let devices: Vec<i32> = process.devices.iter().map(|device| device.device).collect();
    for device in devices {
        let uses_memory =
            |graph: &GraphResult| graph.device == device && !graph.allocations.is_empty();
        if process.graphs.iter().any(uses_memory) {
            let planned = device_planned(process, device, dots);
            process.planned.push(planned);
        }
    }
}

/// A graph in the planner's form; nothing without a dump that can be read.
pub(crate) fn described(graph: &GraphResult, dots: &BTreeMap<String, String>) -> Option<Graph> {
    if graph.allocations.is_empty() {
        return None;
    }
    let name = graph.dot.as_ref()?;
    let mut graphs = dot::read(dots.get(name)?.as_bytes(), name).ok()?;
    // The dump of one graph; its child graphs are part of it.
    let mut found = graphs.pop().filter(|_| graphs.is_empty())?;
    found.name = format!("exec-{}", graph.exec);
    found.auto_free = graph.flags & AUTO_FREE != 0;
    Some(found)
}

fn device_planned(
    process: &ProcessResult,
    device: i32,
    dots: &BTreeMap<String, String>,
) -> PlannedDevice {
    let mut planned = PlannedDevice {
        device,
        steps: Vec::new(),
        assumes_no_overlap: false,
        left_out: Vec::new(),
    };
    let made = Made::of(process, device, dots, &mut planned.left_out);
    planned.assumes_no_overlap = made.scenario.streams > 1;
    let nodes: usize = made
        .scenario
        .instances
        .iter()
        .map(|instance| instance.graph.nodes.len())
        .sum();
    if nodes > MOST_NODES || made.scenario.steps.len() > MOST_STEPS {
        planned.left_out.push(format!(
            "the launches are not planned: {nodes} nodes and {} steps are too many for a report; \
             `plan` takes a dump of each graph",
            made.scenario.steps.len()
        ));
        return planned;
    }
    if made.scenario.instances.is_empty() {
        return planned;
    }
    let Ok(source) = KernelSource::get(None) else {
        return planned;
    };
    let spin = SpinKernel {
        ptx: &source.ptx,
        name: KERNEL_NAME,
    };
    match replay::simulated(&made.scenario, &Profile::default(), spin) {
        Ok(replayed) => {
            planned.steps = made
                .measured
                .iter()
                .filter_map(|&(step, exec, measured_used_bytes)| {
                    Some(PlannedStep {
                        exec,
                        planned_used_bytes: replayed.steps.get(step)?.memory.used_bytes,
                        measured_used_bytes,
                    })
                })
                .collect();
        }
        Err(error) => planned
            .left_out
            .push(format!("the launches are not planned: {error}")),
    }
    planned
}

/// The recorded launches of one device as a scenario.
struct Made {
    scenario: Scenario,
    /// Steps of the scenario that were measured: step, exec, used bytes.
    measured: Vec<(usize, u64, u64)>,
}

impl Made {
    fn of(
        process: &ProcessResult,
        device: i32,
        dots: &BTreeMap<String, String>,
        left_out: &mut Vec<String>,
    ) -> Self {
        let mut made = Self {
            scenario: Scenario {
                name: format!("{}-device-{device}", process.name),
                about: "the recorded launches, in order".to_owned(),
                ..Scenario::default()
            },
            measured: Vec::new(),
        };
        let mut instances: BTreeMap<u64, usize> = BTreeMap::new();
        let mut shared: BTreeMap<(&str, u64), Arc<Graph>> = BTreeMap::new();
        let mut without = 0;
        for graph in process.graphs.iter().filter(|graph| graph.device == device) {
            if graph.allocations.is_empty() || graph.first_launch.is_none() {
                continue;
            }
            let key = (graph.dot.as_deref().unwrap_or(""), graph.flags);
            let found = shared.get(&key).cloned();
            let found = found.or_else(|| described(graph, dots).map(Arc::new));
            let Some(found) = found.filter(|graph| !graph.has_child_memory()) else {
                without += 1;
                continue;
            };
            shared.insert(key, Arc::clone(&found));
            instances.insert(graph.exec, made.scenario.instances.len());
            made.scenario.instances.push(Instance {
                name: format!("exec-{}", graph.exec),
                graph: found,
            });
        }
        if without > 0 {
            left_out.push(format!(
                "{without} graphs with memory nodes are not planned: they have no dump, or child \
                 graphs with memory nodes"
            ));
        }
        made.steps(process, device, &instances);
        made
    }

    fn steps(&mut self, process: &ProcessResult, device: i32, instances: &BTreeMap<u64, usize>) {
        let mut live: BTreeSet<(usize, u32)> = BTreeSet::new();
        let mut last_stream = None;
        for step in process.steps.iter().filter(|step| step.device == device) {
            match step.action {
                RecordedAction::Launch { exec, stream } => {
                    let Some(&instance) = instances.get(&exec) else {
                        continue;
                    };
                    // Whether work on two streams overlapped is not recorded.
                    if last_stream.is_some_and(|last| last != stream) {
                        self.scenario.steps.push(Step::Wait { stream: None });
                    }
                    last_stream = Some(stream);
                    self.scenario.streams = self.scenario.streams.max(stream + 1);
                    let graph = Arc::clone(&self.scenario.instances[instance].graph);
                    let unfreed = graph.unfreed().collect::<Vec<_>>();
                    if !graph.auto_free {
                        // The launch succeeded, so these were freed before it, by a call that
                        // changed nothing and was not recorded.
                        for &node in &unfreed {
                            self.free(&mut live, instance, node);
                        }
                    }
                    self.scenario.steps.push(Step::Launch { instance, stream });
                    live.extend(unfreed.iter().map(|&node| (instance, node)));
                    if let Some(used) = step.used_bytes {
                        self.measured
                            .push((self.scenario.steps.len() - 1, exec, used));
                    }
                }
                RecordedAction::Upload { exec, stream } => {
                    if let Some(&instance) = instances.get(&exec) {
                        self.scenario.streams = self.scenario.streams.max(stream + 1);
                        self.scenario.steps.push(Step::Upload { instance, stream });
                    }
                }
                RecordedAction::Free { address } => {
                    let found = live.iter().copied().find(|&(instance, node)| {
                        let graph = &self.scenario.instances[instance].graph;
                        graph
                            .allocations()
                            .any(|(index, _, at)| index == node && at == Some(address))
                    });
                    if let Some((instance, node)) = found {
                        self.free(&mut live, instance, node);
                    }
                }
                RecordedAction::Trim => self.scenario.steps.push(Step::Trim),
                RecordedAction::Destroy { exec } => {
                    if let Some(&instance) = instances.get(&exec) {
                        self.scenario.steps.push(Step::Destroy { instance });
                    }
                }
            }
        }
    }

    fn free(&mut self, live: &mut BTreeSet<(usize, u32)>, instance: usize, node: u32) {
        if live.remove(&(instance, node)) {
            self.scenario.steps.push(Step::Free {
                instance,
                node,
                stream: None,
            });
        }
    }
}

/// The recorded launches as a scenario for `plan`: of the process and device that
/// launched most graphs with memory nodes.
pub(crate) fn scenario(result: &WatchResult) -> Option<Scenario> {
    let mut made: Vec<Scenario> = Vec::new();
    for process in &result.processes {
        for device in &process.devices {
            let mut left_out = Vec::new();
            let one = Made::of(process, device.device, &result.dots, &mut left_out);
            for line in left_out {
                log::warn!("{line}");
            }
            made.push(one.scenario);
        }
    }
    made.retain(|scenario| !scenario.instances.is_empty());
    made.into_iter().max_by_key(|scenario| scenario.steps.len())
}
