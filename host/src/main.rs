//! Reads the command line, runs, and turns the end into an exit code.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap::error::ErrorKind;
use graph_memory_footprint::cli::{self, Cli};
use graph_memory_footprint::exit::StopKind;
use graph_memory_footprint::{exit, run};

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(cli::arguments()) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    cli.apply_color();
    // A file that grows beyond a limit (RLIMIT_FSIZE) is an error, and not the end of
    // the process: what is listened to has no default effect.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    log_to_stderr(cli.verbose);
    match run(&cli) {
        Ok(code) => code,
        // Whoever closed the pipe has read enough and is told nothing.
        Err(stop) if stop.kind == StopKind::ClosedPipe => ExitCode::from(stop.code()),
        Err(stop) => {
            // If standard error is gone there is nobody to tell.
            let _ = writeln!(anstream::stderr(), "{stop}");
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
