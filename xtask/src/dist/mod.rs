//! `cargo xtask dist`: one archive with the program, the watch library, the simulated
//! runtime, completions, manual pages, schemas, licences, and the notices of what is linked
//! into it; and a file with its SHA-256 beside it.

mod checksum;
mod wheel;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use safe_io::Outputs;

use crate::host;
use crate::notices;
use crate::release;
use crate::trouble::Trouble;

/// Options of `cargo xtask dist`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The archive; by default in target/dist, named by version and platform.
    #[arg(long, value_name = "FILE.tar.gz")]
    pub output: Option<PathBuf>,
    /// The graph-memory-footprint to run, instead of building it.
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Make a Python wheel for Linux with glibc 2.17 or later, instead of the archive.
    #[arg(long, conflicts_with_all = ["output", "program"])]
    pub wheel: bool,
    /// Build the wheel for this target, such as aarch64-unknown-linux-gnu, instead of this
    /// machine's.
    #[arg(long, requires = "wheel", value_name = "TARGET")]
    pub target: Option<String>,
    /// Build the wheel with this profile; `quick` builds in a minute what is only tried.
    #[arg(
        long,
        default_value = "release",
        requires = "wheel",
        value_name = "PROFILE"
    )]
    pub profile: String,
}

/// Shells, as the program names them, with the file that each looks for.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "graph-memory-footprint.bash"),
    ("zsh", "_graph-memory-footprint"),
    ("fish", "graph-memory-footprint.fish"),
    ("powershell", "_graph-memory-footprint.ps1"),
];

/// Subcommands with a manual page of their own.
const MANUALS: [&str; 7] = [
    "calibrate",
    "compare",
    "completions",
    "explain",
    "plan",
    "show",
    "watch",
];

/// Files of the repository that belong in it; those that end in `?` may be missing.
const FILES: [&str; 7] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md?",
    "CHANGELOG.md?",
    "host/schema/plan-v2.schema.json",
    "host/schema/result-v3.schema.json",
    "host/schema/watch-v1.schema.json",
];

/// Writes the archive.
///
/// # Errors
///
/// When the program cannot be built or run, or a file cannot be written.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    if args.wheel {
        return wheel::run(root, &args.profile, args.target.as_deref());
    }
    let program = release::program(args.program.as_deref(), root)?;
    let outputs = Outputs::new([&program]);
    let archive = match &args.output {
        Some(archive) => Some(outputs.open(archive)?),
        None => None,
    };
    let version = said(&program, &["--version"])?;
    let version = version
        .split_whitespace()
        .last()
        .unwrap_or("unknown")
        .to_owned();
    let name = format!(
        "{}-{version}-{}-{}",
        host::PACKAGE,
        env::consts::ARCH,
        env::consts::OS
    );
    let stage = host::target_folder(root).join("dist").join(&name);
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot empty {}", stage.display()))?;
    }
    let put = |file: &str, content: &[u8]| -> anyhow::Result<()> {
        let path = stage.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    };

    for (shell, file) in COMPLETIONS {
        let text = said(&program, &["completions", shell])?;
        put(&format!("completions/{file}"), text.as_bytes())?;
    }
    put(
        &format!("man/{}.1", host::PACKAGE),
        said(&program, &["manual"])?.as_bytes(),
    )?;
    for subcommand in MANUALS {
        let text = said(&program, &["manual", subcommand])?;
        put(
            &format!("man/{}-{subcommand}.1", host::PACKAGE),
            text.as_bytes(),
        )?;
    }
    for file in FILES {
        let (file, optional) = match file.strip_suffix('?') {
            Some(file) => (file, true),
            None => (file, false),
        };
        let inside = file.strip_prefix("host/").unwrap_or(file);
        match fs::read(root.join(file)) {
            Ok(content) => put(inside, &content)?,
            Err(_) if optional => println!("left out, because it does not exist: {file}"),
            Err(error) => return Err(error).with_context(|| format!("cannot read {file}")),
        }
    }
    put(
        "notices/crates.txt",
        notices::of_crates(root, host::PACKAGE)?.as_bytes(),
    )?;
    put(
        "notices/rust-standard-library.html",
        &notices::of_standard_library(root)?,
    )?;
    let binary = stage
        .join(host::PACKAGE)
        .with_extension(env::consts::EXE_EXTENSION);
    // A copy keeps the permission to run it.
    fs::copy(&program, &binary).with_context(|| format!("cannot copy {}", program.display()))?;
    for library in release::libraries() {
        let built = program.with_file_name(&library);
        if !built.is_file() {
            return Err(Trouble::new(
                format!("there is no {}", built.display()),
                "build it with `cargo build --release`, and put it beside the program",
            )
            .into());
        }
        fs::copy(&built, stage.join(&library))
            .with_context(|| format!("cannot copy {}", built.display()))?;
    }

    let packed = pack(&stage, &name)?;
    let place = match &args.output {
        Some(archive) => std::path::absolute(archive)?,
        None => stage.with_file_name(format!("{name}.tar.gz")),
    };
    let mut archive = match archive {
        Some(archive) => archive,
        None => outputs.open(&place)?,
    };
    archive.write_all(&packed)?;
    outputs.commit()?;
    println!("{} ({} KiB)", place.display(), packed.len().div_ceil(1024));
    println!("{}", checksum::write(&place)?.display());
    Ok(ExitCode::SUCCESS)
}

/// What the program prints with these arguments.
fn said(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        return Err(Trouble::new(
            format!("{} {} failed", program.display(), arguments.join(" ")),
            "run it directly to see why",
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// By the system's tar: every system that this runs on has one, and a crate for it
/// and for gzip would be built before each task of ours.
fn pack(stage: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let parent = stage.parent().context("the stage has a folder")?;
    let output = Command::new("tar")
        .args(["-cz", "-C"])
        .arg(parent)
        .arg(name)
        .stderr(Stdio::inherit())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(Trouble::new(
            format!("tar ended with {}", output.status),
            "see its message above",
        )
        .into()),
        Err(error) => Err(Trouble::new(
            format!("cannot start tar: {error}"),
            "install tar; the files themselves are in target/dist",
        )
        .into()),
    }
}
