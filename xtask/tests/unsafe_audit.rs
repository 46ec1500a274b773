//! Where `unsafe` may be written. That each block has its SAFETY line is clippy's
//! part (`undocumented_unsafe_blocks`); that the lint is on everywhere, and that
//! the host has unsafe code in its CUDA layer only, is checked here.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The lines that have the keyword outside of comments, counted from 1.
fn unsafe_lines(source: &str) -> Vec<usize> {
    let is_keyword = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "unsafe")
    };
    let numbered = source.lines().zip(1..);
    numbered
        .filter(|(line, _)| is_keyword(line))
        .map(|(_, number)| number)
        .collect()
}

#[test]
fn the_audit_sees_the_keyword_and_nothing_else() {
    let source = "\
let a = unsafe { b() }; // why
// unsafe in a comment
#![deny(unsafe_op_in_unsafe_fn)]
pub unsafe fn c() {}
let not_unsafe = 1;
";
    assert_eq!(unsafe_lines(source), [1, 4]);
}

#[test]
fn the_host_has_unsafe_code_in_its_cuda_layer_only() {
    let host = root().join("host/src");
    let layer = host.join("cuda");
    let mut outside = Vec::new();
    let mut inside = 0;
    for path in rust_files(&host) {
        let lines = unsafe_lines(&fs::read_to_string(&path).unwrap());
        if path.starts_with(&layer) {
            inside += lines.len();
        } else {
            outside.extend(lines.iter().map(|n| format!("{}:{n}", path.display())));
        }
    }
    assert_eq!(outside, Vec::<String>::new());
    assert!(
        inside > 0,
        "the audit finds no unsafe code at all: it looks in the wrong place"
    );
}

#[test]
fn every_member_has_the_workspaces_lints() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for lint in [
        "undocumented_unsafe_blocks = \"deny\"",
        "unsafe_op_in_unsafe_fn = \"deny\"",
    ] {
        assert!(manifest.contains(lint), "{lint}");
    }
    for member in ["ffi", "ffi/model", "host", "xtask"] {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{member}");
    }
}
