//! The projects in `docs/ci.md`: the page contains their files unchanged, and their tests
//! pass with the library that cargo built for this test.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{command, library};

/// The files that the page contains, in its order.
const SHOWN: [&str; 14] = [
    "cpp/graph_test.cu",
    "cpp/requirements.txt",
    "cpp/test.sh",
    "cpp/workflow.yml",
    "python/test_graph.py",
    "python/requirements.txt",
    "python/test.sh",
    "python/workflow.yml",
    "rust/Cargo.toml",
    "rust/src/lib.rs",
    "rust/tests/cudarc.rs",
    "rust/tests/footprint.rs",
    "rust/test.sh",
    "rust/workflow.yml",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn projects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ci")
}

/// A copy of a project in a new folder, beside a link to this repository.
fn copy(project: &str) -> tempfile::TempDir {
    fn copy_into(from: &Path, to: &Path) {
        fs::create_dir(to).expect("the folder can be written");
        for entry in fs::read_dir(from).expect("the project is there") {
            let from = entry.expect("the project can be read").path();
            let to = to.join(from.file_name().expect("a file has a name"));
            if from.is_dir() {
                copy_into(&from, &to);
            } else {
                fs::copy(&from, &to).expect("a copy");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder for the project");
    copy_into(&projects().join(project), &folder.path().join("project"));
    std::os::unix::fs::symlink(root(), folder.path().join("graph-memory-footprint"))
        .expect("a link to the repository");
    folder
}

/// Installs the packages of a project's `requirements.txt` in a folder that is kept.
/// Without pip or a network connection, prints that and returns `None`; in CI that fails
/// the test.
fn packages(project: &str) -> Option<PathBuf> {
    let read = |file: &str| {
        let file = projects().join(project).join(file);
        fs::read_to_string(file).expect("the project says what it needs")
    };
    let locked = read("locked.txt");
    for wanted in read("requirements.txt").lines() {
        let is_locked = locked.lines().any(|line| line == format!("{wanted} \\"));
        assert!(is_locked, "{project}: {wanted} is not in locked.txt");
    }
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ci-{project}"));
    if fs::read_to_string(kept.join("installed.txt")).is_ok_and(|installed| installed == locked) {
        return Some(kept);
    }
    let _ = fs::remove_dir_all(&kept);
    let installed = Command::new("python3")
        .args(["-I", "-m", "pip", "install", "--quiet", "--retries=1"])
        .args(["--disable-pip-version-check", "--no-input"])
        .args([
            "--require-hashes",
            "--no-deps",
            "--only-binary=:all:",
            "--target",
        ])
        .arg(&kept)
        .arg("--requirement")
        .arg(projects().join(project).join("locked.txt"))
        .output();
    let problem = match installed {
        Ok(output) if output.status.success() => {
            fs::write(kept.join("installed.txt"), locked).expect("the folder can be written");
            return Some(kept);
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    assert!(std::env::var_os("CI").is_none(), "{project}: {problem}");
    eprintln!("skipped: the packages of {project} cannot be installed: {problem}");
    None
}

/// Runs a project's `test.sh` in the project's folder.
fn run(project: &str, packages: Option<&Path>) -> String {
    let folder = copy(project);
    let mut script = command("bash");
    script
        .arg("test.sh")
        .current_dir(folder.path().join("project"))
        .env("CUDART_MODEL", library())
        // A nested cargo builds in its own folder, which is kept, without debug information,
        // which takes longer than the code.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("ci-target"),
        )
        .envs(packages.map(|packages| ("PYTHONPATH", packages)));
    let output = script.output().expect("bash starts");
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&both).into_owned();
    assert!(output.status.success(), "{project}: {text}");
    text
}

fn has(program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound && std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {program} is not installed");
            false
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn the_cpp_project_passes() {
    if !has("python3") || !has("c++") {
        return;
    }
    if let Some(packages) = packages("cpp") {
        assert_eq!(run("cpp", Some(&packages)), "the graph holds 32 MiB\n");
    }
}

#[test]
fn the_python_project_passes() {
    if !has("python3") {
        return;
    }
    if let Some(packages) = packages("python") {
        let said = run("python", Some(&packages));
        assert!(
            said.contains("Ran 1 test in") && said.contains("\nOK\n"),
            "{said}"
        );
    }
}

#[test]
fn the_rust_project_passes() {
    let said = run("rust", None);
    for test in [
        "numbers_are_squared_twice",
        "buffers_that_follow_each_other_share_memory",
    ] {
        assert!(said.contains(&format!("test {test} ... ok")), "{said}");
    }
}

/// Each block of the page that names a file contains that file.
#[test]
fn the_page_contains_the_projects_unchanged() {
    let page = fs::read_to_string(root().join("docs/ci.md")).expect("the page is there");
    let mut blocks = page.split("\n```").skip(1).step_by(2);
    let mut shown = Vec::new();
    for block in &mut blocks {
        let (info, text) = block.split_once('\n').expect("a block has lines");
        let Some((_, file)) = info.split_once("not run: file ") else {
            continue;
        };
        let content = fs::read_to_string(projects().join(file)).expect("the file is there");
        assert_eq!(format!("{text}\n"), content, "{file}");
        shown.push(file.to_owned());
    }
    assert_eq!(shown, SHOWN);
}
