//! The program from its arguments to its exit code.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use safe_io::visible;

use super::exit::{self, StopKind};
use super::{Cli, output::say, run};

/// Reads the command line, runs the command, and returns the exit code. Errors are
/// printed on standard error.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(error),
    };
    cli.apply_color();
    // A file that grows beyond a limit (RLIMIT_FSIZE) is then an error that is reported.
    // Without a handler, the signal would end the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    log_to_stderr(cli.verbose);
    match run(&cli) {
        Ok(code) => code,
        // The reader closed the pipe, so there is no message.
        Err(stop) if stop.kind == StopKind::ClosedPipe => ExitCode::from(stop.code()),
        Err(stop) => {
            say(&stop);
            ExitCode::from(stop.code())
        }
    }
}

fn not_parsed(error: clap::Error) -> ExitCode {
    let error = if error.use_stderr() {
        // The message repeats arguments, which may contain anything: what is wrong with
        // them is the same when they are safe to show.
        let arguments = arguments();
        let shown = arguments.map(|one| visible::line(&one.to_string_lossy()).into_owned());
        Cli::try_parse_from(shown).err()
    } else {
        Some(error)
    };
    let Some(error) = error else {
        say(&"error: the arguments are wrong; see --help");
        return ExitCode::from(exit::USAGE);
    };
    // An error here cannot be reported.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(exit::USAGE),
    }
}

/// The arguments, with `-device=N` (as in NVIDIA's samples) replaced by `--device=N`.
fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().map(|argument| match argument.to_str() {
        Some(text) if text.starts_with("-device=") => OsString::from(format!("-{text}")),
        _ => argument,
    })
}

/// `RUST_LOG` wins over `-v`; `RUST_LOG=cudart=trace` shows every CUDA call.
fn log_to_stderr(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug,cudart=trace",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(default))
        // The usual form, but for arguments that are safe to show: a log names files and
        // quotes drivers.
        .format(|out, record| {
            let style = out.default_level_style(record.level());
            let (level, target) = (record.level(), record.target());
            let text = visible::indented(&record.args().to_string());
            writeln!(out, "[{style}{level:<5}{style:#} {target}] {text}")
        })
        .init();
}
