//! The notices of everything that is in a packed program: its crates, and the Rust standard
//! library.
//!
//! Their licences require it. `cargo metadata` says which crates are linked, and each crate
//! brings its licence texts in its folder; a crate without any is an error, so that none is
//! left out in silence.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::trouble::Trouble;

/// How the names of files with a licence or notice begin.
const TEXTS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// The notices of the standard library, below the sysroot.
const LIBRARY: &str = "share/doc/rust/COPYRIGHT-library.html";

/// A crate of the registry that is linked into a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    version: String,
    license: String,
    folder: PathBuf,
}

/// The notices of the crates that are linked into a workspace's package, as one text.
///
/// # Errors
///
/// When cargo cannot list the crates, or one has no licence text.
pub fn of_crates(root: &Path, package: &str) -> anyhow::Result<String> {
    let host = output(root, "rustc", &["-vV"])?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc -vV does not name its host")?;
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        host,
    ];
    let metadata = serde_json::from_str(&output(root, "cargo", &arguments)?)?;
    text(&linked(&metadata, package)?)
}

/// The notices of the standard library, which is linked into every program.
///
/// # Errors
///
/// When this toolchain does not have them.
pub fn of_standard_library(root: &Path) -> anyhow::Result<Vec<u8>> {
    let sysroot = output(root, "rustc", &["--print", "sysroot"])?;
    let file = Path::new(sysroot.trim()).join(LIBRARY);
    fs::read(&file).map_err(|error| {
        Trouble::new(
            format!("cannot read {}: {error}", file.display()),
            "use a toolchain of rustup, which brings the notices of the standard library",
        )
        .into()
    })
}

/// The crates that are linked, sorted: the package's dependencies and theirs, without those
/// for building and testing, and without macros, which run in the compiler.
fn linked(metadata: &Value, package: &str) -> anyhow::Result<BTreeSet<Linked>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (word(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (word(&node["id"]), node))
        .collect();
    let first = packages
        .iter()
        .find(|(_, found)| found["name"] == package && found["source"].is_null());
    let (first, _) = first.with_context(|| format!("the workspace has no package {package}"))?;
    let mut waiting = vec![first.clone()];
    let mut seen = BTreeSet::new();
    let mut linked = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let (Some(package), Some(node)) = (packages.get(&id), nodes.get(&id)) else {
            anyhow::bail!("cargo metadata does not describe {id}");
        };
        let is_macro = list(&package["targets"]).iter().any(|target| {
            list(&target["kind"])
                .iter()
                .any(|kind| kind == "proc-macro")
        });
        if !seen.insert(id) || is_macro {
            continue;
        }
        for dependency in list(&node["deps"]) {
            let kinds = list(&dependency["dep_kinds"]);
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                waiting.push(word(&dependency["pkg"]));
            }
        }
        if package["source"].is_null() {
            continue;
        }
        let manifest = PathBuf::from(word(&package["manifest_path"]));
        linked.insert(Linked {
            name: word(&package["name"]),
            version: word(&package["version"]),
            license: word(&package["license"]),
            folder: manifest
                .parent()
                .context("a manifest has a folder")?
                .to_owned(),
        });
    }
    Ok(linked)
}

/// A list of the crates, then each text once with the crates that it is of.
fn text(linked: &BTreeSet<Linked>) -> anyhow::Result<String> {
    let mut list = String::from("This program contains these crates:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in linked {
        let title = format!("{} {}", one.name, one.version);
        list += &format!("    {title}  {}\n", one.license);
        let mut files: Vec<PathBuf> = fs::read_dir(&one.folder)
            .with_context(|| format!("cannot read {}", one.folder.display()))?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && is_text(path))
            .collect();
        files.sort();
        anyhow::ensure!(
            !files.is_empty(),
            Trouble::new(
                format!(
                    "the crate {title} ({}) has no licence text in its folder",
                    one.license
                ),
                "add its text here, or use another crate",
            )
        );
        for file in files {
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let text = String::from_utf8_lossy(&bytes);
            let text = text.replace("\r\n", "\n").trim().to_owned();
            texts.entry(text).or_default().push(title.clone());
        }
    }
    // Those of most crates first.
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by_key(|(_, crates)| std::cmp::Reverse(crates.len()));
    for (text, crates) in texts {
        let rule = "-".repeat(80);
        list += &format!("\n{rule}\n{}:\n\n{text}\n", crates.join(", "));
    }
    Ok(list)
}

fn is_text(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_uppercase();
    TEXTS.iter().any(|start| name.starts_with(start))
}

fn output(root: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let named = std::env::var_os(program.to_uppercase());
    let output = Command::new(named.unwrap_or_else(|| program.into()))
        .current_dir(root)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    anyhow::ensure!(
        output.status.success(),
        "{program} {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(folder: &Path) -> Value {
        let package = |name: &str, source: &str, kind: &str| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT",
                "source": (!source.is_empty()).then_some(source),
                "manifest_path": folder.join(name).join("Cargo.toml"),
                "targets": [{ "kind": [kind] }],
            })
        };
        let depends = |on: &str, kind: Option<&str>| serde_json::json!({ "pkg": on, "dep_kinds": [{ "kind": kind }] });
        serde_json::json!({
            "packages": [
                package("ours", "", "bin"), package("a", "registry", "lib"),
                package("b", "registry", "lib"), package("macros", "registry", "proc-macro"),
                package("for-macros", "registry", "lib"), package("for-tests", "registry", "lib"),
            ],
            "resolve": { "nodes": [
                { "id": "ours", "deps": [
                    depends("a", None), depends("macros", None), depends("for-tests", Some("dev")),
                ] },
                { "id": "a", "deps": [depends("b", None), depends("ours", Some("build"))] },
                { "id": "b", "deps": [] },
                { "id": "macros", "deps": [depends("for-macros", None)] },
                { "id": "for-macros", "deps": [] },
                { "id": "for-tests", "deps": [] },
            ] },
        })
    }

    #[test]
    fn what_is_linked_is_listed_and_each_text_comes_once() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = made_up(folder.path());
        let crates = linked(&metadata, "ours").unwrap();
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        for (file, content) in [
            ("a/LICENSE-MIT", "the text\r\n"),
            ("a/NOTICE.md", "a notice"),
            ("b/COPYING", "the text\n"),
            ("b/README.md", "no licence"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let notices = text(&crates).unwrap();
        assert!(notices.contains("    b 1.0.0  MIT\n"), "{notices}");
        assert!(
            notices.contains("a 1.0.0, b 1.0.0:\n\nthe text\n"),
            "{notices}"
        );
        assert_eq!(notices.matches("the text").count(), 1);
        assert!(notices.contains("a notice") && !notices.contains("no licence"));
        fs::remove_file(folder.path().join("b/COPYING")).unwrap();
        let error = text(&crates).unwrap_err().to_string();
        assert!(
            error.contains("b 1.0.0 (MIT) has no licence text"),
            "{error}"
        );
    }
}
