//! The record of an experiment: steps with the memory after each, and checked claims.

use std::time::{Duration, Instant};

use super::milliseconds;
use crate::results::{Action, Allocation, Check, OverlapProof, Quantity, Step, Verdict};
use cuda_graphs::{DeviceAddress, GraphExec, GraphMemory, Launched, Result, Snapshot, Stream};

/// Records the steps, checks and allocations of one experiment.
#[derive(Debug)]
pub struct Notebook<'rt> {
    memory: GraphMemory<'rt>,
    lost_bytes: u64,
    start: Instant,
    steps: Vec<Step>,
    checks: Vec<Check>,
    allocations: Vec<Allocation>,
    overlap: Option<OverlapProof>,
}

/// The contents of a notebook: parts of a result.
pub(super) struct Notes {
    pub(super) steps: Vec<Step>,
    pub(super) checks: Vec<Check>,
    pub(super) allocations: Vec<Allocation>,
    pub(super) overlap: Option<OverlapProof>,
}

/// A step that has not been executed yet.
#[derive(Debug)]
pub struct NextStep<'n, 'rt> {
    notebook: &'n mut Notebook<'rt>,
    label: String,
    action: Action,
    graph: Option<usize>,
    stream: Option<usize>,
    address: Option<u64>,
    spin_time: Option<Duration>,
}

impl<'rt> Notebook<'rt> {
    /// `lost_bytes` is what an earlier experiment left reserved until the process ends.
    pub(super) fn new(memory: GraphMemory<'rt>, lost_bytes: u64) -> Self {
        Self {
            memory,
            lost_bytes,
            start: Instant::now(),
            steps: Vec::new(),
            checks: Vec::new(),
            allocations: Vec::new(),
            overlap: None,
        }
    }

    /// Resets the high-water marks, records the memory as the first step, and checks
    /// that no graph memory is used or reserved.
    pub fn baseline(&mut self) -> Result<()> {
        self.memory.reset_high_marks()?;
        self.step("before", Action::Baseline).done(|| Ok(()))?;
        let memory = self.last();
        self.check_bytes(
            "R31",
            &self.but_lost("no graph memory is used or reserved at the start"),
            self.lost_bytes,
            memory.used_bytes + memory.reserved_bytes,
        );
        Ok(())
    }

    /// Trims.
    pub fn trim(&mut self) -> Result<()> {
        let memory = self.memory;
        self.step("trim", Action::Trim).done(|| memory.trim())
    }

    /// Waits for stream 0.
    pub fn synchronize(&mut self, stream: &Stream<'_>) -> Result<()> {
        self.step("synchronize", Action::Synchronize)
            .stream(0)
            .done(|| stream.synchronize())
    }

    /// Launches a graph, by its number and the address of its allocation, into stream 0.
    /// Its kernels do not spin.
    pub fn launch<'g>(
        &mut self,
        label: impl Into<String>,
        (graph, address): (usize, DeviceAddress),
        exec: &GraphExec<'g>,
        stream: &Stream<'g>,
    ) -> Result<Launched<'g>> {
        self.step(label, Action::Launch)
            .graph(graph)
            .stream(0)
            .address(address)
            .spin_time(Duration::ZERO)
            .done(|| exec.launch(stream))
    }

    /// Trims, and checks that this leaves nothing used and nothing reserved.
    pub fn trim_to_nothing(&mut self, rule: &str, claim: &str) -> Result<()> {
        self.trim()?;
        let after = self.last();
        self.check_bytes(
            rule,
            &self.but_lost(claim),
            self.lost_bytes,
            after.used_bytes + after.reserved_bytes,
        );
        Ok(())
    }

    /// The claim, with the exception for `lost_bytes` if there are any.
    fn but_lost(&self, claim: &str) -> String {
        match self.lost_bytes {
            0 => claim.to_owned(),
            _ => format!("{claim}, except what an earlier failed launch keeps"),
        }
    }

    /// Begins a step.
    pub fn step(&mut self, label: impl Into<String>, action: Action) -> NextStep<'_, 'rt> {
        NextStep {
            notebook: self,
            label: label.into(),
            action,
            graph: None,
            stream: None,
            address: None,
            spin_time: None,
        }
    }

    /// Names an allocation that a graph makes at each launch, for the address map. A
    /// second allocation of that name replaces the first.
    pub fn allocation(
        &mut self,
        name: impl Into<String>,
        graph: usize,
        address: DeviceAddress,
        bytes: u64,
    ) {
        let name = name.into();
        self.allocations
            .retain(|known| (known.graph, &known.name) != (graph, &name));
        self.allocations.push(Allocation {
            name,
            graph,
            address: address.0,
            bytes,
        });
    }

    /// Host time since the experiment's start, in milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> f64 {
        milliseconds(self.start.elapsed())
    }

    /// The memory after the last step; all zero before the first.
    #[must_use]
    pub fn last(&self) -> Snapshot {
        self.steps
            .last()
            .map_or(Snapshot::default(), |step| step.memory)
    }

    /// The used bytes after each step of this kind, in order.
    #[must_use]
    pub fn used_after(&self, action: Action) -> Vec<u64> {
        let of_kind = self.steps.iter().filter(|step| step.action == action);
        of_kind.map(|step| step.memory.used_bytes).collect()
    }

    /// Removes the steps after the first `keep`, before an attempt is repeated.
    pub fn keep_steps(&mut self, keep: usize) {
        self.steps.truncate(keep);
    }

    /// How many steps there are.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Checks a number of bytes.
    pub fn check_bytes(&mut self, rule: &str, claim: &str, expected: u64, measured: u64) {
        self.check_equal(
            rule,
            claim,
            Quantity::Bytes(expected),
            Quantity::Bytes(measured),
        );
    }

    /// Checks the bytes used after the last step.
    pub fn check_used(&mut self, rule: &str, claim: &str, expected: u64) {
        self.check_bytes(rule, claim, expected, self.last().used_bytes);
    }

    /// Checks the bytes used after each launch.
    pub fn check_launches(&mut self, rule: &str, claim: &str, expected: Vec<u64>) {
        self.check_series(rule, claim, expected, self.used_after(Action::Launch));
    }

    /// Checks a lower bound.
    pub fn check_at_least(&mut self, rule: &str, claim: &str, least: u64, measured: u64) {
        let holds = measured >= least;
        self.note(
            rule,
            claim,
            Quantity::BytesAtLeast(least),
            Quantity::Bytes(measured),
            holds,
        );
    }

    /// Checks the bytes at several steps.
    pub fn check_series(
        &mut self,
        rule: &str,
        claim: &str,
        expected: Vec<u64>,
        measured: Vec<u64>,
    ) {
        self.check_equal(
            rule,
            claim,
            Quantity::BytesEach(expected),
            Quantity::BytesEach(measured),
        );
    }

    /// Checks a count.
    pub fn check_count(&mut self, rule: &str, claim: &str, expected: usize, measured: usize) {
        self.check_equal(
            rule,
            claim,
            Quantity::Count(expected),
            Quantity::Count(measured),
        );
    }

    /// Checks an address.
    pub fn check_address(
        &mut self,
        rule: &str,
        claim: &str,
        expected: DeviceAddress,
        measured: DeviceAddress,
    ) {
        let (expected, measured) = (Quantity::Address(expected.0), Quantity::Address(measured.0));
        self.check_equal(rule, claim, expected, measured);
    }

    /// Records whether graphs ran at the same time. If they did not, every check since
    /// `first_check` becomes inconclusive.
    pub fn conclude_overlap(&mut self, proof: OverlapProof, first_check: usize) {
        if !proof.holds() {
            let idle = proof.streams_busy.iter().filter(|&&busy| !busy).count();
            let reason = format!(
                "{idle} of {} streams had finished when the last footprint was read \
                 (spin time {:.3} ms, {} {})",
                proof.streams_busy.len(),
                proof.spin_time_ms,
                proof.attempts,
                if proof.attempts == 1 {
                    "attempt"
                } else {
                    "attempts"
                },
            );
            for check in self.checks.iter_mut().skip(first_check) {
                check.verdict = Verdict::Inconclusive;
                check.reason = Some(reason.clone());
            }
        }
        self.overlap = Some(proof);
    }

    /// The number of checks so far.
    #[must_use]
    pub fn check_count_so_far(&self) -> usize {
        self.checks.len()
    }

    pub(super) fn into_notes(self) -> Notes {
        Notes {
            steps: self.steps,
            checks: self.checks,
            allocations: self.allocations,
            overlap: self.overlap,
        }
    }

    pub(super) fn check_equal(
        &mut self,
        rule: &str,
        claim: &str,
        expected: Quantity,
        measured: Quantity,
    ) {
        let holds = expected == measured;
        self.note(rule, claim, expected, measured, holds);
    }

    pub(super) fn note(
        &mut self,
        rule: &str,
        claim: &str,
        expected: Quantity,
        measured: Quantity,
        holds: bool,
    ) {
        self.note_verdict(
            rule,
            claim,
            expected,
            measured,
            if holds { Verdict::Pass } else { Verdict::Fail },
            None,
        );
    }

    pub(super) fn note_verdict(
        &mut self,
        rule: &str,
        claim: &str,
        expected: Quantity,
        measured: Quantity,
        verdict: Verdict,
        reason: Option<String>,
    ) {
        self.checks.push(Check {
            rule: rule.to_owned(),
            claim: claim.to_owned(),
            expected,
            measured,
            verdict,
            reason,
        });
    }
}

impl NextStep<'_, '_> {
    /// Names the graph that the step is about, counted from 0.
    #[must_use]
    pub fn graph(mut self, index: usize) -> Self {
        self.graph = Some(index);
        self
    }

    /// Names the stream that the step is about, counted from 0.
    #[must_use]
    pub fn stream(mut self, index: usize) -> Self {
        self.stream = Some(index);
        self
    }

    /// Names the address that the step is about.
    #[must_use]
    pub fn address(mut self, address: DeviceAddress) -> Self {
        self.address = Some(address.0);
        self
    }

    /// Sets the spin time of the launched graph's kernel.
    #[must_use]
    pub fn spin_time(mut self, spin_time: Duration) -> Self {
        self.spin_time = Some(spin_time);
        self
    }

    /// Takes the step, then reads the memory and notes both.
    pub fn done<T>(self, action: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = Instant::now();
        let value = action()?;
        let took_ms = milliseconds(before.elapsed());
        let at_ms = milliseconds(self.notebook.start.elapsed());
        let memory = self.notebook.memory.snapshot()?;
        self.notebook.steps.push(Step {
            label: self.label,
            action: self.action,
            graph: self.graph,
            stream: self.stream,
            address: self.address,
            spin_time_ms: self.spin_time.map(milliseconds),
            at_ms,
            took_ms,
            memory,
        });
        Ok(value)
    }
}
