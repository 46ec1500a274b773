//! The chart of a watched program: graph memory and other memory of a device over time.

use super::super::units;
use super::canvas::{BytePlot, Key, point, ticks};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::watch::result::{DeviceResult, Sample};

const TITLE: &str = "Memory over time";

const LEFT: f64 = BytePlot::LEFT;

/// Rows of the table; of more samples so many, evenly spread.
const MOST_ROWS: usize = 200;

/// The timeline of a device, if it was read more than once.
pub(in crate::report) fn timeline(device: &DeviceResult) -> Option<Chart> {
    let samples: Vec<&Sample> = device.timeline.iter().collect();
    let (first, last) = (samples.first()?, samples.last()?);
    if samples.len() < 2 || first.time_ns == last.time_ns {
        return None;
    }
    let reserved = |sample: &Sample| sample.graph_reserved_bytes.unwrap_or(0);
    let most = samples.iter().map(|sample| reserved(sample)).max()?;
    let summary = format!(
        "Graph memory reserves at most {}, and {} at the end; {} of the device are free then.",
        units::bytes(most),
        units::bytes(reserved(last)),
        last.free_bytes
            .map_or_else(|| "unknown amounts".to_owned(), units::bytes),
    );
    let total = device.total_bytes;
    let (wide, narrow) = both(|width| draw(&samples, total, width, &summary));
    Some(Chart {
        slug: "timeline",
        title: TITLE,
        summary,
        note: "Read before and after each call that may change device memory. \"In use\" is of \
               the whole device: other processes are in it."
            .to_owned(),
        wide,
        narrow,
        table: table(&samples, total),
    })
}

fn in_use(sample: &Sample, total: Option<u64>) -> Option<u64> {
    Some(total?.saturating_sub(sample.free_bytes?))
}

fn draw(samples: &[&Sample], total: Option<u64>, width: f64, summary: &str) -> Element {
    let entries = [
        (Key::Area("used-area"), "graph memory used"),
        (Key::Line("used"), "graph memory reserved"),
        (Key::Line("reserved"), "device memory in use"),
    ];
    let values = samples.iter().flat_map(|sample| {
        [
            sample.graph_reserved_bytes,
            sample.graph_used_bytes,
            in_use(sample, total),
        ]
    });
    let most = values.flatten().max().unwrap_or(0);
    let mut plot =
        BytePlot::new(width, (180.0, 28.0), (TITLE, summary), &entries, most).with_grid();
    let (right, bottom) = (plot.right, plot.bottom);
    let first = samples.first().map_or(0, |sample| sample.time_ns) as f64;
    let last = samples.last().map_or(1, |sample| sample.time_ns) as f64;
    let span = (last - first).max(1.0);
    let x_of = |time_ns: f64| LEFT + (time_ns - first) / span * (right - LEFT);
    let wanted = if width < 500.0 { 3.0 } else { 6.0 };
    for tick in ticks(first / 1e9, last / 1e9, wanted) {
        plot.canvas.axis_text(
            x_of(tick * 1e9),
            bottom + 20.0,
            width,
            &units::time(tick * 1e3),
        );
    }
    // A value stays until the next reading, so the lines are steps.
    let steps = |value: &dyn Fn(&Sample) -> Option<u64>| {
        let mut path = String::new();
        let mut height = None;
        for sample in samples {
            let Some(bytes) = value(sample) else { continue };
            let (x, y) = (x_of(sample.time_ns as f64), plot.y(bytes));
            path += &match height {
                None => format!("M{}", point((x, y))),
                Some(before) => format!("L{}L{}", point((x, before)), point((x, y))),
            };
            height = Some(y);
        }
        path
    };
    let used = steps(&|sample| sample.graph_used_bytes);
    let reserved = steps(&|sample| sample.graph_reserved_bytes);
    let taken = steps(&|sample| in_use(sample, total));
    if let Some(start) = samples
        .iter()
        .find(|sample| sample.graph_used_bytes.is_some())
    {
        plot.area(&used, x_of(start.time_ns as f64));
    }
    plot.canvas.path(&reserved, "used");
    plot.canvas.path(&taken, "reserved");
    plot.canvas.finish()
}

fn table(samples: &[&Sample], total: Option<u64>) -> Table {
    let stride = samples.len().div_ceil(MOST_ROWS).max(1);
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "not read".to_owned(), units::bytes);
    let rows = samples.iter().step_by(stride).map(|sample| {
        vec![
            units::time(sample.time_ns as f64 / 1e6),
            sample.call.clone(),
            size(sample.graph_used_bytes),
            size(sample.graph_reserved_bytes),
            units::bytes(sample.pools_reserved_bytes),
            size(in_use(sample, total)),
        ]
    });
    Table {
        header: vec![
            "time",
            "after",
            "graph, used",
            "graph, reserved",
            "pools, reserved",
            "device, in use",
        ],
        rows: rows.collect(),
    }
}
