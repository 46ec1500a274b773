//! The model runtime: what a person without a GPU waits for, and how large what
//! they downloaded is.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::bench::bed::{Bed, Limit, each, take_turns};
use crate::bench::results::{Figure, Side as Whose, Value};
use crate::bench::side::Side;
use crate::bench::stats::Spread;

/// How often the experiments run.
const RUNS: usize = 15;

/// Rounds of launches, and launches a round.
const ROUNDS: usize = 10;
const LAUNCHES: usize = 20_000;
const BATCH: usize = 100;

const BYTES: u64 = 64 << 20;

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    for clock in ["real", "virtual"] {
        let mut us = Vec::new();
        for round in 0..=bed.repeat(RUNS) {
            let took_us = run(bed, clock)?;
            // The first one reads the program from the disk.
            if round > 0 {
                us.push(took_us);
            }
            if limit.is_over() {
                break;
            }
        }
        figure.times(
            &format!("the four experiments, {clock} clock"),
            Whose::Ours,
            &[],
            &us,
        );
    }
    let mut command = Command::new(&bed.kit.ours);
    command.args(["serve", "--model"]);
    let mut sides = [Side::start(Whose::Ours, &mut command)?];
    let request = format!("relaunch bytes={BYTES} launches={LAUNCHES} batch={BATCH}");
    let all = take_turns(&mut sides, bed.repeat(ROUNDS), limit, &request)?;
    for answers in &all {
        let seconds = each(answers, "launch_ns", LAUNCHES as f64 * 1e9)?;
        if let Some(rate) = Spread::of(seconds.iter().map(|seconds| 1.0 / seconds)) {
            figure.row("launches", Whose::Ours, &[], Value::PerSecond(rate));
        }
    }
    let size = fs::metadata(&bed.kit.experiments)
        .with_context(|| format!("cannot see {}", bed.kit.experiments.display()))?
        .len();
    figure.row("size of the program", Whose::Ours, &[], Value::Bytes(size));
    Ok(())
}

/// One run on the model, in microseconds.
fn run(bed: &Bed, clock: &str) -> anyhow::Result<f64> {
    let start = Instant::now();
    let status = Command::new(&bed.kit.experiments)
        .args(["--backend", "model", "--model-clock", clock])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start the experiments")?;
    let took = start.elapsed();
    anyhow::ensure!(
        status.success(),
        "the experiments on the model ended with {status}"
    );
    Ok(took.as_secs_f64() * 1e6)
}
