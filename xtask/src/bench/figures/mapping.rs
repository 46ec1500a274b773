//! What it costs to map a graph's memory: at the first launch, again after a trim or on
//! another stream, and ahead of the launch by an upload; beside the cost of plain and
//! stream-ordered allocations of the same size.

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::Figure;

/// Sizes, and how often each is repeated.
const SIZES: [(u64, usize); 5] = [
    (2 << 20, 12),
    (64 << 20, 12),
    (512 << 20, 8),
    (2 << 30, 6),
    (16 << 30, 3),
];

/// The timed calls, by their names in an answer.
const CALLS: [(&str, &str); 11] = [
    ("first_launch_ns", "first launch"),
    ("relaunch_ns", "launch again"),
    ("other_stream_ns", "launch on another stream"),
    ("after_trim_ns", "launch after a trim"),
    ("upload_ns", "upload"),
    ("after_upload_ns", "first launch after an upload"),
    ("trim_ns", "trim"),
    ("malloc_ns", "cudaMalloc"),
    ("free_ns", "cudaFree"),
    ("malloc_async_ns", "cudaMallocAsync, new memory"),
    (
        "malloc_async_again_ns",
        "cudaMallocAsync, memory just freed",
    ),
];

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    figure.columns = Some("bytes");
    let mut sides = bed.sides()?;
    let fits = |bytes: u64| bytes <= bed.machine.device_free_bytes / 2;
    for (bytes, rounds) in SIZES {
        if !fits(bytes) || limit.is_over() {
            figure.skipped.push(format!(
                "{} MiB: {}",
                bytes >> 20,
                if fits(bytes) {
                    "the time was over"
                } else {
                    "more than half of the free memory"
                }
            ));
            continue;
        }
        let request = format!("mapping bytes={bytes}");
        take_turns(&mut sides, 1, limit, &request)?;
        let all = take_turns(&mut sides, bed.repeat(rounds), limit, &request)?;
        for (side, answers) in sides.iter().zip(&all) {
            for (name, what) in CALLS {
                let us = each(answers, name, 1e3)?;
                figure.times(what, side.whose, &[("bytes", bytes)], &us);
            }
        }
    }
    Ok(())
}
