//! Used and reserved memory after each step.

use super::super::units;
use super::canvas::{BytePlot, Key, point, sign_name, width_of};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::results::{Action, ExperimentResult, Step};

const TITLE: &str = "Memory after each step";

/// Height of the plot.
const PLOT: f64 = 190.0;

const LEFT: f64 = BytePlot::LEFT;

/// Room for a step's sign and number below the plot.
const BELOW: f64 = 46.0;

/// The least distance between two marks.
const LEAST_SIGN_DISTANCE: f64 = 11.0;

/// Narrower steps get no tooltip.
const LEAST_SLOT: f64 = 2.0;

pub(super) fn chart(experiment: &ExperimentResult) -> Option<Chart> {
    let steps = &experiment.steps;
    if steps.is_empty() {
        return None;
    }
    let summary = summary(steps);
    let (wide, narrow) = both(|width| draw(steps, width, &summary));
    Some(Chart {
        slug: "memory",
        title: TITLE,
        note: "Measured after each step. Steps are evenly spaced, whatever time they took. The \
               numbers below are those of the table."
            .to_owned(),
        summary,
        wide,
        narrow,
        table: table(steps),
    })
}

fn summary(steps: &[Step]) -> String {
    let most_used = steps.iter().map(|step| step.memory.used_bytes).max();
    let last = steps.last().map_or(0, |step| step.memory.reserved_bytes);
    let same = steps
        .iter()
        .all(|step| step.memory.used_bytes == step.memory.reserved_bytes);
    format!(
        "{}: at most {} used; {}; {} reserved at the end.",
        units::count(steps.len(), "step"),
        units::bytes(most_used.unwrap_or(0)),
        if same {
            "reserved is the same at every step"
        } else {
            "reserved is larger at some steps"
        },
        units::bytes(last),
    )
}

fn draw(steps: &[Step], width: f64, summary: &str) -> Element {
    let mut kinds: Vec<Action> = Vec::new();
    for step in steps {
        if step.action != Action::Baseline && !kinds.contains(&step.action) {
            kinds.push(step.action);
        }
    }
    let mut entries = vec![
        (Key::Area("used-area"), "used"),
        (Key::Line("reserved"), "reserved"),
    ];
    entries.extend(kinds.iter().map(|&kind| (Key::Sign(kind), sign_name(kind))));

    let most = steps
        .iter()
        .map(|step| step.memory.reserved_bytes.max(step.memory.used_bytes))
        .max()
        .unwrap_or(0);
    let mut plot =
        BytePlot::new(width, (PLOT, BELOW), (TITLE, summary), &entries, most).with_grid();
    let (top, bottom, right) = (plot.top, plot.bottom, plot.right);

    let slot = (right - LEFT) / steps.len() as f64;
    let x_of = |index: usize| LEFT + slot * index as f64;
    let used = |step: &Step| step.memory.used_bytes;
    let reserved = |step: &Step| step.memory.reserved_bytes;
    let outline = |of: &dyn Fn(&Step) -> u64| {
        let mut d = String::new();
        for (index, step) in steps.iter().enumerate() {
            let y = plot.y(of(step));
            let verb = if index == 0 { 'M' } else { 'L' };
            d += &format!(
                "{verb}{}L{}",
                point((x_of(index), y)),
                point((x_of(index + 1), y))
            );
        }
        d
    };
    let (used, reserved) = (outline(&used), outline(&reserved));
    plot.area(&used, LEFT);
    plot.canvas.path(&reserved, "reserved");

    // Where not all have room, numbers are left out, and signs that would stand on
    // another of their kind; steps too thin to point at have no text.
    let widest = width_of(&steps.len().to_string()) + 8.0;
    let every = (widest / slot).ceil().max(1.0) as usize;
    let mut last_sign: Option<(Action, f64)> = None;
    for (index, step) in steps.iter().enumerate() {
        let middle = x_of(index) + slot / 2.0;
        let crowded = last_sign
            .is_some_and(|(action, x)| action == step.action && middle - x < LEAST_SIGN_DISTANCE);
        if step.action != Action::Baseline && !crowded {
            plot.canvas.sign(step.action, middle, bottom + 14.0);
            last_sign = Some((step.action, middle));
        }
        if index % every == 0 {
            let number = (index + 1).to_string();
            plot.canvas.axis_text(middle, bottom + 36.0, width, &number);
        }
        if slot >= LEAST_SLOT {
            plot.canvas.rect(
                (x_of(index), top),
                (slot, PLOT + BELOW),
                "hit",
                Some(&tip(index, step)),
            );
        }
    }
    plot.canvas.finish()
}

fn tip(index: usize, step: &Step) -> String {
    format!(
        "{}. {}: used {}, reserved {}",
        index + 1,
        step.label,
        units::bytes(step.memory.used_bytes),
        units::bytes(step.memory.reserved_bytes)
    )
}

fn table(steps: &[Step]) -> Table {
    let rows = steps.iter().enumerate().map(|(index, step)| {
        let memory = &step.memory;
        vec![
            (index + 1).to_string(),
            step.label.clone(),
            units::bytes(memory.used_bytes),
            units::bytes(memory.used_high_bytes),
            units::bytes(memory.reserved_bytes),
            units::bytes(memory.reserved_high_bytes),
            units::bytes(memory.device_free_bytes),
            units::time(step.took_ms),
        ]
    });
    Table {
        header: vec![
            "",
            "step",
            "used",
            "used, high",
            "reserved",
            "reserved, high",
            "device free",
            "host time",
        ],
        rows: rows.collect(),
    }
}
