//! Two recordings beside each other: before and after a change, which graph grew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use safe_io::Shown;

use super::findings::signed;
use super::result::{Use, WatchResult};
use super::text::{execs_of, first_of, nodes, short};
use crate::report::units;

/// One row: what, before, after.
struct Row {
    what: String,
    before: i64,
    after: i64,
}

/// The table of differences, and how many rows differ.
#[must_use]
pub fn table(before: &WatchResult, after: &WatchResult) -> (String, usize) {
    let mut rows = devices(before, after);
    rows.extend(graphs(before, after));
    let differ = rows.iter().filter(|row| row.before != row.after).count();
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{:>12} {:>12} {:>12}",
        "before", "after", "difference"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:>12} {:>12} {:>12}  {}",
            signed(row.before),
            signed(row.after),
            match row.after - row.before {
                0 => "equal".to_owned(),
                more if more > 0 => format!("+{}", signed(more)),
                less => signed(less),
            },
            Shown(row.what)
        );
    }
    (text, differ)
}

/// The accounts of all devices and processes, by what memory is used for.
fn devices(before: &WatchResult, after: &WatchResult) -> Vec<Row> {
    let sum = |result: &WatchResult| {
        let mut uses: BTreeMap<Use, i64> = BTreeMap::new();
        for device in result.processes.iter().flat_map(|p| &p.devices) {
            for entry in &device.account.entries {
                *uses.entry(entry.what).or_default() += entry.bytes;
            }
        }
        uses
    };
    let (before, after) = (sum(before), sum(after));
    let uses: std::collections::BTreeSet<Use> =
        before.keys().chain(after.keys()).copied().collect();
    uses.into_iter()
        .map(|what| Row {
            what: what.as_str().to_owned(),
            before: before.get(&what).copied().unwrap_or(0),
            after: after.get(&what).copied().unwrap_or(0),
        })
        .collect()
}

/// Kinds of graphs, by origin, nodes and requested bytes: what each took.
fn graphs(before: &WatchResult, after: &WatchResult) -> Vec<Row> {
    let kinds = |result: &WatchResult| {
        let mut kinds: BTreeMap<String, i64> = BTreeMap::new();
        for process in &result.processes {
            for group in &process.groups {
                let Some(graph) = first_of(process, group) else {
                    continue;
                };
                let name = format!(
                    "graphs of {}: {}, {} requested",
                    graph.origin.as_deref().map_or("unknown", short),
                    nodes(graph),
                    units::bytes(graph.requested_bytes)
                );
                let taken = group.taken_bytes();
                debug_assert!(execs_of(process, group).count() == group.execs.len());
                *kinds.entry(name).or_default() += taken;
            }
        }
        kinds
    };
    let (before, after) = (kinds(before), kinds(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .map(|name| Row {
            what: name.clone(),
            before: before.get(name).copied().unwrap_or(0),
            after: after.get(name).copied().unwrap_or(0),
        })
        .collect()
}
