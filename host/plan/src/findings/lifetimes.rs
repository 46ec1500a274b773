//! Free nodes that are one too many or too few.

use super::{Finding, FindingKind, Search, Severity, names};
use crate::graph::{Freed, Kind};
use crate::units::bytes;

/// Two free nodes for one allocation (R13, R30).
pub(super) fn freed_twice(search: &Search<'_>) -> Vec<Finding> {
    let graph = search.graph;
    let again = graph.indexed().filter_map(|(_, node)| match node.kind {
        Kind::Free(Freed::Again(allocation)) => {
            Some((node.name.to_string(), search.name(allocation)))
        }
        _ => None,
    });
    again
        .map(|(free, allocation)| Finding {
            kind: FindingKind::FreedTwice,
            severity: Severity::Error,
            rule: "R13 R30",
            what: format!("{free} frees {allocation}, which another free node frees: adding it fails with 1 cudaErrorInvalidValue"),
            remedy: format!("leave {free} out"),
            nodes: vec![free, allocation],
            edges: Vec::new(),
            saving_bytes: 0,
            footprint_after_bytes: None,
        })
        .collect()
}

/// A free node for what its own graph frees as well (R15).
pub(crate) fn freed_by_owner_too(free: &str, allocation: &str) -> Finding {
    Finding {
        kind: FindingKind::FreedTwice,
        severity: Severity::Error,
        rule: "R13 R15",
        what: format!(
            "{free} frees {allocation}, which its own graph frees: adding it fails with 1 \
             cudaErrorInvalidValue"
        ),
        remedy: format!("leave {free} out"),
        nodes: vec![free.to_owned(), allocation.to_owned()],
        edges: Vec::new(),
        saving_bytes: 0,
        footprint_after_bytes: None,
    }
}

/// Free nodes for what no graph here leaves allocated (R14, R30).
pub(super) fn frees_unknown(search: &Search<'_>, known: &dyn Fn(Freed) -> bool) -> Vec<Finding> {
    let foreign = search
        .graph
        .indexed()
        .filter_map(|(_, node)| match node.kind {
            Kind::Free(freed @ Freed::AtAddress(address)) if !known(freed) => {
                Some((node.name.to_string(), format!("{address:#x}")))
            }
            _ => None,
        });
    foreign
        .map(|(free, address)| Finding {
            kind: FindingKind::FreesUnknown,
            severity: Severity::Note,
            rule: "R14 R15 R30",
            what: format!("{free} frees {address}, which no graph given here leaves allocated"),
            remedy: "give the graph that allocates it as well".to_owned(),
            nodes: vec![free],
            edges: Vec::new(),
            saving_bytes: 0,
            footprint_after_bytes: None,
        })
        .collect()
}

/// Allocations that the launch leaves allocated (R14, R18).
pub(super) fn never_freed(search: &Search<'_>) -> Option<Finding> {
    let unfreed: Vec<_> = search.layout.unfreed().collect();
    if unfreed.is_empty() {
        return None;
    }
    let nodes: Vec<String> = unfreed
        .iter()
        .map(|placed| search.name(placed.node))
        .collect();
    let requested: u64 = unfreed
        .iter()
        .fold(0, |sum, placed| sum.saturating_add(placed.bytes));
    let held = search.layout.bytes(&search.layout.held());
    let next = if search.graph.auto_free {
        "the next launch frees them first (AutoFreeOnLaunch), and nothing frees those of the last"
    } else {
        "a second launch fails with 1 cudaErrorInvalidValue unless they are freed before or the \
         graph was instantiated with AutoFreeOnLaunch, which a dump does not say: PyTorch sets \
         it, and --auto-free plans with it"
    };
    Some(Finding {
        kind: FindingKind::NeverFreed,
        severity: Severity::Note,
        rule: if search.graph.auto_free {
            "R14 R19 R20"
        } else {
            "R14 R18 R19"
        },
        what: format!(
            "{} ({}) {} left allocated after the launch and {} {} through any trim; {next}",
            names(&nodes),
            bytes(requested),
            if unfreed.len() == 1 { "is" } else { "are" },
            if unfreed.len() == 1 { "keeps" } else { "keep" },
            bytes(held),
        ),
        remedy:
            "after the launch cudaFree or cudaFreeAsync, or a free node here or in another graph"
                .to_owned(),
        nodes,
        edges: Vec::new(),
        saving_bytes: 0,
        footprint_after_bytes: None,
    })
}
