//! Runs small C programs with the library preloaded, on a driver that is written for the
//! tests.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use graph_memory_record::{Event, ProcessRecord, Recording, settings};
use tempfile::TempDir;

/// 1 MiB in bytes.
pub const MIB: u64 = 1 << 20;

/// The exit code of the C program.
pub const EXIT: i32 = 7;

/// The compiled C files. The driver is in the same folder, which is therefore a library
/// path.
struct Programs {
    folder: TempDir,
}

static PROGRAMS: OnceLock<Programs> = OnceLock::new();

fn programs() -> &'static Path {
    let programs = PROGRAMS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic"];
        let driver = ["-Wl,-soname,libcuda.so.1", "-ldl", "-lpthread"];
        cc(
            "driver.c",
            &folder.path().join("libcuda.so.1"),
            &[&shared[..], &driver].concat(),
        );
        let simulated = folder.path().join("simulated");
        fs::create_dir(&simulated).unwrap();
        let model = deps().join("libcudart_simulated.so");
        fs::copy(model, simulated.join("libcuda.so.1")).unwrap();
        cc("measures.c", &folder.path().join("measures"), &["-ldl"]);
        cc(
            "count.c",
            &folder.path().join("libcount.so"),
            &["-shared", "-fPIC"],
        );
        cc("next.c", &folder.path().join("libnext.so"), &shared);
        cc(
            "program.c",
            &folder.path().join("program"),
            &["-ldl", "-lpthread"],
        );
        let linked = [
            "-DLINKED",
            "-lpthread",
            "-ldl",
            "-L",
            ".",
            "-l:libcuda.so.1",
        ];
        cc("program.c", &folder.path().join("linked"), &linked);
        Programs { folder }
    });
    programs.folder.path()
}

fn cc(source: &str, output: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/support/c")
        .join(source);
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let done = Command::new(compiler)
        .current_dir(output.parent().unwrap())
        .args(["-O1", "-std=gnu11", "-w", "-o"])
        .arg(output)
        .arg(source)
        .args(options)
        .output()
        .expect("these tests need a C compiler (Debian: apt install gcc)");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
}

/// The folder into which cargo puts the libraries that it builds for this package's tests.
fn deps() -> PathBuf {
    let this = env::current_exe().unwrap();
    this.parent().unwrap().to_path_buf()
}

/// The library under test.
pub fn library() -> PathBuf {
    let library = deps().join("libgraph_memory_watch.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// A program to watch, and the folder of its recording.
pub struct Watch {
    /// The command, which the test can change.
    pub command: Command,
    /// The temporary folder of the test.
    pub folder: TempDir,
    recording: PathBuf,
}

/// The outcome of a watched program.
pub struct Watched {
    /// Exit status and output.
    pub output: Output,
    /// The recording, if there is one.
    pub recording: Option<Recording>,
    /// The temporary folder of the test, which exists as long as this value.
    pub folder: TempDir,
}

/// A C program with the simulated driver.
pub fn watch_simulated(program: &str) -> Watch {
    let mut watch = watch("", "");
    let mut command = Command::new(programs().join(program));
    command.envs(
        watch
            .command
            .get_envs()
            .map(|(k, v)| (k, v.unwrap_or_default())),
    );
    command.env("LD_LIBRARY_PATH", programs().join("simulated"));
    watch.command = command;
    watch
}

/// The C program. `way` is how it gets the driver's functions, `action` what it does.
pub fn watch(way: &str, action: &str) -> Watch {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    fs::create_dir(&recording).unwrap();
    let program = if way == "linked" { "linked" } else { "program" };
    let mut command = Command::new(programs().join(program));
    command
        .args([way, action])
        .env("LD_LIBRARY_PATH", programs())
        .env("LD_PRELOAD", library())
        .env(settings::DIRECTORY, &recording)
        .env(settings::INJECTION, library());
    Watch {
        command,
        folder,
        recording,
    }
}

/// A library to preload that wraps a function of the C library.
pub fn next_library() -> PathBuf {
    programs().join("libnext.so")
}

/// A library to preload that counts allocations, writes and waits.
pub fn count_library() -> PathBuf {
    programs().join("libcount.so")
}

impl Watch {
    /// Runs the program and reads its recording.
    pub fn run(mut self) -> Watched {
        let output = self.command.output().unwrap();
        Watched {
            output,
            recording: Recording::read(&self.recording).ok(),
            folder: self.folder,
        }
    }

    /// The folder of the recording.
    pub fn recording(&self) -> &Path {
        &self.recording
    }
}

impl Watched {
    /// The standard output of the program.
    pub fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// Fails unless the program ended as it does without the library.
    #[track_caller]
    pub fn ended_as_alone(&self) -> &Self {
        let error = String::from_utf8_lossy(&self.output.stderr);
        assert_eq!(self.output.status.code(), Some(EXIT), "{error}");
        assert_eq!(error, "");
        self
    }

    /// The signal that ended the program, if any.
    pub fn signal(&self) -> Option<i32> {
        self.output.status.signal()
    }

    /// The record of the only process.
    #[track_caller]
    pub fn process(&self) -> &ProcessRecord {
        let processes = &self.recording.as_ref().expect("a recording").processes;
        assert_eq!(processes.len(), 1);
        &processes[0]
    }
}

/// The names of the recorded events, each with its number of occurrences.
pub fn counts(process: &ProcessRecord) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in &process.lines {
        let value = serde_json::to_value(&line.event).unwrap();
        let name = value["event"].as_str().unwrap().to_owned();
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// The texts of the notes.
pub fn notes(process: &ProcessRecord) -> Vec<String> {
    let note = |event: &Event| match event {
        Event::Note(note) => Some(format!(
            "{:?}: {} {:?} {:?}",
            note.kind, note.text, note.call, note.code
        )),
        _ => None,
    };
    process
        .lines
        .iter()
        .filter_map(|l| note(&l.event))
        .collect()
}
