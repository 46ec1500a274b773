//! Starts worker processes, collects their traces and writes them to files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use crate::suite::program::Program;
use crate::suite::trace::{DONE, PROGRAM, Trace};
use crate::worker::{NOT_CLEAN, NoteArguments};
use crate::{Library, RandomSet};

#[derive(Args)]
pub struct Record {
    #[command(flatten)]
    library: Library,
    /// Folder of programs (*.txt)
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Random programs KIND:SEED:COUNT, where KIND is schedule or shape; may be
    /// repeated
    #[arg(long, value_name = "KIND:SEED:COUNT", value_parser = RandomSet::parse)]
    random: Vec<RandomSet>,
    /// Folder for the traces
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only programs whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Run each program in its own process
    #[arg(long)]
    fresh: bool,
    /// Number of worker processes at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Run everything this often and report differences
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Seconds without a line after which a worker is killed
    #[arg(long, default_value_t = 30)]
    timeout: u64,
    #[command(flatten)]
    notes: NoteArguments,
}

/// The programs whose traces go into each file.
type Files = BTreeMap<String, Vec<String>>;

impl Record {
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let files = self.files()?;
        let names: Vec<&String> = files.values().flatten().collect();
        if names.is_empty() {
            bail!("no program was selected; --programs and --random select some");
        }
        let mut programs = Vec::new();
        for name in &names {
            programs.push(crate::program(name, self.programs.as_deref())?);
        }
        let description = self.describe()?;
        let passes: Vec<BTreeMap<String, Trace>> = (0..self.repeat.max(1))
            .map(|_| self.pass(&programs))
            .collect::<Result<_, _>>()?;
        let unstable = unstable(&passes);
        let isolated: BTreeSet<&String> = programs
            .iter()
            .filter(|program| self.fresh || program.isolated)
            .map(|program| &program.name)
            .collect();
        std::fs::create_dir_all(&self.out).with_context(|| self.out.display().to_string())?;
        let first = passes.first().context("nothing was run")?;
        for (file, names) in &files {
            let mut text = String::new();
            for name in names {
                let Some(trace) = first.get(name) else {
                    continue;
                };
                let mut trace = trace.clone();
                trace.header = vec![(PROGRAM.to_owned(), name.clone())];
                trace.header.extend(description.iter().cloned());
                let process = if isolated.contains(name) {
                    "its own"
                } else {
                    "shared"
                };
                trace
                    .header
                    .push(("process".to_owned(), process.to_owned()));
                let alike = if unstable.contains(name) {
                    "not alike"
                } else {
                    "alike"
                };
                let runs = format!("{}, {alike}", passes.len());
                trace.header.push(("runs".to_owned(), runs));
                text += &trace.to_string();
            }
            let path = self.out.join(format!("{file}.trace"));
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        let broken = first
            .values()
            .filter(|trace| trace.broken_off.is_some())
            .count();
        println!(
            "{} programs recorded in {} files; {broken} broken off; {} not alike in {} runs",
            first.len(),
            files.len(),
            unstable.len(),
            passes.len()
        );
        Ok(if unstable.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// The programs by the file for their traces: one file for each program of the
    /// folder, and one file for each set of random programs.
    fn files(&self) -> anyhow::Result<Files> {
        let mut files = Files::new();
        if let Some(folder) = &self.programs {
            let entries =
                std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|ending| ending == "txt")
                    && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
                    && self.wanted(name)
                {
                    files.insert(name.to_owned(), vec![name.to_owned()]);
                }
            }
        }
        for set in &self.random {
            let names: Vec<_> = set.names().filter(|name| self.wanted(name)).collect();
            if !names.is_empty() {
                files.entry(set.bundle()).or_default().extend(names);
            }
        }
        Ok(files)
    }

    fn wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only))
    }

    fn worker(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("worker")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        match &self.library.cudart {
            Some(path) => command.arg("--cudart").arg(path),
            None => command.arg("--model"),
        };
        if let Some(folder) = &self.programs {
            command.arg("--programs").arg(folder);
        }
        if self.notes.times {
            command.arg("--times");
        }
        if self.notes.free_memory {
            command.arg("--free-memory");
        }
        Ok(command)
    }

    /// The device, driver and runtime, which a worker without programs prints.
    fn describe(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut command = self.worker()?;
        let output = command
            .arg("--describe")
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            bail!("the library cannot be used");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Trace::parse(&text)
            .map(|trace| trace.header)
            .map_err(anyhow::Error::msg)
    }

    /// Runs every program once.
    fn pass(&self, programs: &[Program]) -> anyhow::Result<BTreeMap<String, Trace>> {
        let (alone, together): (Vec<_>, Vec<_>) =
            programs.iter().partition(|program| program.isolated);
        let jobs = self.jobs.max(1);
        let share = if self.fresh {
            1
        } else {
            together.len().div_ceil(jobs).max(1)
        };
        let together = together.chunks(share).map(<[_]>::to_vec).collect();
        let mut traces = self.batches(together, jobs)?;
        // These run one after the other, because some of them allocate all of the
        // device's memory.
        let alone = alone.into_iter().map(|program| vec![program]).collect();
        traces.extend(self.batches(alone, 1)?);
        Ok(traces)
    }

    /// Runs batches, up to `jobs` at the same time.
    fn batches(
        &self,
        batches: VecDeque<Vec<&Program>>,
        jobs: usize,
    ) -> anyhow::Result<BTreeMap<String, Trace>> {
        let batches = Mutex::new(batches);
        let traces = Mutex::new(BTreeMap::new());
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    loop {
                        let batch = lock(&batches).pop_front();
                        let Some(batch) = batch else { break };
                        match self.batch(&batch) {
                            Ok(done) => lock(&traces).extend(done),
                            Err(error) => *lock(&failure) = Some(error),
                        }
                    }
                });
            }
        });
        match lock(&failure).take() {
            Some(error) => Err(error),
            None => Ok(core::mem::take(&mut *lock(&traces))),
        }
    }

    /// Runs programs in one process. After a program that crashed or did not clean up,
    /// the rest runs in a new process.
    fn batch(&self, batch: &[&Program]) -> anyhow::Result<BTreeMap<String, Trace>> {
        let mut traces = BTreeMap::new();
        let mut rest = batch;
        while !rest.is_empty() {
            let mut command = self.worker()?;
            command.args(rest.iter().map(|program| &program.name));
            let child = command.spawn().context("the worker cannot be started")?;
            let received = receive(child, Duration::from_secs(self.timeout))?;
            let finished = received.finished.len();
            for (program, trace) in rest.iter().zip(received.finished) {
                traces.insert(program.name.clone(), trace);
            }
            rest = rest.get(finished..).unwrap_or_default();
            match (received.unfinished, rest.split_first()) {
                (Some(mut trace), Some((program, others))) => {
                    let at = program
                        .lines
                        .get(trace.lines.len())
                        .map_or("cleanup", |line| line.text.as_str());
                    eprintln!("{}: {} at '{at}'", program.name, received.ended);
                    trace.broken_off = Some(format!("{} at '{at}'", received.ended));
                    traces.insert(program.name.clone(), trace);
                    rest = others;
                }
                (None, Some(_)) if finished == 0 => {
                    bail!("the worker ran nothing: {}", received.ended)
                }
                (None, Some((next, _))) => {
                    eprintln!(
                        "{}: {}; the next programs run in a new process",
                        next.name, received.ended
                    );
                }
                _ => {}
            }
        }
        Ok(traces)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output of a worker.
struct Received {
    finished: Vec<Trace>,
    unfinished: Option<Trace>,
    ended: String,
}

/// Reads a worker's traces until it ends or prints nothing for too long.
fn receive(mut child: Child, timeout: Duration) -> anyhow::Result<Received> {
    let stdout = child.stdout.take().context("the worker has no output")?;
    let (sender, receiver) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if line.is_ok_and(|line| sender.send(line).is_ok()) {
                continue;
            }
            break;
        }
    });
    let mut finished = Vec::new();
    let mut current: Option<String> = None;
    let ended = loop {
        match receiver.recv_timeout(timeout) {
            Ok(line) if line.starts_with("# ") => current = Some(String::new()),
            Ok(line) if line == DONE => {
                let text = current.take().unwrap_or_default();
                finished.push(Trace::parse(&text).map_err(anyhow::Error::msg)?);
            }
            Ok(line) => {
                let text = current.get_or_insert_default();
                *text += &line;
                text.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break describe_end(child.wait()?),
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                break format!("no output within {} s", timeout.as_secs());
            }
        }
    };
    // The reader ended with the pipe. A panic in it adds no information.
    let _ = reader.join();
    let unfinished = match current {
        Some(text) => Some(Trace::parse(&text).map_err(anyhow::Error::msg)?),
        None => None,
    };
    Ok(Received {
        finished,
        unfinished,
        ended,
    })
}

fn describe_end(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    match status.code() {
        Some(code) if code == i32::from(NOT_CLEAN) => "graph memory was not empty".to_owned(),
        Some(code) => format!("exit {code}"),
        None => status.to_string(),
    }
}

/// The programs whose traces differ between passes.
fn unstable(passes: &[BTreeMap<String, Trace>]) -> BTreeSet<String> {
    let mut unstable = BTreeSet::new();
    let Some((first, others)) = passes.split_first() else {
        return unstable;
    };
    for (name, trace) in first {
        for other in others {
            if let Some(other) = other.get(name)
                && let Some(difference) = Trace::difference(trace, other)
                && unstable.insert(name.clone())
            {
                println!("{name} differs between runs: {difference}\n");
            }
        }
    }
    unstable
}
