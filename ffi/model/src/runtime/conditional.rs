//! Conditional nodes: bodies that run if, or as long as, a value is set.
//!
//! The value is that of the node's condition, which kernels set with
//! `cudaGraphSetConditional`. The bodies are graphs that belong to the node. Their effects
//! are applied as often as the value requires; for the simulated time, they count as one
//! round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cudart_ffi::{CUgraphConditionalNodeType, CUgraphNodeType, cudaError_t};

use super::{Outcome, Runtime};
use crate::objects::effects::{ConditionalRun, Effect};
use crate::objects::exec::BEFORE_NODES;
use crate::objects::graph::{ConditionalNode, Graph, Work};
use crate::objects::id::{GraphId, Id};

/// The largest number of bodies of a SWITCH. Assumed: the driver's limit was not measured.
const MAX_BODIES: u32 = 1 << 10;

/// The condition that a conditional handle stands for.
#[derive(Debug)]
pub struct Condition {
    graph: GraphId,
    /// The initial value at each launch, if the program set one.
    default: Option<u32>,
    value: Arc<AtomicU32>,
    has_node: bool,
}

impl Runtime {
    /// `cudaGraphConditionalHandleCreate`. Handles are counted from 1.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, and for unknown flags.
    pub fn condition_create(&mut self, graph: u64, default: u32, flags: u32) -> Outcome<u64> {
        /// `cudaGraphCondAssignDefault`.
        const ASSIGN_DEFAULT: u32 = 1;
        let graph = self.graph_id(graph)?;
        if flags & !ASSIGN_DEFAULT != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.conditions.push(Condition {
            graph,
            default: (flags == ASSIGN_DEFAULT).then_some(default),
            // Without an initial value, the value of a condition is 0 at first.
            value: Arc::new(AtomicU32::new(0)),
            has_node: false,
        });
        Ok(self.conditions.len() as u64)
    }

    /// Called when the node of a condition is destroyed.
    pub(super) fn free_condition(&mut self, handle: u64) {
        let at = usize::try_from(handle.wrapping_sub(1)).unwrap_or(usize::MAX);
        if let Some(condition) = self.conditions.get_mut(at) {
            condition.has_node = false;
        }
    }

    /// The value of a condition, for kernels that set it.
    #[must_use]
    pub fn condition(&self, handle: u64) -> Option<Arc<AtomicU32>> {
        let at = usize::try_from(handle.checked_sub(1)?).ok()?;
        Some(Arc::clone(&self.conditions.get(at)?.value))
    }

    /// `cudaGraphAddNode` of a conditional node: returns the node, and its bodies,
    /// which are empty. The array of the bodies' handles stays at the same address
    /// while the node exists.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph, for a dependency that is not one of its
    /// nodes, for a condition of another graph or one that already has a node, and for
    /// an invalid number of bodies: 1 or 2 are allowed for IF, 1 for WHILE, 1 or more
    /// for SWITCH.
    pub fn add_conditional_node(
        &mut self,
        graph: u64,
        dependencies: &[u64],
        handle: u64,
        kind: CUgraphConditionalNodeType,
        size: u32,
    ) -> Outcome<(u64, &[u64])> {
        let id = self.graph_id(graph)?;
        self.dependencies(id, dependencies)?;
        let fits = match kind {
            CUgraphConditionalNodeType::IF => matches!(size, 1 | 2),
            CUgraphConditionalNodeType::WHILE => size == 1,
            CUgraphConditionalNodeType::SWITCH => (1..=MAX_BODIES).contains(&size),
            _ => false,
        };
        let at = usize::try_from(handle.wrapping_sub(1)).unwrap_or(usize::MAX);
        let roots = self.owners(id);
        let condition = self
            .conditions
            .get_mut(at)
            .filter(|condition| !condition.has_node && roots.contains(&condition.graph))
            .ok_or(cudaError_t::INVALID_VALUE)?;
        if !fits {
            return Err(cudaError_t::INVALID_VALUE);
        }
        condition.has_node = true;
        let value = Arc::clone(&condition.value);
        let mut bodies = Vec::new();
        for _ in 0..size {
            let body = self.new_graph()?;
            if let Some(body) = self.graphs.get_mut(body) {
                body.is_child = true;
                body.owner = Some(id);
            }
            bodies.push(body);
        }
        let work = Work::Conditional(Box::new(ConditionalNode {
            condition: handle,
            value,
            kind,
            handles: bodies.iter().map(|body| body.to_handle()).collect(),
            bodies: bodies.into(),
        }));
        let node = self.add_node(graph, dependencies, work)?;
        self.note_effect(node, Effect::Conditional(node))?;
        if let Some(graph) = self.graphs.get_mut(id) {
            graph.has_conditional_nodes = true;
        }
        match &self.node(node)?.1.work {
            Work::Conditional(conditional) => Ok((node, &conditional.handles)),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// A graph, and the graphs of which it is directly or indirectly a body.
    fn owners(&self, graph: GraphId) -> Vec<GraphId> {
        let mut owners = vec![graph];
        let mut at = graph;
        while let Some(owner) = self.graphs.get(at).and_then(|graph| graph.owner) {
            owners.push(owner);
            at = owner;
        }
        owners
    }

    /// Refuses to instantiate a graph with a condition that has no node, or with a body
    /// that contains a memory, host or event node at any depth (R56, M19).
    pub(super) fn check_conditions(&self, id: GraphId) -> Outcome {
        let unused = |condition: &Condition| {
            !condition.has_node && self.owners(condition.graph).contains(&id)
        };
        if self.conditions.iter().any(unused) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.check_bodies(self.graph(id)?)
    }

    fn check_bodies(&self, graph: &Graph) -> Outcome {
        for body in self.bodies_of(graph) {
            let forbidden = body.has_memory_nodes
                || body.live_nodes().any(|(_, node)| {
                    matches!(
                        node.work.node_type(),
                        Some(
                            CUgraphNodeType::HOST
                                | CUgraphNodeType::EVENT_RECORD
                                | CUgraphNodeType::WAIT_EVENT
                        )
                    )
                });
            if forbidden {
                return Err(cudaError_t::INVALID_VALUE);
            }
            self.check_bodies(body)?;
            for child in self.children_of(body) {
                self.check_body_part(child)?;
            }
        }
        Ok(())
    }

    fn check_body_part(&self, child: &Graph) -> Outcome {
        let forbidden = child.live_nodes().any(|(_, node)| {
            matches!(
                node.work.node_type(),
                Some(
                    CUgraphNodeType::HOST
                        | CUgraphNodeType::EVENT_RECORD
                        | CUgraphNodeType::WAIT_EVENT
                        | CUgraphNodeType::MEM_ALLOC
                        | CUgraphNodeType::MEM_FREE
                )
            )
        });
        if forbidden {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.children_of(child)
            .into_iter()
            .try_for_each(|child| self.check_body_part(child))
    }

    /// The number of graphs inside a graph's nodes, at any depth.
    pub(super) fn graphs_inside(&self, graph: &Graph) -> u64 {
        let inside = self
            .bodies_of(graph)
            .into_iter()
            .chain(self.children_of(graph));
        inside.map(|graph| 1 + self.graphs_inside(graph)).sum()
    }

    fn bodies_of(&self, graph: &Graph) -> Vec<&Graph> {
        let nodes = graph.live_nodes().map(|(_, node)| &node.work);
        nodes
            .filter_map(|work| match work {
                Work::Conditional(conditional) => Some(&conditional.bodies),
                _ => None,
            })
            .flatten()
            .filter_map(|&body| self.graphs.get(body))
            .collect()
    }

    fn children_of(&self, graph: &Graph) -> Vec<&Graph> {
        let nodes = graph.live_nodes().map(|(_, node)| &node.work);
        nodes
            .filter_map(|work| match work {
                Work::Child { graph, .. } => self.graphs.get(*graph),
                _ => None,
            })
            .collect()
    }

    /// The effects of a launch of a graph, in order. A conditional node contains the
    /// current effects of its bodies. Also the node of each effect.
    pub(super) fn launch_effects(&self, graph: &Graph) -> (Arc<[Effect]>, Box<[u32]>) {
        let mut defaults = Vec::new();
        self.find_defaults(graph, &mut defaults);
        let assign = (!defaults.is_empty()).then(|| Effect::AssignConditions(defaults.into()));
        let effects = graph.all_effects().map(|effect| match effect {
            Effect::Conditional(node) => self.conditional_effect(*node),
            other => other.clone(),
        });
        let first = assign.iter().map(|_| BEFORE_NODES);
        let of_nodes = graph.effects.iter();
        let of_nodes = of_nodes.flat_map(|(node, effects)| effects.iter().map(|_| *node + 1));
        let places = first.chain(of_nodes).collect();
        (assign.into_iter().chain(effects).collect(), places)
    }

    fn conditional_effect(&self, node: u64) -> Effect {
        let Ok((_, node)) = self.node(node) else {
            return Effect::Conditional(node);
        };
        let Work::Conditional(conditional) = &node.work else {
            return Effect::Conditional(node.handle.to_handle());
        };
        let bodies = conditional.bodies.iter().filter_map(|&body| {
            let body = self.graphs.get(body)?;
            let effects = body.all_effects().map(|effect| match effect {
                Effect::Conditional(node) => self.conditional_effect(*node),
                other => other.clone(),
            });
            Some(effects.collect())
        });
        Effect::Branch(Arc::new(ConditionalRun {
            value: Arc::clone(&conditional.value),
            kind: conditional.kind,
            bodies: bodies.collect(),
        }))
    }

    /// The values that a launch assigns to conditions, including conditions in bodies.
    fn find_defaults(&self, graph: &Graph, found: &mut Vec<(Arc<AtomicU32>, u32)>) {
        for (_, node) in graph.live_nodes() {
            if let Work::Conditional(conditional) = &node.work {
                let at = usize::try_from(conditional.condition.wrapping_sub(1)).ok();
                let condition = at.and_then(|at| self.conditions.get(at));
                if let Some((condition, default)) =
                    condition.and_then(|condition| Some((condition, condition.default?)))
                {
                    found.push((Arc::clone(&condition.value), default));
                }
            }
        }
        for body in self.bodies_of(graph) {
            self.find_defaults(body, found);
        }
    }

    /// The duration of one run of a graph on the device. A conditional node takes as
    /// long as one round of its longest body.
    pub(super) fn run_duration(&self, graph: &Graph) -> crate::clock::Nanos {
        graph.duration_with(|work| match work {
            Work::Conditional(conditional) => conditional
                .bodies
                .iter()
                .filter_map(|&body| self.graphs.get(body))
                .map(|body| self.run_duration(body))
                .max()
                .unwrap_or(0),
            other => other.duration(),
        })
    }

    /// Whether a graph with conditional nodes has an exec. It can have only one (M20).
    pub(super) fn conditional_exec_is_live(&self, graph: &Graph) -> bool {
        graph.has_conditional_nodes
            && graph
                .exec
                .is_some_and(|exec| self.execs.get(exec).is_some())
    }
}

/// Sets conditions to their initial values.
pub fn assign(defaults: &[(Arc<AtomicU32>, u32)]) {
    for (value, default) in defaults {
        value.store(*default, Ordering::Relaxed);
    }
}

/// The largest number of rounds of a WHILE. A longer loop is ended here; on a GPU it would
/// never end.
const MAX_ROUNDS: u32 = 1 << 20;

/// Applies the effects of the bodies that a conditional node's value selects.
pub fn branch(run: &ConditionalRun, carry_out: &mut dyn FnMut(&Effect)) {
    let mut body = |index: usize| {
        for effect in run
            .bodies
            .get(index)
            .into_iter()
            .flat_map(|body| body.iter())
        {
            carry_out(effect);
        }
    };
    let value = || run.value.load(Ordering::Relaxed);
    match run.kind {
        CUgraphConditionalNodeType::IF => body(usize::from(value() == 0)),
        CUgraphConditionalNodeType::WHILE => {
            let mut rounds = 0;
            while value() != 0 && rounds < MAX_ROUNDS {
                body(0);
                rounds += 1;
            }
        }
        _ => body(usize::try_from(value()).unwrap_or(usize::MAX)),
    }
}

impl Graph {
    /// Records the exec of a graph that can have only one.
    pub(super) fn note_exec(&mut self, exec: Id<crate::objects::id::kind::Exec>) {
        if self.has_conditional_nodes {
            self.exec = Some(exec);
        }
    }
}
