//! Runs the binary through small scenarios.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod schema;

use std::path::Path;
use std::process::{Command, Output};

use graph_memory_footprint::results::read;
use graph_memory_footprint::results::{DeviceResult, ExperimentResult, RunResult};

/// One call of the binary. The model is its backend unless a test says otherwise,
/// so that tests do the same on a machine with a GPU.
pub struct Scenario {
    command: Command,
}

/// How the call ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn on_the_model() -> Scenario {
    bare().args(&["--backend", "model"])
}

pub fn bare() -> Scenario {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
    for variable in [
        "RUST_LOG",
        "CUDA_PATH",
        "CUDA_HOME",
        "CONDA_PREFIX",
        "VIRTUAL_ENV",
    ] {
        command.env_remove(variable);
    }
    Scenario { command }
}

impl Scenario {
    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn arg(mut self, argument: impl AsRef<Path>) -> Self {
        self.command.arg(argument.as_ref());
        self
    }

    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn ends(mut self) -> Ended {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command.output().expect("the binary starts");
        Ended {
            code: status.code().expect("the binary ends by itself"),
            stdout: String::from_utf8(stdout).expect("the output is UTF-8"),
            stderr: String::from_utf8(stderr).expect("the messages are UTF-8"),
        }
    }

    /// The JSON result, whatever the verdict; it is as the schema has it.
    pub fn result(self) -> (RunResult, i32) {
        let ended = self.args(&["--format", "json"]).ends();
        if let Ok(json) = serde_json::from_str(&ended.stdout) {
            schema::assert_valid(&json, "the output");
        }
        let result = read::from_json(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
        (result, ended.code)
    }
}

impl Ended {
    /// Asserts the exit code and one line each of what and of what to try.
    pub fn refused_with(&self, code: i32, what: &str) -> &Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(
            self.stderr.contains(what),
            "{:?} is not in:\n{}",
            what,
            self.stderr
        );
        assert!(self.stdout.is_empty(), "nothing ran: {}", self.stdout);
        self
    }
}

pub fn experiment<'r>(result: &'r RunResult, name: &str) -> &'r ExperimentResult {
    let found = only_device(result)
        .experiments
        .iter()
        .find(|experiment| experiment.name == name);
    found.unwrap_or_else(|| panic!("no experiment {name}"))
}

/// The section of the one device of the run.
pub fn only_device(result: &RunResult) -> &DeviceResult {
    match result.devices.as_slice() {
        [section] => section,
        sections => panic!("{} devices", sections.len()),
    }
}
