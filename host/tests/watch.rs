//! `watch` and what is made of its recordings: the report against what programs on an H200
//! printed themselves, and the launcher against what a shell does.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::bare;

const MIB: i64 = 1 << 20;

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/watch")
}

/// The folders of all committed recordings.
fn all_recordings() -> Vec<PathBuf> {
    let entries = fs::read_dir(recordings()).expect("the recordings are there");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/watch/record/tests/example"));
    folders
}

/// A recording as the JSON that `show` makes of it, which must be as the schema has it.
fn shown(folder: &Path) -> Value {
    let ended = bare()
        .args(&["show", "--format", "json"])
        .arg(folder)
        .ends();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let json = serde_json::from_str(&ended.stdout).expect("JSON");
    support::schema::assert_valid_recording(&json, &folder.display().to_string());
    json
}

fn signed(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn entry(device: &Value, what: &str) -> i64 {
    let entries = device["account"]["entries"].as_array().expect("entries");
    let found = entries.iter().find(|entry| entry["what"] == what);
    found.map_or(0, |entry| signed(&entry["bytes"]))
}

#[test]
fn every_account_adds_up_to_what_the_device_lost() {
    let mut devices = 0;
    for folder in all_recordings() {
        let result = shown(&folder);
        for process in result["processes"].as_array().expect("processes") {
            for device in process["devices"].as_array().expect("devices") {
                devices += 1;
                let account = &device["account"];
                let entries = account["entries"].as_array().expect("entries");
                let sum: i64 = entries.iter().map(|entry| signed(&entry["bytes"])).sum();
                assert_eq!(sum, signed(&account["lost_bytes"]), "{}", folder.display());
                let reserved = device["graph_memory"]["reserved_bytes"].as_i64();
                assert_eq!(entry(device, "graph-memory"), reserved.unwrap_or(0));
                for entry in entries {
                    let by = entry["by_library"].as_array().expect("libraries");
                    let by: i64 = by.iter().map(|pair| signed(&pair[1])).sum();
                    assert!(by == 0 || by == signed(&entry["bytes"]), "{entry}");
                }
            }
        }
    }
    assert!(devices >= 3, "only {devices} devices were checked");
}

/// Each program printed how much of the device's memory was in use at its end, in MiB.
#[test]
fn the_accounts_are_what_the_programs_printed_themselves() {
    for (folder, printed) in [
        ("torch-default", 1112),
        ("gpt-default-own", 1820),
        ("gpt-default-shared", 1638),
    ] {
        let result = shown(&recordings().join(folder));
        let account = &result["processes"][0]["devices"][0]["account"];
        assert_eq!(signed(&account["lost_bytes"]) / MIB, printed, "{folder}");
    }
}

#[test]
fn pytorchs_default_allocator_is_seen_in_the_captures_and_not_in_the_graphs() {
    let result = shown(&recordings().join("gpt-default-own"));
    let process = &result["processes"][0];
    let device = &process["devices"][0];
    let graphs = process["graphs"].as_array().expect("graphs");
    assert_eq!(graphs.len(), 5);
    for graph in graphs {
        assert_eq!(graph["allocations"].as_array().map(Vec::len), Some(0));
        assert_eq!(graph["footprint_bytes"], 0);
        // PyTorch instantiates with AutoFreeOnLaunch (1) and UseNodePriority (8).
        assert_eq!(graph["flags"], 9);
    }
    let captures = process["captures"].as_array().expect("captures");
    let taken: i64 = captures
        .iter()
        .map(|capture| signed(&capture["plain_taken_bytes"]))
        .sum();
    assert_eq!(entry(device, "plain-in-capture"), taken);
    let libraries: BTreeSet<&str> = captures
        .iter()
        .flat_map(|capture| capture["by_library"].as_array().expect("libraries"))
        .filter_map(|pair| pair[0].as_str())
        .collect();
    assert_eq!(libraries.len(), 1);
    assert!(
        libraries
            .iter()
            .all(|name| name.ends_with("libc10_cuda.so"))
    );
    // The remedy was measured: one pool for all captures, and nothing else changed.
    let shared = shown(&recordings().join("gpt-default-shared"));
    let shared = entry(&shared["processes"][0]["devices"][0], "plain-in-capture");
    assert_eq!(taken - shared, (1820 - 1638) * MIB);
    let findings = process["findings"].to_string();
    assert!(findings.contains("one memory pool"), "{findings}");
    assert!(findings.contains("an upper bound"), "{findings}");
    assert!(
        findings.contains("never replay two graphs of a pool at the same time"),
        "{findings}"
    );
    // Each rule that a finding names can be looked up.
    for finding in process["findings"].as_array().expect("findings") {
        for id in finding["rule"].as_str().expect("a rule").split(' ') {
            let explained = bare().args(&["explain", id]).ends();
            assert_eq!(explained.code, 0, "{id}: {}", explained.stderr);
        }
    }
}

/// Measured on the H200, and foretold by `plan` of the dumps: 192, 224 and 256 MiB.
#[test]
fn pytorch_with_cuda_malloc_async_holds_what_was_planned() {
    let result = shown(&recordings().join("torch-async"));
    let steps = result["processes"][0]["planned"][0]["steps"].clone();
    let of = |name: &str| -> Vec<i64> {
        let steps = steps.as_array().expect("steps");
        steps.iter().map(|step| signed(&step[name]) / MIB).collect()
    };
    assert_eq!(of("measured_used_bytes"), [192, 224, 256]);
    assert_eq!(of("planned_used_bytes"), [192, 224, 256]);
}

#[test]
fn a_failed_relaunch_is_a_finding_with_its_cause() {
    let result = shown(&recordings().join("cupy"));
    let findings = result["processes"][0]["findings"]
        .as_array()
        .expect("findings");
    let error = findings
        .iter()
        .find(|finding| finding["severity"] == "error");
    let error = error.expect("the launch that failed");
    let remedy = error["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("AutoFreeOnLaunch"), "{remedy}");
}

/// M16: the footprint is computed from the addresses alone, the growth was measured.
#[test]
fn a_footprint_computed_from_addresses_is_what_the_first_launch_mapped() {
    let mut compared = 0;
    for folder in all_recordings() {
        let result = shown(&folder);
        for process in result["processes"].as_array().expect("processes") {
            let graphs = process["graphs"].as_array().expect("graphs");
            let first = graphs
                .iter()
                .filter(|graph| !graph["first_launch"].is_null())
                .find(|graph| {
                    graph["allocations"]
                        .as_array()
                        .is_some_and(|a| !a.is_empty())
                });
            let Some(graph) = first else { continue };
            compared += 1;
            assert_eq!(
                graph["footprint_bytes"].as_i64(),
                graph["first_launch"]["used_growth_bytes"].as_i64(),
                "{}",
                folder.display()
            );
            for device in process["planned"].as_array().expect("planned") {
                if device["assumes_no_overlap"] == true {
                    continue;
                }
                for step in device["steps"].as_array().expect("steps") {
                    assert_eq!(step["planned_used_bytes"], step["measured_used_bytes"]);
                }
            }
        }
    }
    assert!(compared >= 2, "only {compared} footprints were compared");
}

#[test]
fn a_recording_is_shown_compared_and_planned_from_its_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let written = bare()
        .args(&["show", "--format", "json", "--output"])
        .arg(&json)
        .arg(recordings().join("cpp-static"))
        .ends();
    assert_eq!(written.code, 0, "{}", written.stderr);
    let page = folder.path().join("page.html");
    let shown = bare()
        .args(&["show", "--report"])
        .arg(&page)
        .arg(&json)
        .ends();
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("64 MiB reserved"), "{}", shown.stdout);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("Memory over time"));

    let same = bare().args(&["compare"]).arg(&json).arg(&json).ends();
    assert_eq!(same.code, 0, "{}{}", same.stdout, same.stderr);
    let planned = bare().args(&["plan", "--format", "json"]).arg(&json).ends();
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    let plan: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    let steps = plan["schedules"][0]["steps"].as_array().expect("steps");
    assert_eq!(steps[0]["planned"]["used_bytes"], 64 * MIB);

    let none = bare()
        .args(&["show", "--format", "json", "--output"])
        .arg(&json)
        .arg(recordings().join("gpt-default-shared"))
        .ends();
    assert_eq!(none.code, 0, "{}", none.stderr);
    let refused = bare().args(&["plan"]).arg(&json).ends();
    refused.refused_with(64, "none of its graphs has memory nodes");
}

/// A library that does nothing: what the launcher does by itself.
fn quiet_library(folder: &Path) -> PathBuf {
    let source = folder.join("quiet.c");
    fs::write(&source, "int nothing_to_see;\n").expect("written");
    let library = folder.join("libquiet.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    assert!(status.expect("cc is there").success());
    library
}

fn watched(folder: &Path, command: &[&str]) -> Command {
    let mut watch = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
    watch
        .env_remove("LD_PRELOAD")
        .args(["watch", "--library"])
        .arg(quiet_library(folder))
        .arg("--")
        .args(command);
    watch
}

fn output(mut command: Command) -> Output {
    command.output().expect("the binary starts")
}

#[test]
fn the_command_keeps_its_streams_its_folder_and_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut watch = watched(
        folder.path(),
        &[
            "sh",
            "-c",
            "read line; echo \"$line\"; pwd; echo problem >&2; exit 42",
        ],
    );
    watch
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    watch.stderr(Stdio::piped());
    let mut child = watch.spawn().expect("the binary starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"hello\n").expect("read");
    let ended = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let real = folder.path().canonicalize().expect("a folder");
    assert_eq!(stdout, format!("hello\n{}\n", real.display()));
    assert_eq!(ended.status.code(), Some(42));
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.starts_with("problem\n"), "{stderr}");
    assert!(stderr.contains("ended with exit code 42"), "{stderr}");
}

#[test]
fn a_command_that_a_signal_ends_is_reported_and_watch_ends_the_same_way() {
    let folder = tempfile::tempdir().expect("a folder");
    for (signal, name) in [(15, "TERM"), (9, "KILL"), (6, "ABRT")] {
        let kill = format!("kill -{name} $$");
        let ended = output(watched(folder.path(), &["sh", "-c", &kill]));
        assert_eq!(ended.status.signal(), Some(signal), "{name}");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(
            stderr.contains(&format!("ended by signal {signal}")),
            "{stderr}"
        );
    }
}

#[test]
fn a_signal_to_watch_reaches_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut watch = watched(
        folder.path(),
        &[
            "sh",
            "-c",
            "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done",
        ],
    );
    let mut child = watch
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.expect("kill is there").success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut rest).expect("the rest");
    assert_eq!(rest, "caught\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(7));
}

#[test]
fn what_is_preloaded_already_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("libother.so");
    fs::copy(quiet_library(folder.path()), &other).expect("copied");
    let mut watch = watched(
        folder.path(),
        &["sh", "-c", "echo $LD_PRELOAD; echo $CUDA_INJECTION64_PATH"],
    );
    watch
        .env("LD_PRELOAD", &other)
        .env("CUDA_INJECTION64_PATH", "/of/another/tool");
    let stdout = String::from_utf8(output(watch).stdout).expect("UTF-8");
    let mut lines = stdout.lines();
    let preloaded: Vec<&str> = lines.next().expect("a line").split(':').collect();
    assert!(preloaded[0].ends_with("libquiet.so"), "{preloaded:?}");
    assert_eq!(preloaded[1..], [other.to_str().expect("UTF-8")]);
    assert_eq!(lines.next(), Some("/of/another/tool"));
}

#[test]
fn a_command_that_does_not_start_is_refused_as_a_shell_refuses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = output(watched(folder.path(), &["no-such-command-here"]));
    assert_eq!(ended.status.code(), Some(127));
    let text = folder.path().join("text");
    fs::write(&text, "no program").expect("written");
    let ended = output(watched(folder.path(), &[text.to_str().expect("UTF-8")]));
    assert_eq!(ended.status.code(), Some(126));
}

#[test]
fn a_command_without_cuda_is_told_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = output(watched(folder.path(), &["true"]));
    assert_eq!(ended.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("  try: "), "{stderr}");
}

#[test]
fn a_text_in_a_file_has_no_colours_and_nothing_is_on_standard_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("report.txt");
    let mut watch = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
    watch
        .args(["watch", "--text"])
        .arg(&text)
        .arg("--library")
        .arg(quiet_library(folder.path()))
        .args(["--", "true"]);
    let ended = output(watch);
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    let text = fs::read_to_string(text).expect("the report");
    assert!(text.starts_with("watched  true"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_command_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = folder.path().join("ran");
    let touch = format!("touch {}", ran.display());
    for option in ["--output", "--report", "--trace", "--text"] {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
        watch
            .args(["watch", option])
            .arg(folder.path().join("no/such/folder/file"))
            .arg("--library")
            .arg(quiet_library(folder.path()))
            .args(["--", "sh", "-c", &touch]);
        let ended = output(watch);
        assert_eq!(ended.status.code(), Some(64), "{option}");
        assert!(!ran.exists(), "{option}: the command ran");
    }
}

/// The dynamic loader splits `LD_PRELOAD` at spaces and colons, so such a path would be
/// preloaded nowhere, and the report would be empty.
#[test]
fn a_library_whose_path_cannot_be_preloaded_is_refused_before_the_command_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = folder.path().join("ran");
    for name in ["with space", "with:colon"] {
        let below = folder.path().join(name);
        fs::create_dir(&below).expect("the folder can be written");
        let mut watch = watched(&below, &["touch"]);
        watch.arg(&ran);
        let ended = output(watch);
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(stderr.contains("has a space or a colon"), "{stderr}");
        assert!(stderr.contains("--library"), "{stderr}");
        assert!(!ran.exists(), "{name}: the command ran");
        assert_ne!(ended.status.code(), Some(0));
    }
}
