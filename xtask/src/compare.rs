//! `cargo xtask compare`: NVIDIA's compiled sample and this program on the same GPU,
//! their footprints step by step.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::host;
use crate::release;
use crate::trouble::Trouble;

/// Options of `cargo xtask compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// NVIDIA's sample graphMemoryFootprint, compiled.
    #[arg(long, value_name = "PATH")]
    pub sample: PathBuf,
    /// The graph-memory-footprint to run, instead of building it.
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Options for graph-memory-footprint, such as `--cudart PATH`.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    pub options: Vec<OsString>,
}

/// Runs both and compares; the exit code is that of the comparison, or of the run
/// that came to nothing.
///
/// # Errors
///
/// When one of them cannot be built, started or finished.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let program = release::program(args.program.as_deref(), root)?;
    let folder = host::target_folder(root).join("compare");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let log = folder.join("sample.txt");
    let result = folder.join("result.json");

    safe_io::write(&log, sample_output(&args.sample)?)?;
    // A run that fails leaves what was there: only this run's result is to be compared.
    if result.exists() {
        fs::remove_file(&result).with_context(|| format!("cannot remove {}", result.display()))?;
    }

    let mut ours = Command::new(&program);
    // On the model the comparison would say nothing about this GPU.
    if !args.options.iter().any(names_a_backend) {
        ours.args(["--backend", "cuda"]);
    }
    ours.args(&args.options)
        .args(["--format", "json", "--output"])
        .arg(&result);
    let code = host::exit_code(&mut ours)?;
    // A check that failed is no reason not to compare; a run without a result is.
    if fs::metadata(&result).map_or(true, |file| file.len() == 0) {
        return Ok(code);
    }
    println!(
        "the sample's output and this program's result are in {}\n",
        folder.display()
    );
    host::exit_code(Command::new(&program).arg("compare").arg(&log).arg(&result))
}

/// What the sample prints; it may have failed checks that it does not have, but it
/// must have ended well.
fn sample_output(sample: &Path) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(sample).output().map_err(|error| {
        Trouble::new(
            format!("cannot run {}: {error}", sample.display()),
            "compile NVIDIA's graphMemoryFootprint with nvcc, and give the binary's path",
        )
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no message");
        return Err(Trouble::new(
            format!("{} ended with {}: {last}", sample.display(), output.status),
            "run it directly; it needs a GPU and its driver",
        )
        .into());
    }
    Ok(output.stdout)
}

fn names_a_backend(option: &OsString) -> bool {
    let option = option.to_string_lossy();
    let named = ["--backend", "--model-profile", "--model-clock"];
    named.iter().any(|name| option.starts_with(name))
}
