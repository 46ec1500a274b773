//! Two recordings beside each other: before and after a change, which graph grew.

use std::collections::{BTreeMap, BTreeSet};

use safe_io::Shown;

use super::findings::signed;
use super::result::{Use, WatchResult};
use super::text::{first_of, nodes, short};
use crate::report::table::Table;
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
    let mut table = Table::new(["memory", "before", "after", "difference"]);
    for row in rows {
        let difference = match row.after - row.before {
            0 => "equal".to_owned(),
            more if more > 0 => format!("+{}", signed(more)),
            less => signed(less),
        };
        table.row([
            Shown(row.what).to_string(),
            signed(row.before),
            signed(row.after),
            difference,
        ]);
    }
    (table.text(), differ)
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
    beside(sum(before), sum(after), |what| what.as_str().to_owned())
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
                *kinds.entry(name).or_default() += group.taken_bytes();
            }
        }
        kinds
    };
    beside(kinds(before), kinds(after), String::clone)
}

/// A row for each key of either.
fn beside<K: Ord>(
    before: BTreeMap<K, i64>,
    after: BTreeMap<K, i64>,
    name: impl Fn(&K) -> String,
) -> Vec<Row> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    let row = |key| Row {
        what: name(key),
        before: before.get(key).copied().unwrap_or(0),
        after: after.get(key).copied().unwrap_or(0),
    };
    keys.into_iter().map(row).collect()
}
