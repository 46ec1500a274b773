//! Compares stream capture and conditional nodes with recordings of an H200. The same
//! recorder, compiled from `tests/capture/recorder.c`, runs the recorded programs on the
//! built library, and every line must be the same as on the GPU.
//!
//! `tests/capture/README.md` describes the language and the recording.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The call returns 801, whether a stream captures or not.
const NOT_SIMULATED: &str = "it calls a function that is exported and not simulated";

/// Programs that the simulated runtime is known to run differently, each with the reason.
/// If one is equal again, the test fails, so that the list is kept up to date.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[
    ("mode-pool-create", NOT_SIMULATED),
    ("mode-pool-destroy", NOT_SIMULATED),
    ("mode-set-pool", NOT_SIMULATED),
    ("work-alloc-from-own-pool", NOT_SIMULATED),
];

/// How programs are generated, and the files that contain their recordings.
const GENERATED: [(&str, &[&str]); 4] = [
    ("conditional", &["conditional"]),
    ("modes, forks and work", &["themes"]),
    ("random", &["random", "1", "200"]),
    ("random-held-out", &["random", "201", "100"]),
];

/// Runs a tool, which must succeed; `None` if it is not installed.
fn succeeded(command: Command) -> Option<Output> {
    let shown = format!("{command:?}");
    let output = crate::run(command)?;
    assert!(output.status.success(), "{shown}: {}", crate::text(&output));
    Some(output)
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/capture")
        .join(path)
}

/// The lines of each program.
type Traces = BTreeMap<String, Vec<String>>;

fn parse(text: &str) -> Traces {
    let mut traces = Traces::new();
    let mut name = String::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(next) = line.strip_prefix("== ") {
            next.clone_into(&mut name);
            traces.insert(name.clone(), Vec::new());
        } else if !(line.is_empty() || line.starts_with('#') || line == "done")
            && let Some(lines) = traces.get_mut(&name)
        {
            lines.push(line.to_owned());
        }
    }
    traces
}

fn recordings() -> BTreeMap<PathBuf, Traces> {
    let mut found = BTreeMap::new();
    let machines = std::fs::read_dir(here("recordings")).expect("the recordings' folder");
    for machine in machines {
        let machine = machine.expect("an entry of the recordings' folder").path();
        for file in std::fs::read_dir(machine).expect("a machine's folder") {
            let path = file.expect("an entry of a machine's folder").path();
            let text = std::fs::read_to_string(&path).expect("a recording");
            found.insert(path, parse(&text));
        }
    }
    assert!(!found.is_empty(), "there are no recordings of captures");
    found
}

/// The call in a line: the part before its result.
fn call(line: &str) -> &str {
    line.split(" -> ").next().unwrap_or(line)
}

/// The program as it was when it was recorded, which its trace contains.
fn program(trace: &[String]) -> impl Iterator<Item = &str> {
    trace
        .iter()
        .map(|line| call(line))
        .filter(|line| !line.starts_with(['(', '!']))
}

/// The first line that differs, as recorded and as simulated.
fn difference<'a>(recorded: &'a [String], simulated: &'a [String]) -> Option<(&'a str, &'a str)> {
    let mut simulated = simulated.iter().map(String::as_str);
    for line in recorded {
        let other = simulated.next().unwrap_or("(nothing)");
        // The comparison ends at a call from which the real runtime did not return,
        // because the program passed a destroyed handle.
        if !line.contains(" -> ") {
            return None;
        }
        let varies = line.ends_with(" -> ?") && call(line) == call(other);
        if line != other && !varies {
            return Some((line, other));
        }
    }
    simulated.next().map(|more| ("(nothing)", more))
}

/// Compiles the recorder.
fn recorder(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("recorder");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"])
        .arg(&program)
        .arg(here("recorder.c"))
        .args(["-ldl", "-lpthread"]);
    succeeded(cc).map(|_| program)
}

fn simulate(recorder: &Path, folder: &Path, recorded: &Traces) -> Traces {
    let mut text = String::new();
    for (name, trace) in recorded {
        let lines: Vec<&str> = program(trace).collect();
        writeln!(text, "== {name}\n{}\n", lines.join("\n")).expect("a string takes all");
    }
    let (programs, output) = (folder.join("programs"), folder.join("output"));
    std::fs::write(&programs, text).expect("a file in a folder of our own");
    let mut command = crate::command(recorder);
    command
        .arg(crate::library())
        .arg(&programs)
        .arg(&output)
        .arg("2");
    succeeded(command).expect("just built");
    parse(&std::fs::read_to_string(&output).expect("what the recorder wrote"))
}

/// R17, R56, M19, M20: every call of the recorded programs returns the same as on the H200,
/// and leaves the same states of streams and captures and graphs with the same nodes and
/// edges.
#[test]
fn r17_r56_captures_and_conditional_nodes_are_as_recorded() {
    let folder = tempfile::tempdir().expect("a folder for the recorder");
    let Some(recorder) = recorder(folder.path()) else {
        return;
    };
    let (mut report, mut different) = (String::new(), 0);
    for (path, recorded) in recordings() {
        let simulated = simulate(&recorder, folder.path(), &recorded);
        for (name, trace) in &recorded {
            let other = simulated.get(name).map_or(&[][..], Vec::as_slice);
            let difference = difference(trace, other);
            if KNOWN_DIFFERENCES.iter().any(|(known, _)| known == name) {
                assert!(
                    difference.is_some(),
                    "{name} is equal now: remove it from the list"
                );
            } else if let Some((recorded, simulated)) = difference {
                different += 1;
                if different <= 20 {
                    let file = path.display();
                    writeln!(
                        report,
                        "{file}: {name}\n  recorded:  {recorded}\n  simulated: {simulated}"
                    )
                    .expect("a string takes all");
                }
            }
        }
    }
    assert!(
        different == 0,
        "{report}{different} programs differ; the first 20 are above"
    );
}

/// A program that was changed or added must be recorded again.
#[test]
fn every_capture_program_is_recorded_in_its_current_form() {
    let recorded: Traces = recordings().into_values().flatten().collect();
    let mut count = 0;
    for (what, arguments) in GENERATED {
        let mut python = Command::new("python3");
        python.arg(here("generate.py")).args(arguments);
        let Some(output) = succeeded(python) else {
            return;
        };
        let generated = parse(&String::from_utf8_lossy(&output.stdout));
        count += generated.len();
        for (name, lines) in generated {
            let trace = recorded
                .get(&name)
                .unwrap_or_else(|| panic!("{what}: {name} is not recorded"));
            let then: Vec<&str> = program(trace).collect();
            let broken_off = trace.iter().any(|line| line.starts_with('!'));
            let now = lines.get(..then.len()).filter(|_| broken_off);
            assert!(
                now.unwrap_or(&lines) == then,
                "{what}: {name} has changed since it was recorded"
            );
        }
    }
    assert_eq!(count, recorded.len(), "programs that nothing generates");
}
