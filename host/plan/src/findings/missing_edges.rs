//! Allocations that could have had the memory of an earlier one, had they been
//! ordered after its free node (R3, R4).

use std::borrow::Cow;

use super::{Finding, FindingKind, NewEdge, Search, Severity};
use crate::graph::NodeIndex;
use crate::layout::{Change, Layout, Placed};

/// The allocations looked at in each round, the largest first.
const ALLOCATIONS: usize = 32;

/// The free nodes tried for each.
const FREES: usize = 4;

/// Free nodes whose order is looked up for each: the newest of the smallest first.
const LOOKED_UP: usize = 64;

/// The most edges proposed.
const EDGES: usize = 256;

type Edge = (NodeIndex, NodeIndex);

/// Footprint, then address space: an edge that saves no block by itself may save one
/// together with the next.
fn cost(layout: &Layout) -> (u64, u64) {
    (layout.used_bytes(), layout.end - layout.base)
}

/// Adds the best edge again and again while it saves something.
pub(super) fn find(search: &mut Search<'_>) -> Option<Finding> {
    if !search.is_small_enough() {
        return None;
    }
    let before = search.used();
    let mut change = Change::default();
    let (mut layout, mut order) = (Cow::Borrowed(search.layout), Cow::Borrowed(search.order));
    while change.edges.len() < EDGES {
        let candidates = candidates(search, &layout, |later, earlier| {
            order.is_after(later as usize, earlier as usize)
        });
        let mut best: Option<(Edge, Layout, _)> = None;
        for edge in candidates {
            change.edges.push(edge);
            let tried = search.try_change(&change);
            change.edges.pop();
            let Some((tried, tried_order)) = tried else {
                break;
            };
            let bar = best
                .as_ref()
                .map_or(cost(&layout), |(_, best, _)| cost(best));
            if cost(&tried) < bar {
                let saves_a_block = tried.used_bytes() < layout.used_bytes();
                best = Some((edge, tried, tried_order));
                if saves_a_block {
                    break;
                }
            }
        }
        let Some((edge, better, better_order)) = best else {
            break;
        };
        change.edges.push(edge);
        (layout, order) = (Cow::Owned(better), Cow::Owned(better_order));
    }
    let edges = needed(search, change, layout.used_bytes());
    if edges.is_empty() {
        return None;
    }
    finding(search, before, edges)
}

/// Edges from free nodes to allocations that took new space, though the freed memory
/// was large enough.
fn candidates(
    search: &Search<'_>,
    layout: &Layout,
    is_after: impl Fn(NodeIndex, NodeIndex) -> bool,
) -> Vec<Edge> {
    let mut highest = layout.base;
    let mut in_new_space: Vec<&Placed> = Vec::new();
    for placed in &layout.allocations {
        if placed.address >= highest {
            in_new_space.push(placed);
        }
        highest = highest.max(placed.end());
    }
    in_new_space.sort_by_key(|placed| (std::cmp::Reverse(placed.bytes), placed.node));
    let mut by_size: Vec<&Placed> = layout
        .allocations
        .iter()
        .filter(|placed| placed.freed_by.is_some())
        .collect();
    by_size.sort_by_key(|placed| (placed.bytes, std::cmp::Reverse(placed.node)));
    // A node has no dependencies on nodes of other graphs, those around it included.
    let inside = search.graph.inside();
    let mut edges = Vec::new();
    for wanted in in_new_space.into_iter().take(ALLOCATIONS) {
        let large_enough = by_size.partition_point(|placed| placed.bytes < wanted.bytes);
        // Only a node that was there already can have a say in the address.
        let older = by_size
            .get(large_enough..)
            .unwrap_or(&[])
            .iter()
            .filter_map(|placed| placed.freed_by)
            .filter(|&free| free < wanted.node && inside(free) == inside(wanted.node));
        let frees = older.take(LOOKED_UP).filter(|&free| {
            !is_after(wanted.node, free)
                && !search.order.is_after(free as usize, wanted.node as usize)
        });
        let frees = frees.map(|free| (free, wanted.node));
        edges.extend(frees.take(FREES));
    }
    edges
}

/// The edges without those that are not needed to get down to `used`, each with what
/// it saves.
fn needed(search: &mut Search<'_>, change: Change, used: u64) -> Vec<(Edge, u64)> {
    let mut edges = change.edges;
    let mut at = edges.len();
    while let Some(next) = at.checked_sub(1) {
        at = next;
        let mut fewer = edges.clone();
        fewer.remove(at);
        let tried = search.try_change(&Change {
            edges: fewer.clone(),
            ..Change::default()
        });
        if tried.is_some_and(|(layout, _)| layout.used_bytes() <= used) {
            edges = fewer;
        }
    }
    let mut before = search.used();
    let mut needed = Vec::new();
    for count in 1..=edges.len() {
        let some = edges.get(..count).unwrap_or(&[]).to_vec();
        let Some(&edge) = some.last() else {
            break;
        };
        let Some((layout, _)) = search.try_change(&Change {
            edges: some,
            ..Change::default()
        }) else {
            break;
        };
        let after = layout.used_bytes();
        needed.push((edge, before.saturating_sub(after)));
        before = after;
    }
    needed
}

fn finding(search: &Search<'_>, before: u64, edges: Vec<(Edge, u64)>) -> Option<Finding> {
    let saving: u64 = edges.iter().map(|(_, saving)| saving).sum();
    if saving == 0 {
        return None;
    }
    let edges: Vec<NewEdge> = edges
        .into_iter()
        .map(|((from, to), saving_bytes)| NewEdge {
            from: search.name(from),
            to: search.name(to),
            saving_bytes,
        })
        .collect();
    let (what, remedy) = match edges.as_slice() {
        [edge] => (
            format!(
                "{} could have had memory that {} frees, but is not ordered after it",
                edge.to, edge.from
            ),
            format!("add the dependency {} -> {}", edge.from, edge.to),
        ),
        _ => (
            format!(
                "{} allocations could have had memory that is freed, but are not ordered after the free",
                edges.len()
            ),
            "add the dependencies below; each allocation then waits for the free node".to_owned(),
        ),
    };
    Some(Finding {
        kind: FindingKind::MissingEdge,
        severity: Severity::Saving,
        rule: "R3 R4",
        what,
        remedy,
        nodes: edges.iter().map(|edge| edge.to.clone()).collect(),
        edges,
        saving_bytes: saving,
        footprint_after_bytes: Some(before - saving),
    })
}
