//! One graph: figures, address map, timeline, what it leaves allocated, findings.

use std::io::{self, Write};

use super::bar;
use crate::report::planned;
use crate::report::style::{self, BOLD, DIM, RED};
use crate::report::table::{Cut, Table};
use crate::report::units::{bytes, count};
use graph_memory_plan::findings::{Finding, FindingKind};
use graph_memory_plan::result::{AllocationPlan, Gpu, GraphPlan, MemoryPlan};

/// Names shown of the allocations that share a range.
const NAMES: usize = 4;

pub(super) fn write(
    graph: &GraphPlan,
    gpu: &Gpu,
    rows: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}",
        graph.name, graph.origin
    )?;
    let others = graph
        .nodes
        .saturating_sub(graph.alloc_nodes + graph.free_nodes);
    writeln!(
        out,
        "   {}: {}, {}, {}; {}",
        count(graph.nodes, "node"),
        count(graph.alloc_nodes, "alloc"),
        count(graph.free_nodes, "free"),
        count(others, "other"),
        count(graph.edges, "dependency"),
    )?;
    if !graph.unknown_types.is_empty() {
        let types: Vec<String> = graph
            .unknown_types
            .iter()
            .map(|(name, count)| format!("{name} ({count})"))
            .collect();
        writeln!(
            out,
            "   node types not known here, taken as nodes without memory: {}",
            types.join(", ")
        )?;
    }
    for note in &graph.notes {
        writeln!(out, "   note: {note}")?;
    }
    if let Some(problem) = &graph.problem {
        writeln!(out, "   {RED}CANNOT RUN{RED:#} {}", problem.what)?;
        if !problem.rule.is_empty() {
            writeln!(out, "              {DIM}{}{DIM:#}", problem.rule)?;
        }
        writeln!(out, "              try: {}", problem.remedy)?;
    }
    for memory in graph.memory.iter().chain(&graph.other_devices) {
        if memory.allocations.is_empty() {
            writeln!(out, "   it allocates nothing, so it holds no graph memory")?;
            continue;
        }
        if memory.device > 0 || !graph.other_devices.is_empty() {
            writeln!(out, "\n   {BOLD}GPU {}{BOLD:#}", memory.device)?;
        }
        figures(memory, gpu, out)?;
        address_map(memory, rows, out)?;
        timeline(memory, rows, out)?;
        unfreed(memory, rows, out)?;
    }
    findings(&graph.findings, rows, out)
}

fn figures(memory: &MemoryPlan, gpu: &Gpu, out: &mut dyn Write) -> io::Result<()> {
    let blocks = memory.footprint_bytes / gpu.granularity_bytes.max(1);
    let reserved = match memory.reserved_bytes {
        Some(reserved) => bytes(reserved),
        None if memory.rule_explains_dump.is_none() => "not known".to_owned(),
        None => "not known: the rule does not give this dump's addresses".to_owned(),
    };
    let figures = [
        (
            "requested",
            format!(
                "{} in {}",
                bytes(memory.requested_bytes),
                count(memory.allocations.len(), "allocation")
            ),
        ),
        ("peak live", planned::peak(memory)),
        (
            "footprint",
            format!(
                "{BOLD}{}{BOLD:#}: {} of {}",
                bytes(memory.footprint_bytes),
                count(to_usize(blocks), "block"),
                bytes(gpu.granularity_bytes)
            ),
        ),
        (
            "  rounding",
            format!("{} of it is in no allocation", bytes(memory.rounding_bytes)),
        ),
        (
            "  sharing",
            format!(
                "{} saved by allocations at the same addresses",
                bytes(memory.shared_bytes)
            ),
        ),
        ("reserved", reserved),
        ("addresses", planned::addresses(memory).to_owned()),
    ];
    for (name, value) in figures {
        writeln!(out, "   {DIM}{name:12}{DIM:#} {value}")?;
    }
    if memory.kept_after_trim_bytes > 0 {
        let kept = bytes(memory.kept_after_trim_bytes);
        let until = "until what the launch left allocated is freed";
        writeln!(out, "   {DIM}after a trim{DIM:#} {kept} {until}")?;
    }
    Ok(())
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn address_map(memory: &MemoryPlan, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n   Addresses, from {:#x}", memory.base_address)?;
    let mut table = Table::new(["offset", "bytes", "size", "allocations in turn"]).left(3);
    let cut = Cut::new(memory.regions.len(), rows);
    for region in cut.of(&memory.regions) {
        let shown = region
            .nodes
            .get(..NAMES.min(region.nodes.len()))
            .unwrap_or(&[]);
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        let mut names = shown.join(", then ");
        if region.nodes.len() > shown.len() {
            names += &format!(", then {} more", region.nodes.len() - shown.len());
        }
        table.row([
            format!("{:#x}", region.offset_bytes),
            region.bytes.to_string(),
            bytes(region.bytes),
            names,
        ]);
    }
    table.write(&cut, out)
}

fn timeline(memory: &MemoryPlan, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n   Live, in an order in which it may run")?;
    let mut table = Table::new(["node", "", "live"]);
    let cut = Cut::new(memory.timeline.len(), rows);
    for event in cut.of(&memory.timeline) {
        let sign = if event.action == "alloc" { '+' } else { '-' };
        table.row_with_tail(
            [
                event.node.to_string(),
                format!("{sign}{}", bytes(event.bytes)),
                bytes(event.live_bytes),
            ],
            bar(event.live_bytes, memory.peak_live_bytes),
        );
    }
    table.write(&cut, out)
}

fn unfreed(memory: &MemoryPlan, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let unfreed: Vec<&AllocationPlan> = memory
        .allocations
        .iter()
        .filter(|allocation| allocation.freed_by.is_none())
        .collect();
    if unfreed.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["node", "size", "offset"]);
    let cut = Cut::new(unfreed.len(), rows);
    for allocation in cut.of(&unfreed) {
        table.row([
            allocation.node.to_string(),
            bytes(allocation.bytes),
            format!("{:#x}", allocation.offset_bytes),
        ]);
    }
    writeln!(
        out,
        "\n   Left allocated after the launch: cudaFree or cudaFreeAsync them, or add a free node"
    )?;
    table.write(&cut, out)
}

pub(super) fn findings(findings: &[Finding], rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n   Findings")?;
    for finding in findings.iter().take(rows) {
        let (style, word) = style::severity(finding.severity);
        writeln!(
            out,
            "   {style}{word}{style:#} {}  {DIM}{}{DIM:#}",
            finding.what, finding.rule
        )?;
        writeln!(out, "          {}", finding.remedy)?;
        if let (Some(after), true) = (finding.footprint_after_bytes, finding.saving_bytes > 0) {
            writeln!(
                out,
                "          saves {}: the footprint is then {}",
                bytes(finding.saving_bytes),
                bytes(after)
            )?;
        }
        if finding.kind == FindingKind::MissingEdge && finding.edges.len() > 1 {
            for edge in finding.edges.iter().take(rows) {
                writeln!(
                    out,
                    "          {} -> {}  saves {}",
                    edge.from,
                    edge.to,
                    bytes(edge.saving_bytes)
                )?;
            }
            if finding.edges.len() > rows {
                writeln!(out, "          ... {} more ...", finding.edges.len() - rows)?;
            }
        }
    }
    if findings.len() > rows {
        writeln!(out, "   {DIM}... {} more ...{DIM:#}", findings.len() - rows)?;
    }
    Ok(())
}
