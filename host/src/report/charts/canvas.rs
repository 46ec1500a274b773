//! Drawing functions of the charts: text, lines, marks, axes, a legend.

use super::super::markup::{Element, element};
use super::super::units;
use crate::results::Action;

/// Colors and strokes, for the page and for each SVG file. In both color schemes text
/// has a contrast of at least 4.5 to the background, and marks of at least 3.
pub(in super::super) const STYLE: &str = "\
:root{--background:#fff;--text:#1c2128;--muted:#57606a;--line:#d0d7de;--used:#2563eb;\
--used-soft:#bfd3fb;--reserved:#b45309;--mark:#1c2128;--pass:#116329;--fail:#b3261e;\
--unsure:#7d4e00;--panel:#f6f8fa}\
@media(prefers-color-scheme:dark){:root{--background:#0f141a;--text:#e6edf3;--muted:#9aa7b4;\
--line:#39424d;--used:#6ea8fe;--used-soft:#1f3f70;--reserved:#f0a24b;--mark:#e6edf3;\
--pass:#56d364;--fail:#ff8078;--unsure:#e3b341;--panel:#171d25}}\
.chart{display:block;font:12px system-ui,sans-serif;background:var(--background)}\
.chart text{fill:var(--text)}.chart .muted{fill:var(--muted)}\
.chart .grid{stroke:var(--line);stroke-width:1;fill:none}\
.chart .used-area{fill:var(--used-soft);stroke:none}\
.chart .used{stroke:var(--used);stroke-width:2.5;fill:none}\
.chart .reserved{stroke:var(--reserved);stroke-width:2;fill:none}\
.chart .mark{stroke:var(--mark);stroke-width:1.5;fill:none}\
.chart .mark.full{fill:var(--mark)}\
.chart .box{fill:var(--panel);stroke:var(--muted);stroke-width:1}\
.chart .run{fill:var(--used-soft);stroke:var(--used);stroke-width:1;stroke-dasharray:4 2}\
.chart .call{fill:var(--used)}\
.chart .block{fill:var(--used-soft);stroke:var(--used);stroke-width:1.5}\
.chart .tie{stroke:var(--used);stroke-width:1.5;fill:none}\
.chart .queried{stroke:var(--reserved);stroke-width:2}\
.chart .hit{fill:transparent}.chart .hit:hover{fill:var(--muted);fill-opacity:.18}";

/// The approximate width of a letter.
const LETTER: f64 = 7.0;

/// The approximate width of a text, rounded up.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A drawing in progress.
#[derive(Debug)]
pub(super) struct Canvas {
    svg: Element,
}

/// Which part of a text is at its position.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Columns between a text below an axis and the drawing's edge.
const AXIS_MARGIN: f64 = 4.0;

impl Canvas {
    /// An empty drawing. The title and the summary are its text alternative.
    pub(super) fn new(width: f64, height: f64, title: &str, summary: &str) -> Self {
        let svg = element("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("viewBox", format!("0 0 {width} {height}"))
            .with("width", width)
            .with("height", height)
            .with("role", "img")
            .with("aria-label", format!("{title}. {summary}"))
            .class("chart");
        Self { svg }
    }

    pub(super) fn finish(self) -> Element {
        self.svg
    }

    pub(super) fn add(&mut self, element: Element) {
        self.svg.push(element);
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.add(
            element("text")
                .with("x", round(x))
                .with("y", round(y))
                .with("text-anchor", anchor)
                .class(class)
                .text(text),
        );
    }

    /// A text below an axis, around `x` but within the drawing's width.
    pub(super) fn axis_text(&mut self, x: f64, y: f64, width: f64, text: &str) {
        // The width is an estimate, and letters at the very edge would be cut off.
        let half = width_of(text) / 2.0 + AXIS_MARGIN;
        let x = x.min(width - half).max(half);
        self.text(x, y, Anchor::Middle, "muted", text);
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.path(&format!("M{}L{}", point(from), point(to)), class);
    }

    pub(super) fn path(&mut self, d: &str, class: &str) {
        self.add(element("path").with("d", d).class(class));
    }

    /// A rectangle, with a text that shows when the pointer rests on it.
    pub(super) fn rect(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        class: &str,
        tip: Option<&str>,
    ) {
        let mut rect = element("rect")
            .with("x", round(x))
            .with("y", round(y))
            .with("width", round(width.max(0.0)))
            .with("height", round(height.max(0.0)))
            .class(class);
        if let Some(tip) = tip {
            rect.push(element("title").text(tip));
        }
        self.add(rect);
    }

    /// The sign of a kind of step, around a point.
    pub(super) fn sign(&mut self, action: Action, x: f64, y: f64) {
        let (d, class) = match action {
            // A triangle that points up: memory may grow.
            Action::Launch => ("M-4.5 4L0-4.5L4.5 4Z", "mark full"),
            Action::Upload => ("M-4.5 4L0-4.5L4.5 4Z", "mark"),
            // A ring: freed by the program.
            Action::Free => ("M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z", "mark"),
            // A triangle that points down: returned to the system.
            Action::Trim => ("M-4.5-4L0 4.5L4.5-4Z", "mark full"),
            Action::Synchronize => ("M-3-4.5V4.5M3-4.5V4.5", "mark"),
            Action::Instantiate => ("M-4.5 0H4.5M0-4.5V4.5", "mark"),
            Action::Allocate => ("M-3.5-3.5H3.5V3.5H-3.5Z", "mark"),
            Action::Destroy => ("M-4-4L4 4M4-4L-4 4", "mark"),
            Action::Refuse => ("M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0ZM-3 3L3-3", "mark"),
            Action::Baseline => (
                "M-1.5 0A1.5 1.5 0 1 1 1.5 0A1.5 1.5 0 1 1-1.5 0Z",
                "mark full",
            ),
        };
        let place = format!("translate({} {})", round(x), round(y));
        self.add(
            element("path")
                .with("d", d)
                .with("transform", place)
                .class(class),
        );
    }

    /// What signs and lines mean, from the top left; returns the rows' height.
    pub(super) fn legend(&mut self, width: f64, entries: &[(Key, &str)]) -> f64 {
        let (mut x, mut y) = (0.0, 12.0);
        for (key, text) in entries {
            let takes = 24.0 + width_of(text) + 14.0;
            if x > 0.0 && x + takes > width {
                (x, y) = (0.0, y + ROW);
            }
            match key {
                Key::Line(class) => self.line((x, y - 4.0), (x + 18.0, y - 4.0), class),
                Key::Area(class) => self.rect((x, y - 10.0), (18.0, 11.0), class, None),
                Key::Sign(action) => self.sign(*action, x + 9.0, y - 4.0),
            }
            self.text(x + 24.0, y, Anchor::Start, "", text);
            x += takes;
        }
        y + 8.0
    }
}

/// Rows of a legend, for its height before it is drawn.
pub(super) fn legend_height(width: f64, entries: &[(Key, &str)]) -> f64 {
    Canvas::new(0.0, 0.0, "", "").legend(width, entries)
}

const ROW: f64 = 18.0;

/// The sign of a legend's entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Line(&'static str),
    Area(&'static str),
    Sign(Action),
}

/// What a kind of step is called in a legend.
pub(super) fn sign_name(action: Action) -> &'static str {
    match action {
        Action::Baseline => "before",
        Action::Destroy => "destroy",
        Action::Refuse => "refused call",
        other => other.as_str(),
    }
}

/// Values to mark on an axis of bytes from 0 to `most`: powers of two, four or five
/// of them, the last at or above `most`.
fn byte_ticks(most: u64) -> Vec<u64> {
    let step = most.div_ceil(4).max(1).next_power_of_two();
    (0..=most.div_ceil(step).max(1))
        .map(|index| index * step)
        .collect()
}

/// Values to mark on an axis from `least` to `most`: round numbers within it.
pub(super) fn ticks(least: f64, most: f64, wanted: f64) -> Vec<f64> {
    let span = most - least;
    if span <= 0.0 || !span.is_finite() {
        return vec![least];
    }
    let rough = span / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough)
        .unwrap_or(rough);
    let first = (least / step).ceil() as i64;
    let last = (most / step).floor() as i64;
    (first..=last).map(|index| index as f64 * step).collect()
}

/// A plot of bytes below its legend, with round sizes on its left.
#[derive(Debug)]
pub(super) struct BytePlot {
    pub(super) canvas: Canvas,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) right: f64,
    sizes: Vec<u64>,
}

/// Columns right of a plot.
const RIGHT: f64 = 12.0;

impl BytePlot {
    /// Room for the sizes on the left.
    pub(super) const LEFT: f64 = 74.0;

    /// A plot of this height, with room below it, for sizes up to `most` bytes.
    pub(super) fn new(
        width: f64,
        (height, below): (f64, f64),
        (title, summary): (&str, &str),
        entries: &[(Key, &str)],
        most: u64,
    ) -> Self {
        let top = legend_height(width, entries) + 8.0;
        let (bottom, right) = (top + height, width - RIGHT);
        let mut canvas = Canvas::new(width, bottom + below, title, summary);
        canvas.legend(width, entries);
        let mut plot = Self {
            canvas,
            top,
            bottom,
            right,
            sizes: byte_ticks(most),
        };
        for &size in &plot.sizes {
            let (x, y) = (Self::LEFT - 8.0, plot.y(size) + 4.0);
            let size = units::bytes(size);
            plot.canvas.text(x, y, Anchor::End, "muted", &size);
        }
        plot
    }

    /// Draws lines across it at its sizes.
    pub(super) fn with_grid(mut self) -> Self {
        for &size in &self.sizes {
            let y = self.y(size);
            self.canvas.line((Self::LEFT, y), (self.right, y), "grid");
        }
        self
    }

    /// The height at which so many bytes are drawn.
    pub(super) fn y(&self, bytes: u64) -> f64 {
        let at_top = self.sizes.last().copied().unwrap_or(1).max(1);
        self.bottom - bytes as f64 / at_top as f64 * (self.bottom - self.top)
    }

    /// Fills what is below a line that begins at `left` and ends at the right.
    pub(super) fn area(&mut self, line: &str, left: f64) {
        let corners = [(self.right, self.bottom), (left, self.bottom)].map(point);
        let area = format!("{line}L{}L{}Z", corners[0], corners[1]);
        self.canvas.path(&area, "used-area");
    }
}

/// To a tenth of a pixel.
pub(super) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A point in a path.
pub(super) fn point((x, y): (f64, f64)) -> String {
    format!("{} {}", round(x), round(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_bytes_has_round_marks_and_holds_the_largest() {
        const MIB: u64 = 1 << 20;
        assert_eq!(
            byte_ticks(512 * MIB),
            [0, 128, 256, 384, 512].map(|m| m * MIB)
        );
        assert_eq!(byte_ticks(64 * MIB), [0, 16, 32, 48, 64].map(|m| m * MIB));
        assert_eq!(byte_ticks(0), [0, 1]);
        for most in [1, 3, 1000, 96 * MIB, 448 * MIB, (1 << 40) + 1] {
            let ticks = byte_ticks(most);
            assert!((2..=6).contains(&ticks.len()), "{most}: {ticks:?}");
            assert!(ticks.last().is_some_and(|&last| last >= most));
        }
    }

    #[test]
    fn an_axis_of_numbers_has_round_marks_within_it() {
        assert_eq!(ticks(0.0, 4.2, 4.0), [0.0, 2.0, 4.0]);
        assert_eq!(ticks(10.0, 50.0, 4.0), [10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(3.0, 3.0, 4.0), [3.0]);
    }
}
