//! From a graph's description to its plan.

use std::collections::BTreeMap;

use cudart_model::Profile;

use super::findings;
use super::graph::{Freed, Graph, Kind, Work};
use super::layout::{Effort, Layout, LayoutError, Layouts, Source};
use super::refusals;
use super::result::{
    AddressSource, AllocationPlan, BlockPlan, GraphPlan, MemoryPlan, Problem, RegionPlan,
    TimelineEvent,
};
use super::timeline::Timeline;

/// What computing a graph's addresses may take where the dump does not have them: about half
/// a minute.
const EFFORT: Effort = Effort::steps(600_000_000);

/// The same where a dump has them, and only what is reserved and most findings would
/// be missing: three seconds. Enough for a million nodes in some twenty branches.
const EFFORT_WITH_DUMP: Effort = Effort::steps(60_000_000);

/// What is known of memory nodes in child graphs.
const CHILD_MEMORY: &str = "child graphs have memory nodes (R26): one that frees all it allocates \
                            takes a block more than by itself, from its begin to its end, and \
                            one that does not shares memory with nothing; measured, not \
                            documented";

/// The same where the rule does not give the addresses.
const CHILD_MEMORY_UNSURE: &str = "child graphs have memory nodes (R26), and the rule for them \
                                   does not give this dump's addresses: the footprint is an \
                                   estimate";

/// A graph's plan, and its layout where it has one.
#[must_use]
pub fn analyse(
    graph: &Graph,
    gpu: &Profile,
    frees_known: &dyn Fn(Freed) -> bool,
) -> (GraphPlan, Option<Layout>) {
    let free_nodes = graph
        .nodes
        .iter()
        .filter(|node| matches!(node.kind, Kind::Free(_)))
        .count();
    let mut plan = GraphPlan {
        name: graph.name.clone(),
        origin: graph.origin.clone(),
        nodes: graph.nodes.len(),
        edges: graph.dependencies.edge_count(),
        alloc_nodes: graph.allocations().count(),
        free_nodes,
        unknown_types: unknown_types(graph),
        notes: graph.notes.clone(),
        problem: None,
        memory: None,
        other_devices: Vec::new(),
        findings: Vec::new(),
    };
    let order = match refusals::order(graph, gpu) {
        Ok(order) => order,
        Err(problem) => {
            plan.problem = Some(problem);
            return (plan, None);
        }
    };
    let devices = graph.devices();
    let mut first = None;
    for &device in &devices {
        let alone;
        let on_device = match devices.len() {
            1 => graph,
            _ => {
                alone = graph.on_device(device);
                &alone
            }
        };
        let laid_out = match lay_out(on_device, gpu, frees_known) {
            Ok(laid_out) => laid_out,
            Err(problem) => {
                plan.problem = Some(problem);
                (plan.memory, plan.other_devices) = (None, Vec::new());
                return (plan, None);
            }
        };
        let timeline = Timeline::along(on_device, &order);
        let memory = memory(on_device, device, &laid_out, &timeline);
        plan.findings.extend(laid_out.findings);
        if first.is_none() {
            plan.memory = Some(memory);
            first = Some(laid_out.layout);
        } else {
            plan.other_devices.push(memory);
        }
    }
    if devices.is_empty() {
        let laid_out = match lay_out(graph, gpu, frees_known) {
            Ok(laid_out) => laid_out,
            Err(problem) => {
                plan.problem = Some(problem);
                return (plan, None);
            }
        };
        let timeline = Timeline::along(graph, &order);
        plan.memory = Some(memory(graph, 0, &laid_out, &timeline));
        plan.findings = laid_out.findings;
        first = Some(laid_out.layout);
    }
    findings::sort(&mut plan.findings);
    if graph.dependencies.edges().any(|(from, to)| from >= to) {
        plan.notes.push(
            "some dependencies lead from newer to older nodes: they were added later, and had no \
             say in the addresses"
                .to_owned(),
        );
    }
    if let Some(layout) = first.as_ref().filter(|_| graph.has_child_memory()) {
        let of_dump = layout.source == Source::Dump;
        plan.notes.push(match (of_dump, layout.reserved_bytes) {
            (true, None) => CHILD_MEMORY_UNSURE.to_owned(),
            _ => CHILD_MEMORY.to_owned(),
        });
    }
    (plan, first)
}

/// A graph's allocations on one device.
struct LaidOut {
    layout: Layout,
    findings: Vec<findings::Finding>,
    /// Whether the addresses were computed, beside those of a dump.
    rule_computed: bool,
}

fn lay_out(
    graph: &Graph,
    gpu: &Profile,
    frees_known: &dyn Fn(Freed) -> bool,
) -> Result<LaidOut, Problem> {
    let dumped = graph.allocations().all(|(.., address)| address.is_some());
    let effort = if dumped { EFFORT_WITH_DUMP } else { EFFORT };
    match Layouts::of(graph, gpu.granularity(), effort) {
        Ok(layouts) => Ok(LaidOut {
            findings: findings::find(graph, &layouts, frees_known),
            layout: layouts.dumped.unwrap_or(layouts.computed),
            rule_computed: true,
        }),
        Err(LayoutError::Refused(refused)) => Err(Problem {
            what: refused.to_string(),
            remedy: "request at least one byte, and no more than the device has".to_owned(),
            rule: "R28 M10",
            nodes: vec![refused.node],
        }),
        Err(LayoutError::TakesTooLong) => match Layout::dumped(graph, gpu.granularity()) {
            Some(layout) => Ok(LaidOut {
                findings: findings::find_without_order(graph, &layout, frees_known),
                layout,
                rule_computed: false,
            }),
            None => Err(Problem {
                what: "computing its addresses takes too long: its order is too entangled"
                    .to_owned(),
                remedy: "give a dump, which has the driver's addresses".to_owned(),
                rule: "",
                nodes: Vec::new(),
            }),
        },
    }
}

fn unknown_types(graph: &Graph) -> Vec<(String, usize)> {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for node in graph
        .nodes
        .iter()
        .filter(|node| node.kind == Kind::Other(Work::Unknown))
    {
        *types
            .entry(graph.title(node).unwrap_or("(none)"))
            .or_default() += 1;
    }
    types
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

fn memory(graph: &Graph, device: u16, laid_out: &LaidOut, timeline: &Timeline) -> MemoryPlan {
    let LaidOut {
        layout,
        rule_computed,
        ..
    } = laid_out;
    let name = |node: u32| graph.node_name(node);
    let regions = layout.regions();
    let requested_bytes = layout
        .allocations
        .iter()
        .fold(0_u64, |sum, a| sum.saturating_add(a.bytes));
    let touched: u64 = regions.iter().map(|region| region.end - region.start).sum();
    let footprint_bytes = layout.used_bytes();
    let rule_explains_dump = (layout.source == Source::Dump && *rule_computed)
        .then_some(layout.reserved_bytes.is_some());
    MemoryPlan {
        device,
        requested_bytes,
        peak_live_bytes: timeline.peak_bytes,
        peak_at: timeline.peak_at.map(name),
        footprint_bytes,
        rounding_bytes: footprint_bytes.saturating_sub(touched),
        shared_bytes: requested_bytes.saturating_sub(touched),
        reserved_bytes: layout.reserved_bytes,
        kept_after_trim_bytes: layout.bytes(&layout.held()),
        addresses: match layout.source {
            Source::Dump => AddressSource::Dump,
            Source::Computed => AddressSource::Computed,
        },
        rule_explains_dump,
        base_address: layout.base,
        allocations: layout
            .allocations
            .iter()
            .map(|placed| AllocationPlan {
                node: name(placed.node),
                bytes: placed.bytes,
                offset_bytes: placed.address - layout.base,
                freed_by: placed.freed_by.map(name),
            })
            .collect(),
        blocks: blocks(layout, &regions),
        regions: regions
            .iter()
            .map(|region| RegionPlan {
                offset_bytes: region.start - layout.base,
                bytes: region.end - region.start,
                nodes: region.nodes.iter().map(|&node| name(node)).collect(),
            })
            .collect(),
        timeline: timeline
            .events
            .iter()
            .map(|event| {
                let bytes_of = |node: u32| match graph.node(node).kind {
                    Kind::Alloc { bytes, .. } => bytes,
                    _ => 0,
                };
                let (action, bytes) = match graph.node(event.node).kind {
                    Kind::Alloc { bytes, .. } => ("alloc", bytes),
                    Kind::Free(Freed::Here(allocation)) => ("free", bytes_of(allocation)),
                    _ => ("free", 0),
                };
                TimelineEvent {
                    node: name(event.node),
                    action,
                    bytes,
                    live_bytes: event.live_bytes,
                }
            })
            .collect(),
    }
}

/// The most blocks that are listed one by one: 3 TiB of them.
const BLOCKS_LISTED: u64 = 100_000;

/// The blocks of a layout and what is touched of each; none beyond
/// [`BLOCKS_LISTED`], which no device has, and none where it is not known where all of
/// them lie. Regions are ascending and do not overlap, so one pass does.
fn blocks(layout: &Layout, regions: &[super::layout::Region]) -> Vec<BlockPlan> {
    let size = layout.block_bytes().max(1);
    let (mapped, held) = (layout.mapped(), layout.held());
    if mapped.count() > BLOCKS_LISTED || !layout.has_all_addresses() {
        return Vec::new();
    }
    let mut regions = regions.iter().peekable();
    let mut blocks = Vec::new();
    for number in mapped.runs().iter().flat_map(Clone::clone) {
        let (start, end) = (number * size, (number + 1).saturating_mul(size));
        let mut touched = 0;
        while let Some(region) = regions.peek() {
            if region.start >= end {
                break;
            }
            touched += region.end.min(end).saturating_sub(region.start.max(start));
            if region.end > end {
                break;
            }
            regions.next();
        }
        blocks.push(BlockPlan {
            offset_bytes: start - layout.base,
            touched_bytes: touched,
            left_allocated: held.contains(number),
        });
    }
    blocks
}
