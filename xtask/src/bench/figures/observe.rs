//! What observing costs: reading the attributes, and trimming.

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::Figure;

/// Rounds.
const ROUNDS: usize = 20;

/// Readings a round.
const READINGS: usize = 200;

/// Bytes of the graph whose memory is trimmed.
const TRIMMED: [u64; 3] = [64 << 20, 1 << 30, 4 << 30];

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let mut sides = bed.sides()?;
    let query = format!("query count={READINGS}");
    take_turns(&mut sides, 1, limit, &query)?;
    let all = take_turns(&mut sides, bed.repeat(ROUNDS), limit, &query)?;
    for (side, answers) in sides.iter().zip(&all) {
        for (name, what) in [
            ("attribute_ns", "read one attribute"),
            ("snapshot_ns", "read all four and the device's memory"),
        ] {
            let us = each(answers, name, READINGS as f64 * 1e3)?;
            figure.times(what, side.whose, &[], &us);
        }
    }
    for bytes in TRIMMED {
        let all = take_turns(
            &mut sides,
            bed.repeat(ROUNDS),
            limit,
            &format!("trim bytes={bytes}"),
        )?;
        for (side, answers) in sides.iter().zip(&all) {
            if bytes == TRIMMED[0] {
                let us = each(answers, "trim_nothing_ns", 1e3)?;
                figure.times("trim, nothing to give back", side.whose, &[], &us);
            }
            let us = each(answers, "trim_ns", 1e3)?;
            figure.times("trim after a graph", side.whose, &[("bytes", bytes)], &us);
        }
    }
    Ok(())
}
