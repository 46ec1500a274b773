//! One programme: its steps, planned and, where it was run, measured.

use std::io::{self, Write};

use super::table::{Cut, Table};
use super::{BOLD, GREEN, RED, YELLOW, bar};
use crate::plan::result::{Outcome, PlannedBy, Programme};
use crate::plan::units::{bytes, count};
use crate::results::Verdict;

pub(super) fn write(programme: &Programme, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{BOLD:#}", programme.name)?;
    if !programme.about.is_empty() {
        writeln!(out, "   {}", programme.about)?;
    }
    if programme.planned_by == PlannedBy::Rule {
        let because = programme.by_rule_because.unwrap_or("so asked");
        writeln!(
            out,
            "   by rules R35 and R36 from the footprints, not on the model: {because}"
        )?;
    }
    let fails = match programme.failing_steps {
        0 => "no call fails".to_owned(),
        1 => "1 call fails".to_owned(),
        number => format!("{number} calls fail"),
    };
    writeln!(
        out,
        "   footprint {BOLD}{}{BOLD:#}, {fails}",
        bytes(programme.footprint_bytes)
    )?;
    let verified = programme.steps.iter().any(|step| step.measured.is_some());
    if verified {
        side_by_side(programme, rows, out)?
    } else {
        planned(programme, rows, out)?
    }
    verdict(programme, rows, out)
}

fn planned(programme: &Programme, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(["step", "used", "reserved"]);
    let cut = Cut::new(programme.steps.len(), rows);
    for step in cut.of(&programme.steps) {
        table.row_with_tail(
            [
                step.label.clone(),
                bytes(step.planned.used_bytes),
                reserved(&step.planned),
            ],
            format!(
                " {}{}",
                bar(step.planned.used_bytes, programme.footprint_bytes),
                failure(&step.planned)
            ),
        );
    }
    table.write(&cut, out)
}

fn side_by_side(programme: &Programme, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new([
        "step",
        "planned: code",
        "used",
        "reserved",
        "measured: code",
        "used",
        "reserved",
    ]);
    let cut = Cut::new(programme.steps.len(), rows);
    for step in cut.of(&programme.steps) {
        let measured = step.measured.as_ref();
        let code = |outcome: &Outcome| {
            outcome
                .failure
                .as_ref()
                .map_or(0, |failure| failure.code)
                .to_string()
        };
        table.row([
            step.label.clone(),
            code(&step.planned),
            bytes(step.planned.used_bytes),
            reserved(&step.planned),
            measured.map_or(String::new(), code),
            measured.map_or(String::new(), |outcome| bytes(outcome.used_bytes)),
            measured.map_or(String::new(), reserved),
        ]);
    }
    table.write(&cut, out)
}

fn verdict(programme: &Programme, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(verification) = &programme.verification else {
        return Ok(());
    };
    let style = match verification.verdict {
        Verdict::Pass => GREEN,
        Verdict::Inconclusive => YELLOW,
        Verdict::Fail => RED,
    };
    writeln!(
        out,
        "   {style}{}{style:#} {} as planned; {} of {} addresses as planned",
        verification.verdict.as_str(),
        match verification.differences.len() {
            0 => "every step".to_owned(),
            number => format!("{} not", count(number, "step")),
        },
        verification.addresses_as_planned,
        verification.addresses,
    )?;
    for difference in verification.differences.iter().take(rows) {
        writeln!(out, "        {difference}")?;
    }
    Ok(())
}

fn reserved(outcome: &Outcome) -> String {
    outcome.reserved_bytes.map_or("?".to_owned(), bytes)
}

fn failure(outcome: &Outcome) -> String {
    match &outcome.failure {
        Some(failure) => format!(" {RED}{} {}{RED:#}", failure.code, failure.name),
        None => String::new(),
    }
}
