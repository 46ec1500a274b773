//! Many graphs: whether a graph costs more when there are more of them, in one
//! stream and in many, and what each takes of the host's memory.

use std::collections::BTreeMap;

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::{Figure, Quantity, Side, Value};
use crate::bench::side::Answer;
use crate::bench::stats::Spread;

/// Number of graphs that exist at the same time, and number of repetitions.
const STEPS: [(u64, usize); 5] = [(8, 24), (BASE, 16), (512, 5), (4096, 2), (LARGEST, 2)];

/// The most that are tried. A driver may refuse before: each graph with an allocation
/// has a whole block of addresses, and there are about twice as many as the device
/// has memory.
const LARGEST: u64 = 32768;

/// The number to which the largest is compared.
const BASE: u64 = 64;

/// Streams where there are many.
const MANY_STREAMS: u64 = 128;

/// Bytes of each graph.
const BYTES: u64 = 2 << 20;

/// Launches before all streams are waited for.
const BATCH: u64 = 256;

/// Pairs of processes in which the largest number of graphs is compared with the base.
/// One process may be up to half slower than another (for example because of where its
/// memory is), so both numbers are measured in the same process.
const PROCESSES: usize = 3;

/// Rounds of the base and of the largest in each.
const BASE_ROUNDS: usize = 12;
const LARGEST_ROUNDS: usize = 1;

/// The most that a graph may cost among the most graphs, as a multiple of what it
/// costs among [`BASE`].
const AT_MOST: f64 = 1.3;

/// What is timed, in the order in which it happens.
const STAGES: [(&str, &str); 4] = [
    ("create_ns", "create and instantiate"),
    ("first_launch_ns", "first launch"),
    ("relaunch_ns", "launch again"),
    ("destroy_ns", "destroy"),
];

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    figure.columns = Some("graphs");
    let steps = if bed.quick { &STEPS[..3] } else { &STEPS };
    // The largest is what the driver allows, rounded down to a power of two.
    let most = most_graphs(bed, limit, figure)?;
    let mut steps: Vec<_> = steps
        .iter()
        .map(|&(n, rounds)| (n.min(most), rounds))
        .collect();
    steps.dedup_by_key(|(graphs, _)| *graphs);
    for (many, place) in [(false, "one stream"), (true, "many streams")] {
        for &(graphs, rounds) in &steps {
            if limit.is_over() {
                figure
                    .skipped
                    .push(format!("{graphs} graphs, {place}: the time was over"));
                continue;
            }
            let streams = streams(graphs, many);
            // New processes, so that what a number of graphs leaves in the
            // host's memory is not the next one's.
            let mut sides = bed.sides()?;
            // The first round also takes memory from the system, which later ones
            // find again: how much there is of that depends on the number.
            let request = request(graphs, many);
            let first = take_turns(&mut sides, 1, limit, &request)?;
            let all = take_turns(&mut sides, bed.repeat(rounds), limit, &request)?;
            for ((side, answers), first) in sides.iter().zip(&all).zip(&first) {
                let at = [("graphs", graphs), ("streams", streams), ("bytes", BYTES)];
                let name_it = |what: &str| format!("{what}, {place}");
                for (name, what) in STAGES {
                    let us = each(answers, name, graphs as f64 * 1e3)?;
                    figure.times(&name_it(what), side.whose, &at, &us);
                }
                let totals = totals_us(answers, graphs)?;
                figure.times(&name_it("all of it"), side.whose, &at, &totals);
                if let Some(first) = first.first() {
                    let bytes = |name: &str| first.number(name);
                    let grown = bytes("resident_launched_bytes")? - bytes("resident_before_bytes")?;
                    // A float to integer cast saturates: a process that shrank is 0.
                    let each = (grown / graphs as f64) as u64;
                    figure.row(
                        &name_it("host memory of a graph"),
                        side.whose,
                        &at,
                        Value::Bytes(each),
                    );
                    let used = bytes("used_bytes")? as u64;
                    figure.row(
                        &name_it("graph memory used"),
                        side.whose,
                        &at,
                        Value::Bytes(used),
                    );
                }
            }
        }
        if most > BASE && !bed.quick {
            growth(bed, limit, figure, most, many, place)?;
        }
    }
    Ok(())
}

fn streams(graphs: u64, many: bool) -> u64 {
    if many { graphs.min(MANY_STREAMS) } else { 1 }
}

fn request(graphs: u64, many: bool) -> String {
    let streams = streams(graphs, many);
    format!("scale graphs={graphs} streams={streams} bytes={BYTES} batch={BATCH}")
}

/// What a graph costs in all, for each answer.
fn totals_us(answers: &[Answer], graphs: u64) -> anyhow::Result<Vec<f64>> {
    let mut totals = vec![0.0; answers.len()];
    for (name, _) in STAGES {
        let us = each(answers, name, graphs as f64 * 1e3)?;
        for (total, us) in totals.iter_mut().zip(&us) {
            *total += us;
        }
    }
    Ok(totals)
}

/// How many graphs there can be, rounded down to a power of two.
fn most_graphs(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<u64> {
    let mut ours = [bed.ours()?];
    let request = format!("limit bytes={BYTES} most={LARGEST}");
    let answers = take_turns(&mut ours, 1, limit, &request)?;
    let answer = answers.first().and_then(|answers| answers.first());
    let number = |name| answer.and_then(|answer| answer.integer(name)).unwrap_or(0);
    let (graphs, code) = (number("graphs"), number("code"));
    if code != 0 {
        figure.notes.push(format!(
            "the driver refuses graph {} with an allocation, code {code}: it has no more addresses \
             for graphs",
            graphs + 1
        ));
    }
    anyhow::ensure!(graphs > 0, "not even one graph can be made");
    Ok(1 << graphs.ilog2())
}

/// Holds the largest number to the base.
fn growth(
    bed: &Bed,
    limit: Limit,
    figure: &mut Figure,
    largest: u64,
    many: bool,
    place: &str,
) -> anyhow::Result<()> {
    let mut ratios: BTreeMap<Side, Vec<f64>> = BTreeMap::new();
    for process in 0..bed.repeat(PROCESSES) {
        if process > 0 && limit.is_over() {
            figure.skipped.push(format!(
                "{largest} graphs to {BASE}, {place}: the time was over after {process} of {PROCESSES} processes"
            ));
            break;
        }
        let mut sides = bed.sides()?;
        // The base comes first: what the largest leaves in the host's memory would be
        // of use to it.
        let mut medians: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
        for (graphs, rounds) in [(BASE, BASE_ROUNDS), (largest, LARGEST_ROUNDS)] {
            let request = request(graphs, many);
            take_turns(&mut sides, 1, limit, &request)?;
            let all = take_turns(&mut sides, rounds, limit, &request)?;
            for (answers, medians) in all.iter().zip(&mut medians) {
                let totals = Spread::of(totals_us(answers, graphs)?);
                medians.extend(totals.map(|totals| totals.median));
            }
        }
        for (side, medians) in sides.iter().zip(&medians) {
            if let [base, largest] = medians.as_slice() {
                ratios.entry(side.whose).or_default().push(largest / base);
            }
        }
    }
    for (side, ratios) in ratios {
        let Some(ratio) = Spread::of(ratios) else {
            continue;
        };
        figure.row(
            &format!("to one among {BASE}, {place}"),
            side,
            &[("graphs", largest)],
            Value::Ratio(ratio),
        );
        if side == Side::Ours {
            figure.bar(
                format!("a graph among {largest} to one among {BASE}, {place}"),
                Quantity::Ratio(AT_MOST),
                Quantity::Ratio(ratio.median),
                bed.not_judged(),
            );
        }
    }
    Ok(())
}
