//! The launch schedules that a plan looks at when only graphs are given.

mod notation;

use std::sync::Arc;
use std::time::Duration;

use crate::graph::Graph;
use crate::scenario::{Instance, Scenario, Step};

pub use notation::{NOTATION, UnknownWord, instances, written};

/// How long graphs run in schedules whose graphs are to overlap.
#[derive(Debug, Clone, Copy)]
pub struct Overlap {
    /// The least that each graph runs.
    pub spin: Duration,
}

impl Overlap {
    /// Longer than any simulated schedule takes; its time is virtual.
    pub const SIMULATED: Self = Self {
        spin: Duration::from_secs(60),
    };

    /// Long enough to launch this many graphs on a GPU one after the other: a launch
    /// that maps memory takes 0.06 to 1.4 ms (M4).
    #[must_use]
    pub fn on_gpu(launches: usize) -> Self {
        let launches = u32::try_from(launches).unwrap_or(u32::MAX);
        let spin = Duration::from_millis(2).saturating_mul(launches);
        Self {
            spin: spin.clamp(Duration::from_millis(50), Duration::from_secs(10)),
        }
    }
}

/// One graph: launched `launches` times in a stream, trimmed, what it leaves freed,
/// and trimmed again. This is what the recorded graphs went through.
#[must_use]
pub fn one_stream(graph: &Arc<Graph>, launches: usize) -> Scenario {
    let mut steps = Vec::new();
    for _ in 0..launches {
        steps.push(Step::Launch {
            instance: 0,
            stream: 0,
        });
        steps.push(Step::Wait { stream: Some(0) });
    }
    steps.push(Step::Trim);
    let unfreed: Vec<_> = graph.unfreed().collect();
    if !unfreed.is_empty() {
        steps.extend(unfreed.into_iter().map(|node| Step::Free {
            instance: 0,
            node,
            stream: None,
        }));
        steps.push(Step::Trim);
    }
    Scenario {
        name: format!("{} in one stream", graph.name),
        about: format!("launched {launches} times in one stream, trimmed, freed"),
        instances: vec![Instance {
            name: graph.name.clone(),
            graph: Arc::clone(graph),
        }],
        streams: 1,
        steps,
    }
}

/// A graph `streams` times, each on its own stream, all at once. One exec never
/// overlaps itself (R22), and a graph with memory nodes has one exec (R25), so these
/// are graphs of their own.
#[must_use]
pub fn at_once(graph: &Arc<Graph>, streams: usize, overlap: Overlap) -> Scenario {
    let held = Arc::new(Graph {
        spin: overlap.spin,
        ..(**graph).clone()
    });
    let name = |number: usize| format!("{}[{number}]", graph.name);
    let mut scenario = side_by_side((0..streams).map(|number| (name(number), Arc::clone(&held))));
    scenario.name = format!("{} on {streams} streams", graph.name);
    scenario.about = format!("{streams} graphs like it, each on its own stream, all at once");
    scenario
}

/// Different graphs, each on its own stream, all at once.
#[must_use]
pub fn all_at_once(graphs: &[Arc<Graph>], overlap: Overlap) -> Scenario {
    let held = graphs.iter().map(|graph| {
        (
            graph.name.clone(),
            Arc::new(Graph {
                spin: overlap.spin,
                ..(**graph).clone()
            }),
        )
    });
    let mut scenario = side_by_side(held);
    scenario.name = "all graphs at once".to_owned();
    scenario.about = "each graph on its own stream, all at once".to_owned();
    scenario
}

/// Different graphs, one after the other in one stream.
#[must_use]
pub fn all_in_one_stream(graphs: &[Arc<Graph>]) -> Scenario {
    let instances = graphs.iter().map(|graph| Instance {
        name: graph.name.clone(),
        graph: Arc::clone(graph),
    });
    let mut steps: Vec<Step> = (0..graphs.len())
        .map(|instance| Step::Launch {
            instance,
            stream: 0,
        })
        .collect();
    steps.extend([Step::Wait { stream: None }, Step::Trim]);
    Scenario {
        name: "all graphs in one stream".to_owned(),
        about: "one after the other in one stream".to_owned(),
        instances: instances.collect(),
        streams: 1,
        steps,
    }
}

/// Graphs of which one frees what another allocates: launched in turn in one stream, twice.
#[must_use]
pub fn in_turn(graphs: &[Arc<Graph>]) -> Scenario {
    let names: Vec<&str> = graphs.iter().map(|graph| graph.name.as_str()).collect();
    let turn = (0..graphs.len()).map(|instance| Step::Launch {
        instance,
        stream: 0,
    });
    let mut steps: Vec<Step> = turn.clone().chain(turn).collect();
    steps.extend([Step::Wait { stream: None }, Step::Trim]);
    Scenario {
        name: format!("{} in turn", names.join(", ")),
        about: "what one allocates another frees: launched in turn in one stream, twice".to_owned(),
        instances: instances(graphs),
        streams: 1,
        steps,
    }
}

fn side_by_side(graphs: impl Iterator<Item = (String, Arc<Graph>)>) -> Scenario {
    let instances: Vec<Instance> = graphs
        .map(|(name, graph)| Instance { name, graph })
        .collect();
    let mut steps: Vec<Step> = (0..instances.len())
        .map(|instance| Step::Launch {
            instance,
            stream: instance,
        })
        .collect();
    steps.extend([Step::Wait { stream: None }, Step::Trim]);
    Scenario {
        streams: instances.len(),
        instances,
        steps,
        ..Scenario::default()
    }
}
