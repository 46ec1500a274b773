//! One schedule: its steps, planned and, where it was run, measured.

use std::io::{self, Write};

use super::bar;
use crate::report::planned::{each, failing_calls, reserved, used};
use crate::report::style::{self, BOLD, RED, YELLOW};
use crate::report::table::{Cut, Table};
use crate::report::units::{bytes, count};
use graph_memory_plan::result::{Outcome, PlannedBy, Schedule};

pub(super) fn write(schedule: &Schedule, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{BOLD:#}", schedule.name)?;
    if !schedule.about.is_empty() {
        writeln!(out, "   {}", schedule.about)?;
    }
    if schedule.planned_by == PlannedBy::Rule {
        let because = schedule.by_rule_because.unwrap_or("so requested");
        writeln!(
            out,
            "   computed from the footprints by rules R35 and R36, not simulated: {because}"
        )?;
    }
    if schedule.devices.len() > 1 {
        let gpus: Vec<String> = schedule
            .devices
            .iter()
            .map(|gpu| format!("GPU {gpu}"))
            .collect();
        writeln!(out, "   each figure is of {}", gpus.join(", "))?;
    }
    let others = schedule.other_footprint_bytes.iter().copied();
    writeln!(
        out,
        "   footprint {BOLD}{}{BOLD:#}, {}",
        each(bytes(schedule.footprint_bytes), others),
        failing_calls(schedule),
    )?;
    let verified = schedule.steps.iter().any(|step| step.measured.is_some());
    if verified {
        side_by_side(schedule, rows, out)?
    } else {
        planned(schedule, rows, out)?
    }
    verdict(schedule, rows, out)
}

fn planned(schedule: &Schedule, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(["step", "used", "reserved"]);
    let cut = Cut::new(schedule.steps.len(), rows);
    for step in cut.of(&schedule.steps) {
        table.row_with_tail(
            [
                step.label.clone(),
                used(&step.planned),
                reserved(&step.planned),
            ],
            format!(
                "{}{}",
                bar(step.planned.used_bytes, schedule.footprint_bytes),
                failure(&step.planned)
            ),
        );
    }
    table.write(&cut, out)
}

fn side_by_side(schedule: &Schedule, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new([
        "step",
        "planned: code",
        "used",
        "reserved",
        "measured: code",
        "used",
        "reserved",
    ]);
    let cut = Cut::new(schedule.steps.len(), rows);
    for step in cut.of(&schedule.steps) {
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
            used(&step.planned),
            reserved(&step.planned),
            measured.map_or(String::new(), code),
            measured.map_or(String::new(), used),
            measured.map_or(String::new(), reserved),
        ]);
    }
    table.write(&cut, out)
}

fn verdict(schedule: &Schedule, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(verification) = &schedule.verification else {
        if let Some(why) = &schedule.not_compared {
            writeln!(out, "   {YELLOW}NOT COMPARED{YELLOW:#} with a run: {why}")?;
        }
        return Ok(());
    };
    let verdict = verification.verdict;
    let style = style::of(verdict);
    writeln!(
        out,
        "   {style}{}{style:#} {} as planned; {} of {} addresses as planned",
        verdict.as_str(),
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

fn failure(outcome: &Outcome) -> String {
    match &outcome.failure {
        Some(failure) => format!(" {RED}{} {}{RED:#}", failure.code, failure.name),
        None => String::new(),
    }
}
