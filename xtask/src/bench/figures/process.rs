//! Whole processes: the time of a program that loads the runtime, creates the context and
//! ends; of NVIDIA's sample; and of ours. They run in turn, with the driver's cache of
//! compiled kernels filled.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::bench::bed::{Bed, Limit};
use crate::bench::results::{Figure, Quantity, Side};
use crate::bench::stats::Spread;
use crate::trouble::Trouble;

/// How often each program runs.
const ROUNDS: usize = 40;

/// The most that ours may take above the floor.
const ABOVE_FLOOR_MS: f64 = 13.0;

/// A program, as it is run again and again.
struct Contestant {
    what: &'static str,
    side: Side,
    program: PathBuf,
    arguments: Vec<OsString>,
    library_path: Option<PathBuf>,
    times_us: Vec<f64>,
    failures: u64,
}

const FLOOR: &str = "floor: load the runtime, make the context";
const EXPERIMENTS: &str = "the four experiments";
/// The driver compiles it in the first run, which is not timed, and caches the result.
const COMPILED: &str = "the four experiments, PTX from the driver's cache";

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let mut contestants = contestants(bed, figure)?;
    let cache = bed.scratch.path().join("cache");
    for contestant in &mut contestants {
        // Fills the driver's cache, and the system's cache of the files.
        contestant.run(&cache)?;
    }
    for round in limit.rounds(bed.repeat(ROUNDS)) {
        // Each begins in turn, so that none always follows the same one.
        let first = round % contestants.len().max(1);
        contestants.rotate_left(first);
        for contestant in &mut contestants {
            let took_us = contestant.run(&cache)?;
            contestant.times_us.push(took_us);
        }
        contestants.rotate_right(first);
    }
    for contestant in &contestants {
        figure.times(contestant.what, contestant.side, &[], &contestant.times_us);
    }
    judge(bed, &contestants, figure);
    Ok(())
}

fn contestants(bed: &Bed, figure: &mut Figure) -> anyhow::Result<Vec<Contestant>> {
    let new = |what, side, program: &Path, arguments: Vec<OsString>| Contestant {
        what,
        side,
        program: program.to_owned(),
        arguments,
        library_path: None,
        times_us: Vec::new(),
        failures: 0,
    };
    let mut contestants = vec![new(
        EXPERIMENTS,
        Side::Ours,
        &bed.kit.experiments,
        experiments(bed),
    )];
    if !bed.on_model {
        let ptx = altered_kernel(bed)?;
        let arguments = [experiments(bed), vec!["--ptx".into(), ptx.into()]].concat();
        contestants.push(new(COMPILED, Side::Ours, &bed.kit.experiments, arguments));
    }
    match &bed.counterpart {
        Ok(counterpart) => {
            let library_path = bed.cudart.as_deref().and_then(Path::parent);
            let floor = vec!["floor".into(), bed.device.to_string().into()];
            contestants.push(Contestant {
                library_path: library_path.map(Path::to_owned),
                ..new(FLOOR, Side::Cpp, &counterpart.program, floor)
            });
        }
        Err(why) => figure.skipped.push(format!("the floor in C++: {why}")),
    }
    match &bed.sample {
        Some(sample) => {
            contestants.push(new(EXPERIMENTS, Side::Sample, sample, Vec::new()));
        }
        None => figure
            .skipped
            .push("NVIDIA's sample: none was named with --sample".to_owned()),
    }
    Ok(contestants)
}

/// The kernel as a text that the program has no machine code for: with two empty lines
/// at its end.
fn altered_kernel(bed: &Bed) -> anyhow::Result<PathBuf> {
    let kernel = &bed.kit.kernel;
    let text =
        fs::read_to_string(kernel).with_context(|| format!("cannot read {}", kernel.display()))?;
    let altered = bed.scratch.path().join("altered.ptx");
    fs::write(&altered, text + "\n\n")
        .with_context(|| format!("cannot write {}", altered.display()))?;
    Ok(altered)
}

/// The arguments with which ours does what the sample does.
fn experiments(bed: &Bed) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--backend".into()];
    arguments.push(if bed.on_model { "model" } else { "cuda" }.into());
    if let Some(cudart) = &bed.cudart {
        arguments.extend(["--cudart".into(), cudart.into()]);
    }
    arguments
}

fn judge(bed: &Bed, contestants: &[Contestant], figure: &mut Figure) {
    let of = |what, side| {
        contestants
            .iter()
            .find(|contestant| contestant.what == what && contestant.side == side)
    };
    let Some(ours) = of(EXPERIMENTS, Side::Ours) else {
        return;
    };
    let above = of(FLOOR, Side::Cpp).and_then(|floor| {
        Spread::of_pairs(&ours.times_us, &floor.times_us, |ours, floor| ours - floor)
    });
    if let Some(above) = above {
        figure.bar(
            format!("ours above the floor (quartiles {})", quartiles_ms(&above)),
            Quantity::Ms(ABOVE_FLOOR_MS),
            Quantity::Ms(above.median / 1e3),
            bed.not_judged(),
        );
    }
    let ratio = of(EXPERIMENTS, Side::Sample).and_then(|sample| {
        Spread::of_pairs(&ours.times_us, &sample.times_us, |ours, sample| {
            ours / sample
        })
    });
    if let Some(ratio) = ratio {
        figure.bar(
            "ours to NVIDIA's sample",
            Quantity::Ratio(1.0),
            Quantity::Ratio(ratio.median),
            bed.not_judged(),
        );
    }
    figure.bar(
        "runs of ours in which a check failed or the overlap was not proven",
        Quantity::Count(0.0),
        Quantity::Count(ours.failures as f64),
        None,
    );
}

fn quartiles_ms(spread: &Spread) -> String {
    let ms = |us: f64| us / 1e3;
    format!(
        "{:.1} to {:.1} ms",
        ms(spread.lower_quartile),
        ms(spread.upper_quartile)
    )
}

impl Contestant {
    /// Whether it does more than the floor, and may fail at it.
    fn runs_experiments(&self) -> bool {
        [EXPERIMENTS, COMPILED].contains(&self.what)
    }

    /// Runs it once and discards its output. Returns the microseconds that it took.
    fn run(&mut self, cache: &Path) -> anyhow::Result<f64> {
        let mut command = self.command(cache);
        command.stderr(Stdio::null());
        let start = Instant::now();
        let output = command
            .output()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let took_us = start.elapsed().as_secs_f64() * 1e6;
        let status = output.status;
        if !status.success() {
            self.failures += 1;
            anyhow::ensure!(
                self.runs_experiments(),
                Trouble::new(
                    format!("{} ended with {status}", self.program.display()),
                    "run it by hand to see why",
                )
            );
        }
        Ok(took_us)
    }

    fn command(&self, cache: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("CUDA_CACHE_PATH", cache);
        if let Some(folder) = &self.library_path {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    }
}
