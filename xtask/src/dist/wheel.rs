//! `cargo xtask dist --wheel`: a Python wheel with the program, the watch library and the
//! simulated runtime, for Linux with glibc 2.17 or later.
//!
//! maturin makes the wheel; zig links against an old glibc, whatever this machine has. All
//! three tools are wheels themselves, of the list that `crate::wheels` keeps.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

use super::checksum;
use crate::host;
use crate::portable::Compiler;
use crate::trouble::Trouble;
use crate::{notices, wheels};

/// The oldest glibc that the wheel runs with, which is that of Rust's own libraries.
const GLIBC: &str = "2.17";

/// Packages whose libraries the wheel holds, and the libraries.
const LIBRARIES: [(&str, &str); 2] = [
    ("graph-memory-watch", "libgraph_memory_watch.so"),
    ("cudart-simulated", "libcudart_simulated.so"),
];

/// Writes the wheel below `target/dist`.
///
/// # Errors
///
/// On another system than Linux, and when a tool cannot be fetched or fails.
pub fn run(root: &Path, profile: &str, target: Option<&str>) -> anyhow::Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        return Err(Trouble::new(
            "the wheel is for Linux, and is built there",
            "build it on Linux; `cargo xtask dist` makes an archive here",
        )
        .into());
    }
    let target = target.map_or_else(
        || format!("{}-unknown-linux-gnu", env::consts::ARCH),
        str::to_owned,
    );
    let tools = Tools::fetch(root, &target)?;
    tools.build_libraries(root, &target, profile)?;
    let project = stage(root, &host::target_folder(root).join(&target).join(profile))?;
    let out = host::target_folder(root).join("dist");
    let mut maturin = tools.command(&tools.maturin);
    maturin
        .current_dir(&project)
        .args([
            "build",
            "--locked",
            "--zig",
            "--quiet",
            "--profile",
            profile,
        ])
        .args(["--target", &target])
        .args(["--compatibility", "manylinux_2_17"])
        .arg("--out")
        .arg(&out);
    finish(&mut maturin, "maturin")?;
    let wheel = newest_wheel(&out)?;
    println!("{}", wheel.display());
    println!("{}", checksum::write(&wheel)?.display());
    Ok(ExitCode::SUCCESS)
}

struct Tools {
    maturin: PathBuf,
    zigbuild: PathBuf,
    zig: PathBuf,
    compiler: Compiler,
}

impl Tools {
    fn fetch(root: &Path, target: &str) -> anyhow::Result<Self> {
        let compiler = Compiler::with_library(target).with_context(|| {
            Trouble::new(
                format!("no Rust compiler here has the standard library of {target}"),
                format!("`rustup target add {target}`, or omit --target"),
            )
        })?;
        let maturin = wheels::fetch(root, "maturin", None)?;
        let zigbuild = wheels::fetch(root, "cargo-zigbuild", None)?;
        let zig = wheels::fetch(root, "ziglang", None)?;
        Ok(Self {
            maturin: wheels::file(&maturin, "scripts/maturin")?,
            zigbuild: wheels::file(&zigbuild, "scripts/cargo-zigbuild")?,
            zig: wheels::file(&zig, "ziglang/zig")?,
            compiler,
        })
    }

    /// A tool that finds zig, and no flags that were meant for another build.
    fn command(&self, tool: &Path) -> Command {
        let mut command = Command::new(tool);
        command
            .env("CARGO_ZIGBUILD_ZIG_PATH", &self.zig)
            .env("CARGO", self.compiler.cargo_path())
            .env("RUSTC", self.compiler.rustc_path())
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .stdout(Stdio::from(std::io::stderr()));
        command
    }

    fn build_libraries(&self, root: &Path, target: &str, profile: &str) -> anyhow::Result<()> {
        let mut build = self.command(&self.zigbuild);
        build
            .current_dir(root)
            .args([
                "zigbuild",
                "--locked",
                "--quiet",
                "--profile",
                profile,
                "--target",
            ])
            .arg(format!("{target}.{GLIBC}"));
        for (package, _) in LIBRARIES {
            build.args(["--package", package]);
        }
        finish(&mut build, "cargo-zigbuild")
    }
}

/// The Python project with everything that goes into the wheel, in a folder of its own.
fn stage(root: &Path, built: &Path) -> anyhow::Result<PathBuf> {
    let project = host::target_folder(root).join("dist/python");
    if project.exists() {
        fs::remove_dir_all(&project)
            .with_context(|| format!("cannot empty {}", project.display()))?;
    }
    let put = |file: &str, content: &[u8]| -> anyhow::Result<()> {
        let path = project.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    };
    let source = root.join("host/python");
    for file in [
        "graph_memory_footprint/__init__.py",
        "graph_memory_footprint/__main__.py",
    ] {
        let content = fs::read(source.join(file)).with_context(|| format!("cannot read {file}"))?;
        put(file, &content)?;
    }
    // maturin reads this folder's pyproject.toml only if that file names the crate: given
    // as an argument, the crate's own folder is where it looks.
    let manifest = root.join("host/Cargo.toml");
    let manifest = manifest
        .to_str()
        .context("the path of the repository is not UTF-8")?;
    let mut settings = fs::read_to_string(source.join("pyproject.toml"))?;
    settings.push_str(&format!("manifest-path = {}\n", toml_string(manifest)));
    put("pyproject.toml", settings.as_bytes())?;
    // pip puts `data` into the environment: what lies in its `lib`, the program finds from
    // its `bin`.
    for (_, library) in LIBRARIES {
        let content =
            fs::read(built.join(library)).with_context(|| format!("cannot read {library}"))?;
        put(&format!("data/data/lib/{library}"), &content)?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let content = fs::read(root.join(licence))?;
        put(licence, &content)?;
    }
    let share = "data/data/share/doc/graph-memory-footprint";
    let crates = notices::of_crates(root, host::PACKAGE)?;
    put(&format!("{share}/crates.txt"), crates.as_bytes())?;
    let library = notices::of_standard_library(root)?;
    put(&format!("{share}/rust-standard-library.html"), &library)?;
    Ok(project)
}

/// A basic string of TOML: what JSON writes is one too.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn finish(command: &mut Command, tool: &str) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {tool}"))?;
    if status.success() {
        return Ok(());
    }
    Err(Trouble::new(
        format!("{tool} ended with {status}"),
        "see its messages above; `cargo xtask dist` makes an archive without it",
    )
    .into())
}

/// The wheel that was written last.
fn newest_wheel(folder: &Path) -> anyhow::Result<PathBuf> {
    let written = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).ok();
    fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .max_by_key(written)
        .context("maturin reported success but left no wheel")
}
