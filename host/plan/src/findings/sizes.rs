//! Sizes just over a block: a little less would take a whole block less (M1, M16).

use super::{Finding, FindingKind, Search, Severity};
use crate::layout::{Change, Placed};
use crate::units::bytes;

/// A part of a block of at most this share counts as a little.
const SHARE: u64 = 8;

/// The allocations tried, the largest first.
const ALLOCATIONS: usize = 64;

/// The findings kept, the largest savings first.
const KEPT: usize = 3;

/// For each allocation that ends a little way into a block, or is a little larger
/// than whole blocks: the footprint with that little taken off.
pub(super) fn just_over_a_block(search: &mut Search<'_>) -> Vec<Finding> {
    if !search.is_small_enough() {
        return Vec::new();
    }
    let block = search.layout.block_bytes();
    let little = |bytes: u64| (1..=block / SHARE).contains(&(bytes % block));
    let mut candidates: Vec<Placed> = search.layout.allocations.clone();
    candidates.retain(|placed| {
        little(placed.bytes) && placed.bytes > block
            || little(placed.end()) && placed.bytes > placed.end() % block
    });
    candidates.sort_by_key(|placed| (std::cmp::Reverse(placed.bytes), placed.node));
    let mut findings = Vec::new();
    for placed in candidates.into_iter().take(ALLOCATIONS) {
        let mut options = [placed.bytes % block, placed.end() % block];
        options.sort_unstable();
        for less in options
            .into_iter()
            .filter(|&less| little(less) && less < placed.bytes)
        {
            let size = Some((placed.node, placed.bytes - less));
            let Some((layout, _)) = search.try_change(&Change {
                size,
                ..Change::default()
            }) else {
                break;
            };
            let after = layout.used_bytes();
            let saving = search.used().saturating_sub(after);
            if saving > 0 {
                findings.push(finding(search, &placed, less, saving, after));
                break;
            }
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.saving_bytes));
    findings.truncate(KEPT);
    findings
}

fn finding(search: &Search<'_>, placed: &Placed, less: u64, saving: u64, after: u64) -> Finding {
    let name = search.name(placed.node);
    Finding {
        kind: FindingKind::JustOverABlock,
        severity: Severity::Saving,
        rule: "M1 M16",
        what: format!(
            "{name} requests {} and ends just inside a block of {}",
            bytes(placed.bytes),
            bytes(search.layout.block_bytes()),
        ),
        remedy: format!(
            "request {} less, {} in all: that takes {} less",
            bytes(less),
            bytes(placed.bytes - less),
            bytes(saving)
        ),
        nodes: vec![name],
        edges: Vec::new(),
        saving_bytes: saving,
        footprint_after_bytes: Some(after),
    }
}
