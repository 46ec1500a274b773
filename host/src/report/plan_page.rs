//! A plan as one page, in the form of the results' page.

use std::io::{self, Write};

use super::charts;
use super::html::{Facts, badge, document, figure, severity_badge};
use super::markup::{Element, element};
use super::planned;
use super::units;
use crate::rules;
use graph_memory_plan::findings::Finding;
use graph_memory_plan::result::{GraphPlan, MemoryPlan, Plan, PlannedBy, Schedule};

/// Findings shown of each graph.
const MOST_FINDINGS: usize = 100;

/// Writes the page.
///
/// # Errors
///
/// Those of writing.
pub fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let page = document(
        TITLE,
        element("body")
            .child(header(plan))
            .child(main(plan))
            .child(footer(plan)),
    );
    writeln!(out, "<!doctype html>\n{page}")?;
    out.flush()
}

const TITLE: &str = "How much memory graphs will hold";

fn header(plan: &Plan) -> Element {
    let mut facts = Facts::new();
    let gpu = &plan.gpu;
    facts.add("Planned for", Some(&gpu.name));
    facts.add(
        "Memory",
        Some(&format!(
            "allocation granularity {}, addresses are multiples of {}",
            units::bytes(gpu.granularity_bytes),
            units::bytes(gpu.address_alignment_bytes)
        )),
    );
    let mut header = element("header").child(element("h1").text(TITLE));
    match &plan.verified_on {
        Some(on) if on.simulation.is_none() => {
            facts.add("Compared on", Some(&on.device));
            facts.add("Runtime", on.runtime_version.as_deref());
            facts.add("Driver", on.driver_version.as_deref());
        }
        _ => header.push(
            element("p")
                .class("model")
                .child(element("strong").text("Planned, not measured. "))
                .text("Nothing here was run on a GPU."),
        ),
    }
    let graphs = plan.graphs.iter().enumerate();
    let graphs = graphs.map(|(number, graph)| (graph_id(number), graph.name.clone()));
    let schedules = plan.schedules.iter().enumerate();
    let schedules = schedules.map(|(number, one)| (schedule_id(number), one.name.clone()));
    let items = graphs.chain(schedules).map(|(id, name)| {
        let link = element("a").with("href", format!("#{id}")).text(name);
        element("li").child(link)
    });
    let contents = element("nav")
        .with("aria-label", "Graphs and schedules")
        .child(element("ul").children(items));
    header.child(facts.list).child(contents)
}

fn graph_id(number: usize) -> String {
    format!("graph-{number}")
}

fn schedule_id(number: usize) -> String {
    format!("schedule-{number}")
}

fn main(plan: &Plan) -> Element {
    let graphs = plan.graphs.iter().enumerate();
    let graphs =
        graphs.map(|(number, graph)| self::graph(number, graph, plan.gpu.granularity_bytes));
    let schedules = plan.schedules.iter().enumerate();
    let schedules = schedules.map(|(number, one)| schedule(number, one));
    let mut main = element("main").children(graphs);
    if !plan.findings.is_empty() {
        let together = element("section")
            .with("aria-labelledby", "together")
            .child(
                element("h2")
                    .with("id", "together")
                    .text("The graphs together"),
            )
            .child(findings(&plan.findings));
        main.push(together);
    }
    main.children(schedules)
}

fn graph(number: usize, graph: &GraphPlan, block_bytes: u64) -> Element {
    let id = graph_id(number);
    let mut part = element("section")
        .with("aria-labelledby", &id)
        .child(element("h2").with("id", &id).text(&graph.name))
        .child(element("p").class("muted").text(format!(
            "{}: {}, of them {} and {}; {}.",
            graph.origin,
            units::count(graph.nodes, "node"),
            units::count(graph.alloc_nodes, "alloc"),
            units::count(graph.free_nodes, "free"),
            units::count(graph.edges, "dependency"),
        )));
    for (name, count) in &graph.unknown_types {
        let what =
            format!("{count} of a type not known here, taken as nodes without memory: {name}.");
        part.push(element("p").class("small").text(what));
    }
    for note in &graph.notes {
        part.push(element("p").class("small").text(note));
    }
    if let Some(problem) = &graph.problem {
        part.push(
            element("p")
                .child(element("strong").class("FAIL").text("Cannot run: "))
                .text(format!("{}. Try: {}.", problem.what, problem.remedy)),
        );
    }
    for memory in graph.memory.iter().chain(&graph.other_devices) {
        if memory.device > 0 || !graph.other_devices.is_empty() {
            part.push(element("h3").text(format!("GPU {}", memory.device)));
        }
        part.push(figures(memory));
        part = part.children(charts::plan::map(memory, block_bytes).map(figure));
    }
    if !graph.findings.is_empty() {
        part.push(element("h3").text("Findings"));
        part.push(findings(&graph.findings));
    }
    part
}

fn figures(memory: &MemoryPlan) -> Element {
    let mut facts = Facts::new();
    let mut add = |name: &str, value: String| facts.add(name, Some(&value));
    add("Requested", units::bytes(memory.requested_bytes));
    add("Peak live", planned::peak(memory));
    add("Footprint", units::bytes(memory.footprint_bytes));
    add(
        "Rounding",
        format!(
            "{} of it is in no allocation",
            units::bytes(memory.rounding_bytes)
        ),
    );
    add(
        "Sharing",
        format!(
            "{} saved by allocations at the same addresses",
            units::bytes(memory.shared_bytes)
        ),
    );
    let reserved = memory.reserved_bytes.map(units::bytes);
    add(
        "Reserved",
        reserved.unwrap_or_else(|| "not known".to_owned()),
    );
    if memory.kept_after_trim_bytes > 0 {
        let kept = units::bytes(memory.kept_after_trim_bytes);
        add(
            "After a trim",
            format!("{kept} until what the launch left allocated is freed"),
        );
    }
    add("Addresses", planned::addresses(memory).to_owned());
    facts.list
}

fn findings(findings: &[Finding]) -> Element {
    let items = findings.iter().take(MOST_FINDINGS).map(|finding| {
        let mut item = element("li")
            .child(severity_badge(finding.severity))
            .text(format!(" {}. To do: {}.", finding.what, finding.remedy));
        if let (Some(after), true) = (finding.footprint_after_bytes, finding.saving_bytes > 0) {
            item = item.text(format!(
                " Saves {}: the footprint is then {}.",
                units::bytes(finding.saving_bytes),
                units::bytes(after)
            ));
        }
        if finding.edges.len() > 1 {
            let edges = finding.edges.iter().take(MOST_FINDINGS).map(|edge| {
                let saving = units::bytes(edge.saving_bytes);
                element("li").text(format!("{} -> {}, saves {saving}", edge.from, edge.to))
            });
            item.push(element("ul").children(edges));
        }
        let named: Vec<&str> = rules::named(finding.rule).map(|rule| rule.says).collect();
        if !named.is_empty() {
            let why = format!("{}: {}", finding.rule, named.join(" "));
            item.push(element("p").class("small muted").text(why));
        }
        item
    });
    element("ul").children(items)
}

fn schedule(number: usize, schedule: &Schedule) -> Element {
    let id = schedule_id(number);
    let mut heading = element("h2")
        .with("id", &id)
        .text(format!("{} ", schedule.name));
    if let Some(verification) = &schedule.verification {
        heading.push(badge(verification.verdict));
    }
    let mut part = element("section")
        .with("aria-labelledby", &id)
        .child(heading)
        .child(element("p").text(format!(
            "{}: at most {} used{}, {}.",
            schedule.about,
            units::bytes(schedule.footprint_bytes),
            further(schedule),
            planned::failing_calls(schedule),
        )));
    if schedule.planned_by == PlannedBy::Rule {
        let because = schedule.by_rule_because.unwrap_or("so requested");
        part.push(element("p").class("small").text(format!(
            "Computed from the footprints by rules R35 and R36, not simulated: {because}."
        )));
    }
    if let Some(verification) = &schedule.verification {
        part.push(element("p").text(format!(
            "{} of {} addresses as planned.",
            verification.addresses_as_planned, verification.addresses
        )));
        let differences = verification.differences.iter().take(MOST_FINDINGS);
        let differences: Vec<Element> = differences.map(|d| element("li").text(d)).collect();
        if !differences.is_empty() {
            part.push(element("ul").children(differences));
        }
    }
    if let Some(why) = &schedule.not_compared {
        part.push(
            element("p")
                .class("small")
                .text(format!("Not compared with a run: {why}.")),
        );
    }
    part.children(charts::plan::steps(schedule).map(figure))
}

/// What is used on the other GPUs of a schedule of several.
fn further(schedule: &Schedule) -> String {
    let others = schedule
        .devices
        .iter()
        .skip(1)
        .zip(&schedule.other_footprint_bytes);
    let others = others.map(|(gpu, used)| format!(", {} on GPU {gpu}", units::bytes(*used)));
    match (schedule.devices.first(), others.collect::<String>()) {
        (Some(first), others) if !others.is_empty() => format!(" on GPU {first}{others}"),
        _ => String::new(),
    }
}

fn footer(plan: &Plan) -> Element {
    element("footer").class("small muted").child(element("p").text(format!(
        "{}, plan schema {}. Used and reserved are the attributes cudaGraphMemAttrUsedMemCurrent \
         and cudaGraphMemAttrReservedMemCurrent of the device, in a process that holds nothing else.",
        plan.tool, plan.schema_version,
    )))
}
