//! The test bed: the programs, the machine, and how the sides take turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::cpp::Counterpart;
use super::kit::Kit;
use super::results::{Machine, Side as Whose};
use super::side::{Answer, Side};

/// What every figure is measured with.
#[derive(Debug)]
pub struct Bed {
    /// The programs.
    pub kit: Kit,
    /// The C++ side, or why there is none.
    pub counterpart: Result<Counterpart, String>,
    /// NVIDIA's compiled sample.
    pub sample: Option<PathBuf>,
    /// The runtime to load instead of the one that is found.
    pub cudart: Option<PathBuf>,
    /// The device's ordinal.
    pub device: u32,
    /// Whether this is the model, whose times mean little.
    pub on_model: bool,
    /// Whether repetitions and sizes are cut down.
    pub quick: bool,
    /// Where and with what this runs.
    pub machine: Machine,
    /// A place for files, gone when the run is over.
    pub scratch: tempfile::TempDir,
}

/// How long a figure may still take.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    end: Instant,
}

impl Limit {
    /// From now on.
    pub fn new(time: Duration) -> Self {
        Self {
            end: Instant::now() + time,
        }
    }

    /// What is left.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// The numbers of so many rounds: all that begin before the end, and the first in any
    /// case.
    pub fn rounds(self, count: usize) -> impl Iterator<Item = usize> {
        (0..count).take_while(move |&round| round == 0 || !self.is_over())
    }
}

impl Bed {
    /// A full number of repetitions, or a few in a quick run.
    pub fn repeat(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(8) } else { full }
    }

    /// Why a bar that is about a GPU's times is not judged here.
    pub fn not_judged(&self) -> Option<&'static str> {
        self.on_model
            .then_some("times on the simulated GPU say nothing about a GPU")
    }

    /// Starts our side.
    ///
    /// # Errors
    ///
    /// As [`Side::start`].
    pub fn ours(&self) -> anyhow::Result<Side> {
        let mut command = self.bound(&self.kit.ours);
        command.args(self.serve_arguments());
        Side::start(Whose::Ours, &mut command)
    }

    /// Starts our side under `watch`, which writes its result to the file when the side
    /// has ended.
    ///
    /// # Errors
    ///
    /// As [`Side::start`].
    pub fn ours_watched(&self, result: &Path) -> anyhow::Result<Side> {
        let mut command = self.watching(result);
        command.arg(&self.kit.ours).args(self.serve_arguments());
        Side::start(Whose::Watched, &mut command)
    }

    /// Starts the PyTorch program alone, or under `watch` where a result is to be written.
    ///
    /// # Errors
    ///
    /// As [`Side::start`]: also when there is no Python or no PyTorch with a GPU.
    pub fn training(&self, result: Option<&Path>) -> anyhow::Result<Side> {
        let (whose, mut command) = match result {
            None => (Whose::Alone, self.bound(Path::new(PYTHON))),
            Some(result) => {
                let mut command = self.watching(result);
                command.arg(PYTHON);
                (Whose::Watched, command)
            }
        };
        command.arg(&self.kit.training).arg(self.device.to_string());
        Side::start(whose, &mut command)
    }

    /// `watch`, up to the command that it runs.
    fn watching(&self, result: &Path) -> Command {
        let mut command = self.bound(&self.kit.experiments);
        command.args(["watch", "--output"]).arg(result);
        command
            .arg("--text")
            .arg(result.with_extension("txt"))
            .arg("--library")
            .arg(&self.kit.watch)
            .arg("--");
        command
    }

    fn serve_arguments(&self) -> Vec<std::ffi::OsString> {
        let device = self.device.to_string();
        let mut arguments = vec!["--device".into(), device.into()];
        arguments.extend(self.runtime_arguments());
        arguments
    }

    /// Starts the C++ side, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Side::start`].
    pub fn cpp(&self) -> anyhow::Result<Option<Side>> {
        let Ok(counterpart) = &self.counterpart else {
            return Ok(None);
        };
        let mut command = self.bound(&counterpart.program);
        self.choose_runtime(&mut command);
        command.args(["serve", &self.device.to_string()]);
        command.arg(&self.kit.kernel);
        Side::start(Whose::Cpp, &mut command).map(Some)
    }

    /// Both sides, ours first.
    ///
    /// # Errors
    ///
    /// As [`Side::start`].
    pub fn sides(&self) -> anyhow::Result<Vec<Side>> {
        let ours = self.ours()?;
        Ok([Some(ours), self.cpp()?].into_iter().flatten().collect())
    }

    /// What our side says of the device and its runtime, and the host of itself.
    pub fn describe(&self, hello: &Answer) -> Machine {
        Machine {
            backend: if hello.text("model").is_some() {
                "model"
            } else {
                "cuda"
            }
            .to_owned(),
            device: hello.text("device").unwrap_or("unknown").to_owned(),
            device_free_bytes: hello.integer("device_free_bytes").unwrap_or(0),
            driver_version: hello.integer("driver_version"),
            runtime_version: hello.integer("runtime_version"),
            runtime_path: hello.text("runtime_path").map(str::to_owned),
            host_cpu: host_cpu().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            host_cpus: thread::available_parallelism().map_or(1, usize::from),
            host_os: host_os().unwrap_or_else(|| std::env::consts::OS.to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sides_bound_to_cpus: self.machine.sides_bound_to_cpus.clone(),
            ..Machine::default()
        }
    }

    /// A side's program, on the same few processors as the other's: what a launch
    /// costs differs more between processors than between the sides.
    fn bound(&self, program: &Path) -> Command {
        match &self.machine.sides_bound_to_cpus {
            None => Command::new(program),
            Some(cpus) => {
                let mut command = Command::new(BINDER);
                command.arg("--cpu-list").arg(cpus).arg(program);
                command
            }
        }
    }

    /// Makes the C++ program load the requested runtime.
    fn choose_runtime(&self, command: &mut Command) {
        if let Some(folder) = self.cudart.as_deref().and_then(folder_of) {
            command.env("LD_LIBRARY_PATH", folder);
        }
    }

    /// Makes our program load the runtime that the C++ side loads.
    pub fn runtime_arguments(&self) -> Vec<std::ffi::OsString> {
        let library = match (&self.cudart, &self.counterpart) {
            (Some(given), _) => given,
            (None, Ok(counterpart)) => &counterpart.runtime,
            (None, Err(_)) if self.on_model => return vec!["--model".into()],
            (None, Err(_)) => return Vec::new(),
        };
        vec!["--cudart".into(), library.into()]
    }
}

/// Runs the PyTorch program.
const PYTHON: &str = "python3";

/// Binds a program to processors; part of util-linux.
const BINDER: &str = "taskset";

/// How many processors a side has: one for its calls, one for the driver's threads.
const CPUS: usize = 2;

/// The processors for the sides, if this system can bind programs to some.
pub fn cpus_for_sides() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let cpus = first_cpus(&status, CPUS)?;
    let tried = Command::new(BINDER)
        .args(["--cpu-list", &cpus, "true"])
        .status();
    tried.is_ok_and(|status| status.success()).then_some(cpus)
}

/// The first processors of the list of allowed ones, such as `0-3,8`.
fn first_cpus(status: &str, count: usize) -> Option<String> {
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    let first: Vec<String> = cpus.iter().take(count).map(u32::to_string).collect();
    (!first.is_empty()).then(|| first.join(","))
}

/// The folder of a library, which may be given as one.
fn folder_of(library: &Path) -> Option<&Path> {
    if library.is_dir() {
        Some(library)
    } else {
        library.parent()
    }
}

/// Runs the programs in turn: each does the operation once per round, and the order
/// changes from round to round. Stops when the time limit is reached. Returns the same
/// number of answers for each.
///
/// # Errors
///
/// Those of asking.
pub fn take_turns(
    sides: &mut [Side],
    rounds: usize,
    limit: Limit,
    request: &str,
) -> anyhow::Result<Vec<Vec<Answer>>> {
    let mut answers = vec![Vec::new(); sides.len()];
    for round in limit.rounds(rounds) {
        let order: Vec<usize> = if round.is_multiple_of(2) {
            (0..sides.len()).collect()
        } else {
            (0..sides.len()).rev().collect()
        };
        for index in order {
            // What has begun may take its time, within reason.
            let most = limit.left() + Duration::from_secs(30);
            answers[index].push(sides[index].ask(request, most)?);
        }
    }
    Ok(answers)
}

/// A number of each answer, divided by another.
///
/// # Errors
///
/// When an answer lacks it.
pub fn each(answers: &[Answer], name: &str, divisor: f64) -> anyhow::Result<Vec<f64>> {
    answers
        .iter()
        .map(|answer| Ok(answer.number(name)? / divisor))
        .collect()
}

fn host_cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

fn host_os() -> Option<String> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!("{} {}", std::env::consts::OS, kernel.trim()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Answers with how many requests both sides together have had, from a file.
    fn counting(whose: Whose, file: &Path) -> Side {
        let script = "echo '{}'; while read x; do echo x >> $0; \
                      echo \"{\\\"turn\\\": $(wc -l < $0)}\"; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(file);
        Side::start(whose, &mut command).unwrap()
    }

    #[test]
    fn the_sides_take_turns_and_who_begins_changes() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("turns");
        let mut sides = [counting(Whose::Ours, &file), counting(Whose::Cpp, &file)];
        let answers = take_turns(&mut sides, 3, Limit::new(Duration::from_secs(60)), "go").unwrap();
        let turns = |side: usize| each(&answers[side], "turn", 1.0).unwrap();
        assert_eq!(turns(0), [1.0, 4.0, 5.0]);
        assert_eq!(turns(1), [2.0, 3.0, 6.0]);
    }

    #[test]
    fn the_first_allowed_processors_are_read_off_the_list() {
        let first = |list: &str| first_cpus(&format!("Cpus_allowed_list:\t{list}\n"), 2);
        assert_eq!(first("0-15").as_deref(), Some("0,1"));
        assert_eq!(first("3,8-9").as_deref(), Some("3,8"));
        assert_eq!(first("7").as_deref(), Some("7"));
        assert_eq!(first(""), None);
        assert_eq!(first_cpus("VmRSS: 1 kB\n", 2), None);
    }

    #[test]
    fn a_figure_without_time_still_takes_one_round() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("turns");
        let mut sides = [counting(Whose::Ours, &file)];
        let answers = take_turns(&mut sides, 5, Limit::new(Duration::ZERO), "go").unwrap();
        assert_eq!(answers[0].len(), 1);
    }
}
