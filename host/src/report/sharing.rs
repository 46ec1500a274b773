//! Derives which physical memory was mapped at a graph's addresses.
//!
//! CUDA reports no physical addresses, but it reports the used memory after each launch.
//! Memory that a launch adds is its own; the rest of what it needs is shared with memory
//! that was used before. If all of that memory is shared, it is known which; otherwise
//! only how much.

use std::ops::Range;

use crate::results::{Action, Allocation, ExperimentResult};

/// Physical memory in pieces of equal size, numbered in the order of their first use,
/// and the pieces that each graph used at its first launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sharing {
    /// Bytes of one piece: the largest size of which every footprint is a multiple.
    pub(super) piece_bytes: u64,
    /// The largest number of pieces in use.
    pub(super) pieces: usize,
    /// One entry per graph that was launched.
    pub(super) graphs: Vec<GraphMemory>,
}

/// The pieces that one graph used at its first launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GraphMemory {
    pub(super) graph: usize,
    /// The pieces that its launch added.
    pub(super) added: Range<usize>,
    /// The pieces that it used with others.
    pub(super) shared: Shared,
}

/// The memory that a launch needed and did not add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shared {
    /// Nothing.
    None,
    /// These pieces: all that were in use before.
    All(Range<usize>),
    /// Some of the pieces that were in use before; it is not known which.
    SomeOf {
        /// The number of shared pieces.
        count: usize,
        /// The number of pieces in use before.
        held: usize,
    },
}

/// The largest number of pieces that is drawn.
const MOST_PIECES: u64 = 4096;

/// Derives the sharing; `None` if no graph with known allocations was launched.
pub(super) fn of(experiment: &ExperimentResult) -> Option<Sharing> {
    let piece_bytes = experiment
        .steps
        .iter()
        .map(|step| step.memory.used_bytes)
        .fold(0, gcd);
    let most = experiment.steps.iter().map(|step| step.memory.used_bytes);
    let pieces = most.max()?.checked_div(piece_bytes)?;
    if pieces > MOST_PIECES {
        return None;
    }
    let pieces_of = |bytes: u64| usize::try_from(bytes / piece_bytes).unwrap_or(usize::MAX);
    let mut graphs: Vec<GraphMemory> = Vec::new();
    let mut before = 0;
    for step in &experiment.steps {
        let after = step.memory.used_bytes;
        let launched = step.graph.filter(|_| step.action == Action::Launch);
        let first = |graph: &usize| graphs.iter().all(|known| known.graph != *graph);
        if let Some(graph) = launched.filter(first) {
            let need = need(experiment, graph).div_ceil(piece_bytes);
            let held = pieces_of(before);
            let added = held..pieces_of(after.max(before));
            let rest = usize::try_from(need)
                .unwrap_or(usize::MAX)
                .saturating_sub(added.len());
            graphs.push(GraphMemory {
                graph,
                added,
                shared: match rest {
                    0 => Shared::None,
                    rest if rest >= held => Shared::All(0..held),
                    count => Shared::SomeOf { count, held },
                },
            });
        }
        before = after;
    }
    graphs.retain(|graph| allocations(experiment, graph.graph).next().is_some());
    (!graphs.is_empty()).then(|| Sharing {
        piece_bytes,
        pieces: usize::try_from(pieces).unwrap_or(usize::MAX),
        graphs,
    })
}

/// The allocations of a graph.
pub(super) fn allocations(
    experiment: &ExperimentResult,
    graph: usize,
) -> impl Iterator<Item = &Allocation> {
    let of_graph = move |allocation: &&Allocation| allocation.graph == graph;
    experiment.allocations.iter().filter(of_graph)
}

/// Bytes at different addresses; allocations that share an address count once.
fn need(experiment: &ExperimentResult, graph: usize) -> u64 {
    let mut places: Vec<(u64, u64)> = allocations(experiment, graph)
        .map(|allocation| (allocation.address, allocation.bytes))
        .collect();
    // The largest of each address comes first, and stays.
    places.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    places.dedup_by_key(|place| place.0);
    places.iter().map(|place| place.1).sum()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Step, Verdict};
    use cuda_graphs::Snapshot;

    const UNIT: u64 = 64 << 20;

    /// Launches of graphs with so many bytes each, and the memory used after each.
    fn launches(graphs: &[(usize, u64, u64)]) -> ExperimentResult {
        let step = |&(graph, _, used_bytes): &(usize, u64, u64)| Step {
            label: String::new(),
            action: Action::Launch,
            graph: Some(graph),
            stream: Some(0),
            address: None,
            spin_time_ms: None,
            at_ms: 0.0,
            took_ms: 0.0,
            memory: Snapshot {
                used_bytes,
                ..Snapshot::default()
            },
        };
        let allocation = |&(graph, bytes, _): &(usize, u64, u64)| Allocation {
            name: "x".to_owned(),
            graph,
            address: (graph as u64 + 1) << 32,
            bytes,
        };
        ExperimentResult {
            name: String::new(),
            title: String::new(),
            shows: String::new(),
            teaches: String::new(),
            allocations: graphs.iter().map(allocation).collect(),
            steps: graphs.iter().map(step).collect(),
            checks: Vec::new(),
            overlap: None,
            error: None,
            duration_ms: 0.0,
            verdict: Verdict::Pass,
        }
    }

    #[test]
    fn r35_graphs_that_add_nothing_share_what_is_held() {
        let one = launches(&[(0, UNIT, UNIT), (1, UNIT, UNIT), (0, UNIT, UNIT)]);
        let sharing = of(&one).expect("graphs were launched");
        assert_eq!((sharing.piece_bytes, sharing.pieces), (UNIT, 1));
        assert_eq!(sharing.graphs.len(), 2, "each graph's first launch");
        assert_eq!(sharing.graphs[0].added, 0..1);
        assert_eq!(sharing.graphs[0].shared, Shared::None);
        assert_eq!(sharing.graphs[1].added, 1..1);
        assert_eq!(sharing.graphs[1].shared, Shared::All(0..1));
    }

    #[test]
    fn r36_graphs_that_add_a_unit_each_share_nothing() {
        let several = launches(&[(0, UNIT, UNIT), (1, UNIT, 2 * UNIT)]);
        let sharing = of(&several).expect("graphs were launched");
        assert_eq!(sharing.graphs[1].added, 1..2);
        assert_eq!(sharing.graphs[1].shared, Shared::None);
    }

    #[test]
    fn a_larger_graph_shares_what_was_held_and_adds_the_rest() {
        let mixed = launches(&[(0, UNIT, UNIT), (1, 2 * UNIT, 2 * UNIT)]);
        let sharing = of(&mixed).expect("graphs were launched");
        assert_eq!(sharing.graphs[1].added, 1..2);
        assert_eq!(sharing.graphs[1].shared, Shared::All(0..1));
    }

    #[test]
    fn r37_which_of_several_is_shared_is_not_known() {
        let reused = launches(&[(0, UNIT, UNIT), (1, UNIT, 2 * UNIT), (2, UNIT, 2 * UNIT)]);
        let sharing = of(&reused).expect("graphs were launched");
        let some = Shared::SomeOf { count: 1, held: 2 };
        assert_eq!(sharing.graphs[2].shared, some);
    }

    #[test]
    fn nothing_is_told_where_nothing_was_launched() {
        assert_eq!(of(&launches(&[])), None);
        assert_eq!(of(&launches(&[(0, UNIT, 0)])), None);
    }
}
