//! Used and reserved memory after each step.

use super::super::units;
use super::canvas::{
    Canvas, Key, byte_grid, byte_ticks, legend_height, point, sign_name, width_of,
};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::results::{Action, ExperimentResult, Step};

const TITLE: &str = "Memory after each step";

/// Height of the plot.
const PLOT: f64 = 190.0;

/// Room for the sizes on the left.
const LEFT: f64 = 74.0;

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

    let top = legend_height(width, &entries) + 14.0;
    let bottom = top + PLOT;
    let right = width - 8.0;
    let mut canvas = Canvas::new(width, bottom + BELOW, TITLE, summary);
    canvas.legend(width, &entries);

    let most = steps
        .iter()
        .map(|step| step.memory.reserved_bytes.max(step.memory.used_bytes))
        .max()
        .unwrap_or(0);
    let ticks = byte_ticks(most);
    let top_value = ticks.last().copied().unwrap_or(1).max(1);
    let y_of = |bytes: u64| bottom - bytes as f64 / top_value as f64 * PLOT;
    if most == 0 {
        byte_grid(&mut canvas, &[0], (LEFT, right), y_of);
    } else {
        byte_grid(&mut canvas, &ticks, (LEFT, right), y_of);
    }

    let slot = (right - LEFT) / steps.len() as f64;
    let x_of = |index: usize| LEFT + slot * index as f64;
    let used = |step: &Step| step.memory.used_bytes;
    let reserved = |step: &Step| step.memory.reserved_bytes;
    let outline = |of: &dyn Fn(&Step) -> u64| {
        let mut d = String::new();
        for (index, step) in steps.iter().enumerate() {
            let y = y_of(of(step));
            let verb = if index == 0 { 'M' } else { 'L' };
            d += &format!(
                "{verb}{}L{}",
                point((x_of(index), y)),
                point((x_of(index + 1), y))
            );
        }
        d
    };
    let used_line = outline(&used);
    let corners = format!("L{}L{}Z", point((right, bottom)), point((LEFT, bottom)));
    canvas.path(&format!("{used_line}{corners}"), "used-area");
    canvas.path(&outline(&reserved), "reserved");

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
            canvas.sign(step.action, middle, bottom + 14.0);
            last_sign = Some((step.action, middle));
        }
        if index % every == 0 {
            let number = (index + 1).to_string();
            canvas.axis_text(middle, bottom + 36.0, width, &number);
        }
        if slot >= LEAST_SLOT {
            canvas.rect(
                (x_of(index), top),
                (slot, PLOT + BELOW),
                "hit",
                Some(&tip(index, step)),
            );
        }
    }
    canvas.finish()
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
