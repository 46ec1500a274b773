//! The charts, drawn as SVG.
//!
//! There is no chart crate because those available (plotters, charming) write colors
//! into attributes, so that a drawing cannot follow the reader's light or dark scheme;
//! none draws streams or address maps, and none gives each mark its own text.
//!
//! Every chart is drawn twice, for wide and narrow screens, because text in a
//! scaled-down drawing is too small to read. Each has a sentence that describes it and
//! a table of its numbers.

mod addresses;
mod canvas;
mod cycles;
mod lanes;
pub(super) mod plan;
mod steps;
pub(super) mod watch;

use super::markup::Element;
use crate::results::{ExperimentResult, ModelClock, Repeat, RunResult};

pub(super) use canvas::STYLE;

/// Width of a drawing on a wide screen, in CSS pixels.
const WIDE: f64 = 760.0;

/// Width of a drawing on a phone, in CSS pixels.
const NARROW: f64 = 340.0;

/// A drawing with its texts and its table.
#[derive(Debug)]
pub(super) struct Chart {
    /// For file names: `memory`, `streams`, `addresses`, `cycles`.
    pub(super) slug: &'static str,
    /// The title.
    pub(super) title: &'static str,
    /// A description, which is also the text alternative of the drawing.
    pub(super) summary: String,
    /// Which values are measured and which are derived.
    pub(super) note: String,
    /// The drawing for wide screens.
    pub(super) wide: Element,
    /// The drawing for narrow screens.
    pub(super) narrow: Element,
    /// The numbers.
    pub(super) table: Table,
}

/// Rows of text under a header.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) header: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The charts of an experiment that have data.
pub(super) fn of_experiment(result: &RunResult, experiment: &ExperimentResult) -> Vec<Chart> {
    let virtual_time = result.settings.model_clock == Some(ModelClock::Virtual);
    let mut charts: Vec<Chart> = steps::chart(experiment).into_iter().collect();
    // With a virtual clock, host times and simulated times are unrelated.
    if !virtual_time {
        charts.extend(lanes::chart(experiment));
    }
    charts.extend(addresses::chart(experiment));
    charts
}

/// The chart of a run with `--repeat`.
pub(super) fn of_repeat(repeat: &Repeat) -> Option<Chart> {
    cycles::chart(repeat)
}

/// Draws for both widths.
fn both(draw: impl Fn(f64) -> Element) -> (Element, Element) {
    (draw(WIDE), draw(NARROW))
}
