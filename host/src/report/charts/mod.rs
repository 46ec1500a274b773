//! The charts, drawn as SVG by our own few lines.
//!
//! Why no chart crate: plotters, charming and their like write colours into
//! attributes, so that one drawing cannot follow the reader's light or dark scheme;
//! none draws lanes of streams or maps of addresses; none gives each mark a text of
//! its own. What is left to them, axes and lines, is a page of arithmetic here.
//!
//! Every chart is drawn twice, for a desk and for a phone, since a drawing that is
//! scaled down has letters that nobody can read. Beside it stand a sentence that
//! says what can be seen, and the table of its numbers.

mod addresses;
mod canvas;
mod cycles;
mod lanes;
pub(super) mod plan;
mod steps;

use super::markup::Element;
use crate::results::{ExperimentResult, ModelClock, Repeat, RunResult};

pub(super) use canvas::STYLE;

/// Columns of a drawing on a desk, in CSS pixels.
const WIDE: f64 = 760.0;

/// Columns of a drawing on a phone.
const NARROW: f64 = 340.0;

/// A drawing and what belongs to it.
#[derive(Debug)]
pub(super) struct Chart {
    /// For file names: `memory`, `streams`, `addresses`, `cycles`.
    pub(super) slug: &'static str,
    /// What it shows.
    pub(super) title: &'static str,
    /// What can be seen in it, for who cannot see it.
    pub(super) summary: String,
    /// What was measured in it and what follows from that.
    pub(super) note: String,
    /// For a desk.
    pub(super) wide: Element,
    /// For a phone.
    pub(super) narrow: Element,
    /// Its numbers.
    pub(super) table: Table,
}

/// Rows of text under a header.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) header: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The charts of an experiment, those that there is something to draw for.
pub(super) fn of_experiment(result: &RunResult, experiment: &ExperimentResult) -> Vec<Chart> {
    let virtual_time = result.settings.model_clock == Some(ModelClock::Virtual);
    let mut charts: Vec<Chart> = steps::chart(experiment).into_iter().collect();
    // On a virtual clock the host's times and the model's have nothing in common.
    if !virtual_time {
        charts.extend(lanes::chart(experiment));
    }
    charts.extend(addresses::chart(experiment));
    charts
}

/// The chart of a repeated run.
pub(super) fn of_repeat(repeat: &Repeat) -> Option<Chart> {
    cycles::chart(repeat)
}

/// Draws for both widths.
fn both(draw: impl Fn(f64) -> Element) -> (Element, Element) {
    (draw(WIDE), draw(NARROW))
}
