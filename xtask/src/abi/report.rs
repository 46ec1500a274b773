//! The report of the check: one line per runtime, then the differences.

use std::fmt::Write as _;

use serde::Serialize;

use super::check::{Checked, Difference};

/// A runtime that could not be compared.
#[derive(Debug, Clone, Serialize)]
pub struct NotChecked {
    /// What was requested.
    pub runtime: String,
    /// Why it was not compared.
    pub reason: String,
}

/// The whole outcome.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Of this form of the JSON.
    pub schema_version: u32,
    /// The C compiler that compared.
    pub compiler: String,
    /// What was compared.
    pub checked: Vec<Checked>,
    /// What was not.
    pub not_checked: Vec<NotChecked>,
    /// What else there is to say.
    pub remarks: Vec<String>,
}

impl Report {
    /// How many differences nothing handles.
    pub fn unhandled(&self) -> usize {
        self.checked.iter().map(|c| c.unhandled().count()).sum()
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut text = format!("by {}\n\n", self.compiler);
        self.write_runtimes(&mut text);
        self.write_known(&mut text);
        let unhandled = self.grouped(|d| d.handled.is_none());
        if !unhandled.is_empty() {
            text.push_str("\nDIFFERENCES:\n");
            let rows: Vec<_> = unhandled
                .into_iter()
                .map(|(difference, releases)| self.row(difference, &releases))
                .collect();
            text.push_str(&aligned(&rows, 2));
        }
        text.push('\n');
        for remark in &self.remarks {
            let _ = writeln!(text, "note: {remark}");
        }
        text.push_str(&self.verdict());
        text.push('\n');
        text
    }

    /// The known differences below what is done about them.
    fn write_known(&self, text: &mut String) {
        let known = self.grouped(|d| d.handled.is_some());
        let mut reasons: Vec<&str> = Vec::new();
        for reason in known.iter().filter_map(|(d, _)| d.handled) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if !reasons.is_empty() {
            text.push_str("\nKnown differences, and how they are handled:\n");
        }
        for reason in reasons {
            let _ = writeln!(text, "  {reason}");
            let rows: Vec<_> = known
                .iter()
                .filter(|(difference, _)| difference.handled == Some(reason))
                .map(|(difference, releases)| self.row(difference, releases))
                .collect();
            text.push_str(&aligned(&rows, 6));
        }
    }

    fn row(&self, difference: &Difference, releases: &[String]) -> [String; 4] {
        [
            difference.subject.clone(),
            difference.aspect.to_string(),
            spans(releases, &self.releases()),
            format!("table: {}, header: {}", difference.table, difference.real),
        ]
    }

    fn write_runtimes(&self, text: &mut String) {
        let mut rows = vec![
            [
                "CUDA",
                "prototypes",
                "types",
                "fields",
                "constants",
                "symbols",
                "differences",
                "known",
                "wheel",
            ]
            .map(str::to_owned),
        ];
        for checked in &self.checked {
            let counts = checked.counts;
            let unhandled = checked.unhandled().count();
            rows.push([
                checked.release.to_string(),
                counts.prototypes.to_string(),
                counts.types.to_string(),
                counts.fields.to_string(),
                counts.constants.to_string(),
                counts.symbols.to_string(),
                unhandled.to_string(),
                (checked.differences.len() - unhandled).to_string(),
                checked.wheel.clone(),
            ]);
        }
        text.push_str(&aligned(&rows, 2));
        for missing in &self.not_checked {
            let _ = writeln!(
                text,
                "  {}  not checked: {}",
                missing.runtime, missing.reason
            );
        }
    }

    fn verdict(&self) -> String {
        let (checked, missing) = (self.checked.len(), self.not_checked.len());
        let unhandled = self.unhandled();
        let mut verdict = match (checked, unhandled) {
            (0, _) => "NOT CHECKED: no runtime could be compared with the table".to_owned(),
            (_, 0) => format!("PASS: the table agrees with {checked} runtimes"),
            _ => format!("FAIL: {unhandled} differences are not handled"),
        };
        if checked > 0 && missing > 0 {
            let _ = write!(verdict, "; {missing} not checked");
        }
        verdict
    }

    fn releases(&self) -> Vec<String> {
        self.checked.iter().map(|c| c.release.to_string()).collect()
    }

    /// Differences that are the same in several releases, once, in order.
    fn grouped(&self, wanted: impl Fn(&Difference) -> bool) -> Vec<(&Difference, Vec<String>)> {
        let mut groups: Vec<(&Difference, Vec<String>)> = Vec::new();
        for checked in &self.checked {
            for difference in checked.differences.iter().filter(|d| wanted(d)) {
                let release = checked.release.to_string();
                match groups.iter_mut().find(|(first, _)| *first == difference) {
                    Some((_, releases)) => releases.push(release),
                    None => groups.push((difference, vec![release])),
                }
            }
        }
        groups.sort_by(|(a, _), (b, _)| (&a.subject, a.aspect).cmp(&(&b.subject, b.aspect)));
        groups
    }
}

/// `11.8`, `12.0 to 12.9`, or a list where others lie between.
fn spans(releases: &[String], all: &[String]) -> String {
    let place = |release: &String| all.iter().position(|r| r == release);
    let mut spans: Vec<(&String, &String)> = Vec::new();
    for release in releases {
        match spans.last_mut() {
            Some((_, last)) if place(last).map(|p| p + 1) == place(release) => *last = release,
            _ => spans.push((release, release)),
        }
    }
    let text: Vec<_> = spans
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.clone()
            } else {
                format!("{first} to {last}")
            }
        })
        .collect();
    text.join(", ")
}

/// Rows in columns, two spaces between; numbers to the right.
fn aligned<const N: usize>(rows: &[[String; N]], indent: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent.saturating_sub(2));
        for (cell, width) in row.iter().zip(&widths) {
            let number = !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit());
            let _ = if number {
                write!(line, "  {cell:>width$}")
            } else {
                write!(line, "  {cell:<width$}")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
