//! Replays a scenario through the safe layer, on a GPU or on the simulated runtime.
//!
//! Memory depends on alloc and free nodes, on the order of all nodes, and on how
//! long a graph runs. So every other node is replayed by a kernel that spins for as
//! long as the description says, or not at all.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use cudart_model::{ClockKind, Isolated, Profile};
use serde::Serialize;

use super::graph::{Freed, Graph, Kind, NodeIndex, PerNode};
use super::scenario::{Scenario, Step};
use super::timeline;
use crate::Error;
use cuda_graphs::{
    CudaError, Device, DeviceAddress, GraphExec, LiveAllocation, Node, Result, RouteChoice,
    Runtime, Snapshot, Stream,
};

/// Streams that are queried after each step for whether they are busy. With more, the
/// queries would take longer than the graphs run.
const MOST_QUERIED: usize = 64;

/// The kernel that stands for every node that neither allocates nor frees.
#[derive(Debug, Clone, Copy)]
pub struct SpinKernel<'k> {
    /// Its PTX.
    pub ptx: &'k str,
    /// Its name. It takes one 64-bit integer, and spins for at least so many SM clocks.
    pub name: &'k str,
}

/// Where a scenario is replayed.
#[derive(Debug)]
pub struct Stage<'rt> {
    /// The runtime.
    pub runtime: &'rt Runtime,
    /// The device; it has to be current.
    pub device: Device<'rt>,
    /// The kernel that spins for a number of clocks.
    pub kernel: &'rt cuda_graphs::SpinKernel<'rt>,
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// One a graph, in the scenario's order.
    pub built: Vec<Built>,
    /// Used and reserved when all graphs were instantiated.
    pub at_start: Snapshot,
    /// One a step.
    pub steps: Vec<ReplayedStep>,
}

/// What came of building a graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Built {
    /// The address of each alloc node.
    pub addresses: BTreeMap<NodeIndex, u64>,
    /// Nodes that the runtime refused, with its code; the rest was built without.
    pub refused: Vec<(NodeIndex, Failure)>,
    /// Why there is no exec.
    pub not_instantiated: Option<Failure>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedStep {
    /// The call that failed.
    pub failure: Option<Failure>,
    /// The memory after it, on the first GPU of the scenario.
    pub memory: Snapshot,
    /// The same on its other GPUs.
    pub others: Vec<Snapshot>,
    /// How many streams still had work after it, where they were queried.
    pub busy_streams: Option<usize>,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The C function.
    pub call: String,
    /// Its code.
    pub code: i32,
    /// The code's name.
    pub name: String,
}

impl From<&CudaError> for Failure {
    fn from(error: &CudaError) -> Self {
        Self {
            call: error.call.to_owned(),
            code: error.code.0,
            name: error.name.clone(),
        }
    }
}

/// Replays a scenario on a fresh simulation of this GPU, in virtual time.
///
/// # Errors
///
/// A simulation on which nothing runs: no device, no memory pools; PTX that is none.
pub fn simulated(
    scenario: &Scenario,
    profile: &Profile,
    spin: SpinKernel<'_>,
) -> Result<Replayed, Error> {
    let mut profile = profile.clone();
    let highest = scenario.devices().last().copied().unwrap_or(0);
    profile.devices = profile.devices.max(i32::from(highest) + 1);
    let config = cudart_model::Config {
        profile,
        clock: ClockKind::Virtual,
        faults: Vec::new(),
    };
    let _model = Isolated::new(config);
    let runtime = Runtime::built_in_model();
    let device = Device::new(&runtime, 0);
    device.make_current()?;
    let route = RouteChoice::Runtime;
    let kernel = cuda_graphs::SpinKernel::load(&runtime, spin.ptx, spin.name, route)?;
    let stage = Stage {
        runtime: &runtime,
        device,
        kernel: &kernel,
    };
    Ok(replay(&stage, scenario)?)
}

/// Replays a scenario. Whatever it leaves is freed and given back at its end.
///
/// # Errors
///
/// A call that cannot fail by the scenario's doing: creating a stream, reading the
/// memory. Calls that a scenario may provoke to fail are part of the result.
pub fn replay(stage: &Stage<'_>, scenario: &Scenario) -> Result<Replayed> {
    let mut replayer = Replayer::new(stage, scenario)?;
    let built = replayer.build()?;
    let at_start = replayer.devices[0].graph_memory().snapshot()?;
    let mut steps = Vec::with_capacity(scenario.steps.len());
    for step in &scenario.steps {
        let failure = replayer.take(step).err().map(|error| match error {
            Stopped::Call(error) => Failure::from(&error),
            Stopped::NotLive(call) => not_live(call),
        });
        steps.push(ReplayedStep {
            failure,
            memory: replayer.devices[0].graph_memory().snapshot()?,
            others: replayer.others()?,
            busy_streams: replayer.busy_streams()?,
        });
    }
    replayer.clean_up();
    Ok(Replayed {
        built,
        at_start,
        steps,
    })
}

/// What the runtime answers to freeing what is not allocated now (M6, M8). The safe
/// layer makes no such call.
fn not_live(call: &str) -> Failure {
    Failure {
        call: call.to_owned(),
        code: 1,
        name: "cudaErrorInvalidValue".to_owned(),
    }
}

/// Where the GPUs of a scenario are: one is the stage's, several are those of their
/// ordinals.
fn on<'rt>(stage: &Stage<'rt>, ordinals: &[u16]) -> Vec<Device<'rt>> {
    match ordinals {
        [_] => vec![stage.device],
        several => several
            .iter()
            .map(|&ordinal| Device::new(stage.runtime, i32::from(ordinal)))
            .collect(),
    }
}

enum Stopped {
    Call(CudaError),
    NotLive(&'static str),
}

impl From<CudaError> for Stopped {
    fn from(error: CudaError) -> Self {
        Self::Call(error)
    }
}

struct Replayer<'s, 'rt> {
    stage: &'s Stage<'rt>,
    scenario: &'s Scenario,
    clock_rate_khz: i32,
    /// The GPUs of the scenario, and the ordinal that each has in it.
    devices: Vec<Device<'rt>>,
    ordinals: Vec<u16>,
    streams: Vec<Stream<'rt>>,
    execs: Vec<Option<GraphExec<'rt>>>,
    addresses: Vec<BTreeMap<NodeIndex, u64>>,
    live: BTreeMap<(usize, NodeIndex), LiveAllocation<'rt>>,
    /// What each graph frees of others when it is launched.
    frees: Vec<Vec<(usize, NodeIndex)>>,
}

impl<'s, 'rt> Replayer<'s, 'rt> {
    fn new(stage: &'s Stage<'rt>, scenario: &'s Scenario) -> Result<Self> {
        let streams = (0..scenario.streams).map(|_| Stream::new(stage.runtime));
        Ok(Self {
            stage,
            scenario,
            clock_rate_khz: stage.device.clock_rate_khz()?,
            devices: on(stage, &scenario.devices()),
            ordinals: scenario.devices(),
            streams: streams.collect::<Result<_>>()?,
            execs: Vec::new(),
            addresses: vec![BTreeMap::new(); scenario.instances.len()],
            live: BTreeMap::new(),
            frees: vec![Vec::new(); scenario.instances.len()],
        })
    }

    fn others(&self) -> Result<Vec<Snapshot>> {
        let others = self.devices.iter().skip(1);
        others
            .map(|device| device.graph_memory().snapshot())
            .collect()
    }

    /// Builds every graph, those that free others' allocations last.
    fn build(&mut self) -> Result<Vec<Built>> {
        let scenario = self.scenario;
        let by_address = scenario.allocations_by_address();
        let frees_others = |graph: &Graph| {
            let foreign =
                |kind| matches!(kind, Kind::Free(Freed::AtAddress(_) | Freed::Elsewhere(_)));
            graph.nodes.iter().any(|node| foreign(node.kind))
        };
        let mut order: Vec<usize> = (0..scenario.instances.len()).collect();
        order.sort_by_key(|&number| frees_others(&scenario.instances[number].graph));
        let mut built = vec![Built::default(); scenario.instances.len()];
        self.execs = scenario.instances.iter().map(|_| None).collect();
        // Graphs live until all are built: free nodes name what others allocate.
        let mut graphs = Vec::with_capacity(order.len());
        for number in order {
            let instance = &scenario.instances[number];
            let graph = cuda_graphs::Graph::new(self.stage.runtime, self.stage.device.ordinal())?;
            let mut result = Built::default();
            let foreign = |name: Freed| match name {
                Freed::AtAddress(address) => by_address.get(&address).copied(),
                Freed::Elsewhere(place) => {
                    scenario.find_allocation(instance.graph.elsewhere(place))
                }
                Freed::Here(_) | Freed::Again(_) => None,
            };
            self.add_nodes(&graph, number, &instance.graph, &foreign, &mut result);
            let exec = if instance.graph.auto_free {
                graph.instantiate_auto_free()
            } else {
                graph.instantiate()
            };
            match exec {
                Ok(exec) => {
                    self.execs[number] = Some(exec);
                }
                Err(error) => result.not_instantiated = Some(Failure::from(&error)),
            }
            self.addresses[number].clone_from(&result.addresses);
            built[number] = result;
            graphs.push(graph);
        }
        Ok(built)
    }

    fn add_nodes<'g>(
        &mut self,
        graph: &'g cuda_graphs::Graph<'rt>,
        number: usize,
        description: &Graph,
        foreign: &dyn Fn(Freed) -> Option<(usize, NodeIndex)>,
        result: &mut Built,
    ) {
        let mut nodes: PerNode<Option<Node<'g>>> = PerNode::new(description, None);
        // A cycle has no order; its nodes are not added, and the plan says so.
        let order = timeline::topological(description).unwrap_or_default();
        let mut after: Vec<Node<'g>> = Vec::new();
        for index in order {
            let node = description.node(index);
            after.clear();
            let dependencies = description.dependencies.of(index);
            after.extend(dependencies.iter().filter_map(|&d| nodes[d]));
            let added = match node.kind {
                Kind::Alloc {
                    bytes, location, ..
                } => {
                    let ordinal = location.on_device().unwrap_or(0);
                    let known = self.ordinals.iter().position(|&one| one == ordinal);
                    let device = self.devices[known.unwrap_or(0)].ordinal();
                    graph.add_alloc_on(device, &after, bytes).map(|alloc| {
                        result.addresses.insert(index, alloc.address.0);
                        Some(alloc.node)
                    })
                }
                Kind::Free(freed) => {
                    let target = match freed {
                        Freed::Here(node) | Freed::Again(node) => {
                            result.addresses.get(&node).copied()
                        }
                        elsewhere => foreign(elsewhere).and_then(|(owner, node)| {
                            self.frees[number].push((owner, node));
                            self.addresses[owner].get(&node).copied()
                        }),
                    };
                    let unknown = match freed {
                        Freed::AtAddress(address) => Some(address),
                        _ => None,
                    };
                    match target.or(unknown) {
                        Some(address) => graph.add_free(&after, DeviceAddress(address)).map(Some),
                        None => Ok(None),
                    }
                }
                Kind::Kernel { spin_ns } => self.spin(graph, &after, spin_ns).map(Some),
                Kind::Other(_) => self.spin(graph, &after, 0).map(Some),
            };
            let added = added.unwrap_or_else(|error| {
                result.refused.push((index, Failure::from(&error)));
                None
            });
            // What was refused still keeps its order.
            let stands_in = added.or_else(|| self.spin(graph, &after, 0).ok());
            nodes[index] = stands_in;
        }
        if !description.spin.is_zero() {
            let spin_ns = u64::try_from(description.spin.as_nanos()).unwrap_or(u64::MAX);
            if let Err(error) = self.spin(graph, &[], spin_ns) {
                result.not_instantiated = Some(Failure::from(&error));
            }
        }
    }

    fn spin<'g>(
        &self,
        graph: &'g cuda_graphs::Graph<'rt>,
        after: &[Node<'g>],
        spin_ns: u64,
    ) -> Result<Node<'g>> {
        let clocks =
            Duration::from_nanos(spin_ns).as_secs_f64() * f64::from(self.clock_rate_khz) * 1e3;
        // A float to integer cast saturates.
        graph.add_spin(after, self.stage.kernel, clocks.ceil() as i64)
    }

    fn take(&mut self, step: &Step) -> Result<(), Stopped> {
        match *step {
            Step::Launch { instance, stream } => self.launch(instance, stream),
            Step::Upload { instance, stream } => {
                let exec = self.execs.get(instance).and_then(Option::as_ref);
                match exec.zip(self.streams.get(stream)) {
                    Some((exec, stream)) => Ok(exec.upload(stream)?),
                    None => Err(Stopped::NotLive("cudaGraphUpload")),
                }
            }
            Step::Wait { stream } => {
                let streams = match stream {
                    Some(one) => self.streams.get(one..one + 1).unwrap_or(&[]),
                    None => &self.streams,
                };
                Ok(streams.iter().try_for_each(Stream::synchronize)?)
            }
            Step::Free {
                instance,
                node,
                stream,
            } => {
                let call = if stream.is_some() {
                    "cudaFreeAsync"
                } else {
                    "cudaFree"
                };
                let live = self
                    .live
                    .remove(&(instance, node))
                    .ok_or(Stopped::NotLive(call))?;
                match stream.and_then(|stream| self.streams.get(stream)) {
                    Some(stream) => Ok(live.free_async(stream)?),
                    None => Ok(live.free()?),
                }
            }
            Step::Trim => {
                let mut devices = self.devices.iter();
                Ok(devices.try_for_each(|device| device.graph_memory().trim())?)
            }
            Step::Destroy { instance } => match self.execs.get_mut(instance).and_then(Option::take)
            {
                Some(exec) => Ok(exec.destroy()?),
                None => Err(Stopped::NotLive("cudaGraphExecDestroy")),
            },
        }
    }

    fn launch(&mut self, instance: usize, stream: usize) -> Result<(), Stopped> {
        let exec = self.execs.get(instance).and_then(Option::as_ref);
        let Some((exec, stream)) = exec.zip(self.streams.get(stream)) else {
            return Err(Stopped::NotLive("cudaGraphLaunch"));
        };
        let launched = exec.launch(stream)?;
        // What the launch freed of other graphs is no longer there to be freed.
        for freed in self.frees.get(instance).map_or(&[][..], |frees| frees) {
            self.live.remove(freed);
        }
        let addresses = self.addresses.get(instance);
        for live in launched.live {
            let node = addresses.and_then(|addresses| {
                // Of several allocations at one address the last is the one unfreed.
                addresses
                    .iter()
                    .rev()
                    .find(|(_, address)| **address == live.address().0)
            });
            if let Some((&node, _)) = node {
                // Of an AutoFree relaunch the one before is freed.
                self.live.insert((instance, node), live);
            }
        }
        Ok(())
    }

    fn busy_streams(&self) -> Result<Option<usize>> {
        if self.streams.len() > MOST_QUERIED {
            return Ok(None);
        }
        let mut busy = 0;
        for stream in &self.streams {
            busy += usize::from(stream.is_busy()?);
        }
        Ok(Some(busy))
    }

    fn clean_up(mut self) {
        let mut done = vec![self.stage.runtime.synchronize()];
        done.extend(
            mem::take(&mut self.live)
                .into_values()
                .map(LiveAllocation::free),
        );
        self.execs.clear();
        done.extend(
            self.devices
                .iter()
                .map(|device| device.graph_memory().trim()),
        );
        for error in done.into_iter().filter_map(Result::err) {
            log::debug!("while cleaning up: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
