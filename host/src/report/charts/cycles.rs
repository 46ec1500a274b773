//! Memory after each cycle of a run with `--repeat`.

use super::super::units;
use super::canvas::{BytePlot, Key, point, ticks};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::results::{Cycle, MemoryKind, Repeat};

const TITLE: &str = "Resident memory of the host process";

const LEFT: f64 = BytePlot::LEFT;

/// The largest number of rows of the table; more cycles are sampled evenly.
const MOST_ROWS: usize = 200;

pub(super) fn chart(repeat: &Repeat) -> Option<Chart> {
    let resident = MemoryKind::HostResident;
    let samples: Option<Vec<u64>> = repeat
        .cycles
        .iter()
        .map(|cycle| cycle.bytes(resident))
        .collect();
    let samples = samples.filter(|samples| samples.len() > 1)?;
    let trend = repeat.trends.iter().find(|trend| trend.memory == resident);
    let summary = format!(
        "{} after the first run, {} after the last of {} runs; {}.",
        units::bytes(samples.first().copied().unwrap_or(0)),
        units::bytes(samples.last().copied().unwrap_or(0)),
        samples.len(),
        trend.map_or_else(|| "no trend".to_owned(), units::trend),
    );
    let (wide, narrow) = both(|width| draw(&samples, width, &summary));
    Some(Chart {
        slug: "cycles",
        title: TITLE,
        summary,
        note: "Measured after each run. The trend leaves out the first quarter of the runs, \
               which fills caches."
            .to_owned(),
        wide,
        narrow,
        table: table(&repeat.cycles),
    })
}

fn draw(samples: &[u64], width: f64, summary: &str) -> Element {
    let entries = [(Key::Line("used"), "resident after each run")];
    let most = samples.iter().copied().max().unwrap_or(0);
    let mut plot =
        BytePlot::new(width, (150.0, 28.0), (TITLE, summary), &entries, most).with_grid();
    let (right, bottom) = (plot.right, plot.bottom);
    let last = samples.len() as f64;
    let x_of = |cycle: f64| LEFT + (cycle - 1.0) / (last - 1.0) * (right - LEFT);
    let wanted: f64 = if width < 500.0 { 4.0 } else { 8.0 };
    for tick in ticks(1.0, last, wanted.min(last - 1.0)) {
        if tick.fract() == 0.0 {
            plot.canvas
                .axis_text(x_of(tick), bottom + 20.0, width, &tick.to_string());
        }
    }
    // No more points than the drawing has pixels.
    let stride = samples.len().div_ceil(width as usize).max(1);
    let mut line = String::new();
    for (index, &bytes) in samples.iter().enumerate().step_by(stride) {
        let verb = if index == 0 { 'M' } else { 'L' };
        line += &format!("{verb}{}", point((x_of(index as f64 + 1.0), plot.y(bytes))));
    }
    plot.canvas.path(&line, "used");
    plot.canvas.finish()
}

fn table(cycles: &[Cycle]) -> Table {
    let stride = cycles.len().div_ceil(MOST_ROWS).max(1);
    let rows = cycles.iter().step_by(stride).map(|cycle| {
        let size = |kind| {
            cycle
                .bytes(kind)
                .map_or_else(|| "?".to_owned(), units::bytes)
        };
        vec![
            cycle.cycle.to_string(),
            cycle.verdict.as_str().to_owned(),
            units::time(cycle.duration_ms),
            size(MemoryKind::HostResident),
            size(MemoryKind::DeviceInUse),
            size(MemoryKind::GraphUsed),
            size(MemoryKind::GraphReserved),
        ]
    });
    Table {
        header: vec![
            "run",
            "verdict",
            "host time",
            "host, resident",
            "device, in use",
            "graph, used",
            "graph, reserved",
        ],
        rows: rows.collect(),
    }
}
