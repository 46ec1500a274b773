//! The HTML report: one self-contained page without scripts, for light and dark color
//! schemes, wide and narrow screens, and screen readers.

use std::io::{self, Write};

use super::Reporter;
use super::charts::{self, Chart, Table};
use super::markup::{Element, element};
use super::units;
use crate::results::{
    BackendKind, Check, DeviceResult, ExperimentResult, FailedCall, ModelClock, OverlapProof,
    Repeat, RunResult, Stopped, Verdict,
};
use crate::rules;
use graph_memory_plan::findings::Severity;

/// The styles of the page, in addition to those of the charts.
const STYLE: &str = "\
*{box-sizing:border-box}html{color-scheme:light dark}\
body{margin:0;background:var(--background);color:var(--text);\
font:16px/1.55 system-ui,sans-serif;-webkit-text-size-adjust:100%}\
main,header,footer{max-width:50rem;margin:0 auto;padding:0 1.25rem}\
h1{font-size:1.6rem;line-height:1.2;margin:1.5rem 0 .5rem}\
h2{font-size:1.3rem;line-height:1.25;margin:3rem 0 .5rem;padding-top:1rem;\
border-top:1px solid var(--line)}\
h3{font-size:1.02rem;margin:1.75rem 0 .4rem}p{margin:.5rem 0}\
p,li,h2{overflow-wrap:anywhere}\
a{color:var(--used)}code{font-size:.92em;overflow-wrap:anywhere}\
.muted,figcaption,dt{color:var(--muted)}figcaption,.small{font-size:.86rem}\
.badge{display:inline-block;font-size:.82rem;font-weight:700;letter-spacing:.02em;\
padding:.05rem .5rem;border:1.5px solid;border-radius:.35rem;white-space:nowrap}\
.PASS{color:var(--pass)}.FAIL{color:var(--fail)}.INCONCLUSIVE{color:var(--unsure)}\
.model,.teaches{background:var(--panel);border-left:4px solid var(--reserved);\
padding:.6rem .9rem;border-radius:.25rem}.teaches{border-color:var(--used)}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:1rem 0}\
dd{margin:0;overflow-wrap:anywhere}\
nav ul{list-style:none;padding:0;margin:1rem 0}nav li{margin:.35rem 0}\
figure{margin:1.25rem 0}figure svg{max-width:100%;height:auto}\
.narrow{display:none}\
@media(max-width:48rem){.wide{display:none}.narrow{display:block}\
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}}\
.scroll{overflow-x:auto}.scroll:focus-visible,summary:focus-visible,a:focus-visible\
{outline:2px solid var(--used);outline-offset:2px}\
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;\
width:100%}\
th,td{text-align:left;vertical-align:top;padding:.3rem .7rem .3rem 0;\
border-bottom:1px solid var(--line)}th{font-weight:600;color:var(--muted)}\
details{margin:.5rem 0}summary{cursor:pointer;color:var(--used);font-size:.9rem}\
.checks td:nth-child(2){min-width:11rem}\
footer{margin-top:3rem;padding-top:1rem;padding-bottom:2rem;border-top:1px solid var(--line)}\
@media print{details{display:none}}";

/// Writes the page when the run has ended.
pub(super) struct Html {
    out: Box<dyn Write>,
}

impl Html {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out }
    }
}

impl Reporter for Html {
    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        writeln!(self.out, "<!doctype html>\n{}", page(result))?;
        self.out.flush()
    }
}

fn page(result: &RunResult) -> Element {
    let mut main = element("main");
    for section in &result.devices {
        main = main.children(device(result, section));
    }
    document(
        &title(result),
        element("body")
            .child(header(result))
            .child(main)
            .child(footer(result)),
    )
}

/// A complete page with this body.
pub(super) fn document(title: &str, body: Element) -> Element {
    element("html")
        .with("lang", "en")
        .child(
            element("head")
                .child(element("meta").with("charset", "utf-8"))
                .child(
                    element("meta")
                        .with("name", "viewport")
                        .with("content", "width=device-width,initial-scale=1"),
                )
                .child(
                    element("meta")
                        .with("name", "color-scheme")
                        .with("content", "light dark"),
                )
                .child(element("title").text(title))
                .child(element("style").text(format!("{}{STYLE}", charts::STYLE))),
        )
        .child(body)
}

fn title(result: &RunResult) -> String {
    let device = result
        .devices
        .iter()
        .find_map(|section| section.device.as_ref());
    match device {
        Some(device) => format!("CUDA graph memory on {}", device.name),
        None => "CUDA graph memory".to_owned(),
    }
}

fn header(result: &RunResult) -> Element {
    let mut header = element("header")
        .child(element("h1").text(title(result)))
        .child(
            element("p")
                .child(badge(result.verdict))
                .text(match result.verdict {
                    Verdict::Pass => " Every check passed.",
                    Verdict::Inconclusive => {
                        " Some claims could not be checked, because their condition was not met."
                    }
                    Verdict::Fail => " A check failed, or an error occurred.",
                }),
        );
    if result.interrupted {
        header.push(
            element("p").text("The run was interrupted; the finished experiments are below."),
        );
    }
    if result.backend.kind == BackendKind::Model {
        let model = result.backend.model.as_deref().unwrap_or_default();
        let mut banner = element("p")
            .class("model")
            .child(element("strong").text("Simulated, not measured. "))
            .text(format!("No GPU was used: {model}."));
        if let Some(why) = &result.backend.why {
            banner = banner.text(format!(" The reason: {why}."));
        }
        header.push(banner);
    }
    header.child(facts(result)).child(contents(result))
}

/// Where the run was made, and with which settings.
fn facts(result: &RunResult) -> Element {
    let RunResult {
        backend,
        kernel,
        settings,
        ..
    } = result;
    let mut facts = Facts::new();
    facts.add("Run", Some(&result.started_at));
    for section in &result.devices {
        let described = section.device.as_ref().map(units::device);
        let name = format!("Device {}", section.ordinal);
        facts.add(&name, described.as_deref());
    }
    let driver = backend.driver_version.as_deref().unwrap_or("none");
    facts.add("Driver", Some(&format!("supports CUDA {driver}")));
    let version = backend
        .runtime_version
        .as_deref()
        .unwrap_or("unknown version");
    let path = backend.runtime_path.as_deref().unwrap_or("");
    let runtime = format!("{version}, {path} ({})", backend.runtime_found_by);
    facts.add("Runtime", Some(&runtime.replace(",  (", ", (")));
    let compiler = kernel.compiler.as_deref().unwrap_or("an unnamed compiler");
    facts.add(
        "Kernel",
        Some(&format!(
            "{} by {compiler}, PTX {} for {}, {}",
            kernel.name, kernel.ptx_version, kernel.ptx_target, kernel.source
        )),
    );
    facts.add(
        "Graphs",
        Some(&format!(
            "{} per experiment, {} per allocation",
            settings.graphs,
            units::bytes(settings.allocation_bytes)
        )),
    );
    let spin_time = settings.fixed_spin_time_ms.map(units::time);
    facts.add("Spin time", spin_time.as_deref());
    facts.add("Simulated GPU", settings.model_profile.as_deref());
    facts.list
}

/// A list of names and values.
pub(super) struct Facts {
    pub(super) list: Element,
}

impl Facts {
    pub(super) fn new() -> Self {
        Self {
            list: element("dl"),
        }
    }

    pub(super) fn add(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.list.push(element("dt").text(name));
            self.list.push(element("dd").text(value));
        }
    }
}

/// The anchor of an experiment's section.
fn id(section: &DeviceResult, experiment: &ExperimentResult) -> String {
    format!("device-{}-{}", section.ordinal, experiment.name)
}

fn contents(result: &RunResult) -> Element {
    let several = result.devices.len() > 1;
    let items = result.devices.iter().flat_map(|section| {
        section.experiments.iter().map(move |experiment| {
            let on = match several {
                true => format!("Device {}: ", section.ordinal),
                false => String::new(),
            };
            element("li")
                .child(badge(experiment.verdict))
                .text(" ")
                .child(
                    element("a")
                        .with("href", format!("#{}", id(section, experiment)))
                        .text(format!("{on}{}", experiment.title)),
                )
        })
    });
    element("nav")
        .with("aria-label", "Experiments")
        .child(element("ul").children(items))
}

fn device(result: &RunResult, section: &DeviceResult) -> Vec<Element> {
    let mut parts = Vec::new();
    if result.devices.len() > 1 {
        let name = section.device.as_ref().map_or("", |device| &device.name);
        parts.push(element("h2").text(format!("Device {} {name}", section.ordinal)));
    }
    if let Some(unit) = section.launch_footprint_bytes {
        parts.push(element("p").class("muted").text(format!(
            "The footprint of one launch is {}: what one launch of a graph with one allocation maps.",
            units::bytes(unit)
        )));
    }
    parts.extend(section.stopped.iter().map(stopped));
    let experiments = section.experiments.iter();
    parts.extend(experiments.map(|experiment| self::experiment(result, section, experiment)));
    parts.extend(
        section
            .repeat
            .iter()
            .map(|repeat| self::repeat(section, repeat)),
    );
    parts
}

fn stopped(stopped: &Stopped) -> Element {
    let kind = if stopped.waived {
        "Waived: "
    } else {
        "Error: "
    };
    element("p")
        .child(element("strong").text(kind))
        .text(format!("{}. Try: {}.", stopped.what, stopped.remedy))
}

fn experiment(
    result: &RunResult,
    section: &DeviceResult,
    experiment: &ExperimentResult,
) -> Element {
    let id = id(section, experiment);
    let mut part = element("section")
        .with("aria-labelledby", &id)
        .child(
            element("h2")
                .with("id", &id)
                .text(format!("{} ", experiment.title))
                .child(badge(experiment.verdict)),
        )
        .child(element("p").text(&experiment.shows));
    part = part.children(experiment.error.iter().map(failed));
    part = part.children(experiment.overlap.iter().map(overlap));
    for chart in charts::of_experiment(result, experiment) {
        part.push(figure(chart));
    }
    if result.settings.model_clock == Some(ModelClock::Virtual) {
        part.push(element("p").class("small muted").text(
            "The simulated GPU used a virtual clock, so host times do not show when graphs ran, \
             and streams are not drawn.",
        ));
    }
    if !experiment.checks.is_empty() {
        part.push(element("h3").text("Checks"));
        part.push(checks(&experiment.checks));
        part.push(named_rules(&experiment.checks));
    }
    if !experiment.teaches.is_empty() {
        part.push(element("h3").text("What it means"));
        part.push(element("p").class("teaches").text(&experiment.teaches));
    }
    part
}

fn failed(error: &FailedCall) -> Element {
    element("p")
        .child(element("strong").class("FAIL").text("Error: "))
        .child(element("code").text(&error.call))
        .text(format!(
            " failed: {} {} ({}). Try: {}",
            error.code, error.name, error.text, error.advice
        ))
}

fn overlap(proof: &OverlapProof) -> Element {
    let busy = proof.streams_busy.iter().filter(|&&busy| busy).count();
    let verdict = if proof.holds() {
        "Overlap confirmed"
    } else {
        "Overlap not confirmed"
    };
    element("p").text(format!(
        "{verdict}: after the last reading, {busy} of {} streams were still busy. The spin time \
         was {}, a launch and a reading took {}, and there was {}.",
        proof.streams_busy.len(),
        units::time(proof.spin_time_ms),
        units::time(proof.launch_cost_ms),
        units::count(proof.attempts as usize, "attempt"),
    ))
}

/// A chart in both widths with its texts and its table.
pub(super) fn figure(chart: Chart) -> Element {
    element("figure")
        .child(element("h3").text(chart.title))
        .child(element("p").class("small").text(&chart.summary))
        .child(element("div").class("wide").child(chart.wide))
        .child(element("div").class("narrow").child(chart.narrow))
        .child(element("figcaption").text(&chart.note))
        .child(
            element("details")
                .child(element("summary").text(format!("Table: {}", chart.title)))
                .child(table(&chart.table, chart.title)),
        )
}

fn table(table: &Table, name: &str) -> Element {
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| element("td").text(cell));
        element("tr").children(cells)
    });
    scrolled_table(name, &table.header, rows)
}

/// A table. Where it is wider than the screen it scrolls separately, also by keyboard.
pub(super) fn scrolled_table(
    name: &str,
    header: &[&str],
    rows: impl Iterator<Item = Element>,
) -> Element {
    let head = header.iter();
    let head = head.map(|&name| element("th").with("scope", "col").text(name));
    let table = element("table")
        .child(element("thead").child(element("tr").children(head)))
        .child(element("tbody").children(rows));
    element("div")
        .class("scroll")
        .with("role", "region")
        .with("aria-label", format!("Table: {name}"))
        .with("tabindex", 0)
        .child(table)
}

fn checks(checks: &[Check]) -> Element {
    let header = ["verdict", "check", "expected", "measured", "rule"];
    let rows = checks.iter().map(|check| {
        let mut claim = element("td").text(&check.claim);
        if let Some(reason) = &check.reason {
            claim.push(element("br"));
            claim.push(element("span").class("muted").text(reason));
        }
        element("tr")
            .child(element("td").child(badge(check.verdict)))
            .child(claim)
            .child(element("td").text(units::quantity(&check.expected)))
            .child(element("td").text(units::quantity(&check.measured)))
            .child(element("td").text(&check.rule))
    });
    element("div")
        .class("checks")
        .child(scrolled_table("Checks", &header, rows))
}

/// The texts of the rules that checks name.
fn named_rules(checks: &[Check]) -> Element {
    let mut known: Vec<&rules::Rule> = Vec::new();
    for rule in checks.iter().flat_map(|check| rules::named(&check.rule)) {
        if !known.contains(&rule) {
            known.push(rule);
        }
    }
    let mut list = Facts::new();
    for rule in known {
        let says = format!("{} ({})", rule.says, rule.source.text());
        list.add(rule.id, Some(&says));
    }
    element("details")
        .child(element("summary").text("The rules"))
        .child(list.list.class("small"))
}

fn repeat(section: &DeviceResult, repeat: &Repeat) -> Element {
    let id = format!("device-{}-repeat", section.ordinal);
    let trends = Table {
        header: vec!["verdict", "memory", "growth"],
        rows: repeat
            .trends
            .iter()
            .map(|trend| {
                let reason = trend.reason.iter().map(|reason| format!(": {reason}"));
                vec![
                    trend.verdict.as_str().to_owned(),
                    units::memory_kind(trend.memory).to_owned(),
                    units::trend(trend) + &reason.collect::<String>(),
                ]
            })
            .collect(),
    };
    element("section")
        .with("aria-labelledby", &id)
        .child(
            element("h2")
                .with("id", &id)
                .text(format!(
                    "Memory over {} ",
                    units::count(repeat.cycles.len(), "run")
                ))
                .child(badge(repeat.verdict)),
        )
        .child(element("p").text(format!(
            "{} requested. The experiments above are from run {}, the first with the worst \
             verdict.",
            units::count(repeat.cycles_requested, "run"),
            repeat.kept_cycle
        )))
        .child(table(&trends, "Trends"))
        .children(charts::of_repeat(repeat).map(figure))
}

fn footer(result: &RunResult) -> Element {
    let duration = result.duration_ms.map(units::time);
    element("footer")
        .class("small muted")
        .child(element("p").text(format!(
            "{} {}, result schema {}{}. Used and reserved are the attributes \
             cudaGraphMemAttrUsedMemCurrent and cudaGraphMemAttrReservedMemCurrent of the \
             device, in this process.",
            result.tool.name,
            result.tool.version,
            result.schema_version,
            duration.map_or_else(String::new, |time| format!(", run in {time}")),
        )))
}

/// A severity as a badge.
pub(super) fn severity_badge(severity: Severity) -> Element {
    let (class, word) = match severity {
        Severity::Error => ("badge FAIL", "ERROR"),
        Severity::Hazard => ("badge FAIL", "HAZARD"),
        Severity::Saving => ("badge INCONCLUSIVE", "SAVING"),
        Severity::Note => ("badge", "NOTE"),
    };
    element("span").class(class).text(word)
}

/// A verdict as a badge.
pub(super) fn badge(verdict: Verdict) -> Element {
    element("span")
        .class(&format!("badge {}", verdict.as_str()))
        .text(verdict.as_str())
}
