//! Whether memory grows from cycle to cycle.
//!
//! The cycles are divided into sections. The slope is the median of the slopes from the
//! middle of each section to the next: a single jump, such as a cache that fills late,
//! affects one of them, and a leak affects all. The first quarter of the cycles is left
//! out, because it fills caches.
//!
//! Memory changes by pages and blocks, so growth below `noise_bytes` over all cycles
//! cannot be detected; the result says how much that is per cycle.

use crate::results::{Growth, MemoryKind, Trend, Verdict};

/// Bytes after one cycle.
pub type Sample = u64;

/// The least number of cycles, without those left out, that gives a trend.
const LEAST_CYCLES: usize = 5;

/// Number of sections, if there are enough cycles.
const SECTIONS: usize = 8;

/// Growth over all cycles that cannot be detected, in bytes.
const fn noise_bytes(kind: MemoryKind, has_driver: bool) -> u64 {
    match kind {
        // A driver touches its reserved memory page by page: on an H200 280 KiB in the
        // first 700 cycles, and hardly any after that.
        MemoryKind::HostResident if has_driver => 320 << 10,
        // A few pages come and go with the allocator and the stack.
        MemoryKind::HostResident => 64 << 10,
        // Other processes share the device; drivers take memory in 2 MiB pages.
        MemoryKind::DeviceInUse => 2 << 20,
        // Exact counts.
        MemoryKind::GraphUsed | MemoryKind::GraphReserved => 0,
    }
}

/// The trend of the samples, one per cycle; `None` without samples. `has_driver` says
/// whether a GPU driver is loaded into the process.
#[must_use]
pub fn of(kind: MemoryKind, samples: &[Sample], has_driver: bool) -> Option<Trend> {
    if samples.is_empty() {
        return None;
    }
    let settled = samples.get(samples.len() / 4..).unwrap_or_default();
    let cycles = settled.len();
    if cycles < LEAST_CYCLES {
        return Some(Trend {
            memory: kind,
            cycles,
            bytes_per_cycle: 0.0,
            resolution_bytes_per_cycle: 0.0,
            growth: Growth::Unknown,
            // There is no claim that could have failed.
            verdict: Verdict::Pass,
            reason: Some(format!(
                "{cycles} runs without the first quarter are too few to decide; use --repeat 7 or more"
            )),
        });
    }
    let bytes_per_cycle = slope(settled);
    let resolution = noise_bytes(kind, has_driver) as f64 / (cycles - 1) as f64;
    let growth = if bytes_per_cycle > resolution {
        Growth::Grows
    } else {
        Growth::Flat
    };
    let (verdict, reason) = match (growth, kind) {
        (Growth::Grows, MemoryKind::DeviceInUse) => (
            Verdict::Inconclusive,
            Some("other processes use the device's memory as well".to_owned()),
        ),
        (Growth::Grows, _) => (Verdict::Fail, None),
        (Growth::Flat | Growth::Unknown, _) => (Verdict::Pass, None),
    };
    Some(Trend {
        memory: kind,
        cycles,
        bytes_per_cycle,
        resolution_bytes_per_cycle: resolution,
        growth,
        verdict,
        reason,
    })
}

/// The median of the slopes from section to section.
fn slope(samples: &[Sample]) -> f64 {
    let sections = SECTIONS.min(samples.len());
    let middles: Vec<(f64, f64)> = (0..sections)
        .map(|index| {
            let start = index * samples.len() / sections;
            let end = (index + 1) * samples.len() / sections;
            let bytes = samples.get(start..end).unwrap_or_default();
            let bytes = bytes.iter().map(|&bytes| bytes as f64).collect();
            ((start + end) as f64 / 2.0, median(bytes))
        })
        .collect();
    let slopes = middles.iter().zip(middles.iter().skip(1));
    median(
        slopes
            .map(|((x1, y1), (x2, y2))| (y2 - y1) / (x2 - x1))
            .collect(),
    )
}

/// The median; 0 without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        (at(middle.saturating_sub(1)) + at(middle)) / 2.0
    } else {
        at(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: MemoryKind = MemoryKind::HostResident;

    fn growth(kind: MemoryKind, samples: &[Sample]) -> Growth {
        of(kind, samples, false).expect("there are samples").growth
    }

    /// Pages of 4 KiB for a leak of so many bytes a cycle.
    fn leaking(bytes: u64, cycles: u64) -> Vec<Sample> {
        (0..cycles)
            .map(|cycle| (5 << 20) + (cycle * bytes).next_multiple_of(4096))
            .collect()
    }

    #[test]
    fn a_leak_is_found_with_its_size() {
        let trend = of(HOST, &leaking(8000, 40), false).expect("there are samples");
        assert_eq!(
            (trend.growth, trend.verdict),
            (Growth::Grows, Verdict::Fail)
        );
        assert!((trend.bytes_per_cycle - 8000.0).abs() < 400.0, "{trend:?}");
    }

    #[test]
    fn one_jump_is_no_leak() {
        let mut samples = vec![5 << 20; 40];
        samples.iter_mut().skip(25).for_each(|s| *s += 3 << 20);
        assert_eq!(growth(HOST, &samples), Growth::Flat);
    }

    #[test]
    fn caches_that_fill_in_the_first_quarter_are_no_leak() {
        let mut samples = vec![9 << 20; 40];
        for (index, sample) in samples.iter_mut().take(10).enumerate() {
            *sample = (5 << 20) + (index as u64) * (400 << 10);
        }
        assert_eq!(growth(HOST, &samples), Growth::Flat);
    }

    #[test]
    fn the_resolution_gets_better_with_more_cycles() {
        assert_eq!(growth(HOST, &leaking(500, 40)), Growth::Flat);
        assert_eq!(growth(HOST, &leaking(500, 400)), Growth::Grows);
    }

    /// After which cycles the resident memory grew by a page: 1500 cycles of the sample's
    /// four experiments on an H200, driver 580.159.04, CUDA runtime 13.0.
    const PAGES_ON_H200: [usize; 71] = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 6, 8, 11, 12, 15, 20, 24, 27, 34, 41, 45, 56, 61,
        63, 75, 77, 83, 85, 95, 107, 118, 129, 130, 146, 153, 157, 166, 173, 175, 187, 196, 197,
        212, 220, 221, 241, 260, 265, 280, 287, 287, 297, 317, 334, 336, 385, 387, 417, 435, 460,
        483, 529, 531, 580, 629, 698, 904,
    ];

    #[test]
    fn what_a_driver_touches_late_is_no_leak_of_ours() {
        let on_h200 = |cycles: usize| -> Vec<Sample> {
            let pages = |cycle| PAGES_ON_H200.iter().filter(move |&&after| after < cycle);
            let bytes = |cycle| (124 << 20) + 4096 * pages(cycle).count() as u64;
            (0..cycles).map(bytes).collect()
        };
        for cycles in [20, 50, 200, 1000, 1500] {
            let trend = of(HOST, &on_h200(cycles), true).expect("there are samples");
            assert_eq!(trend.growth, Growth::Flat, "{cycles}: {trend:?}");
        }
        let leak = of(HOST, &leaking(2500, 200), true).expect("there are samples");
        assert_eq!(leak.growth, Growth::Grows);
    }

    #[test]
    fn graph_memory_may_not_grow_by_a_byte() {
        let samples: Vec<_> = (0..8).collect();
        assert_eq!(growth(MemoryKind::GraphUsed, &samples), Growth::Grows);
        assert_eq!(growth(MemoryKind::GraphUsed, &[0; 8]), Growth::Flat);
    }

    #[test]
    fn a_device_shared_with_others_is_never_called_a_leak_of_ours() {
        let samples: Vec<_> = (0..40).map(|cycle| cycle << 22).collect();
        let trend = of(MemoryKind::DeviceInUse, &samples, true).expect("there are samples");
        assert_eq!(trend.growth, Growth::Grows);
        assert_eq!(trend.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_few_cycles_say_nothing() {
        let trend = of(HOST, &leaking(1 << 20, 5), false).expect("there are samples");
        assert_eq!(trend.growth, Growth::Unknown);
        assert!(trend.reason.is_some());
        assert!(of(HOST, &[], false).is_none());
        assert_eq!(growth(HOST, &leaking(1 << 20, 7)), Growth::Grows);
    }
}
