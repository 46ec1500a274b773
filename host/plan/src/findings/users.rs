//! Users of allocations: those that may run too early or too late, and allocations
//! that have none.

use std::collections::BTreeSet;

use super::{Finding, FindingKind, Search, Severity, names};
use crate::graph::{Dependencies, Freed, Graph, Kind, NodeIndex};
use crate::layout::Change;

/// Nodes looked at for one allocation before it is taken to be used.
const LOOKED_AT: usize = 256;

/// The most hazards listed.
const HAZARDS: usize = 1000;

/// Users that are known, and not ordered between the alloc and the free node (R11).
pub(super) fn hazards(search: &Search<'_>) -> Vec<Finding> {
    let graph = search.graph;
    let freed_by = graph.freed_by();
    let is_after = |later: NodeIndex, earlier: NodeIndex| {
        search.order.is_after(later as usize, earlier as usize)
    };
    let mut findings = Vec::new();
    for one in &graph.uses {
        if findings.len() >= HAZARDS {
            break;
        }
        let (user, allocation) = (search.name(one.user), search.name(one.allocation));
        let mut add = |kind, what, remedy, nodes| {
            findings.push(Finding {
                kind,
                severity: Severity::Hazard,
                rule: "R11",
                what,
                remedy,
                nodes,
                edges: Vec::new(),
                saving_bytes: 0,
                footprint_after_bytes: None,
            });
        };
        if !is_after(one.user, one.allocation) {
            add(
                FindingKind::UseBeforeAlloc,
                format!(
                    "{user} uses {allocation} and is not ordered after it: it may run before the memory is there"
                ),
                format!("add the dependency {allocation} -> {user}"),
                vec![user.clone(), allocation.clone()],
            );
        }
        let free = freed_by[one.allocation];
        if let Some(free) = free.filter(|&free| !is_after(free, one.user)) {
            let free = search.name(free);
            add(
                FindingKind::FreeBeforeUse,
                format!(
                    "{free} frees {allocation} and is not ordered after {user}, which uses it: others may have the memory by then"
                ),
                format!("add the dependency {user} -> {free}"),
                vec![free.clone(), user.clone(), allocation.clone()],
            );
        }
    }
    findings
}

/// Free nodes that may run before the allocation that they free is there (R11). The driver
/// takes such graphs, also with the free node ordered before the alloc node.
pub(super) fn freed_before(search: &mut Search<'_>) -> Vec<Finding> {
    if !search.is_small_enough() {
        return Vec::new();
    }
    let graph = search.graph;
    let early = graph.indexed().filter_map(|(free, node)| match node.kind {
        Kind::Free(Freed::Here(allocation)) => {
            let is_after = graph.dependencies.of(free).contains(&allocation)
                || search.order.is_after(free as usize, allocation as usize);
            (!is_after).then(|| (node.name.to_string(), search.name(allocation)))
        }
        _ => None,
    });
    let finding = |(free, allocation): (String, String)| Finding {
        kind: FindingKind::UseBeforeAlloc,
        severity: Severity::Hazard,
        rule: "R11",
        what: format!(
            "{free} frees {allocation} and is not ordered after it: it may run before the memory \
             is there"
        ),
        remedy: format!("add the dependency {allocation} -> {free}"),
        nodes: vec![free, allocation],
        edges: Vec::new(),
        saving_bytes: 0,
        footprint_after_bytes: None,
    };
    early.take(HAZARDS).map(finding).collect()
}

/// Allocations after which nothing comes that could use them before they are freed.
pub(super) fn never_used(search: &mut Search<'_>) -> Option<Finding> {
    let graph = search.graph;
    let freed_by = graph.freed_by();
    let dependents = graph.dependencies.reversed();
    let used: BTreeSet<NodeIndex> = graph.uses.iter().map(|one| one.allocation).collect();
    let users: BTreeSet<NodeIndex> = graph.uses.iter().map(|one| one.user).collect();
    // An allocation that is left allocated is for others to use.
    let unused: BTreeSet<NodeIndex> = graph
        .allocations()
        .map(|(node, ..)| node)
        .filter(|node| !used.contains(node))
        .filter(|&node| {
            let free = freed_by[node];
            free.is_some_and(|free| !may_be_used(graph, &dependents, &users, [node, free]))
        })
        .collect();
    if unused.is_empty() {
        return None;
    }
    let nodes: Vec<String> = unused.iter().map(|&node| search.name(node)).collect();
    let without = Change {
        without: unused,
        ..Change::default()
    };
    let after = search
        .try_change(&without)
        .map(|(layout, _)| layout.used_bytes());
    let saving = after.map_or(0, |after| search.used().saturating_sub(after));
    let (it, they) = if nodes.len() == 1 {
        ("it", "is")
    } else {
        ("them", "are")
    };
    Some(Finding {
        kind: FindingKind::NeverUsed,
        severity: if saving > 0 {
            Severity::Saving
        } else {
            Severity::Note
        },
        rule: "R8 R9",
        what: format!(
            "{} {they} freed with no node between that could use {it}",
            names(&nodes)
        ),
        remedy: format!("leave {it} out, or order the users between the alloc and the free node"),
        nodes,
        edges: Vec::new(),
        saving_bytes: saving,
        footprint_after_bytes: after,
    })
}

/// Whether a node that could use the allocation comes after it, and not only after
/// its free node. Where this takes long to say, it is taken to be so.
fn may_be_used(
    graph: &Graph,
    dependents: &Dependencies,
    users: &BTreeSet<NodeIndex>,
    [alloc, free]: [NodeIndex; 2],
) -> bool {
    let mut seen = BTreeSet::from([alloc, free]);
    let mut pending = vec![alloc];
    while let Some(node) = pending.pop() {
        for &next in dependents.of(node) {
            if !seen.insert(next) {
                continue;
            }
            let could_use = match graph.node(next).kind {
                // Which memory a kernel uses is known only where uses are listed.
                Kind::Kernel { .. } => !users.contains(&next),
                Kind::Other(work) => work.may_use_anything(),
                _ => false,
            };
            if could_use || seen.len() > LOOKED_AT {
                return true;
            }
            pending.push(next);
        }
    }
    false
}
