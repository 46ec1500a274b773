//! `cargo xtask portable`: builds the program for other systems and runs it there, under an
//! emulator, on the simulated GPU.
//!
//! What this machine's own program answers is what the others must answer: the experiments
//! are compared step by step, and plans byte by byte.

mod aarch64;
mod compiler;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use anyhow::Context;
use clap::ValueEnum;

use crate::host;
use crate::parallel;
use crate::release;
use crate::trouble::Trouble;
pub use compiler::Compiler;

/// Options of `cargo xtask portable`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Only this system; may be given more than once.
    #[arg(long, value_enum, value_name = "SYSTEM")]
    only: Vec<System>,
}

const HELP: &str = "\
aarch64 needs: a Rust compiler with the standard library of aarch64-unknown-linux-gnu
(`rustup target add`, or Debian's rustc-web with libstd-rust-web-dev:arm64),
aarch64-linux-gnu-gcc, libc6-dev-arm64-cross, qemu-aarch64 (qemu-user).
windows needs: a Rust compiler with the standard library of x86_64-pc-windows-gnu, or with
the source of the standard library (rust-web-src), gcc-mingw-w64-x86-64, wine64.

A system whose tools are missing is skipped with the reason. Where the variable CI is set,
a skipped system is a failure.";

/// A system to build for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    /// Linux on 64-bit ARM, as on Grace Hopper and Jetson, under qemu.
    Aarch64,
    /// 64-bit Windows, under wine.
    Windows,
}

/// How a check of one system ended.
#[derive(Debug)]
enum Outcome {
    /// Everything was as on this machine.
    Passed,
    /// A tool is missing: which, and how to get it.
    Skipped(String),
}

/// The program of another system, and how to start it.
struct Foreign<'a> {
    /// The emulator and its options, then the program.
    command: Vec<PathBuf>,
    /// The program of this machine.
    native: &'a Path,
    /// The repository.
    root: &'a Path,
    /// A folder for files.
    scratch: &'a Path,
}

/// Builds and checks the systems. Exit code 1 if a check failed, and in CI if a system was
/// skipped.
///
/// # Errors
///
/// A program that does not build or that answers differently.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let native = release::program(None, root)?;
    let wanted = |system: &System| args.only.is_empty() || args.only.contains(system);
    let systems: Vec<System> = [System::Aarch64, System::Windows]
        .into_iter()
        .filter(wanted)
        .collect();
    // wine waits for most of its time.
    let outcomes = parallel::map(&systems, |system| {
        let scratch = tempfile::tempdir().context("cannot create a folder for files")?;
        match system {
            System::Aarch64 => aarch64::check(root, &native, scratch.path()),
            System::Windows => windows::check(root, &native, scratch.path()),
        }
    });
    let mut skipped = false;
    for (system, outcome) in systems.iter().zip(outcomes) {
        let name = match system {
            System::Aarch64 => "aarch64 Linux under qemu",
            System::Windows => "Windows under wine",
        };
        match outcome? {
            Outcome::Passed => println!("ok       {name}"),
            Outcome::Skipped(why) => {
                println!("SKIPPED  {name}: {why}");
                skipped = true;
            }
        }
    }
    let fails = skipped && std::env::var_os("CI").is_some();
    Ok(ExitCode::from(u8::from(fails)))
}

impl Outcome {
    fn missing(what: &str) -> Self {
        Self::Skipped(format!("{what} is missing; see --help"))
    }
}

impl Foreign<'_> {
    /// Every check that does not depend on the system.
    fn answers_like_this_machine(&self) -> anyhow::Result<()> {
        self.runs_the_experiments()?;
        self.plans()?;
        self.keeps_its_input()?;
        self.says_that_there_is_no_cuda()
    }

    /// The four experiments pass, and every step has the same memory as on this machine.
    fn runs_the_experiments(&self) -> anyhow::Result<()> {
        let experiments = ["--backend", "simulated", "--format", "json", "--output"];
        let files = ["native.json", "foreign.json"].map(|name| self.scratch.join(name));
        for (program, file) in [self.native(), self.foreign()].into_iter().zip(&files) {
            succeeds(
                { program }
                    .current_dir(self.scratch)
                    .args(experiments)
                    .arg(name_of(file)),
            )?;
        }
        succeeds(self.native().args(["compare", "--quiet"]).args(&files))?;
        Ok(())
    }

    /// A plan of each dump has the same text as on this machine, and as a page it is whole.
    fn plans(&self) -> anyhow::Result<()> {
        for dump in ["one.dot", "kinds-13.0.dot"] {
            let source = self.root.join("host/plan/tests/data/dot").join(dump);
            fs::copy(&source, self.scratch.join(dump))
                .with_context(|| format!("cannot copy {}", source.display()))?;
            let texts = [self.native(), self.foreign()].map(|mut program| {
                let plan = [
                    "plan",
                    dump,
                    "--report",
                    "plan.html",
                    "--output",
                    "plan.txt",
                ];
                succeeds(program.current_dir(self.scratch).args(plan))?;
                let text = fs::read_to_string(self.scratch.join("plan.txt"))?;
                let page = fs::read_to_string(self.scratch.join("plan.html"))?;
                anyhow::ensure!(page.trim_end().ends_with("</html>"), "the page is cut off");
                Ok((text, page))
            });
            let [native, foreign] = texts;
            anyhow::ensure!(
                native? == foreign?,
                "the plan of {dump} differs from this machine's"
            );
        }
        Ok(())
    }

    /// An output that is also an input is refused, and stays as it is.
    fn keeps_its_input(&self) -> anyhow::Result<()> {
        let dump = self.scratch.join("one.dot");
        let before = fs::read(&dump)?;
        let ended = self
            .foreign()
            .current_dir(self.scratch)
            .args(["plan", "one.dot", "--output", "./one.dot"])
            .output()?;
        anyhow::ensure!(
            ended.status.code() == Some(64) && fs::read(&dump)? == before,
            "an input was overwritten: {}",
            shown(&ended)
        );
        Ok(())
    }

    /// Without a CUDA runtime it says that none was found.
    fn says_that_there_is_no_cuda(&self) -> anyhow::Result<()> {
        let ended = self
            .foreign()
            .current_dir(self.scratch)
            .args(["--backend", "cuda"])
            .output()?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        anyhow::ensure!(
            ended.status.code() == Some(2) && said.contains("no CUDA runtime library"),
            "without CUDA it ended otherwise: {}",
            shown(&ended)
        );
        Ok(())
    }

    fn native(&self) -> Command {
        Command::new(self.native)
    }

    fn foreign(&self) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or(Path::new(""), PathBuf::as_path));
        command.args(words);
        command
    }
}

/// The file's name alone: an emulator has other paths.
fn name_of(file: &Path) -> &Path {
    file.file_name().map_or(file, Path::new)
}

/// Runs a command that must succeed.
fn succeeds(command: &mut Command) -> anyhow::Result<Output> {
    let ended = command
        .output()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    anyhow::ensure!(
        ended.status.success(),
        "{command:?} failed: {}",
        shown(&ended)
    );
    Ok(ended)
}

fn shown(ended: &Output) -> String {
    format!(
        "{}\n{}{}",
        ended.status,
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    )
}

/// A program in the folders of `PATH`, or at one of these paths.
fn tool(name: &str, others: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    let others = others.iter().map(PathBuf::from);
    in_path.chain(others).find(|file| file.is_file())
}

/// Builds for a target, into a folder of its own: `cargo COMMAND`.
fn build(
    compiler: &Compiler,
    root: &Path,
    target: &str,
    linker: &Path,
    command: &[&str],
) -> anyhow::Result<PathBuf> {
    // A folder for each target: the variable with which the standard library is built from its
    // source would make macros that both share be built again.
    let into = host::target_folder(root).join("portable").join(target);
    let linker_of = target.to_uppercase().replace('-', "_");
    let mut cargo = compiler.cargo(root);
    cargo
        .args(command)
        .args(["--quiet", "--target", target])
        .env("CARGO_TARGET_DIR", &into)
        .env(format!("CARGO_TARGET_{linker_of}_LINKER"), linker)
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    let status = cargo.status().context("cannot start cargo")?;
    anyhow::ensure!(
        status.success(),
        Trouble::new(
            format!("the program does not build for {target}"),
            "see the compiler's messages above",
        )
    );
    Ok(into.join(target).join("debug"))
}
