//! One lane per stream: when its graphs were launched, and how long they ran.

use super::super::units;
use super::canvas::{Anchor, Canvas, Key, legend_height, ticks, width_of};
use super::{Chart, Table, both};
use crate::report::markup::Element;
use crate::results::{Action, ExperimentResult, OverlapProof};

const TITLE: &str = "Streams";

/// Height of one lane.
const LANE: f64 = 28.0;

/// Room for the streams' names on the left.
const LEFT: f64 = 74.0;

/// The largest number of streams that is drawn.
const MOST_LANES: usize = 64;

/// One launch and the run that followed. Times are in milliseconds of host time
/// since the experiment's start.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    stream: usize,
    graph: Option<usize>,
    /// The launch call began; measured.
    called: f64,
    /// The launch call returned; measured.
    returned: f64,
    /// When the graph started and ended running; derived. `None` if its spin time is not
    /// known.
    ran: Option<(f64, f64)>,
}

pub(super) fn chart(experiment: &ExperimentResult) -> Option<Chart> {
    let runs = runs(experiment);
    let lanes = runs.iter().map(|run| run.stream + 1).max()?;
    if lanes > MOST_LANES {
        return None;
    }
    let proof = experiment.overlap.as_ref();
    let summary = summary(&runs, lanes, proof);
    let (wide, narrow) = both(|width| draw(&runs, lanes, proof, width, &summary));
    let mut note =
        "Measured in host time: when each launch was called and when it returned".to_owned();
    if runs.iter().any(|run| run.ran.is_some()) {
        note += ", and when the host found the streams idle. Derived: a graph starts when its \
                 launch has returned and the previous graph in the stream has ended, and it runs \
                 for the spin time of its kernel";
    }
    note.push('.');
    if let Some(proof) = proof {
        note += &format!(" Also measured: {}.", busy(proof));
    }
    Some(Chart {
        slug: "streams",
        title: TITLE,
        summary,
        note,
        wide,
        narrow,
        table: table(&runs),
    })
}

/// The launches in the order of the steps, with the derived times of their runs.
fn runs(experiment: &ExperimentResult) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for step in &experiment.steps {
        match (step.action, step.stream) {
            (Action::Launch, Some(stream)) => {
                let earlier = runs.iter().rev().find(|run| run.stream == stream);
                let free_at = earlier.and_then(|run| run.ran).map_or(0.0, |ran| ran.1);
                let start = step.at_ms.max(free_at);
                let spin_time = step.spin_time_ms.filter(|&spin_time| spin_time > 0.0);
                runs.push(Run {
                    stream,
                    graph: step.graph,
                    called: step.at_ms - step.took_ms,
                    returned: step.at_ms,
                    ran: spin_time.map(|spin_time| (start, start + spin_time)),
                });
            }
            // The host found the stream idle, so nothing in it ran longer.
            (Action::Synchronize, stream) => {
                let waited_for = |run: &&mut Run| stream.is_none_or(|s| s == run.stream);
                for run in runs.iter_mut().filter(waited_for) {
                    run.ran = run
                        .ran
                        .map(|(start, end)| (start.min(step.at_ms), end.min(step.at_ms)));
                }
            }
            _ => {}
        }
    }
    runs
}

fn summary(runs: &[Run], lanes: usize, proof: Option<&OverlapProof>) -> String {
    let overlap = match proof {
        Some(proof) => busy(proof),
        None if lanes == 1 => "one after another, because they are in one stream".to_owned(),
        None => "see the table for the times".to_owned(),
    };
    format!(
        "{} on {}; {overlap}.",
        units::count(runs.len(), "launch"),
        units::count(lanes, "stream"),
    )
}

/// How many of the streams were busy.
fn busy(proof: &OverlapProof) -> String {
    let busy = proof.streams_busy.iter().filter(|&&busy| busy).count();
    format!(
        "after the last footprint was read, {busy} of {} streams were still busy",
        proof.streams_busy.len()
    )
}

fn draw(
    runs: &[Run],
    lanes: usize,
    proof: Option<&OverlapProof>,
    width: f64,
    summary: &str,
) -> Element {
    let queried = proof.and_then(|proof| proof.queried_at_ms);
    let mut entries = vec![(Key::Area("call"), "launch call, measured")];
    if runs.iter().any(|run| run.ran.is_some()) {
        entries.push((Key::Area("run"), "graph runs, derived"));
    }
    if queried.is_some() {
        entries.push((Key::Line("queried"), "streams queried"));
    }
    let top = legend_height(width, &entries) + 8.0;
    let bottom = top + lanes as f64 * LANE;
    let right = width - 12.0;
    let mut canvas = Canvas::new(width, bottom + 30.0, TITLE, summary);
    canvas.legend(width, &entries);

    let least = runs
        .iter()
        .map(|run| run.called)
        .fold(f64::INFINITY, f64::min);
    let ends = runs
        .iter()
        .map(|run| run.ran.map_or(run.returned, |ran| ran.1));
    let most = ends.chain(queried).fold(least, f64::max);
    // Room to the right of the last bar, and never nothing.
    let span = ((most - least) * 1.02).max(1e-6);
    let x_of = |ms: f64| LEFT + (ms - least) / span * (right - LEFT);

    let wanted = if width < 500.0 { 3.0 } else { 6.0 };
    for tick in ticks(0.0, span, wanted) {
        let x = x_of(least + tick);
        canvas.line((x, top), (x, bottom + 4.0), "grid");
        canvas.axis_text(x, bottom + 20.0, width, &axis_time(tick, span));
    }
    for lane in 0..lanes {
        let y = top + lane as f64 * LANE;
        canvas.text(
            LEFT - 8.0,
            y + 18.0,
            Anchor::End,
            "",
            &format!("stream {lane}"),
        );
        canvas.line((LEFT, y + LANE), (right, y + LANE), "grid");
    }
    for run in runs {
        let y = top + run.stream as f64 * LANE + 5.0;
        let tip = tip(run, least);
        if let Some((start, end)) = run.ran {
            let (x, x_end) = (x_of(start), x_of(end));
            canvas.rect((x, y), (x_end - x, LANE - 10.0), "run", Some(&tip));
            let label = run.graph.map(|graph| format!("graph {graph}"));
            let fits = |label: &String| width_of(label) + 20.0 < x_end - x;
            if let Some(label) = label.filter(fits) {
                canvas.text(x + 12.0, y + 13.0, Anchor::Start, "", &label);
            }
        }
        let (x, x_end) = (x_of(run.called), x_of(run.returned));
        let thick = (x_end - x).max(2.0);
        canvas.rect((x, y), (thick, LANE - 10.0), "call", Some(&tip));
    }
    if let Some(queried) = queried {
        let x = x_of(queried);
        canvas.line((x, top - 4.0), (x, bottom), "queried");
    }
    canvas.finish()
}

/// A time on an axis of this span; the whole axis uses one unit.
fn axis_time(ms: f64, span_ms: f64) -> String {
    let (value, unit) = match span_ms {
        span if span < 1.0 => (ms * 1000.0, "us"),
        span if span < 1000.0 => (ms, "ms"),
        _ => (ms / 1000.0, "s"),
    };
    // Ticks are round numbers; what is left of a division in base two is not shown.
    format!("{} {unit}", (value * 1000.0).round() / 1000.0)
}

fn tip(run: &Run, zero: f64) -> String {
    let what = run
        .graph
        .map_or_else(|| "a graph".to_owned(), |graph| format!("graph {graph}"));
    let launched = format!(
        "{what} on stream {}: launched at {}, in {}",
        run.stream,
        units::time(run.called - zero),
        units::time(run.returned - run.called),
    );
    match run.ran {
        Some((start, end)) => format!(
            "{launched}; ran from about {} to {}",
            units::time(start - zero),
            units::time(end - zero)
        ),
        None => launched,
    }
}

fn table(runs: &[Run]) -> Table {
    let zero = runs
        .iter()
        .map(|run| run.called)
        .fold(f64::INFINITY, f64::min);
    let rows = runs.iter().map(|run| {
        let derived = |time: Option<f64>| time.map_or_else(|| "?".to_owned(), units::time);
        vec![
            run.stream.to_string(),
            run.graph
                .map_or_else(String::new, |graph| graph.to_string()),
            units::time(run.called - zero),
            units::time(run.returned - zero),
            derived(run.ran.map(|ran| ran.0 - zero)),
            derived(run.ran.map(|ran| ran.1 - zero)),
        ]
    });
    Table {
        header: vec![
            "stream",
            "graph",
            "launch called",
            "returned",
            "run begins, derived",
            "run ends, derived",
        ],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::read;

    fn recorded(name: &str) -> Vec<Run> {
        let text = include_str!("../../../tests/recordings/h200-driver-580-cuda-13.0.json");
        let result = read::from_json(text).expect("a recording");
        let experiments = result.devices.iter().flat_map(|device| &device.experiments);
        let mut named = experiments.filter(|experiment| experiment.name == name);
        runs(named.next().expect("it was recorded"))
    }

    #[test]
    fn graphs_on_streams_of_their_own_overlap() {
        let runs = recorded("concurrent-streams");
        let last_start = runs.iter().filter_map(|run| run.ran).map(|ran| ran.0);
        let first_end = runs.iter().filter_map(|run| run.ran).map(|ran| ran.1);
        assert_eq!(runs.len(), 8);
        assert!(last_start.fold(0.0, f64::max) < first_end.fold(f64::INFINITY, f64::min));
    }

    #[test]
    fn an_axis_of_times_has_one_unit_and_no_rounding_twice() {
        assert_eq!(axis_time(0.015, 0.02), "15 us");
        assert_eq!(axis_time(0.0025, 0.01), "2.5 us");
        assert_eq!(axis_time(0.5, 2.4), "0.5 ms");
        assert_eq!(axis_time(0.1 + 0.2, 2.4), "0.3 ms");
        assert_eq!(axis_time(1500.0, 2400.0), "1.5 s");
    }

    #[test]
    fn r22_graphs_of_one_stream_never_overlap() {
        let mut ends = 0.0;
        for run in recorded("physical-memory-reuse") {
            let (start, end) = run.ran.unwrap_or((run.returned, run.returned));
            assert!(start >= ends && end >= start, "{run:?}");
            ends = end;
        }
    }
}
