//! The stable workspace stays free of CUDA at build time: nothing in it
//! reaches the crates that read CUDA headers or link libNVVM.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What a dependency on rust-cuda would bring.
const FENCED_OUT: [&str; 5] = ["cuda_builder", "cuda_std", "nvvm", "cust_raw", "bindgen"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every package that the stable workspace can reach, with all features.
fn reachable() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--locked",
        ])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_stable_workspace_reaches_no_cuda_at_build_time() {
    let metadata = reachable();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    assert!(names.contains("xtask"), "cargo metadata lists {names:?}");
    for name in FENCED_OUT {
        assert!(!names.contains(name), "the stable workspace reaches {name}");
    }
    for package in packages {
        let source = package["source"].as_str().unwrap_or("registry");
        assert!(
            source.starts_with("registry"),
            "{} comes from {source}",
            package["name"]
        );
        // `links` is how a package says that it links a native library.
        let links = package["links"].as_str().unwrap_or_default();
        assert!(
            !links.contains("cuda") && !links.contains("nvvm"),
            "{}",
            package["name"]
        );
    }
}

#[test]
fn the_fenced_names_are_those_that_rust_cuda_really_brings() {
    let lock = std::fs::read_to_string(repository().join("kernels-rs/Cargo.lock")).unwrap();
    for name in FENCED_OUT {
        assert!(
            lock.contains(&format!("\nname = \"{name}\"\n")),
            "{name} is not in the lock file"
        );
    }
}

#[test]
fn rust_cuda_is_pinned_to_one_revision_by_its_public_address() {
    let read = |file: &str| std::fs::read_to_string(repository().join(file)).unwrap();
    let manifest = read("kernels-rs/Cargo.toml");
    let pins: BTreeSet<&str> = manifest
        .split("rev = \"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(
        pins.len(),
        1,
        "cuda_builder and cuda_std are of different revisions: {pins:?}"
    );
    let revision = pins.first().unwrap();
    assert_eq!(revision.len(), 40, "{revision} is not a full hash");

    let lock = read("kernels-rs/Cargo.lock");
    let public = format!("git+https://github.com/Rust-GPU/rust-cuda?rev={revision}#{revision}");
    let from_git: BTreeSet<&str> = lock
        .lines()
        .filter_map(|line| line.strip_prefix("source = \"git+"))
        .map(|rest| rest.trim_end_matches('"'))
        .collect();
    assert_eq!(
        from_git,
        BTreeSet::from([public.strip_prefix("git+").unwrap()])
    );
    // glam from 0.33 on does not compile in cuda_std, which bounds it only below.
    assert!(lock.contains("name = \"glam\"\nversion = \"0.30.9\"\n"));
}

/// Licences of crates that may be linked into what is packed; `cargo xtask dist` adds their
/// texts.
const LICENCES: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "Unicode-3.0",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "CC0-1.0",
    "MIT-0",
    "Unlicense",
];

/// Whether a crate may be used: one of the alternatives of its SPDX expression consists of
/// allowed licences.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" OR ").any(|alternative| {
        alternative.split(" AND ").all(|licence| {
            let licence = licence.trim();
            let licence = licence.split(" WITH ").next().unwrap_or(licence);
            LICENCES.contains(&licence)
        })
    })
}

#[test]
fn every_crate_has_a_licence_that_may_be_packed() {
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR MIT"));
    assert!(!is_allowed("GPL-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    let metadata = reachable();
    let packages = metadata["packages"].as_array().unwrap();
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(package["license"].as_str().unwrap_or("none")))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert_eq!(refused, Vec::<String>::new());
}

/// What cargo builds with these arguments: names and versions, with their features.
fn built_for(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["tree", "--locked"])
        .args(arguments)
        .args(["--edges", "normal,build", "--no-dedupe", "--prefix", "none"])
        .args(["--format", "{p}[{f}]"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {stderr}");
    let mut built = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (package, features) = line.split_once('[').unwrap();
        built
            .entry(package.to_owned())
            .or_default()
            .insert(features.to_owned());
    }
    built
}

/// A first `cargo xtask run` builds xtask, then the program: a crate that both need with
/// different features would be compiled twice.
#[test]
fn xtask_and_the_program_build_what_both_need_once() {
    let (xtask, program) = (
        built_for(&["--package", "xtask", "--no-default-features"]),
        built_for(&["--package", "graph-memory-footprint"]),
    );
    let shared: Vec<&String> = xtask
        .keys()
        .filter(|name| program.contains_key(*name))
        .collect();
    assert!(shared.len() > 20, "{shared:?}");
    let twice: Vec<_> = shared
        .into_iter()
        .filter(|name| xtask[*name] != program[*name])
        .map(|name| (name, &xtask[name], &program[name]))
        .collect();
    assert!(twice.is_empty(), "{twice:#?}");
}
