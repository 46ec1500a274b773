//! The launch schedules that a plan looks at when only graphs are given.

mod notation;

use std::sync::Arc;
use std::time::Duration;

use crate::graph::Graph;
use crate::scenario::{Instance, Scenario, Step};

pub(crate) use notation::instances;
pub use notation::{NOTATION, UnknownWord, written};

/// How long graphs spin that are to overlap in a simulated schedule: longer than any
/// takes, since its time is virtual.
pub(crate) const SIMULATED_SPIN: Duration = Duration::from_secs(60);

/// How long graphs spin that are to overlap on a GPU: long enough to launch this many one
/// after the other. A launch that maps memory takes 0.06 to 1.4 ms (M4).
pub(crate) fn spin_on_gpu(launches: usize) -> Duration {
    let launches = u32::try_from(launches).unwrap_or(u32::MAX);
    let spin = Duration::from_millis(2).saturating_mul(launches);
    spin.clamp(Duration::from_millis(50), Duration::from_secs(10))
}

/// One graph: launched `launches` times in a stream, trimmed, what it leaves freed,
/// and trimmed again. This is what the recorded graphs went through.
pub(crate) fn one_stream(graph: &Arc<Graph>, launches: usize) -> Scenario {
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
pub(crate) fn at_once(graph: &Arc<Graph>, streams: usize, spin: Duration) -> Scenario {
    let spinning = spinning(graph, spin);
    let copies = (0..streams).map(|number| Instance {
        name: format!("{}[{number}]", graph.name),
        graph: Arc::clone(&spinning),
    });
    Scenario {
        name: format!("{} on {streams} streams", graph.name),
        about: format!("{streams} graphs like it, each on its own stream, all at once"),
        ..side_by_side(copies.collect())
    }
}

/// Different graphs, each on its own stream, all at once.
pub(crate) fn all_at_once(graphs: &[Arc<Graph>], spin: Duration) -> Scenario {
    let spinning: Vec<_> = graphs.iter().map(|graph| spinning(graph, spin)).collect();
    Scenario {
        name: "all graphs at once".to_owned(),
        about: "each graph on its own stream, all at once".to_owned(),
        ..side_by_side(instances(&spinning))
    }
}

/// Different graphs, one after the other in one stream.
pub(crate) fn all_in_one_stream(graphs: &[Arc<Graph>]) -> Scenario {
    Scenario {
        name: "all graphs in one stream".to_owned(),
        about: "one after the other in one stream".to_owned(),
        streams: 1,
        steps: launched((0..graphs.len()).map(|instance| (instance, 0))),
        instances: instances(graphs),
    }
}

/// Graphs of which one frees what another allocates: launched in turn in one stream, twice.
pub(crate) fn in_turn(graphs: &[Arc<Graph>]) -> Scenario {
    let names: Vec<&str> = graphs.iter().map(|graph| graph.name.as_str()).collect();
    let turn = (0..graphs.len()).map(|instance| (instance, 0));
    Scenario {
        name: format!("{} in turn", names.join(", ")),
        about: "what one allocates another frees: launched in turn in one stream, twice".to_owned(),
        streams: 1,
        steps: launched(turn.clone().chain(turn)),
        instances: instances(graphs),
    }
}

/// A graph that runs at least so long.
fn spinning(graph: &Graph, spin: Duration) -> Arc<Graph> {
    Arc::new(Graph {
        spin,
        ..graph.clone()
    })
}

fn side_by_side(instances: Vec<Instance>) -> Scenario {
    Scenario {
        streams: instances.len(),
        steps: launched((0..instances.len()).map(|number| (number, number))),
        instances,
        ..Scenario::default()
    }
}

/// Launches, each with its stream, then a wait for all streams and a trim.
fn launched(launches: impl Iterator<Item = (usize, usize)>) -> Vec<Step> {
    let launches = launches.map(|(instance, stream)| Step::Launch { instance, stream });
    launches
        .chain([Step::Wait { stream: None }, Step::Trim])
        .collect()
}
