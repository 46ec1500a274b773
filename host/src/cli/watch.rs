//! The options of `watch`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Options of `watch`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = HELP,
    override_usage = "graph-memory-footprint watch [OPTIONS] [--] <COMMAND>..."
)]
pub struct WatchArgs {
    /// The command to run, with its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,

    /// Write the text report to this file instead of standard error.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,

    /// Also write everything as JSON, for `show`, `compare` and `plan`.
    #[arg(long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,

    /// Also write a page with charts.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Also write a trace for Perfetto or chrome://tracing.
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,

    /// Also write every graph as the driver prints it into this folder.
    #[arg(long, value_name = "DIR")]
    pub dot: Option<PathBuf>,

    /// Keep the raw recording in this folder, which must not exist.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,

    /// Show one line of progress while the command runs, on a terminal.
    #[arg(long)]
    pub live: bool,

    /// Graphs to list in the text; 0 lists all.
    #[arg(long, default_value = "12", value_name = "N")]
    pub rows: usize,

    /// The watch library to preload, instead of the one that came with this program.
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}

const HELP: &str = "\
Options of watch come before the command. Everything from the first word that is not an option
of watch belongs to the command, also words that begin with a hyphen: a misspelled option
is taken for the command. After -- everything belongs to the command.

The command keeps its standard streams, its working directory and its signals. The report
follows on standard error when the command has ended.

Exit codes: those of the command. If a signal ends it, the same signal ends watch.
  64  wrong usage
  126 the command cannot be run
  127 the command was not found";
