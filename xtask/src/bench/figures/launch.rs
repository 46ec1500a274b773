//! What the safe layer costs over direct calls: a launch of a graph that has run,
//! and a graph's life, each as one loop on either side.

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::{Figure, Quantity, Side, Value};
use crate::bench::side::Answer;
use crate::bench::stats::Spread;

/// Pairs of processes: what a process gets by chance, such as where its memory
/// lies, is not to decide.
const PROCESSES: usize = 5;

/// Rounds of a pair.
const ROUNDS: usize = 16;

const BYTES: u64 = 64 << 20;

/// Launches a round, and launches before the stream is waited for: few enough that
/// the queue never fills up and makes the host wait.
const LAUNCHES: usize = 1000;
const BATCH: usize = 100;

/// Graphs a round.
const LIVES: usize = 100;

/// The most that ours may take as a multiple of C++.
const AT_MOST: f64 = 1.02;

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let relaunch = format!("relaunch bytes={BYTES} launches={LAUNCHES} batch={BATCH}");
    let life = format!("life bytes={BYTES} graphs={LIVES}");
    let mut launches: Vec<Vec<Answer>> = vec![Vec::new(), Vec::new()];
    let mut lives = launches.clone();
    for _ in limit.rounds(bed.repeat(PROCESSES)) {
        let mut sides = bed.sides()?;
        for (request, answers) in [(&relaunch, &mut launches), (&life, &mut lives)] {
            // The cost of the first call is not measured here.
            take_turns(&mut sides, 1, limit, request)?;
            let taken = take_turns(&mut sides, bed.repeat(ROUNDS), limit, request)?;
            for (all, more) in answers.iter_mut().zip(taken) {
                all.extend(more);
            }
        }
    }
    if let Err(why) = &bed.counterpart {
        figure.skipped.push(format!("the C++ side: {why}"));
    }
    compare(
        bed,
        figure,
        "launch a graph that has run",
        "launch_ns",
        LAUNCHES,
        &launches,
    )?;
    compare(
        bed,
        figure,
        "create, instantiate and destroy a graph",
        "life_ns",
        LIVES,
        &lives,
    )
}

/// Times of both programs, and their ratio compared with the bar.
fn compare(
    bed: &Bed,
    figure: &mut Figure,
    what: &str,
    name: &str,
    count: usize,
    answers: &[Vec<Answer>],
) -> anyhow::Result<()> {
    let us = |answers: &Vec<Answer>| each(answers, name, count as f64 * 1e3);
    let times = answers.iter().map(us).collect::<anyhow::Result<Vec<_>>>()?;
    let [ours, cpp] = times.as_slice() else {
        return Ok(());
    };
    figure.times(what, Side::Ours, &[("bytes", BYTES)], ours);
    figure.times(what, Side::Cpp, &[("bytes", BYTES)], cpp);
    if let Some(ratio) = Spread::of_pairs(ours, cpp, |ours, cpp| ours / cpp) {
        figure.row(
            what,
            Side::OursToCpp,
            &[("bytes", BYTES)],
            Value::Ratio(ratio),
        );
        figure.bar(
            format!("{what}: ours / C++"),
            Quantity::Ratio(AT_MOST),
            Quantity::Ratio(ratio.median),
            bed.not_judged(),
        );
    }
    Ok(())
}
