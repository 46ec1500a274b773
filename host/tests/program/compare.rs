//! `compare`: results and logs of NVIDIA's sample, step by step.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Ended, bare, on_the_model};

const LOG: &str = "nvidia-sample-cuda-13.0.txt";
const H200: &str = "h200-driver-580-cuda-13.0.json";

fn recording(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings");
    Path::new(folder).join(name)
}

fn compare(left: &Path, right: &Path) -> Ended {
    bare().args(&["compare"]).arg(left).arg(right).ends()
}

/// A result of the model in a file.
fn result(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let run = on_the_model().args(&["--format", "json", "--output"]);
    run.arg(&path).args(arguments).ends();
    path
}

#[test]
fn recordings_under_different_runtimes_are_equal() {
    let ended = compare(
        &recording(H200),
        &recording("h200-driver-580-cuda-11.8.json"),
    );
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    assert!(
        ended.stdout.contains("EQUAL in 44 steps"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_model_is_equal_to_what_it_models() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let model = result(folder.path(), "model.json", &[]);
    let ended = compare(&model, &recording(H200));
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    let named = "simulated on NVIDIA H200";
    assert!(ended.stdout.contains(named), "{}", ended.stdout);
}

#[test]
fn the_samples_log_differs_where_its_graphs_do_not_overlap() {
    // Either way round.
    for (left, right) in [(H200, LOG), (LOG, H200)] {
        let ended = compare(&recording(left), &recording(right));
        assert_eq!(ended.code, 1);
        let text = &ended.stdout;
        assert!(text.contains("DIFFERENT in 1 of 33 steps"), "{text}");
        assert!(text.contains("(R37)"), "it says why: {text}");
        let other: Vec<_> = text.lines().filter(|line| line.contains("other")).collect();
        assert_eq!(other.len(), 1);
        assert!(
            other[0].contains("448 MiB") && other[0].contains("384 MiB"),
            "{other:?}"
        );
    }
}

#[test]
fn a_log_in_which_all_graphs_overlapped_is_equal() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let text = fs::read_to_string(recording(LOG)).expect("the log");
    let mended = text.replace(
        "07:     FOOTPRINT: 402653184 bytes",
        "07:     FOOTPRINT: 469762048 bytes",
    );
    assert_ne!(mended, text);
    let log = folder.path().join("log.txt");
    fs::write(&log, mended).expect("a file");
    let ended = compare(&recording(H200), &log);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
}

#[test]
fn other_sizes_and_other_numbers_of_graphs_differ() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let usual = result(folder.path(), "usual.json", &[]);
    let small = result(folder.path(), "small.json", &["--bytes", "32MiB"]);
    let few = result(folder.path(), "few.json", &["--graphs", "4"]);
    for other in [&small, &few] {
        assert_eq!(compare(&usual, other).code, 1);
        assert_eq!(compare(other, &recording(LOG)).code, 1);
        assert_eq!(compare(other, other).code, 0);
    }
    let text = compare(&few, &recording(LOG)).stdout;
    assert!(
        text.contains("missing"),
        "the log has more launches: {text}"
    );
}

#[test]
fn an_experiment_that_one_result_lacks_is_a_difference_and_one_that_a_log_lacks_is_not() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let all = result(folder.path(), "all.json", &[]);
    let one = ["--experiment", "virtual-address-reuse"];
    let one = result(folder.path(), "one.json", &one);
    assert_eq!(compare(&all, &one).code, 1);
    assert_eq!(compare(&one, &recording(LOG)).code, 0);
    let other = ["--experiment", "size-mix"];
    let other = result(folder.path(), "other.json", &other);
    let ended = compare(&other, &recording(LOG));
    assert_eq!(ended.code, 1);
    assert!(
        ended.stdout.contains("no step is in both"),
        "{}",
        ended.stdout
    );
}

#[test]
fn quiet_shows_what_differs_alone() {
    let ended = bare()
        .args(&["compare", "--quiet"])
        .arg(recording(H200))
        .arg(recording(LOG))
        .ends();
    assert!(!ended.stdout.contains("equal"), "{}", ended.stdout);
    assert!(ended.stdout.contains("448 MiB"), "{}", ended.stdout);
}

#[test]
fn what_is_neither_result_nor_log_is_refused() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    compare(&manifest, &recording(H200)).refused_with(64, "not a result of this program");
    compare(Path::new("no/such"), &recording(H200)).refused_with(64, "cannot read no/such");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let log = folder.path().join("cut.txt");
    let text = fs::read_to_string(recording(LOG)).expect("the log");
    let cut = text.len() / 2;
    fs::write(&log, text.get(..cut).expect("a boundary")).expect("a file");
    compare(&recording(H200), &log).refused_with(64, "not a log of NVIDIA's sample");
}
