//! Schedules: planned on the simulated runtime or by rule, and compared with what was
//! measured.

use std::collections::BTreeMap;

use cudart_model::Profile;

use super::graph::Kind;
use super::layout::Layout;
use super::replay::{self, Failure, Replayed, ReplayedStep, SpinKernel, Stage};
use super::result::{Held, Outcome, PlannedBy, Schedule, ScheduleStep, Verdict, Verification};
use super::scenario::Scenario;
use crate::Error;

/// A scenario run on the simulated runtime: the schedule, and everything that came of it.
///
/// # Errors
///
/// A model on which nothing runs.
pub fn simulated(
    scenario: &Scenario,
    gpu: &Profile,
    spin: SpinKernel<'_>,
) -> Result<(Schedule, Replayed), Error> {
    let replayed = replay::simulated(scenario, gpu, spin)?;
    let steps = scenario
        .steps
        .iter()
        .zip(&replayed.steps)
        .map(|(step, outcome)| ScheduleStep {
            label: scenario.label(step),
            planned: outcome.into(),
            measured: None,
        });
    let steps: Vec<ScheduleStep> = steps.collect();
    let schedule = Schedule {
        devices: scenario.devices(),
        ..schedule(
            &scenario.name,
            &scenario.about,
            PlannedBy::Simulation,
            steps,
        )
    };
    Ok((schedule, replayed))
}

fn schedule(name: &str, about: &str, planned_by: PlannedBy, steps: Vec<ScheduleStep>) -> Schedule {
    let used = steps.iter().map(|step| step.planned.used_bytes);
    let others = steps
        .first()
        .map_or(0, |step| step.planned.other_devices.len());
    let most = |other: usize| {
        let used = steps
            .iter()
            .map(|step| step.planned.other_devices[other].used_bytes);
        used.max().unwrap_or(0)
    };
    Schedule {
        name: name.to_owned(),
        about: about.to_owned(),
        planned_by,
        by_rule_because: None,
        devices: vec![0],
        footprint_bytes: used.max().unwrap_or(0),
        other_footprint_bytes: (0..others).map(most).collect(),
        failing_steps: steps
            .iter()
            .filter(|step| step.planned.failure.is_some())
            .count(),
        steps,
        verification: None,
        not_compared: None,
    }
}

impl From<&ReplayedStep> for Outcome {
    fn from(step: &ReplayedStep) -> Self {
        Self {
            failure: step.failure.clone(),
            used_bytes: step.memory.used_bytes,
            reserved_bytes: Some(step.memory.reserved_bytes),
            other_devices: step
                .others
                .iter()
                .map(|memory| Held {
                    used_bytes: memory.used_bytes,
                    reserved_bytes: memory.reserved_bytes,
                })
                .collect(),
            busy_streams: step.busy_streams,
        }
    }
}

/// Runs a scenario for real and notes it beside what was planned.
///
/// # Errors
///
/// Calls that fail though the scenario gives no reason for it.
pub fn verify(
    schedule: &mut Schedule,
    planned: &Replayed,
    scenario: &Scenario,
    stage: &Stage<'_>,
) -> Result<(), Error> {
    let measured = replay::replay(stage, scenario)?;
    for (step, outcome) in schedule.steps.iter_mut().zip(&measured.steps) {
        step.measured = Some(outcome.into());
    }
    schedule.verification = Some(compare(&schedule.steps, scenario, planned, &measured));
    Ok(())
}

/// What differs between what was planned and what was measured.
fn compare(
    steps: &[ScheduleStep],
    scenario: &Scenario,
    planned: &Replayed,
    measured: &Replayed,
) -> Verification {
    let mut differences = Vec::new();
    let mut verdict = Verdict::Pass;
    // Graphs that were to run at once did not, so what follows says nothing.
    let mut not_at_once = false;
    let mut fewer_before = false;
    for step in steps {
        let Some(outcome) = &step.measured else {
            continue;
        };
        let busy = step.planned.busy_streams.zip(outcome.busy_streams);
        let fewer = busy.is_some_and(|(planned, measured)| measured < planned);
        not_at_once |= fewer && busy.is_some_and(|(planned, _)| planned > 1);
        let code = |outcome: &Outcome| outcome.failure.as_ref().map_or(0, |failure| failure.code);
        let memory = |outcome: &Outcome| {
            (
                outcome.used_bytes,
                outcome.reserved_bytes,
                outcome.other_devices.clone(),
            )
        };
        let same_code = code(outcome) == code(&step.planned);
        if !same_code || memory(outcome) != memory(&step.planned) {
            let line = format!(
                "{}: planned {}, measured {}",
                step.label,
                in_words(&step.planned),
                in_words(outcome)
            );
            if same_code && (not_at_once || fewer || fewer_before) {
                verdict = verdict.max(Verdict::Inconclusive);
                differences.push(format!(
                    "{line}; graphs had finished by then, try a longer spin time"
                ));
            } else {
                verdict = Verdict::Fail;
                differences.push(line);
            }
        }
        fewer_before = fewer;
    }
    let (mut as_planned, mut all) = (0, 0);
    let built = planned.built.iter().zip(&measured.built);
    for ((planned, measured), instance) in built.zip(&scenario.instances) {
        let refused = |built: &replay::Built| -> Vec<(u32, i32)> {
            built
                .refused
                .iter()
                .map(|(node, failure)| (*node, failure.code))
                .collect()
        };
        if refused(planned) != refused(measured) {
            verdict = Verdict::Fail;
            differences.push("other nodes were refused than planned".to_owned());
        }
        // From the first of each GPU: where a GPU's addresses begin is no part of a plan.
        let from_first = |built: &replay::Built| -> Vec<u64> {
            let mut first: BTreeMap<Option<u16>, u64> = BTreeMap::new();
            let offset = |(&node, &address): (&u32, &u64)| {
                let on = match instance.graph.node(node).kind {
                    Kind::Alloc { location, .. } => location.on_device(),
                    _ => None,
                };
                address.wrapping_sub(*first.entry(on).or_insert(address))
            };
            built.addresses.iter().map(offset).collect()
        };
        let (planned, measured) = (from_first(planned), from_first(measured));
        all += planned.len();
        as_planned += planned
            .iter()
            .zip(&measured)
            .filter(|(planned, measured)| planned == measured)
            .count();
    }
    Verification {
        verdict,
        differences,
        addresses_as_planned: as_planned,
        addresses: all,
    }
}

fn in_words(outcome: &Outcome) -> String {
    let reserved = outcome
        .reserved_bytes
        .map_or(String::new(), |bytes| format!(" of {bytes} reserved"));
    let mut text = match &outcome.failure {
        Some(failure) => format!(
            "{} {} and {} used{reserved}",
            failure.code, failure.name, outcome.used_bytes
        ),
        None => format!("{} used{reserved}", outcome.used_bytes),
    };
    for other in &outcome.other_devices {
        text += &format!(
            ", {} used of {} reserved",
            other.used_bytes, other.reserved_bytes
        );
    }
    text
}

/// The same schedules for graphs too large to simulate, from their
/// footprints alone.
#[derive(Debug)]
pub struct ByRule<'l> {
    /// The device's memory.
    pub total_bytes: u64,
    /// Each graph's name, layout and whether it frees on relaunch.
    pub graphs: Vec<(&'l str, &'l Layout, bool)>,
}

/// What is used and reserved so far.
#[derive(Debug, Clone, Copy)]
struct Pool {
    used: u64,
    reserved: Option<u64>,
}

impl Pool {
    const EMPTY: Self = Self::all_used(0);

    /// So many bytes reserved, all of them used.
    const fn all_used(bytes: u64) -> Self {
        Self {
            used: bytes,
            reserved: Some(bytes),
        }
    }
}

impl ByRule<'_> {
    /// One graph, launched several times in a stream.
    #[must_use]
    pub fn one_stream(&self, launches: usize) -> Option<Schedule> {
        let &(name, layout, auto_free) = self.graphs.first()?;
        let alone = Pool {
            used: layout.used_bytes(),
            reserved: layout.reserved_bytes,
        };
        let held = layout.bytes(&layout.held());
        let fits = alone.used <= self.total_bytes;
        let mut steps = Vec::new();
        for launch in 0..launches {
            let relaunched = launch > 0 && held > 0 && !auto_free;
            let code = if !fits { 2 } else { i32::from(relaunched) };
            let pool = if fits { alone } else { Pool::EMPTY };
            steps.push(step(format!("launch {name} on stream 0"), code, pool));
        }
        let held = if fits { held } else { 0 };
        steps.push(step("trim".to_owned(), 0, Pool::all_used(held)));
        if held > 0 {
            let label = format!("free all that {name} left allocated, and trim");
            steps.push(step(label, 0, Pool::EMPTY));
        }
        let about = format!("launched {launches} times in one stream, trimmed, freed");
        Some(schedule(
            &format!("{name} in one stream"),
            &about,
            PlannedBy::Rule,
            steps,
        ))
    }

    /// The first graph on several streams, all at once (R36).
    #[must_use]
    pub fn at_once(&self, streams: usize) -> Option<Schedule> {
        let &(name, layout, _) = self.graphs.first()?;
        let launches = (0..streams).map(|number| {
            (
                format!("launch {name}[{number}] on stream {number}"),
                layout,
            )
        });
        let steps = self.sum(launches);
        let about = format!("{streams} graphs like it, each on its own stream, all at once");
        Some(schedule(
            &format!("{name} on {streams} streams"),
            &about,
            PlannedBy::Rule,
            steps,
        ))
    }

    /// All graphs, each on its own stream, all at once (R36).
    #[must_use]
    pub fn all_at_once(&self) -> Schedule {
        let launches = (0..).zip(&self.graphs).map(|(number, (name, layout, _))| {
            (format!("launch {name} on stream {number}"), *layout)
        });
        let steps = self.sum(launches);
        let about = "each graph on its own stream, all at once";
        schedule("all graphs at once", about, PlannedBy::Rule, steps)
    }

    /// All graphs in one stream: each can have what is not held by allocations that
    /// one before left (R35, R36).
    #[must_use]
    pub fn all_in_one_stream(&self) -> Schedule {
        let (mut pool, mut held) = (Pool::EMPTY, 0_u64);
        let mut steps = Vec::new();
        for (name, layout, _) in &self.graphs {
            let need = held.saturating_add(layout.used_bytes());
            let fits = need.max(pool.used) <= self.total_bytes;
            if fits {
                let reserved = layout
                    .reserved_bytes
                    .map(|bytes| bytes.saturating_add(held));
                pool.used = pool.used.max(need);
                pool.reserved = pool
                    .reserved
                    .zip(reserved)
                    .map(|(before, need)| before.max(need));
                held = held.saturating_add(layout.bytes(&layout.held()));
            }
            steps.push(step(
                format!("launch {name} on stream 0"),
                if fits { 0 } else { 2 },
                pool,
            ));
        }
        steps.push(step("wait and trim".to_owned(), 0, Pool::all_used(held)));
        schedule(
            "all graphs in one stream",
            "one after the other in one stream",
            PlannedBy::Rule,
            steps,
        )
    }

    fn sum<'a>(&self, launches: impl Iterator<Item = (String, &'a Layout)>) -> Vec<ScheduleStep> {
        let (mut pool, mut held) = (Pool::EMPTY, 0_u64);
        let mut steps = Vec::new();
        for (label, layout) in launches {
            let used = pool.used.saturating_add(layout.used_bytes());
            let fits = used <= self.total_bytes;
            if fits {
                pool.used = used;
                let both = pool.reserved.zip(layout.reserved_bytes);
                pool.reserved = both.map(|(before, more)| before.saturating_add(more));
                held = held.saturating_add(layout.bytes(&layout.held()));
            }
            steps.push(step(label, if fits { 0 } else { 2 }, pool));
        }
        steps.push(step("wait and trim".to_owned(), 0, Pool::all_used(held)));
        steps
    }
}

fn step(label: String, code: i32, pool: Pool) -> ScheduleStep {
    let name = match code {
        1 => "cudaErrorInvalidValue",
        _ => "cudaErrorMemoryAllocation",
    };
    let failure = (code != 0).then(|| Failure {
        call: "cudaGraphLaunch".to_owned(),
        code,
        name: name.to_owned(),
    });
    let planned = Outcome {
        failure,
        used_bytes: pool.used,
        reserved_bytes: pool.reserved,
        other_devices: Vec::new(),
        busy_streams: None,
    };
    ScheduleStep {
        label,
        planned,
        measured: None,
    }
}

#[cfg(test)]
mod tests;
