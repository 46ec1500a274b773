//! Records the conformance suite: runs its programs on a real libcudart (or any library
//! with the same functions) and writes the result of each line.
//!
//! `ffi/model/tests/conformance/README.md` describes how to use it.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

mod record;
mod worker;

#[path = "../../tests/conformance/suite/mod.rs"]
#[allow(dead_code, reason = "shared with the test; each uses a part")]
mod suite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};

use suite::program::Program;
use suite::random::{self, Kind};
use suite::trace::Trace;

#[derive(Parser)]
#[command(about = "Records and compares the conformance suite of graph memory")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run programs and write a trace for each
    Record(record::Record),
    /// Compare two folders of traces; exit 1 when they differ
    Compare {
        /// The recordings
        recorded: PathBuf,
        /// The traces to compare with the recordings
        actual: PathBuf,
    },
    /// Write the text of random programs
    Generate {
        /// KIND:SEED:COUNT, where KIND is schedule or shape
        #[arg(value_parser = RandomSet::parse)]
        set: RandomSet,
        /// Folder in which to write the programs
        out: PathBuf,
    },
    /// Run programs in this process and print their traces
    #[command(hide = true)]
    Worker(worker::Worker),
}

/// The library that provides the functions.
#[derive(Args, Clone)]
#[group(required = true, multiple = false)]
struct Library {
    /// A libcudart: a file, or a folder with one
    #[arg(long, value_name = "PATH")]
    cudart: Option<PathBuf>,
    /// The simulated runtime that is built into this program
    #[arg(long)]
    model: bool,
}

/// A set of random programs, by seed.
#[derive(Debug, Clone, Copy)]
struct RandomSet {
    kind: Kind,
    seed: u64,
    count: u64,
}

impl RandomSet {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not KIND:SEED:COUNT, such as schedule:1:300");
        let parts: Vec<&str> = text.split(':').collect();
        let [kind, seed, count] = parts[..] else {
            return Err(wrong());
        };
        Ok(Self {
            kind: kind_of(kind).ok_or_else(wrong)?,
            seed: seed.parse().map_err(|_| wrong())?,
            count: count.parse().map_err(|_| wrong())?,
        })
    }

    fn bundle(self) -> String {
        format!("random-{}-{}", self.kind.name(), self.seed)
    }

    fn names(self) -> impl Iterator<Item = String> {
        (0..self.count).map(move |index| format!("{}-{index:04}", self.bundle()))
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    [Kind::Schedule, Kind::Shape]
        .into_iter()
        .find(|kind| kind.name() == name)
}

/// The program with a name: a random one by its seed, otherwise a file of the folder.
fn program(name: &str, folder: Option<&Path>) -> anyhow::Result<Program> {
    let text = match name.strip_prefix("random-") {
        Some(random) => {
            random_text(random).with_context(|| format!("there is no program {name}"))?
        }
        None => {
            let folder =
                folder.context("--programs DIR is needed, with the folder of the programs")?;
            let path = folder.join(format!("{name}.txt"));
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())?
        }
    };
    Ok(Program::parse(name, &text)?)
}

fn random_text(name: &str) -> Option<String> {
    let mut parts = name.split('-');
    let kind = kind_of(parts.next()?)?;
    let seed = parts.next()?.parse().ok()?;
    let index = parts.next()?.parse().ok()?;
    Some(random::program(kind, seed, index))
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Record(record) => record.run(),
        Command::Compare { recorded, actual } => compare(&recorded, &actual),
        Command::Generate { set, out } => generate(set, &out),
        Command::Worker(worker) => worker.run(),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn generate(set: RandomSet, out: &Path) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    for (name, index) in set.names().zip(0..) {
        let path = out.join(format!("{name}.txt"));
        std::fs::write(&path, random::program(set.kind, set.seed, index))
            .with_context(|| path.display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The traces in all `.trace` files of a folder, by program.
fn traces(folder: &Path) -> anyhow::Result<BTreeMap<String, Trace>> {
    let mut traces = BTreeMap::new();
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "trace") {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let parsed = Trace::parse_all(&text)
            .map_err(anyhow::Error::msg)
            .with_context(|| path.display().to_string())?;
        traces.extend(parsed);
    }
    if traces.is_empty() {
        bail!("there is no trace in {}", folder.display());
    }
    Ok(traces)
}

fn compare(recorded: &Path, actual: &Path) -> anyhow::Result<ExitCode> {
    let (recorded, actual) = (traces(recorded)?, traces(actual)?);
    let (mut alike, mut different, mut absent) = (0, 0, 0);
    for (name, recorded) in &recorded {
        let Some(actual) = actual.get(name) else {
            absent += 1;
            continue;
        };
        match Trace::difference(recorded, actual) {
            None => alike += 1,
            Some(difference) => {
                different += 1;
                println!("{name}: {difference}\n");
            }
        }
    }
    println!("{alike} equal, {different} different, {absent} missing in the second folder");
    Ok(if different + absent == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
