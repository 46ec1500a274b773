//! The experiments many times in one process, and the memory after each cycle.

use std::hint::black_box;
use std::time::Instant;

use super::interrupt::Interrupt;
use super::progress::Progress;
use crate::experiments::{Experiment, Lab};
use crate::host_memory;
use crate::results::{Cycle, ExperimentResult, MemoryKind, Repeat, Verdict};
use crate::trend;

/// The most cycles whose records have their memory before the first one: 10 MB. What
/// more of them take is below what the trend of so many can see.
const MOST_READY: usize = 100_000;

/// Room for the records of so many cycles, its pages touched: the record must not grow
/// with the memory that it is a record of.
fn room_for(cycles: usize) -> Vec<Cycle> {
    let none = Cycle {
        cycle: 0,
        duration_ms: 0.0,
        verdict: Verdict::Pass,
        host_resident_bytes: None,
        memory: None,
    };
    let mut room = black_box(vec![none; cycles.min(MOST_READY)]);
    room.clear();
    room
}

/// What the cycles gave.
pub(super) struct Cycles {
    pub(super) repeat: Repeat,
    /// The experiments of [`Repeat::kept_cycle`].
    pub(super) kept: Vec<ExperimentResult>,
}

/// Runs the cycles. Experiments of one cycle only are kept: those of the first, or
/// of the first with a worse verdict.
pub(super) fn cycles(
    lab: &Lab<'_>,
    experiments: &[&'static Experiment],
    asked: usize,
    interrupt: &Interrupt,
) -> Cycles {
    let progress = Progress::new();
    let mut cycles = room_for(asked);
    let mut kept: (usize, Vec<ExperimentResult>) = (0, Vec::new());
    for number in 1..=asked {
        if interrupt.asked() {
            break;
        }
        let start = Instant::now();
        let mut ran = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            if interrupt.asked() {
                break;
            }
            progress.say(&format!("cycle {number} of {asked}: {}", experiment.name));
            ran.push(lab.run(experiment));
        }
        let whole = ran.len() == experiments.len();
        let verdict = worst(&ran);
        let first = kept.1.is_empty();
        if first || verdict > worst(&kept.1) {
            kept = (number, ran);
        }
        // Half a cycle has no place in a row of whole ones.
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
        // Memory that is not known after every cycle has no trend.
        let samples: Option<Vec<_>> = cycles.iter().map(|cycle| cycle.bytes(kind)).collect();
        trend::of(kind, &samples?, lab.is_measured())
    })
    .collect();
    Cycles {
        repeat: Repeat {
            cycles_asked: asked,
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
