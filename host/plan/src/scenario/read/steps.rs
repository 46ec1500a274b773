//! The steps of a scenario's schedule.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::super::file::{StepEntry, StreamName};
use super::super::{MOST_OBJECTS, Scenario, Step};
use super::Reader;
use crate::read_error::ReadError;

/// The graphs that a name in the schedule means.
pub(super) type Families<'f> = BTreeMap<&'f str, Range<usize>>;

impl Reader<'_> {
    pub(super) fn step(
        &self,
        entry: &Spanned<StepEntry>,
        families: &Families<'_>,
        scenario: &mut Scenario,
    ) -> Result<(), ReadError> {
        let span = entry.span();
        let step = entry.get_ref();
        let times = step.times.unwrap_or(1);
        let before = scenario.steps.len();
        let mut once = Vec::new();
        let graphs = |name: &str| self.instances(name, families, scenario, &span);
        let stream = |turn: usize| self.stream(step.stream.as_ref(), turn, &span);
        let at = step.stream.is_some();
        match (
            &step.launch,
            &step.upload,
            &step.wait,
            &step.free,
            &step.destroy,
            step.trim,
        ) {
            (Some(name), None, None, None, None, None) => {
                for (turn, instance) in graphs(name)?.enumerate() {
                    once.push(Step::Launch {
                        instance,
                        stream: stream(turn)?,
                    });
                }
            }
            (None, Some(name), None, None, None, None) => {
                for (turn, instance) in graphs(name)?.enumerate() {
                    once.push(Step::Upload {
                        instance,
                        stream: stream(turn)?,
                    });
                }
            }
            (None, None, Some(wait), None, None, None) if !at => once.push(match wait {
                StreamName::Word(word) if word == "all" => Step::Wait { stream: None },
                wait => Step::Wait {
                    stream: Some(self.stream(Some(wait), 0, &span)?),
                },
            }),
            (None, None, None, Some(name), None, None) => {
                let (graph, node) = name.split_once('.').unwrap_or((name, ""));
                for (turn, instance) in graphs(graph)?.enumerate() {
                    let graph = &scenario.instances[instance].graph;
                    let Some(node) = graph.find_allocation(node) else {
                        return Err(self.error(&span, format!("there is no allocation {name}")));
                    };
                    let stream = if at { Some(stream(turn)?) } else { None };
                    once.push(Step::Free {
                        instance,
                        node,
                        stream,
                    });
                }
            }
            (None, None, None, None, Some(name), None) if !at => {
                once.extend(graphs(name)?.map(|instance| Step::Destroy { instance }));
            }
            (None, None, None, None, None, Some(true)) if !at => once.push(Step::Trim),
            _ => {
                let what = "a step has one of launch, upload, wait, free, destroy and trim = true, \
                            and a stream only with launch, upload and free";
                return Err(self.error(&span, what));
            }
        }
        if times == 0 || once.len().saturating_mul(times) > MOST_OBJECTS - before {
            return Err(self.error(&span, format!("1 to {MOST_OBJECTS} steps in all")));
        }
        for _ in 0..times {
            scenario.steps.extend_from_slice(&once);
        }
        Ok(())
    }

    /// `g`: all of them; `g[3]`: that one.
    fn instances(
        &self,
        name: &str,
        families: &Families<'_>,
        scenario: &Scenario,
        span: &Range<usize>,
    ) -> Result<Range<usize>, ReadError> {
        if let Some(range) = families.get(name) {
            return Ok(range.clone());
        }
        let one = scenario
            .instances
            .iter()
            .position(|instance| instance.name == name);
        one.map(|one| one..one + 1)
            .ok_or_else(|| self.error(span, format!("there is no graph {name}")))
    }

    fn stream(
        &self,
        name: Option<&StreamName>,
        turn: usize,
        span: &Range<usize>,
    ) -> Result<usize, ReadError> {
        match name {
            None => Ok(0),
            Some(StreamName::Number(number)) if *number < MOST_OBJECTS => Ok(*number),
            Some(StreamName::Word(word)) if word == "each" => Ok(turn),
            Some(_) => Err(self.error(
                span,
                "a stream is a number, or \"each\" with launch, upload and free",
            )),
        }
    }
}

/// The stream that a step names.
pub(super) fn stream_of(step: &Step) -> Option<usize> {
    match *step {
        Step::Launch { stream, .. } | Step::Upload { stream, .. } => Some(stream),
        Step::Wait { stream } | Step::Free { stream, .. } => stream,
        Step::Trim | Step::Destroy { .. } => None,
    }
}
