//! `plan` through the binary: dumps, scenarios, verification, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::{Ended, bare};
use serde_json::Value;

mod dumps;
mod rules;
mod verification;

const MIB: u64 = 1 << 20;

/// The four experiments, each a scenario file as well.
const EXPERIMENTS: [&str; 4] = [
    "virtual-address-reuse",
    "physical-memory-reuse",
    "concurrent-streams",
    "unfreed-allocations",
];

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenarios")
        .join(format!("{name}.toml"))
}

fn dump(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../ffi/model/tests/data/dot")
        .join(name)
}

fn plan(file: &Path, arguments: &[&str]) -> (Value, i32) {
    let ended = bare()
        .args(&["plan", "--format", "json"])
        .args(arguments)
        .arg(file)
        .ends();
    let plan = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
    let faults: Vec<String> = validator()
        .iter_errors(&plan)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        file.display(),
        faults.join("\n")
    );
    (plan, ended.code)
}

/// The published schema: every plan of these tests is checked against it.
fn validator() -> &'static jsonschema::Validator {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let schema = include_str!("../../../schema/plan-v2.schema.json");
        let schema = serde_json::from_str(schema).expect("the schema is JSON");
        jsonschema::draft202012::new(&schema).expect("the schema is one")
    })
}

fn text(file: &Path, arguments: &[&str]) -> Ended {
    bare().args(&["plan"]).args(arguments).arg(file).ends()
}

fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value
        .pointer(pointer)
        .unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

fn bytes(value: &Value, pointer: &str) -> u64 {
    at(value, pointer)
        .as_u64()
        .unwrap_or_else(|| panic!("{pointer} is no number"))
}

/// The used bytes after each step of a schedule whose label begins like this.
fn used_after(schedule: &Value, begins: &str) -> Vec<u64> {
    let steps = at(schedule, "/steps").as_array().expect("steps");
    let of_kind = steps.iter().filter(|step| {
        step["label"]
            .as_str()
            .is_some_and(|label| label.starts_with(begins))
    });
    of_kind
        .map(|step| bytes(step, "/planned/used_bytes"))
        .collect()
}

fn written(name: &str, contents: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join(name);
    fs::write(&file, contents).expect("a file");
    (folder, file)
}

/// A dump or scenario of a case that people reported.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("plan/tests/data/cases")
        .join(name)
}

/// Several dumps, planned together.
fn plan_of(files: &[PathBuf], arguments: &[&str]) -> (Value, i32) {
    let ended = bare().args(&["plan", "--format", "json"]).args(arguments);
    let ended = files
        .iter()
        .fold(ended, |command, file| command.arg(file))
        .ends();
    let plan: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
    assert!(validator().is_valid(&plan), "{plan:#}");
    (plan, ended.code)
}

#[test]
fn the_text_shows_what_is_asked_for() {
    let ended = text(
        &dump("apps/torch_xf.dot"),
        &["--streams", "3", "--rows", "6"],
    );
    for part in [
        "footprint    128 MiB: 4 blocks of 32 MiB",
        "after a trim 64 MiB",
        "the driver's, from the dump; the rule gives the same",
        "Addresses, from 0x48ea000000",
        "Live, in an order in which it may run",
        "Left allocated after the launch",
        "1 cudaErrorInvalidValue",
        "torch_xf on 3 streams",
        "footprint 384 MiB, no call fails",
        "more ...",
        "nothing was run on a GPU",
    ] {
        assert!(
            ended.stdout.contains(part),
            "no {part:?} in:\n{}",
            ended.stdout
        );
    }
    assert!(!ended.stdout.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn another_machines_blocks_give_another_footprint() {
    let h200 = bytes(
        &plan(&scenario("just-over-a-block"), &[]).0,
        "/gpu/granularity_bytes",
    );
    let folder = tempfile::tempdir().expect("a temporary directory");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/model/src/profile/h200.toml");
    let text = fs::read_to_string(profile).expect("a profile");
    let smaller = text.replace("block_mib = 32 ", "block_mib = 2 ");
    assert_ne!(text, smaller);
    let file = folder.path().join("small-blocks.toml");
    fs::write(&file, smaller).expect("a file");
    let arguments = ["--model-profile", file.to_str().expect("UTF-8")];
    let (plan, code) = plan(&scenario("just-over-a-block"), &arguments);
    assert_eq!((h200, code), (32 * MIB, 0));
    assert_eq!(bytes(&plan, "/gpu/granularity_bytes"), 2 * MIB);
    assert_eq!(bytes(&plan, "/schedules/0/footprint_bytes"), 34 * MIB);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"))
        .args(["plan", "--rows", "0", "--format", "json"])
        .arg(dump("random/g013.dot"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_report_is_written_beside_the_text() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let page = folder.path().join("plan.html");
    let arguments = ["--report", page.to_str().expect("UTF-8")];
    let ended = text(&scenario("forked-branches"), &arguments);
    assert_eq!(ended.code, 0);
    let page = fs::read_to_string(page).expect("the page");
    for part in [
        "Planned, not measured",
        "Where allocations lie, and when",
        "free 1 -> buffer 2",
        "288 MiB",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn after_a_trim_is_said_only_where_something_is_left() {
    let left = |name: &str| text(&dump(name), &[]).stdout.contains("after a trim");
    assert!(left("apps/torch_xf.dot") && !left("apps/cupy_chain.dot"));
}

#[test]
fn a_schedule_is_written_in_any_order_and_a_wrong_word_is_named() {
    let files = [dump("apps/cupy_sum.dot"), dump("apps/cupy_chain.dot")];
    let used = |schedule: &str| {
        let (json, _) = plan_of(&files, &["--schedule", schedule]);
        assert_eq!(at(&json, "/schedules").as_array().map(Vec::len), Some(1));
        used_after(at(&json, "/schedules/0"), "")
    };
    // R35: in one stream they share; R43: after a trim a launch maps again.
    assert_eq!(
        used("cupy_sum cupy_chain wait trim cupy_chain"),
        [64, 64, 64, 0, 64].map(|mib| mib * MIB)
    );
    let torch = [dump("apps/torch_xf.dot")];
    let (json, _) = plan_of(&torch, &["--schedule", "torch_xf wait free:torch_xf trim"]);
    assert_eq!(used_after(at(&json, "/schedules/0"), "trim"), [0]);
    bare()
        .args(&["plan", "--schedule", "cupy_sum nothing"])
        .arg(&files[0])
        .ends()
        .refused_with(64, "`nothing` is neither a graph nor a step");
}
