//! What variables, arguments and files say is shown as what it is.
#![cfg(unix)]

use std::process::Command;

const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{1b}[2Jb\u{1}\u{202e}c";

/// Runs a task; both streams have to show the hostile text, and do nothing.
fn shows(arguments: &[&str], variables: &[(&str, &str)]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).env_remove("CUDA_ROOT");
    for (name, value) in variables {
        command.env(name, value);
    }
    let ended = command.output().expect("xtask starts");
    let mut shown = String::new();
    for stream in [&ended.stdout, &ended.stderr] {
        let text = String::from_utf8_lossy(stream);
        let active = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(active), "{arguments:?}: {text:?}");
        shown += &text;
    }
    assert!(shown.contains(r"\u{1b}[2J"), "{arguments:?}: {shown}");
}

#[test]
fn hostile_text_is_shown_as_what_it_is() {
    let absolute = format!("/{HOSTILE}");
    let named: Vec<(&str, &str)> = ["CUDA_PATH", "LLVM_CONFIG", "LIBCLANG_PATH", "CXX"]
        .map(|name| (name, absolute.as_str()))
        .to_vec();
    shows(&["doctor"], &named);
    shows(&["doctor", "--json", HOSTILE], &[]);
    shows(&[HOSTILE], &[]);
    shows(&["kernel", "--with", HOSTILE], &[]);
    shows(&["dist", "--program", HOSTILE], &[]);
    shows(&["compare", "--sample", HOSTILE, "--program", "true"], &[]);
    shows(&["bench", "--kit", HOSTILE], &[]);
    shows(&["bench", "--json", &format!("{absolute}/x")], &[]);
}
