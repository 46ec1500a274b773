//! The report for people.

use std::fmt::Write as _;

use safe_io::visible;

use super::{Check, Group, Report, Status};

/// The whole report; `colour` marks the words of state with ANSI colours.
pub fn text(report: &Report, colour: bool) -> String {
    let mut out = String::new();
    for (at, group) in report.groups.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        heading(&mut out, group, colour);
        let width = group.checks.iter().map(|check| check.name.len()).max();
        for check in &group.checks {
            line(&mut out, check, width.unwrap_or(0), colour);
        }
    }
    out
}

fn heading(out: &mut String, group: &Group, colour: bool) {
    let state = if group.ready {
        paint("ready", 32, colour)
    } else {
        paint("not ready", 33, colour) + ": " + group.otherwise
    };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}: {state}", group.title);
}

fn line(out: &mut String, check: &Check, width: usize, colour: bool) {
    let (word, code) = match check.status {
        Status::Ok => ("ok", 32),
        Status::Missing => ("missing", 31),
        Status::Optional => ("optional", 33),
        Status::Skipped => ("skipped", 2),
    };
    let word = paint(&format!("{word:<8}"), code, colour);
    // Details quote programs, variables and drivers.
    let detail = visible::line(&check.detail);
    let _ = writeln!(out, "  {word}  {:<width$}  {detail}", check.name);
    if let Some(remedy) = &check.remedy {
        let remedy = visible::line(remedy);
        let _ = writeln!(out, "  {:8}  {:width$}  try: {remedy}", "", "");
    }
}

fn paint(word: &str, code: u8, colour: bool) -> String {
    if colour {
        format!("\x1b[{code}m{word}\x1b[0m")
    } else {
        word.to_owned()
    }
}
