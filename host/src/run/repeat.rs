//! Runs the experiments many times in one process and records the memory after each
//! run (a cycle).

use std::time::Instant;

use super::interrupt::Interrupt;
use super::progress::Progress;
use crate::experiments::{Experiment, Lab};
use crate::host_memory;
use crate::results::trend;
use crate::results::{Cycle, ExperimentResult, MemoryKind, Repeat, Verdict};

/// The memory after a cycle without the memory that the record of the cycles takes.
fn without_record(cycle: &Cycle, kind: MemoryKind) -> Option<u64> {
    let record = match kind {
        MemoryKind::HostResident => cycle.cycle.saturating_mul(size_of::<Cycle>()),
        _ => 0,
    };
    let bytes = cycle.bytes(kind)?;
    Some(bytes.saturating_sub(record as u64))
}

/// The result of the cycles.
pub(super) struct Cycles {
    pub(super) repeat: Repeat,
    /// The experiments of [`Repeat::kept_cycle`].
    pub(super) kept: Vec<ExperimentResult>,
}

/// Runs the cycles. It keeps the experiments of one cycle only: the first, or the first
/// with a worse verdict.
pub(super) fn cycles(
    lab: &Lab<'_>,
    experiments: &[&'static Experiment],
    requested: usize,
    interrupt: &Interrupt,
) -> Cycles {
    let progress = Progress::new();
    let mut cycles: Vec<Cycle> = Vec::new();
    let mut kept: (usize, Vec<ExperimentResult>) = (0, Vec::new());
    for number in 1..=requested {
        if interrupt.requested() {
            break;
        }
        let start = Instant::now();
        let mut ran = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            if interrupt.requested() {
                break;
            }
            progress.say(&format!("run {number} of {requested}: {}", experiment.name));
            ran.push(lab.run(experiment));
        }
        let whole = ran.len() == experiments.len();
        let verdict = worst(&ran);
        let first = kept.1.is_empty();
        if first || verdict > worst(&kept.1) {
            kept = (number, ran);
        }
        // An incomplete cycle is not compared with complete ones.
        if !whole {
            break;
        }
        cycles.push(Cycle {
            cycle: number,
            duration_ms: start.elapsed().as_secs_f64() * 1e3,
            verdict,
            host_resident_bytes: host_memory::resident_bytes(),
            memory: lab.memory_now(),
        });
    }
    let trends: Vec<_> = [
        MemoryKind::HostResident,
        MemoryKind::DeviceInUse,
        MemoryKind::GraphUsed,
        MemoryKind::GraphReserved,
    ]
    .into_iter()
    .filter_map(|kind| {
        // Without the memory after every cycle there is no trend.
        let samples: Option<Vec<_>> = cycles
            .iter()
            .map(|cycle| without_record(cycle, kind))
            .collect();
        trend::of(kind, &samples?, lab.is_measured())
    })
    .collect();
    Cycles {
        repeat: Repeat {
            cycles_requested: requested,
            verdict: Verdict::worst(trends.iter().map(|trend| trend.verdict)),
            cycles,
            kept_cycle: kept.0,
            trends,
        },
        kept: kept.1,
    }
}

fn worst(experiments: &[ExperimentResult]) -> Verdict {
    Verdict::worst(experiments.iter().map(|experiment| experiment.verdict))
}
