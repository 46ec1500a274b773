//! Whole processes: what a program costs that loads the runtime, makes the context
//! and ends; what NVIDIA's sample costs; and what ours does. In one interleaved
//! run, with the cache of compiled kernels warm and empty.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::bench::bed::{Bed, Limit};
use crate::bench::results::{Figure, Quantity, Side};
use crate::bench::stats::Spread;
use crate::trouble::Trouble;

/// How often each program runs.
const ROUNDS: usize = 40;

/// How often each program runs with an empty cache.
const COLD_ROUNDS: usize = 5;

/// The most that ours may take above the floor.
const ABOVE_FLOOR_MS: f64 = 13.0;

/// A program, as it is run again and again.
struct Contestant {
    what: &'static str,
    side: Side,
    program: PathBuf,
    arguments: Vec<OsString>,
    library_path: Option<PathBuf>,
    /// Whether it is run with an empty cache only.
    only_cold: bool,
    warm_us: Vec<f64>,
    cold_us: Vec<f64>,
    /// From the last output to the end, where the output comes as it is written.
    exit_us: Vec<f64>,
    failures: u64,
}

/// How one run went.
struct Ran {
    took_us: f64,
    exit_us: f64,
}

const FLOOR: &str = "floor: load the runtime, make the context";
const EXPERIMENTS: &str = "the four experiments";
const COMPILED: &str = "the four experiments, PTX compiled by the driver";

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let mut contestants = contestants(bed, figure)?;
    let warm = bed.scratch.path().join("cache");
    for contestant in &mut contestants {
        // Fills the cache, and the system's own of the files.
        contestant.run(&warm)?;
    }
    for round in 0..bed.repeat(ROUNDS) {
        if round > 0 && limit.is_over() {
            break;
        }
        // Each begins in turn, so that none always follows the same one.
        let first = round % contestants.len().max(1);
        contestants.rotate_left(first);
        for contestant in contestants.iter_mut().filter(|one| !one.only_cold) {
            let ran = contestant.run(&warm)?;
            contestant.warm_us.push(ran.took_us);
            contestant.exit_us.push(ran.exit_us);
        }
        contestants.rotate_right(first);
    }
    if !bed.on_model {
        cold(bed, limit, &mut contestants)?;
    }
    for contestant in &contestants {
        figure.times(contestant.what, contestant.side, &[], &contestant.warm_us);
    }
    for contestant in &contestants {
        let what = format!("{}, cache empty", contestant.what);
        figure.times(&what, contestant.side, &[], &contestant.cold_us);
    }
    for contestant in &contestants {
        // The sample's output is buffered until its very end.
        if contestant.side != Side::Sample {
            let what = format!("{}, its exit alone", contestant.what);
            figure.times(&what, contestant.side, &[], &contestant.exit_us);
        }
    }
    judge(bed, &contestants, figure);
    profile(bed, &warm, figure)
}

fn contestants(bed: &Bed, figure: &mut Figure) -> anyhow::Result<Vec<Contestant>> {
    let new = |what, side, program: &Path, arguments: Vec<OsString>| Contestant {
        what,
        side,
        program: program.to_owned(),
        arguments,
        library_path: None,
        only_cold: false,
        warm_us: Vec::new(),
        cold_us: Vec::new(),
        exit_us: Vec::new(),
        failures: 0,
    };
    let device = OsString::from(bed.device.to_string());
    let mut floor: Vec<OsString> = vec!["floor".into(), "--device".into(), device.clone()];
    floor.extend(bed.runtime_arguments());
    let mut contestants = vec![new(
        EXPERIMENTS,
        Side::Ours,
        &bed.kit.experiments,
        experiments(bed),
    )];
    // The C++ floor is the better one: it has no Rust of ours in it.
    if bed.counterpart.is_err() {
        contestants.push(new(FLOOR, Side::Ours, &bed.kit.ours, floor));
    }
    if !bed.on_model {
        let ptx = altered_kernel(bed)?;
        let arguments = [experiments(bed), vec!["--ptx".into(), ptx.into()]].concat();
        contestants.push(new(COMPILED, Side::Ours, &bed.kit.experiments, arguments));
    }
    match &bed.counterpart {
        Ok(counterpart) => {
            let library_path = bed
                .cudart
                .as_deref()
                .and_then(Path::parent)
                .map(Path::to_owned);
            let floor: Vec<OsString> = vec!["floor".into(), device];
            let quick = [floor.clone(), vec!["quick".into()]].concat();
            for (what, arguments) in [(FLOOR, floor), ("the same, ended by _exit", quick)] {
                contestants.push(Contestant {
                    library_path: library_path.clone(),
                    ..new(what, Side::Cpp, &counterpart.program, arguments)
                });
            }
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

/// The kernel in a text that the program has no machine code for: with empty lines more.
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

/// Rounds in which every program finds an empty cache, as after an installation.
fn cold(bed: &Bed, limit: Limit, contestants: &mut [Contestant]) -> anyhow::Result<()> {
    for round in 0..bed.repeat(COLD_ROUNDS) {
        if round > 0 && limit.is_over() {
            break;
        }
        let runs = contestants
            .iter_mut()
            .filter(|contestant| contestant.runs_experiments());
        for contestant in runs {
            let empty = tempfile::tempdir_in(bed.scratch.path())?;
            let ran = contestant.run(empty.path())?;
            contestant.cold_us.push(ran.took_us);
        }
    }
    Ok(())
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
    let floor = of(FLOOR, Side::Cpp).or(of(FLOOR, Side::Ours));
    let above = floor.and_then(|floor| {
        Spread::of_pairs(&ours.warm_us, &floor.warm_us, |ours, floor| ours - floor)
    });
    if let Some(above) = above {
        figure.bar(
            format!(
                "ours above the floor, warm (quartiles {})",
                quartiles_ms(&above)
            ),
            Quantity::Ms(ABOVE_FLOOR_MS),
            Quantity::Ms(above.median / 1e3),
            bed.not_judged(),
        );
    }
    let ratio = of(EXPERIMENTS, Side::Sample).and_then(|sample| {
        Spread::of_pairs(&ours.warm_us, &sample.warm_us, |ours, sample| ours / sample)
    });
    if let Some(ratio) = ratio {
        figure.bar(
            "ours to NVIDIA's sample, warm",
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

    /// Runs it once, its output read and thrown away.
    fn run(&mut self, cache: &Path) -> anyhow::Result<Ran> {
        let mut command = self.command(cache);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut last_output = start;
        if let Some(mut out) = child.stdout.take() {
            let mut buffer = [0; 4096];
            while out.read(&mut buffer).is_ok_and(|length| length > 0) {
                last_output = Instant::now();
            }
        }
        let status = child.wait()?;
        let end = Instant::now();
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
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        Ok(Ran {
            took_us: us(end - start),
            exit_us: us(end - last_output),
        })
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

/// Where the time of one run of ours goes, call by call, from its own trace. The
/// trace itself costs some time.
fn profile(bed: &Bed, cache: &Path, figure: &mut Figure) -> anyhow::Result<()> {
    let output = Command::new(&bed.kit.experiments)
        .args(experiments(bed))
        .env("CUDA_CACHE_PATH", cache)
        .env("RUST_LOG", "cudart=trace")
        .stdin(Stdio::null())
        .output()
        .context("cannot start the experiments")?;
    let calls = calls_of(&String::from_utf8_lossy(&output.stderr));
    let mut by_total: Vec<_> = calls.into_iter().collect();
    by_total.sort_by(|(_, a), (_, b)| b.total_us.total_cmp(&a.total_us));
    let shown = by_total.iter().take(PROFILE_ROWS);
    for (name, calls) in shown {
        let what = format!("profile: {name}, all calls");
        figure.times(
            &what,
            Side::Ours,
            &[("calls", calls.count)],
            &[calls.total_us],
        );
    }
    Ok(())
}

/// How many calls the profile names.
const PROFILE_ROWS: usize = 12;

/// All calls of one function.
#[derive(Debug, Default, PartialEq)]
struct Calls {
    count: u64,
    total_us: f64,
}

/// Sums up trace lines such as `… cudaMalloc(…) -> 0 …  [12.3 us]`.
fn calls_of(trace: &str) -> BTreeMap<String, Calls> {
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for line in trace.lines() {
        let Some((name, us)) = call_of(line) else {
            continue;
        };
        let of_name = calls.entry(name.to_owned()).or_default();
        of_name.count += 1;
        of_name.total_us += us;
    }
    calls
}

fn call_of(line: &str) -> Option<(&str, f64)> {
    let (before, _) = line.split_once('(')?;
    let name = before.rsplit([' ', ']']).next()?;
    let (_, time) = line.rsplit_once('[')?;
    let us = time.strip_suffix(" us]")?.parse().ok()?;
    name.starts_with("cuda").then_some((name, us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_summed_up_by_function() {
        let trace = "\
[TRACE cudart] cudaGetDeviceCount() -> 0 count: 1  [250.0 us]
[TRACE cudart] cudaMalloc(size: 4) -> 0 dev_ptr: 0x7f00  [1.5 us]
[TRACE cudart] cudaMalloc(size: 8) -> 2 cudaErrorMemoryAllocation  [0.5 us]
[WARN  graph] cudaMalloc failed (2)
[TRACE cudart] cuGraphAddKernelNode -> 0
";
        let calls = calls_of(trace);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls["cudaMalloc"].count, 2);
        assert_eq!(calls["cudaMalloc"].total_us, 2.0);
        assert_eq!(calls["cudaGetDeviceCount"].total_us, 250.0);
    }
}
