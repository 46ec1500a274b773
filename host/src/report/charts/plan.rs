//! A plan's charts: where allocations lie while a graph runs, and the memory over a
//! schedule's steps.

use super::super::units;
use super::canvas::{Anchor, BytePlot, Key, point};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::report::planned::{reserved, used};
use graph_memory_plan::result::{AllocationPlan, MemoryPlan, Outcome, Schedule};

const MAP_TITLE: &str = "Where allocations lie, and when";
const STEPS_TITLE: &str = "Memory over the steps";

const PLOT: f64 = 240.0;
const STEPS_PLOT: f64 = 150.0;
const LEFT: f64 = BytePlot::LEFT;

/// More allocations than this are no picture: the largest are drawn.
const MOST_DRAWN: usize = 400;

/// Rows of a table; the page is not to be larger than what it is about.
const MOST_ROWS: usize = 300;

/// More lines between blocks than this are a surface.
const MOST_LINES: u64 = 40;

/// An allocation's turns: from its alloc node's to its free node's, of all memory
/// nodes' in an order in which the graph may run.
struct Life<'p> {
    allocation: &'p AllocationPlan,
    from: usize,
    /// `None` is left allocated.
    to: Option<usize>,
}

/// The addresses of a graph's allocations over its run.
pub(in crate::report) fn map(memory: &MemoryPlan, block_bytes: u64) -> Option<Chart> {
    let lives = lives(memory);
    if lives.is_empty() {
        return None;
    }
    let unfreed = lives.iter().filter(|life| life.to.is_none()).count();
    let summary = format!(
        "{} in {} of addresses, {} of them left allocated after the launch; at most {} live at one time.",
        units::count(lives.len(), "allocation"),
        units::bytes(extent(memory)),
        unfreed,
        units::bytes(memory.peak_live_bytes),
    );
    let mut note = format!(
        "From left to right the alloc and free nodes in an order in which the graph may run, \
         upwards the addresses from {:#x}; lines are the borders of blocks of the allocation granularity.",
        memory.base_address
    );
    if lives.len() > MOST_DRAWN {
        note += &format!(
            " The {MOST_DRAWN} largest of {} allocations are drawn.",
            lives.len()
        );
    }
    let (wide, narrow) = both(|width| draw_map(memory, &lives, block_bytes, width, &summary));
    Some(Chart {
        slug: "map",
        title: MAP_TITLE,
        summary,
        note,
        wide,
        narrow,
        table: map_table(&lives),
    })
}

fn extent(memory: &MemoryPlan) -> u64 {
    let ends = memory
        .allocations
        .iter()
        .map(|a| a.offset_bytes.saturating_add(a.bytes));
    ends.max().unwrap_or(0)
}

/// Allocations and their turns, the largest first.
fn lives(memory: &MemoryPlan) -> Vec<Life<'_>> {
    let turns: std::collections::HashMap<_, _> = memory
        .timeline
        .iter()
        .enumerate()
        .map(|(turn, event)| (&event.node, turn))
        .collect();
    let mut lives: Vec<Life<'_>> = memory
        .allocations
        .iter()
        .filter_map(|allocation| {
            let to = allocation
                .freed_by
                .as_ref()
                .and_then(|free| turns.get(free).copied());
            Some(Life {
                allocation,
                from: *turns.get(&allocation.node)?,
                to,
            })
        })
        .collect();
    lives.sort_by_key(|life| (std::cmp::Reverse(life.allocation.bytes), life.from));
    lives
}

fn draw_map(
    memory: &MemoryPlan,
    lives: &[Life<'_>],
    block_bytes: u64,
    width: f64,
    summary: &str,
) -> Element {
    let entries = [
        (Key::Area("block"), "freed in the graph"),
        (Key::Line("reserved"), "left allocated"),
    ];
    let (size, texts) = ((PLOT, 28.0), (MAP_TITLE, summary));
    let mut plot = BytePlot::new(width, size, texts, &entries, extent(memory));
    let (top, bottom, right) = (plot.top, plot.bottom, plot.right);
    let block = block_bytes.max(1);
    let borders = extent(memory).div_ceil(block);
    if borders <= MOST_LINES {
        for border in 0..=borders {
            let y = plot.y(border * block);
            if y >= top {
                plot.canvas.line((LEFT, y), (right, y), "grid");
            }
        }
    }
    let turns = memory.timeline.len().max(1) as f64;
    let x_of = |turn: usize| LEFT + turn as f64 / turns * (right - LEFT);
    for life in lives.iter().take(MOST_DRAWN) {
        let end = life.to.unwrap_or(memory.timeline.len());
        let (x, next) = (x_of(life.from), x_of(end));
        let (start, bytes) = (life.allocation.offset_bytes, life.allocation.bytes);
        let (high, low) = (plot.y(start.saturating_add(bytes)), plot.y(start));
        let class = if life.to.is_some() {
            "block"
        } else {
            "reserved"
        };
        let tip = format!(
            "{}: {}",
            life.allocation.node,
            units::bytes(life.allocation.bytes)
        );
        plot.canvas.rect(
            (x, high),
            ((next - x).max(1.0), (low - high).max(1.0)),
            class,
            Some(&tip),
        );
    }
    let last = memory.timeline.len();
    let axis = format!("{} alloc and free nodes", last);
    plot.canvas
        .text(right, bottom + 20.0, Anchor::End, "muted", &axis);
    plot.canvas.finish()
}

fn map_table(lives: &[Life<'_>]) -> Table {
    let rows = lives.iter().take(MOST_ROWS).map(|life| {
        let allocation = life.allocation;
        let freed_by = allocation.freed_by.as_ref();
        vec![
            allocation.node.to_string(),
            units::bytes(allocation.bytes),
            format!("{:#x}", allocation.offset_bytes),
            freed_by.map_or_else(|| "left allocated".to_owned(), ToString::to_string),
        ]
    });
    Table {
        header: vec!["alloc node", "size", "offset", "freed by"],
        rows: rows.collect(),
    }
}

/// Used and reserved after each step of a schedule.
pub(in crate::report) fn steps(schedule: &Schedule) -> Option<Chart> {
    let first = schedule.steps.first()?;
    let summary = format!(
        "{}; {} at most used.",
        units::count(schedule.steps.len(), "step"),
        units::bytes(schedule.footprint_bytes),
    );
    let measured = first.measured.is_some();
    let (wide, narrow) = both(|width| draw_steps(schedule, width, &summary));
    let mut note = "Planned, after each step.".to_owned();
    if let [first, _, ..] = schedule.devices[..] {
        note += &format!(" The lines are of GPU {first}, the table is of each.");
    }
    if measured {
        note += " Measured is beside it in the table.";
    }
    Some(Chart {
        slug: "steps",
        title: STEPS_TITLE,
        summary,
        note,
        wide,
        narrow,
        table: steps_table(schedule, measured),
    })
}

fn draw_steps(schedule: &Schedule, width: f64, summary: &str) -> Element {
    let entries = [
        (Key::Line("used"), "used"),
        (Key::Line("reserved"), "reserved"),
    ];
    let outcomes: Vec<&Outcome> = schedule.steps.iter().map(|step| &step.planned).collect();
    let reserved = |outcome: &Outcome| outcome.reserved_bytes.unwrap_or(outcome.used_bytes);
    let most = outcomes
        .iter()
        .map(|outcome| outcome.used_bytes.max(reserved(outcome)))
        .max();
    let (size, texts) = ((STEPS_PLOT, 28.0), (STEPS_TITLE, summary));
    let mut plot = BytePlot::new(width, size, texts, &entries, most.unwrap_or(0)).with_grid();
    let (top, bottom, right) = (plot.top, plot.bottom, plot.right);
    let count = outcomes.len() as f64;
    let x_of = |step: f64| LEFT + step / count * (right - LEFT);
    let line = |bytes: &dyn Fn(&Outcome) -> u64| {
        // No more points than the drawing has pixels.
        let stride = outcomes.len().div_ceil(width as usize).max(1);
        let mut line = String::new();
        for (index, outcome) in outcomes.iter().enumerate().step_by(stride) {
            let verb = if index == 0 { 'M' } else { 'L' };
            let y = plot.y(bytes(outcome));
            let (from, to) = (x_of(index as f64), x_of((index + stride) as f64).min(right));
            line += &format!("{verb}{}L{}", point((from, y)), point((to, y)));
        }
        line
    };
    let (used, reserved) = (line(&|outcome| outcome.used_bytes), line(&reserved));
    plot.area(&used, LEFT);
    plot.canvas.path(&reserved, "reserved");
    plot.canvas.path(&used, "used");
    for (index, outcome) in outcomes.iter().enumerate() {
        if let Some(failure) = &outcome.failure {
            let at = (x_of(index as f64), top);
            let size = (x_of(index as f64 + 1.0) - at.0, STEPS_PLOT);
            let label = schedule.steps.get(index).map_or("", |step| &step.label);
            let tip = format!("{label}: {} {}", failure.code, failure.name);
            plot.canvas.rect(at, size, "hit", Some(&tip));
        }
    }
    let axis = units::count(outcomes.len(), "step");
    plot.canvas
        .text(right, bottom + 20.0, Anchor::End, "muted", &axis);
    plot.canvas.finish()
}

fn steps_table(schedule: &Schedule, measured: bool) -> Table {
    let code = |outcome: &Outcome| match &outcome.failure {
        Some(failure) => format!("{} {}", failure.code, failure.name),
        None => "0".to_owned(),
    };
    let rows = schedule.steps.iter().take(MOST_ROWS).map(|step| {
        let planned = &step.planned;
        let mut row = vec![
            step.label.clone(),
            code(planned),
            used(planned),
            reserved(planned),
        ];
        if measured {
            let outcome = step.measured.as_ref();
            row.push(outcome.map_or_else(String::new, code));
            row.push(outcome.map_or_else(String::new, used));
            row.push(outcome.map_or_else(String::new, reserved));
        }
        row
    });
    let mut header = vec!["step", "code", "used", "reserved"];
    if measured {
        header.extend(["measured: code", "used", "reserved"]);
    }
    Table {
        header,
        rows: rows.collect(),
    }
}
