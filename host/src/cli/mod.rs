//! The command line: the commands and their options, exit codes, and where output goes.

mod args;
mod calibrate;
mod completions;
pub mod exit;
mod explain;
pub(crate) mod output;
mod plan;
mod program;
mod show;
mod watch;

use std::process::ExitCode;

use clap::{ColorChoice, Parser, Subcommand};

pub use args::{
    BackendArgs, BackendChoice, CompareArgs, CompletionsArgs, DeviceChoice, ExplainArgs, Format,
    KernelRouteChoice, ManualArgs, OutputArgs, RunArgs, ShowArgs,
};
pub use calibrate::CalibrateArgs;
pub use plan::{PlanArgs, PlanFormat};
pub use program::main;
pub use watch::WatchArgs;

use crate::{compare, run};
use exit::Stop;

/// How much GPU memory CUDA graphs hold, why, and how to reduce it.
#[derive(Debug, Parser)]
#[command(
    version,
    long_about = ABOUT,
    after_help = exit::HELP,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// The command; without one, experiments run.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Options of a run of experiments.
    #[command(flatten)]
    pub run: RunArgs,

    /// When to use colors; auto uses them on a terminal, unless NO_COLOR is set.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: ColorChoice,

    /// Log the libraries that were tried; -vv also logs every CUDA call.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
}

/// What `--help` begins with.
const ABOUT: &str = "\
How much GPU memory CUDA graphs hold, why, and how to reduce it.

Examples:
  graph-memory-footprint watch -- python train.py   report what your program's graphs hold
  graph-memory-footprint plan graph.dot             compute it from a dump, without a GPU
  graph-memory-footprint explain R3                 explain a rule that a report names
  graph-memory-footprint                            run the experiments of NVIDIA's sample
  graph-memory-footprint --experiment order-matters run one experiment

Without a command, experiments run on the GPU (or on a simulated one) and check how CUDA
assigns memory to graphs.";

impl Cli {
    /// Applies `--color` to all later output.
    pub fn apply_color(&self) {
        match self.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and report how much GPU memory its CUDA graphs hold, and why.
    Watch(WatchArgs),
    /// Compute how much memory graphs hold, from DOT dumps or a scenario.
    Plan(PlanArgs),
    /// Measure a GPU and write a profile of it, to simulate it or to plan for it.
    Calibrate(CalibrateArgs),
    /// Explain an experiment or a rule, and name the sources.
    Explain(ExplainArgs),
    /// Print a JSON result as text, CSV or an HTML page.
    Show(ShowArgs),
    /// Compare two results step by step, or a result with a log of NVIDIA's sample.
    Compare(CompareArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print a manual page.
    #[command(hide = true)]
    Manual(ManualArgs),
}

/// Runs the command.
///
/// # Errors
///
/// [`Stop`] if there is no result: wrong usage, a machine that cannot run the
/// experiments, or an error before the first one. An error in an experiment is part
/// of the result.
pub fn run(cli: &Cli) -> Result<ExitCode, Stop> {
    match &cli.command {
        None if cli.run.list => explain::list(),
        None => run::experiments(&cli.run),
        Some(Command::Explain(args)) => explain::explain(args),
        Some(Command::Watch(args)) => crate::watch::run(args),
        Some(Command::Show(args)) => show::show(args),
        Some(Command::Compare(args)) => compare::compare(args),
        Some(Command::Plan(args)) => crate::plan::run(args),
        Some(Command::Calibrate(args)) => crate::calibrate::run(args),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Manual(args)) => completions::manual(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_well_formed() {
        Cli::command().debug_assert();
    }
}
