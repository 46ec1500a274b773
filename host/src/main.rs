//! Reads the command line, runs, and turns the end into an exit code.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use graph_memory_footprint::cli::{self, Cli};
use graph_memory_footprint::{exit, run};

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(cli::arguments()) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    cli.apply_color();
    log_to_stderr(cli.verbose);
    match run(&cli) {
        Ok(code) => code,
        Err(stop) => {
            anstream::eprintln!("{stop}");
            ExitCode::from(stop.code())
        }
    }
}

fn not_parsed(error: &clap::Error) -> ExitCode {
    // If standard output is gone there is nobody to tell.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(exit::USAGE),
    }
}

/// `RUST_LOG` wins over `-v`; `RUST_LOG=cudart=trace` shows every CUDA call.
fn log_to_stderr(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug,cudart=trace",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(default))
        .format_target(true)
        .init();
}
