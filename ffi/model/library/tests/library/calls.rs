//! Calls of functions that other programs use: their codes and effects must be those of an
//! H200.

use cudart_model::c_api::UNSUPPORTED;

use crate::nvcc::{fat_binary, recorded};
use crate::{command, linked, run};

/// For each kind of calls: the section of the program, the minimum number of compared
/// lines, and values that differ from those of the H200, with the reason. (`pools` was
/// recorded but is not compared, because only the default pools are simulated.)
const SECTIONS: [(&str, usize, &[&str]); 5] = [
    ("rows", 47, &[]),
    ("pointers", 100, &[]),
    // The number of registers of a kernel is in its machine code, which is not read.
    ("functions", 90, &["at.registers"]),
    // Edges cannot be added, and callbacks of streams are not called.
    ("graphs", 115, &["count"]),
    ("device", 38, &[]),
];

/// Every line must be equal, except for calls that are not simulated and the values after
/// them. A call that crashed on the H200 may return anything.
#[test]
fn calls_have_the_codes_and_effects_that_they_had_on_an_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "calls") else {
        return;
    };
    for (section, least, other) in SECTIONS {
        let mut calls = command(&program);
        calls.arg(section).arg(fat_binary("blocks"));
        let output = run(calls).expect("just built");
        let said = String::from_utf8(output.stdout).expect("text");
        let wanted = recorded(&format!("calls-{section}"));
        assert_eq!(said.lines().count(), wanted.lines().count(), "{section}");
        let mut compared = 0;
        let mut skipped = false;
        let mut any_skipped = false;
        for (said, wanted) in said.lines().zip(wanted.lines()) {
            // The next call counts its invocations.
            if wanted.starts_with("cudaStreamAddCallback") {
                break;
            }
            if !wanted.starts_with("  ") {
                let name = wanted.split('(').next().unwrap_or_default();
                // The last error may be that of a call that is not
                // simulated.
                let last_error = name == "cudaGetLastError" && any_skipped;
                skipped = UNSUPPORTED.contains(&name) || wanted.ends_with(" crashed") || last_error;
                any_skipped |= skipped;
            } else if other
                .iter()
                .any(|name| wanted.trim_start().starts_with(name))
            {
                continue;
            }
            if !skipped {
                assert_eq!(said, wanted, "{section}");
                compared += 1;
            }
        }
        assert!(compared >= least, "{section}: {compared} lines");
    }
}
