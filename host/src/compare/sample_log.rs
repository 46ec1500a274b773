//! Reads the output of NVIDIA's sample graphMemoryFootprint: one section per experiment,
//! with a line `FOOTPRINT: N bytes` after each step, some with a number before it.
//!
//! The footprint is attribute 0, the used memory. The steps have no names, so they are
//! identified by their order in the section.

use super::series::{Footprint, Point, Series};
use crate::results::Action;

/// Why a text is not such a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It contains no footprint.
    #[error("it contains no line `FOOTPRINT: N bytes`")]
    NoFootprint,
    /// A footprint is not a number.
    #[error("line {line}: {text:?} is not a footprint")]
    Number {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A footprint is outside of all known sections.
    #[error("line {line} is outside of all known experiments")]
    Section {
        /// Counted from 1.
        line: usize,
    },
    /// A section has more or fewer lines than its experiment has steps.
    #[error("{experiment} has {found} footprints without a number, and {expected} are expected")]
    Lines {
        /// The experiment.
        experiment: &'static str,
        /// Unnumbered footprints found.
        found: usize,
        /// Unnumbered footprints expected.
        expected: usize,
    },
}

/// The meaning of a section's lines before and after the numbered ones.
struct Section {
    /// In the line that begins it.
    title: &'static str,
    experiment: &'static str,
    before: &'static [Action],
    after: &'static [Action],
}

const SECTIONS: [Section; 4] = [
    Section {
        title: "virtual address reuse",
        experiment: "virtual-address-reuse",
        before: &[Action::Launch],
        after: &[Action::Trim],
    },
    Section {
        title: "physical memory reuse",
        experiment: "physical-memory-reuse",
        before: &[Action::Instantiate, Action::Launch, Action::Launch],
        after: &[Action::Trim],
    },
    Section {
        title: "simultaneous streams",
        experiment: "concurrent-streams",
        before: &[Action::Baseline],
        after: &[Action::Trim],
    },
    Section {
        title: "unfreed streams",
        experiment: "unfreed-allocations",
        before: &[],
        // A trim that changes nothing, the frees, the trim, and the usual last one.
        after: &[Action::Trim, Action::Free, Action::Trim, Action::Trim],
    },
];

/// A footprint line: its number, if it has one, and the bytes.
struct Line {
    number: Option<usize>,
    bytes: u64,
}

/// Whether the text looks like such a log.
pub(super) fn is_log(text: &str) -> bool {
    text.contains("FOOTPRINT:")
}

/// The line of the log that names the device.
pub(super) fn device(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("GPU Device"));
    line.map(str::trim)
}

/// Reads a log.
pub(super) fn parse(text: &str) -> Result<Vec<Series>, LogError> {
    let mut found: Vec<(&Section, Vec<Line>)> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if text.starts_with("Running ") {
            let begins = |section: &&Section| text.contains(section.title);
            found.extend(
                SECTIONS
                    .iter()
                    .find(begins)
                    .map(|section| (section, Vec::new())),
            );
        }
        let Some((before, after)) = text.split_once("FOOTPRINT:") else {
            continue;
        };
        let bytes = after.trim().strip_suffix("bytes").map(str::trim);
        let number = before.trim().trim_end_matches(':');
        let number = match number {
            "" => Some(None),
            number => number.parse().ok().map(Some),
        };
        let (Some(bytes), Some(number)) = (bytes.and_then(|b| b.parse().ok()), number) else {
            let text = text.trim().to_owned();
            return Err(LogError::Number { line, text });
        };
        let (_, lines) = found.last_mut().ok_or(LogError::Section { line })?;
        lines.push(Line { number, bytes });
    }
    if found.iter().all(|(_, lines)| lines.is_empty()) {
        return Err(LogError::NoFootprint);
    }
    found
        .iter()
        .map(|(section, lines)| series(section, lines))
        .collect()
}

fn series(section: &Section, lines: &[Line]) -> Result<Series, LogError> {
    let expected = section.before.len() + section.after.len();
    let unnumbered = lines.iter().filter(|line| line.number.is_none()).count();
    if unnumbered != expected {
        return Err(LogError::Lines {
            experiment: section.experiment,
            found: unnumbered,
            expected,
        });
    }
    let mut actions = section.before.iter().chain(section.after);
    let points = lines.iter().map(|line| Point {
        label: match line.number {
            Some(number) => format!("{number:02}"),
            None => String::new(),
        },
        action: match line.number {
            Some(_) => Action::Launch,
            None => actions.next().copied().unwrap_or(Action::Baseline),
        },
        footprint: Footprint::Used(line.bytes),
    });
    Ok(Series {
        name: section.experiment.to_owned(),
        points: points.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = include_str!("../../tests/recordings/nvidia-sample-cuda-13.0.txt");

    #[test]
    fn a_recorded_log_has_four_experiments_with_their_steps() {
        let series = parse(LOG).expect("it is one");
        let names: Vec<_> = series.iter().map(|series| series.name.as_str()).collect();
        let ours = crate::experiments::OF_THE_SAMPLE.iter().map(|e| e.name);
        assert_eq!(names, ours.collect::<Vec<_>>());
        let steps: Vec<_> = series.iter().map(|series| series.points.len()).collect();
        assert_eq!(steps, [2, 11, 9, 12]);
        assert_eq!(
            device(LOG),
            Some("GPU Device 0: \"Hopper\" with compute capability 9.0")
        );
    }

    #[test]
    fn what_is_no_log_is_refused_with_the_place() {
        let number = |line: usize, text: &str| LogError::Number {
            line,
            text: text.to_owned(),
        };
        assert_eq!(parse("nothing"), Err(LogError::NoFootprint));
        assert_eq!(
            parse("FOOTPRINT: 0 bytes"),
            Err(LogError::Section { line: 1 })
        );
        let broken = LOG.replacen("67108864", "many", 1);
        let first = LOG.lines().position(|line| line.contains("FOOTPRINT"));
        let line = first.expect("there is one") + 1;
        assert_eq!(parse(&broken), Err(number(line, "FOOTPRINT: many bytes")));
        // Ended in the middle of the third experiment.
        let at = LOG
            .find("03:     FOOTPRINT: 201326592")
            .expect("it is there");
        let cut = parse(LOG.get(..at).expect("a boundary"));
        let lines = LogError::Lines {
            experiment: "concurrent-streams",
            found: 1,
            expected: 2,
        };
        assert_eq!(cut, Err(lines));
    }
}
