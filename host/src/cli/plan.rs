//! The options of `plan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::BackendArgs;
use super::args::parse_time;

/// Options of `plan`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct PlanArgs {
    /// DOT dumps of graphs, or one scenario (.toml); `-` is a dump on standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Also plan N concurrent copies of each graph, one per stream.
    #[arg(long, default_value = "2", value_name = "N", value_parser = parse_streams)]
    pub streams: usize,

    /// Plan this instead of the usual launches: names of graphs (a dump's file name without
    /// .dot) in the order of their launches, NAME@N for stream N, and wait, wait@N, trim and
    /// free:NAME, such as "a@0 b@1 wait a trim".
    #[arg(long, value_name = "STEPS", conflicts_with = "dump_scenario")]
    pub schedule: Option<String>,

    /// Ignore the addresses in the dump and compute them.
    #[arg(long)]
    pub recompute: bool,

    /// Plan the graphs as instantiated with AutoFreeOnLaunch, as PyTorch does: a relaunch
    /// first frees what the launch before left allocated.
    #[arg(long)]
    pub auto_free: bool,

    /// Write the graphs as a scenario to change and plan, and plan nothing.
    #[arg(long, conflicts_with_all = ["verify", "format"])]
    pub dump_scenario: bool,

    /// Also run the schedules, on the GPU or where --backend says, and compare.
    #[arg(long)]
    pub verify: bool,

    /// With --verify: how long graphs spin that are to overlap; 2ms for each if not given.
    #[arg(long, value_name = "TIME", requires = "verify", value_parser = parse_time)]
    pub spin_time: Option<Duration>,

    /// Rows of each table of the text; 0 is all of them.
    #[arg(long, default_value = "24", value_name = "N")]
    pub rows: usize,

    /// What to write.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: PlanFormat,

    /// Where to write it; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,

    /// Also write the plan as one HTML page with charts.
    #[arg(long, value_name = "FILE.html", conflicts_with = "dump_scenario")]
    pub report: Option<PathBuf>,

    /// Where to verify; --model-profile is also the GPU to plan for.
    #[command(flatten)]
    pub on: BackendArgs,
}

const HELP: &str = "\
Exit codes:
  0   planned; with --verify also measured, and equal
  1   a graph that can never be launched or built, or a difference between planned and
      measured
  2   --verify: this machine has no GPU that can run it
  3   --verify: nothing could be compared, or graphs that were to overlap had finished
  64  wrong usage, or a file that cannot be read";

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PlanFormat {
    /// Tables for people.
    #[default]
    Text,
    /// Everything, for machines.
    Json,
}

/// The most streams: a graph is built for each.
const MOST_STREAMS: usize = 4096;

fn parse_streams(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_STREAMS).contains(&count) => Ok(count),
        _ => Err(format!("a number of streams, 1 to {MOST_STREAMS}")),
    }
}
