//! What it costs that a graph's memory is mapped: at the first launch, again after
//! a trim or on another stream, ahead of the launch by an upload; beside what
//! plain and stream-ordered allocation of the same size cost.

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::Figure;

/// Sizes, and how often each is repeated.
const SIZES: [(u64, usize); 8] = [
    (2 << 20, 12),
    (32 << 20, 12),
    (64 << 20, 12),
    (128 << 20, 12),
    (512 << 20, 8),
    (2 << 30, 6),
    (8 << 30, 3),
    (16 << 30, 3),
];

/// The moments, each as the call alone and until the stream was idle.
const MOMENTS: [(&str, &str); 6] = [
    ("first_launch", "first launch"),
    ("relaunch", "launch again"),
    ("other_stream", "launch on another stream"),
    ("after_trim", "launch after a trim"),
    ("upload", "upload"),
    ("after_upload", "first launch after an upload"),
];

/// Single calls.
const CALLS: [(&str, &str); 7] = [
    ("trim_ns", "trim"),
    ("malloc_ns", "cudaMalloc"),
    ("free_ns", "cudaFree"),
    ("malloc_async_ns", "cudaMallocAsync, new memory"),
    ("free_async_ns", "cudaFreeAsync"),
    (
        "malloc_async_again_ns",
        "cudaMallocAsync, memory just freed",
    ),
    ("free_async_again_ns", "cudaFreeAsync again"),
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
            let at = [("bytes", bytes)];
            for (name, what) in MOMENTS {
                let call = each(answers, &format!("{name}_ns"), 1e3)?;
                let done = each(answers, &format!("{name}_done_ns"), 1e3)?;
                figure.times(what, side.whose, &at, &call);
                figure.times(&format!("{what}, until idle"), side.whose, &at, &done);
            }
            for (name, what) in CALLS {
                figure.times(what, side.whose, &at, &each(answers, name, 1e3)?);
            }
        }
    }
    Ok(())
}
