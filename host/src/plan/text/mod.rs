//! A plan as tables for people.

mod graph;
mod schedule;

use std::io::{self, Write};

use graph_memory_plan::result::Plan;
use safe_io::Shown;

use crate::report::style::{BOLD, DIM};
use crate::report::table::{Cut, Table};
use crate::report::units::{bytes, count};

/// Columns that a bar takes at its longest.
const BAR: usize = 20;

/// Writes a plan; each table has at most so many rows, 0 for no limit.
///
/// # Errors
///
/// Those of writing.
pub(super) fn write(plan: &Plan, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = if rows == 0 { usize::MAX } else { rows };
    let gpu = &plan.gpu;
    writeln!(
        out,
        "{DIM}planned for{DIM:#} {}: allocation granularity {}, addresses are multiples of {}",
        Shown(&gpu.name),
        bytes(gpu.granularity_bytes),
        bytes(gpu.address_alignment_bytes),
    )?;
    match &plan.verified_on {
        None => writeln!(out, "{DIM}           {DIM:#} nothing was run on a GPU")?,
        Some(on) => {
            let compared = plan.compared_schedules();
            let runtime = on
                .runtime_version
                .as_deref()
                .unwrap_or("of unknown version");
            let driver = on.driver_version.as_deref().unwrap_or("none");
            let what = match &on.simulation {
                None => "GPU".to_owned(),
                Some(model) => format!("SIMULATED GPU ({})", Shown(model)),
            };
            writeln!(
                out,
                "{DIM}compared on{DIM:#} {}, {what}, runtime {runtime}, driver for CUDA {driver}: {}",
                Shown(&on.device),
                match (compared, plan.schedules.len()) {
                    (0, _) => "NOTHING was compared".to_owned(),
                    (compared, all) if compared == all => count(all, "schedule"),
                    (compared, all) => format!("{compared} of {all} schedules"),
                }
            )?;
        }
    }
    for graph in &plan.graphs {
        graph::write(graph, gpu, rows, out)?;
    }
    if !plan.findings.is_empty() {
        writeln!(out, "\n{BOLD}The graphs together{BOLD:#}")?;
        graph::findings(&plan.findings, rows, out)?;
    }
    for schedule in &plan.schedules {
        schedule::write(schedule, rows, out)?;
    }
    summary(plan, out)
}

/// The figures of all graphs, where there are several.
fn summary(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    if plan.graphs.len() < 2 {
        return Ok(());
    }
    let mut table = Table::new([
        "graph",
        "requested",
        "footprint",
        "reserved",
        "after a trim",
        "findings",
    ]);
    for graph in &plan.graphs {
        let findings = count(graph.findings.len(), "finding");
        let name = Shown(&graph.name).to_string();
        for memory in graph.memory.iter().chain(&graph.other_devices) {
            let name = match graph.other_devices.is_empty() {
                true => name.clone(),
                false => format!("{name}, GPU {}", memory.device),
            };
            table.row([
                name,
                bytes(memory.requested_bytes),
                bytes(memory.footprint_bytes),
                memory.reserved_bytes.map_or("not known".to_owned(), bytes),
                bytes(memory.kept_after_trim_bytes),
                findings.clone(),
            ]);
        }
        if graph.memory.is_none() {
            let cannot = "cannot be launched".to_owned();
            let none = String::new;
            table.row([name, cannot, none(), none(), none(), findings]);
        }
    }
    writeln!(out, "\n{BOLD}All graphs{BOLD:#}")?;
    table.write(&Cut::new(plan.graphs.len(), usize::MAX), out)
}

/// A share of the longest bar.
fn bar(value: u64, most: u64) -> String {
    if most == 0 {
        return String::new();
    }
    let cells = (u128::from(value) * BAR as u128).div_ceil(u128::from(most));
    "█".repeat(cells.min(BAR as u128) as usize)
}
