//! Graphs that belong together: what one allocates and another frees, and what several
//! leave allocated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::findings::{Finding, FindingKind, Severity};
use crate::graph::{Freed, Graph, Kind, Node, NodeIndex, Work};
use crate::layout::Layout;
use crate::units::{bytes, count};

/// Who frees what of other graphs, by the addresses of dumps (R5: different graphs have
/// different addresses).
#[derive(Debug, Default)]
pub struct Together {
    /// Each address at which a graph leaves an allocation, with that graph.
    unfreed: BTreeMap<u64, usize>,
    /// Each address that a graph frees and does not allocate, with the graphs.
    freed: BTreeMap<u64, BTreeSet<usize>>,
}

impl Together {
    /// Looks at these graphs.
    #[must_use]
    pub fn new(graphs: &[Arc<Graph>]) -> Self {
        let mut together = Self::default();
        for (number, graph) in graphs.iter().enumerate() {
            let unfreed: BTreeSet<NodeIndex> = graph.unfreed().collect();
            for (node, _, address) in graph.allocations() {
                if let Some(address) = address.filter(|_| unfreed.contains(&node)) {
                    together.unfreed.entry(address).or_insert(number);
                }
            }
            for node in &graph.nodes {
                if let Kind::Free(Freed::AtAddress(address)) = node.kind {
                    together.freed.entry(address).or_default().insert(number);
                }
            }
        }
        together
    }

    /// Whether one of the graphs leaves an allocation at this address.
    #[must_use]
    pub fn leaves(&self, address: u64) -> bool {
        self.unfreed.contains_key(&address)
    }

    /// The graphs that belong together, each group in an order in which they can be
    /// launched: first those that allocate, then those that free.
    #[must_use]
    pub fn groups(&self, graphs: usize) -> Vec<Vec<usize>> {
        // What each graph needs to be launched before it.
        let mut before: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (address, freers) in &self.freed {
            let owner = self.unfreed.get(address);
            for (&owner, &freer) in owner
                .iter()
                .flat_map(|&owner| freers.iter().map(move |f| (owner, f)))
            {
                before.entry(freer).or_default().insert(owner);
                before.entry(owner).or_default();
            }
        }
        let mut groups: Vec<BTreeSet<usize>> = Vec::new();
        for (&graph, owners) in &before {
            let mut group = BTreeSet::from([graph]);
            group.extend(owners);
            let apart = groups.extract_if(.., |other| !other.is_disjoint(&group));
            let joined: Vec<BTreeSet<usize>> = apart.collect();
            group.extend(joined.into_iter().flatten());
            groups.push(group);
        }
        debug_assert!(groups.iter().flatten().all(|&graph| graph < graphs));
        groups
            .into_iter()
            .map(|group| in_order(group, &before))
            .collect()
    }
}

/// The graphs of a group, each after those that it needs where that is possible.
fn in_order(mut group: BTreeSet<usize>, before: &BTreeMap<usize, BTreeSet<usize>>) -> Vec<usize> {
    let mut order = Vec::with_capacity(group.len());
    while let Some(&first) = group.first() {
        let waits = |graph: &usize| {
            before[graph]
                .iter()
                .any(|one| one != graph && group.contains(one))
        };
        let next = group
            .iter()
            .copied()
            .find(|graph| !waits(graph))
            .unwrap_or(first);
        group.remove(&next);
        order.push(next);
    }
    order
}

/// A small allocation that is left allocated keeps a whole block. It counts as small up to
/// this share of what it keeps.
const SMALL: u64 = 4;

/// The graphs without the small allocations that they leave allocated, and what those are.
#[derive(Debug)]
pub struct WithoutOutputs {
    /// All graphs, changed or not.
    pub graphs: Vec<Arc<Graph>>,
    /// The bytes of the allocations that were left out.
    pub output_bytes: u64,
    /// The names of those allocations, `graph.node`.
    pub names: Vec<String>,
    /// How many graphs were changed.
    pub changed: usize,
}

/// Leaves out what each graph leaves allocated, where that is small beside the blocks that
/// it keeps (R46, M1); none where fewer than two graphs do so.
#[must_use]
pub fn without_outputs(graphs: &[(&Arc<Graph>, &Layout)]) -> Option<WithoutOutputs> {
    let mut without = WithoutOutputs {
        graphs: Vec::new(),
        output_bytes: 0,
        names: Vec::new(),
        changed: 0,
    };
    for (graph, layout) in graphs {
        let unfreed: BTreeSet<NodeIndex> = layout.unfreed().map(|placed| placed.node).collect();
        let requested = layout
            .unfreed()
            .fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
        let kept = layout.bytes(&layout.held());
        if unfreed.is_empty() || requested > kept / SMALL {
            without.graphs.push(Arc::clone(graph));
            continue;
        }
        without.output_bytes = without.output_bytes.saturating_add(requested);
        let names = unfreed
            .iter()
            .map(|&node| format!("{}.{}", graph.name, graph.node_name(node)));
        without.names.extend(names);
        without.changed += 1;
        without.graphs.push(Arc::new(left_out(graph, &unfreed)));
    }
    (without.changed > 1).then_some(without)
}

/// A graph in which these alloc nodes do nothing. Its addresses are computed anew.
fn left_out(graph: &Graph, allocations: &BTreeSet<NodeIndex>) -> Graph {
    let changed = |(index, node): (NodeIndex, &Node)| {
        let kind = match node.kind {
            Kind::Alloc { .. } if allocations.contains(&index) => Kind::Other(Work::Empty),
            Kind::Alloc {
                bytes, location, ..
            } => Kind::Alloc {
                bytes,
                address: None,
                location,
            },
            other => other,
        };
        Node {
            kind,
            ..node.clone()
        }
    };
    Graph {
        nodes: graph.indexed().map(changed).collect(),
        uses: graph
            .uses
            .iter()
            .copied()
            .filter(|one| !allocations.contains(&one.allocation))
            .collect(),
        ..graph.clone()
    }
}

/// Says what small allocations cost that several graphs leave allocated.
#[must_use]
pub fn small_outputs(
    without: WithoutOutputs,
    block_bytes: u64,
    before: u64,
    after: u64,
) -> Option<Finding> {
    let saving = before.checked_sub(after).filter(|&saving| saving > 0)?;
    let outputs = count(without.names.len(), "small allocation");
    Some(Finding {
        kind: FindingKind::SmallOutputs,
        severity: Severity::Saving,
        rule: "R36 R46 M1",
        what: format!(
            "{} graphs leave {outputs} ({} in all) allocated, and each such graph keeps at least \
             one whole block of {} that no other graph can use",
            without.changed,
            bytes(without.output_bytes),
            bytes(block_bytes),
        ),
        remedy: format!(
            "allocate these outputs before the capture and let the graphs write into them: in one \
             stream all graphs then use {}, and the outputs take {} outside of graph memory",
            bytes(after),
            bytes(without.output_bytes),
        ),
        nodes: without.names,
        edges: Vec::new(),
        saving_bytes: saving,
        footprint_after_bytes: Some(after),
    })
}
