//! A watched program as one page: the account and the timeline of each device, then a
//! section per kind of graph with the map of its addresses.

use std::io::{self, Write};

use cudart_model::Profile;
use graph_memory_plan::analyse;

use super::charts;
use super::html::{Facts, document, figure, scrolled_table, severity_badge};
use super::markup::{Element, element};
use super::units;
use crate::watch::described;
use crate::watch::findings::signed;
use crate::watch::result::{
    DeviceResult, End, Finding, GraphResult, Group, ProcessResult, WatchResult,
};
use crate::watch::text::{execs_of, first_of, nodes, short};

const TITLE: &str = "What the CUDA graphs of a program hold";

/// Kinds of graphs with a section of their own, of each process.
const MOST_SECTIONS: usize = 60;

/// Writes the page.
///
/// # Errors
///
/// Those of writing.
pub(crate) fn write(result: &WatchResult, out: &mut dyn Write) -> io::Result<()> {
    let processes = result.processes.iter();
    let page = document(
        TITLE,
        element("body")
            .child(header(result))
            .child(element("main").children(processes.map(|one| process(one, result))))
            .child(footer(result)),
    );
    writeln!(out, "<!doctype html>\n{page}")?;
    out.flush()
}

fn header(result: &WatchResult) -> Element {
    let mut facts = Facts::new();
    facts.add("Command", Some(&result.command.join(" ")));
    let end = match result.end {
        Some(End::Code(code)) => Some(format!("exit code {code}")),
        Some(End::Signal(signal)) => Some(format!("signal {signal}")),
        None => None,
    };
    facts.add("Ended with", end.as_deref());
    let mut header = element("header")
        .child(element("h1").text(TITLE))
        .child(facts.list);
    if result.processes.is_empty() {
        header.push(element("p").text("No process used CUDA, or none could be watched."));
    }
    for note in &result.notes {
        header.push(element("p").class("small").text(note));
    }
    header
}

fn process(process: &ProcessResult, result: &WatchResult) -> Element {
    let id = format!("process-{}", process.name);
    let mut section =
        element("section")
            .with("aria-labelledby", &id)
            .child(element("h2").with("id", &id).text(format!(
                "{}, process {}",
                short(&process.executable),
                process.pid
            )));
    for device in &process.devices {
        section = section.children(self::device(device));
    }
    if !process.findings.is_empty() {
        section.push(element("h3").text("Findings"));
        section.push(findings(&process.findings));
    }
    if !process.groups.is_empty() {
        section.push(element("h3").text("Graphs, what took most first"));
        section.push(graphs(process));
    }
    let shown = process.groups.iter().take(MOST_SECTIONS);
    let sections: Vec<Element> = shown
        .filter_map(|group| kind_of_graph(process, group, result))
        .collect();
    section = section.children(sections);
    for note in &process.notes {
        section.push(element("p").class("small muted").text(note));
    }
    section
}

fn device(device: &DeviceResult) -> Vec<Element> {
    let name = device.name.as_deref().unwrap_or("unknown device");
    let mut parts = vec![element("h3").text(format!("Device {}: {name}", device.device))];
    let mut facts = Facts::new();
    let mut add = |name: &str, bytes: u64| facts.add(name, Some(&units::bytes(bytes)));
    if let Some(memory) = device.graph_memory {
        add("Graph memory reserved", memory.reserved_bytes);
        add("Graph memory used", memory.used_bytes);
        add("Most reserved", memory.reserved_high_bytes);
    }
    parts.push(facts.list);
    parts.extend(charts::watch::timeline(device).map(figure));
    let rows = device.account.entries.iter().map(|entry| {
        let libraries = entry.by_library.iter();
        let libraries: Vec<String> = libraries
            .map(|(library, bytes)| format!("{} {}", short(library), signed(*bytes)))
            .collect();
        row([
            entry.what.as_str().to_owned(),
            signed(entry.bytes),
            libraries.join(", "),
        ])
    });
    let sum = row([
        "all that is in use".to_owned(),
        signed(device.account.lost_bytes),
        String::new(),
    ]);
    parts.push(scrolled_table(
        "Where the device's memory went",
        &["what for", "bytes", "by library"],
        rows.chain([sum]),
    ));
    parts
}

fn findings(findings: &[Finding]) -> Element {
    let items = findings.iter().map(|finding| {
        let saves = match finding.saving_bytes {
            0 => String::new(),
            bytes => format!(" Saves {}.", units::bytes(bytes)),
        };
        let execs: Vec<String> = finding.execs.iter().take(20).map(u64::to_string).collect();
        let of = match execs.is_empty() {
            true => String::new(),
            false => format!(" Execs: {}.", execs.join(", ")),
        };
        element("li")
            .child(severity_badge(finding.severity))
            .text(format!(
                " {}. To do: {}.{saves}{of} ({})",
                finding.what, finding.remedy, finding.rule
            ))
    });
    element("ul").children(items)
}

fn graphs(process: &ProcessResult) -> Element {
    let most = process.groups.iter().map(Group::taken_bytes).max();
    let most = most.unwrap_or(0).max(1) as f64;
    let rows = process.groups.iter().filter_map(|group| {
        let graph = first_of(process, group)?;
        let launches: u64 = execs_of(process, group).map(|graph| graph.launches).sum();
        let taken = group.taken_bytes();
        let share = (taken.max(0) as f64 / most * 100.0).round();
        let bar = element("span").with("aria-hidden", "true").with(
            "style",
            format!("display:inline-block;height:.7em;width:{share}%;background:var(--used)"),
        );
        Some(
            row([
                group.execs.len().to_string(),
                graph.origin.as_deref().map_or("unknown", short).to_owned(),
                // Breaks at the commas only, so that the column stays readable.
                nodes(graph).replace(' ', "\u{a0}").replace(",\u{a0}", ", "),
                units::bytes(graph.requested_bytes),
                graph
                    .footprint_bytes
                    .map_or_else(|| "not known".to_owned(), units::bytes),
                signed(group.pool_growth_bytes),
                signed(group.captured_plain_bytes),
                launches.to_string(),
            ])
            .child(
                element("td")
                    .with("style", "min-width:6rem")
                    .text(format!("{} ", signed(taken)))
                    .child(bar),
            ),
        )
    });
    scrolled_table(
        "Graphs",
        &[
            "execs",
            "from",
            "nodes",
            "requested",
            "footprint",
            "pool growth",
            "plain, in captures",
            "launches",
            "taken",
        ],
        rows,
    )
}

/// A section for graphs with memory nodes: the map of their addresses.
fn kind_of_graph(process: &ProcessResult, group: &Group, result: &WatchResult) -> Option<Element> {
    let graph = first_of(process, group)?;
    if graph.allocations.is_empty() {
        return None;
    }
    let id = format!("graph-{}-{}", process.name, graph.exec);
    let mut part = element("section")
        .with("aria-labelledby", &id)
        .child(element("h3").with("id", &id).text(title(graph, group)))
        .child(facts(graph));
    if let Some(described) = described(graph, &result.dots) {
        let profile = Profile::default();
        let known = |_| true;
        let (plan, _) = analyse(&described, &profile, &known);
        if let Some(memory) = &plan.memory {
            part = part.children(charts::plan::map(memory, profile.block_bytes()).map(figure));
        }
    }
    Some(part)
}

fn title(graph: &GraphResult, group: &Group) -> String {
    match group.execs.len() {
        1 => format!("Exec {}", graph.exec),
        more => format!("Exec {} and {} like it", graph.exec, more - 1),
    }
}

fn facts(graph: &GraphResult) -> Element {
    let mut facts = Facts::new();
    facts.add("Instantiated by", graph.origin.as_deref());
    facts.add("Nodes", Some(&nodes(graph)));
    facts.add("Flags", Some(&format!("{:#x}", graph.flags)));
    facts.add("Requested", Some(&units::bytes(graph.requested_bytes)));
    let footprint = graph.footprint_bytes.map(units::bytes);
    facts.add("Footprint of one launch", footprint.as_deref());
    let unfreed = format!(
        "{} in {}",
        units::bytes(graph.unfreed_bytes),
        units::count(graph.unfreed, "allocation")
    );
    facts.add("Left allocated after a launch", Some(&unfreed));
    if let Some(first) = &graph.first_launch {
        let pool = signed(first.pool_growth_bytes);
        facts.add("Pool growth at its first launch", Some(&pool));
    }
    let launches = format!(
        "{}, {} of them grew the pool",
        graph.launches, graph.launches_that_grew
    );
    facts.add("Launches", Some(&launches));
    facts.list
}

fn footer(result: &WatchResult) -> Element {
    element("footer")
        .class("small muted")
        .child(element("p").text(format!(
            "{}, watch schema {}. Footprints are computed from the addresses for blocks of {}, as \
             measured on an H200; everything else was read in the program.",
            result.tool,
            result.schema_version,
            units::bytes(Profile::default().block_bytes()),
        )))
}

fn row<const N: usize>(cells: [String; N]) -> Element {
    element("tr").children(cells.into_iter().map(|cell| element("td").text(cell)))
}
