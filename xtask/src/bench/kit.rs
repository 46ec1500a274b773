//! The programs that a bench run needs: built here, or carried in a folder to a
//! machine that has a GPU and no Rust.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use safe_io::Outputs;
use serde_json::Value;

use crate::kernel;
use crate::trouble::Trouble;

/// The program that runs the experiments.
const EXPERIMENTS: &str = "graph-memory-footprint";
/// The Rust side of the comparison.
const OURS: &str = "graph-memory-bench";
/// The model runtime as a library.
const MODEL: &str = "libcudart_simulated.so";
/// The library that `watch` preloads, found beside the program that runs the experiments.
const WATCH: &str = "libgraph_memory_watch.so";
/// The PyTorch program that is watched.
const TRAINING: &str = "training_step.py";
/// The C++ side's source.
const COUNTERPART: &str = "counterpart.cpp";
/// The kernel for the C++ side.
const KERNEL: &str = "clock_block.ptx";

/// The programs and sources of a run.
#[derive(Debug, Clone)]
pub struct Kit {
    /// Runs the experiments.
    pub experiments: PathBuf,
    /// Answers operations through the safe layer.
    pub ours: PathBuf,
    /// The model runtime as a library.
    pub model: PathBuf,
    /// The library that `watch` preloads.
    pub watch: PathBuf,
    /// The PyTorch program that is watched.
    pub training: PathBuf,
    /// The C++ side's source.
    pub counterpart: PathBuf,
    /// The kernel for the C++ side; ours has it embedded.
    pub kernel: PathBuf,
    /// The repository, if this is not a carried folder.
    pub root: Option<PathBuf>,
}

impl Kit {
    /// Builds the programs in release.
    ///
    /// # Errors
    ///
    /// When cargo fails; its own output went to standard error.
    pub fn build(root: &Path) -> anyhow::Result<Self> {
        // In one call, so that what they share is built once.
        let made = cargo_build(
            root,
            &[
                "--package",
                EXPERIMENTS,
                "--package",
                "cudart-simulated",
                "--package",
                "graph-memory-watch",
            ],
            &["--bin", EXPERIMENTS, "--bin", OURS, "--lib"],
        )?;
        let named = |wanted: &dyn Fn(&str) -> bool, what: &str| {
            made.iter()
                .find(|path| {
                    path.file_name()
                        .and_then(|n| n.to_str())
                        .is_some_and(wanted)
                })
                .cloned()
                .with_context(|| format!("cargo built no {what}"))
        };
        let program = |wanted: &'static str| {
            move |name: &str| name.strip_suffix(env::consts::EXE_SUFFIX) == Some(wanted)
        };
        Ok(Self {
            experiments: named(&program(EXPERIMENTS), EXPERIMENTS)?,
            ours: named(&program(OURS), OURS)?,
            model: named(&|name| name == MODEL, MODEL)?,
            watch: named(&|name| name == WATCH, WATCH)?,
            training: root.join("host/benches").join(TRAINING),
            counterpart: root.join("host/benches").join(COUNTERPART),
            kernel: root.join(kernel::EMBEDDED),
            root: Some(root.to_owned()),
        })
    }

    /// The programs of a folder that [`pack`](Self::pack) filled.
    ///
    /// # Errors
    ///
    /// Names the first that is not there.
    pub fn unpack(folder: &Path) -> anyhow::Result<Self> {
        let file = |name: &str| {
            let path = folder.join(name);
            anyhow::ensure!(
                path.is_file(),
                Trouble::new(
                    format!("{} has no {name}", folder.display()),
                    "fill it with `cargo xtask bench --pack DIR`",
                )
            );
            // Programs are started from other folders too.
            path.canonicalize()
                .with_context(|| format!("cannot find {}", path.display()))
        };
        Ok(Self {
            experiments: file(EXPERIMENTS)?,
            ours: file(OURS)?,
            model: file(MODEL)?,
            watch: file(WATCH)?,
            training: file(TRAINING)?,
            counterpart: file(COUNTERPART)?,
            kernel: file(KERNEL)?,
            root: None,
        })
    }

    /// Copies everything that a run needs, this program included, into a folder.
    ///
    /// # Errors
    ///
    /// Those of copying.
    pub fn pack(&self, folder: &Path) -> anyhow::Result<()> {
        let this = env::current_exe().context("cannot find the path of this program")?;
        let files = [
            (&self.experiments, EXPERIMENTS),
            (&self.ours, OURS),
            (&self.model, MODEL),
            (&self.watch, WATCH),
            (&self.training, TRAINING),
            (&self.counterpart, COUNTERPART),
            (&self.kernel, KERNEL),
            (&this, "xtask"),
        ];
        let outputs = Outputs::new(files.map(|(from, _)| from));
        for (from, name) in files {
            let bytes =
                fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
            outputs.open_in(folder, name)?.write_all(&bytes)?;
        }
        outputs.commit()?;
        for (from, name) in files {
            // Programs stay programs.
            fs::set_permissions(folder.join(name), fs::metadata(from)?.permissions())?;
        }
        Ok(())
    }
}

/// Builds, and returns the programs and libraries that were made.
fn cargo_build(root: &Path, packages: &[&str], targets: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let cargo: OsString = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args([
            "build",
            "--release",
            "--message-format=json-render-diagnostics",
        ])
        .args(packages)
        .args(targets)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        Trouble::new("cargo could not build the programs", "see its words above")
    );
    Ok(artifacts(&String::from_utf8_lossy(&output.stdout)))
}

/// The files that cargo's messages name as made: programs, and shared libraries.
fn artifacts(messages: &str) -> Vec<PathBuf> {
    let made = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact");
    made.flat_map(|message| {
        let program = message["executable"].as_str().map(PathBuf::from);
        let files = message["filenames"].as_array().cloned().unwrap_or_default();
        let libraries = files
            .iter()
            .filter_map(|file| file.as_str())
            .map(PathBuf::from)
            .filter(|file| file.extension().is_some_and(|ext| ext == "so"))
            .collect::<Vec<_>>();
        program.into_iter().chain(libraries)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_libraries_are_read_off_cargo_s_messages() {
        let messages = r#"
{"reason":"compiler-artifact","executable":null,"filenames":["/t/release/libcudart_simulated.so","/t/release/libcudart_simulated.rlib"]}
{"reason":"compiler-artifact","executable":"/t/release/graph-memory-bench","filenames":["/t/release/graph-memory-bench"]}
{"reason":"build-finished","success":true}
warning: not JSON"#;
        assert_eq!(
            artifacts(messages),
            [
                PathBuf::from("/t/release/libcudart_simulated.so"),
                PathBuf::from("/t/release/graph-memory-bench"),
            ]
        );
    }

    #[test]
    fn a_packed_folder_is_all_that_is_needed_and_a_gap_in_it_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let path = scratch.path().join(name);
            fs::write(&path, name).unwrap();
            path
        };
        let kit = Kit {
            experiments: made("e"),
            ours: made("o"),
            model: made("m"),
            watch: made("w"),
            training: made("t"),
            counterpart: made("c"),
            kernel: made("k"),
            root: None,
        };
        let folder = scratch.path().join("kit");
        kit.pack(&folder).unwrap();
        kit.pack(&folder).unwrap();
        let carried = Kit::unpack(&folder).unwrap();
        assert_eq!(fs::read_to_string(&carried.ours).unwrap(), "o");
        assert!(folder.join("xtask").is_file());
        fs::remove_file(folder.join(COUNTERPART)).unwrap();
        let error = Kit::unpack(&folder).unwrap_err().to_string();
        assert!(error.contains("no counterpart.cpp"), "{error}");
        assert!(error.contains("--pack"), "{error}");
    }
}
