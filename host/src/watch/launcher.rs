//! Runs a command with the watch library preloaded, as if it ran alone.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use graph_memory_record::settings;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::cli::WatchArgs;
use crate::cli::exit::Stop;

/// The file name of the watch library.
const LIBRARY: &str = "libgraph_memory_watch.so";

/// Signals that are passed on to the command. The terminal sends Ctrl-C and Ctrl-\ to the
/// command itself, so those two only must not end this program before it has reported.
const PASSED_ON: [i32; 4] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
const FROM_TERMINAL: [i32; 2] = [SIGINT, SIGQUIT];

/// The library to preload: the one that the option names, else the one beside this
/// program or in `../lib`.
///
/// # Errors
///
/// None there, and a path that cannot be preloaded: the dynamic loader separates the paths
/// in `LD_PRELOAD` at spaces and colons, and has no escape for them.
pub(super) fn library(args: &WatchArgs) -> Result<PathBuf, Stop> {
    let library = find_library(args)?;
    if library
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| b" :".contains(byte))
    {
        return Err(Stop::error(
            format!(
                "the dynamic loader cannot preload {}: its path has a space or a colon",
                library.display()
            ),
            "copy the library to a path without them, and name it with --library",
        ));
    }
    Ok(library)
}

fn find_library(args: &WatchArgs) -> Result<PathBuf, Stop> {
    if let Some(named) = &args.library {
        let found = named.canonicalize().ok().filter(|path| path.is_file());
        return found.ok_or_else(|| {
            Stop::usage(
                format!("there is no watch library {}", named.display()),
                format!("--library takes the file {LIBRARY}"),
            )
        });
    }
    let program = env::current_exe().and_then(|path| path.canonicalize());
    let folder = program.as_deref().ok().and_then(Path::parent);
    let candidates = folder.map(|folder| {
        [
            folder.join(LIBRARY),
            folder.join("../lib").join(LIBRARY),
            folder.join("deps").join(LIBRARY),
        ]
    });
    let found = candidates
        .iter()
        .flatten()
        .find(|path| path.is_file())
        .and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        let looked = folder.map_or_else(String::new, |folder| folder.display().to_string());
        Stop::error(
            format!("the watch library {LIBRARY} is not in {looked} or ../lib from there"),
            "build it with `cargo build --release -p graph-memory-watch`, or name it with \
             --library",
        )
    })
}

/// What a child's environment needs to be watched.
fn preload(command: &mut Command, library: &Path, recording: &Path) {
    let mut value = library.as_os_str().to_owned();
    if let Some(other) = env::var_os("LD_PRELOAD").filter(|other| !other.is_empty()) {
        value.push(":");
        value.push(other);
    }
    command
        .env("LD_PRELOAD", value)
        .env(settings::DIRECTORY, recording);
    // nsys and others set it for themselves.
    if env::var_os(settings::INJECTION).is_none_or(|value| value.is_empty()) {
        command.env(settings::INJECTION, library);
    }
}

/// Runs the command to its end.
///
/// # Errors
///
/// A command that does not start: not found (exit code 127) or not to be run (126).
pub(super) fn run(
    args: &WatchArgs,
    library: &Path,
    recording: &Path,
) -> Result<ExitStatus, NotStarted> {
    let (program, arguments) = args.command.split_first().ok_or_else(NotStarted::nothing)?;
    let mut command = Command::new(program);
    command.args(arguments);
    preload(&mut command, library, recording);
    if args.dot.is_some() {
        command.env(settings::DOT, settings::DOT_ALL);
    }
    // Registered before the command starts, so that none is missed.
    let signals = Signals::new(PASSED_ON.iter().chain(&FROM_TERMINAL));
    let mut child = command
        .spawn()
        .map_err(|error| NotStarted::new(program, error))?;
    let handle = signals.ok().map(|signals| pass_on(signals, &child));
    let ticker = (args.live && io::stderr().is_terminal()).then(|| Ticker::start(recording));
    let status = child.wait();
    if let Some(ticker) = ticker {
        ticker.stop();
    }
    if let Some(handle) = handle {
        handle.close();
    }
    status.map_err(|error| NotStarted::new(program, error))
}

fn pass_on(mut signals: Signals, child: &Child) -> signal_hook::iterator::Handle {
    let handle = signals.handle();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    thread::spawn(move || {
        for signal in signals.forever() {
            if let (Some(pid), true) = (pid, PASSED_ON.contains(&signal))
                && let Some(signal) = Signal::from_named_raw(signal)
            {
                // It has ended, if this fails.
                let _ = kill_process(pid, signal);
            }
        }
    });
    handle
}

/// Ends this program as the command ended.
pub(super) fn end_like(status: ExitStatus) -> u8 {
    if let Some(signal) = status.signal() {
        // Without a core of this program. Where the signal does not end it, the shells'
        // number for that does.
        let none = rustix::process::Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return u8::try_from(128 + signal).unwrap_or(255);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(255)
}

/// A command that could not be started.
#[derive(Debug)]
pub(super) struct NotStarted {
    pub(super) code: u8,
    pub(super) stop: Stop,
}

impl NotStarted {
    fn nothing() -> Self {
        Self {
            code: crate::cli::exit::USAGE,
            stop: Stop::usage("there is no command to watch", "watch -- python train.py"),
        }
    }

    fn new(program: &OsStr, error: io::Error) -> Self {
        let shown = program.to_string_lossy();
        let (code, remedy) = match error.kind() {
            io::ErrorKind::NotFound => (127, "check the name, and PATH"),
            io::ErrorKind::PermissionDenied => (126, "make the file executable"),
            _ => (126, "run the command by itself to see whether it starts"),
        };
        Self {
            code,
            stop: Stop::error(format!("cannot run {shown}: {error}"), remedy),
        }
    }
}

/// One line of progress on the terminal: how long, and how much was recorded.
struct Ticker {
    stop: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Ticker {
    fn start(recording: &Path) -> Self {
        let (stop, stopped) = mpsc::channel();
        let recording = recording.to_owned();
        let thread = thread::spawn(move || {
            let start = Instant::now();
            while stopped.recv_timeout(Duration::from_secs(1))
                == Err(mpsc::RecvTimeoutError::Timeout)
            {
                let line = super::live::line(&recording, start.elapsed());
                let mut out = io::stderr().lock();
                // A terminal that is gone shows nothing.
                let _ = write!(out, "\r\x1b[K{line}").and_then(|()| out.flush());
            }
            let _ = write!(io::stderr(), "\r\x1b[K");
        });
        Self { stop, thread }
    }

    fn stop(self) {
        let _ = self.stop.send(());
        // It only writes to standard error, and ends within a second.
        let _ = self.thread.join();
    }
}

/// The command line as it is shown.
pub(super) fn shown(command: &[OsString]) -> Vec<String> {
    let words = command.iter();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
