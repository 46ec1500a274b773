//! Finds a node of a dump by its name.

use std::collections::{BTreeMap, HashMap};

use crate::name::Name;

/// The numbers that a graph's first node may leave out before it, which costs memory.
const MOST_SKIPPED: usize = 4;

/// The nodes that were named so far. Those of the runtime are found by their number: one
/// hash map of all takes 0.3 s more for a dump of a million nodes, which takes 1.8 s.
#[derive(Default)]
pub(super) struct ByName {
    dumped: BTreeMap<u32, Numbered>,
    other: HashMap<Name, u32>,
}

/// The nodes of one graph by the number that the runtime gave each.
#[derive(Default)]
struct Numbered {
    named: usize,
    /// `None` is a gap.
    nodes: Vec<Option<u32>>,
}

impl ByName {
    pub(super) fn get(&self, name: &Name) -> Option<u32> {
        if let Name::Dumped { graph, node } = *name
            && let Some(numbered) = self.dumped.get(&graph)
            && let Some(&Some(node)) = numbered.nodes.get(node as usize)
        {
            return Some(node);
        }
        self.other.get(name).copied()
    }

    pub(super) fn insert(&mut self, name: Name, node: u32) {
        if let Name::Dumped {
            graph,
            node: number,
        } = name
        {
            let numbered = self.dumped.entry(graph).or_default();
            let at = number as usize;
            // The runtime counts from 0; a number far beyond is from elsewhere.
            if at < 2 * numbered.named + MOST_SKIPPED {
                if at >= numbered.nodes.len() {
                    numbered.nodes.resize(at + 1, None);
                }
                numbered.nodes[at] = Some(node);
                numbered.named += 1;
                return;
            }
        }
        self.other.insert(name, node);
    }
}
