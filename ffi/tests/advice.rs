//! Compares the advice for every code with a committed text file, so that a changed
//! sentence shows in the diff as text.

use std::fmt::Write as _;
use std::path::Path;

use cudart_ffi::advice::{ADVICE, GENERAL, advice};
use cudart_ffi::{CONSTANTS, FUNCTIONS, cudaError_t};

const TABLE: &str = "tests/advice.txt";

fn as_text() -> String {
    let mut text = String::new();
    for line in ADVICE {
        let name = line
            .code
            .known_name()
            .unwrap_or("(newer than the table's oldest runtime)");
        let calls = match line.calls {
            [] => String::new(),
            calls => format!(" at {}", calls.join(", ")),
        };
        let _ = writeln!(text, "{} {name}{calls}\n    {}\n", line.code.0, line.text);
    }
    let _ = writeln!(text, "any other\n    {GENERAL}");
    text
}

/// `UPDATE_SNAPSHOTS=1 cargo test` writes the text file.
#[test]
fn the_sentences_are_those_of_the_committed_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let text = as_text();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    for (now, then) in text.lines().zip(committed.lines()) {
        assert_eq!(
            now, then,
            "{TABLE} differs; UPDATE_SNAPSHOTS=1 writes it anew"
        );
    }
    assert_eq!(text, committed, "{TABLE} has another length");
}

#[test]
fn every_error_of_the_table_has_its_own_advice() {
    for constant in CONSTANTS.iter().filter(|c| c.type_name == "cudaError_t") {
        let code = cudaError_t(i32::try_from(constant.value).unwrap());
        assert_ne!(advice(code, "cudaMalloc"), GENERAL, "{}", constant.name);
    }
}

#[test]
fn advice_for_single_calls_names_calls_of_the_table() {
    let driver = cudart_ffi::driver::DRIVER_FUNCTIONS;
    for call in ADVICE.iter().flat_map(|line| line.calls) {
        let known = FUNCTIONS.iter().chain(driver).any(|f| f.name == *call);
        assert!(known, "{call}");
    }
}

#[test]
fn r18_relaunch_with_a_live_allocation_is_explained_where_it_happens() {
    let at_launch = advice(cudaError_t::INVALID_VALUE, "cudaGraphLaunch");
    assert!(at_launch.contains("still live") && at_launch.contains("AutoFreeOnLaunch"));
    let elsewhere = advice(cudaError_t::INVALID_VALUE, "cudaEventRecord");
    assert!(!elsewhere.contains("AutoFreeOnLaunch"));
}

#[test]
fn an_unknown_code_gets_the_general_advice() {
    assert_eq!(advice(cudaError_t(-7), "cudaMalloc"), GENERAL);
    assert_eq!(advice(cudaError_t(123_456), ""), GENERAL);
}

#[test]
fn texts_are_single_lines_that_end_with_a_full_stop_and_all_are_reachable() {
    for (index, line) in ADVICE.iter().enumerate() {
        assert!(
            line.text.ends_with('.') && !line.text.contains('\n'),
            "{}",
            line.text
        );
        let earlier = &ADVICE[..index];
        let hidden = |call: &&str| {
            earlier
                .iter()
                .any(|e| e.code == line.code && e.calls.contains(call))
        };
        assert!(!line.calls.iter().any(hidden), "{}", line.text);
        assert!(
            !earlier
                .iter()
                .any(|e| e.code == line.code && e.calls.is_empty()),
            "{} comes after the text for all calls",
            line.text
        );
    }
}
