//! What could be better about a graph, or is wrong with it; one file per kind.
//!
//! Every saving is verified: the graph is laid out again with the change made, and
//! the footprint of that is what a finding promises.

mod lifetimes;
mod missing_edges;
mod sizes;
mod users;

pub(crate) use lifetimes::freed_by_owner_too;

use cudart_model::memory::address::Order;
use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::layout::{Change, Effort, Layout, LayoutError, Layouts};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind it is.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The rules that it rests on, such as `R3 R4`.
    pub rule: &'static str,
    /// What was found, one sentence.
    pub what: String,
    /// What to do about it, one sentence.
    pub remedy: String,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// The dependencies to add, in this order.
    pub edges: Vec<NewEdge>,
    /// Bytes of footprint that the remedy saves; 0 where that is not the point.
    pub saving_bytes: u64,
    /// The footprint of the graph with all of the remedy.
    pub footprint_after_bytes: Option<u64>,
}

/// A dependency that would save memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewEdge {
    /// The free node that has to come first.
    pub from: String,
    /// The alloc node that can then have the memory.
    pub to: String,
    /// What it saves when those before it are there.
    pub saving_bytes: u64,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// An allocation could have had an earlier one's memory.
    MissingEdge,
    /// A free node may run while a user of the allocation does.
    FreeBeforeUse,
    /// A user may run before the allocation is there.
    UseBeforeAlloc,
    /// Nothing can use an allocation.
    NeverUsed,
    /// Two free nodes for one allocation.
    FreedTwice,
    /// A free node for what no graph here leaves allocated.
    FreesUnknown,
    /// Allocations that no free node ends.
    NeverFreed,
    /// A little less would take a block less.
    JustOverABlock,
    /// Several graphs leave small allocations, each of which keeps a block.
    SmallOutputs,
    /// The search for savings was cut short.
    NotSearched,
}

/// How much a finding matters, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A call fails.
    Error,
    /// Data may be overwritten.
    Hazard,
    /// Memory can be saved.
    Saving,
    /// Information.
    Note,
}

/// What all layouts of one search may take together: a few seconds.
const EFFORT: Effort = Effort::steps(30_000_000);

/// The most nodes of a graph for which changes are tried one by one.
const MOST_NODES: usize = 187_500;

/// What the search works with.
struct Search<'g> {
    graph: &'g Graph,
    /// Computed addresses: a dump's own say nothing of how it could be.
    layout: &'g Layout,
    order: &'g Order,
    effort: Effort,
    cut_short: bool,
}

/// All findings about a graph without a cycle. `frees_known` tells for
/// free nodes of other graphs' allocations whether one of them allocates that.
#[must_use]
pub fn find(
    graph: &Graph,
    layouts: &Layouts,
    frees_known: &dyn Fn(super::graph::Freed) -> bool,
) -> Vec<Finding> {
    let mut search = Search {
        graph,
        layout: &layouts.computed,
        order: &layouts.order,
        effort: EFFORT,
        cut_short: false,
    };
    let mut findings = Vec::new();
    findings.extend(lifetimes::freed_twice(&search));
    findings.extend(lifetimes::frees_unknown(&search, frees_known));
    findings.extend(users::hazards(&search));
    findings.extend(users::freed_before(&mut search));
    findings.extend(missing_edges::find(&mut search));
    findings.extend(users::never_used(&mut search));
    findings.extend(sizes::just_over_a_block(&mut search));
    findings.extend(lifetimes::never_freed(&search));
    if search.cut_short {
        findings.push(search.not_searched());
    }
    sort(&mut findings);
    findings
}

/// The worst first, then those that save most.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (finding.severity, std::cmp::Reverse(finding.saving_bytes)));
}

/// What there is to find about a graph whose order is too entangled to follow.
#[must_use]
pub fn find_without_order(
    graph: &Graph,
    layout: &Layout,
    frees_known: &dyn Fn(super::graph::Freed) -> bool,
) -> Vec<Finding> {
    let search = Search {
        graph,
        layout,
        order: &Order::new(),
        effort: Effort::steps(0),
        cut_short: true,
    };
    let mut findings = lifetimes::freed_twice(&search);
    findings.extend(lifetimes::frees_unknown(&search, frees_known));
    findings.extend(lifetimes::never_freed(&search));
    findings.push(search.not_searched());
    findings
}

impl Search<'_> {
    fn name(&self, node: u32) -> String {
        self.graph.node_name(node).to_string()
    }

    fn used(&self) -> u64 {
        self.layout.used_bytes()
    }

    /// Whether there is effort for trying more than a few changes.
    fn is_small_enough(&mut self) -> bool {
        let enough = self.graph.nodes.len() <= MOST_NODES;
        self.cut_short |= !enough;
        enough
    }

    /// The layout with a change, if there is effort left for it.
    fn try_change(&mut self, change: &Change) -> Option<(Layout, Order)> {
        let granularity = self.layout.granularity();
        let tried = Layout::changed(self.graph, granularity, change, &mut self.effort);
        self.cut_short |= matches!(tried, Err(LayoutError::TakesTooLong));
        tried.ok()
    }

    fn not_searched(&self) -> Finding {
        Finding {
            kind: FindingKind::NotSearched,
            severity: Severity::Note,
            rule: "",
            what: format!(
                "the graph has {} nodes, and not every possible saving was tried",
                self.graph.nodes.len()
            ),
            remedy: "plan a part of it, as a scenario, to see more".to_owned(),
            nodes: Vec::new(),
            edges: Vec::new(),
            saving_bytes: 0,
            footprint_after_bytes: None,
        }
    }
}

/// A few names of many: `a, b, c and 5 more`.
fn names(list: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = list.get(..SHOWN.min(list.len())).unwrap_or(list).join(", ");
    match list.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
