//! Counts the instructions of the experiments on the simulated GPU with valgrind, and
//! compares them with the committed counts. Times vary on a machine that other programs
//! use; a count is the same for the same program.
//!
//! gungraun (before, iai-callgrind) would do this with its runner installed beside it, in
//! the same version, and compares a run with the one before it on this machine, not with
//! committed counts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::kit::Kit;
use crate::trouble::Trouble;

/// The committed counts.
const KEPT: &str = "host/benches/instructions.json";

/// Launches in the two runs whose difference is what a launch executes.
const LAUNCHES: [u64; 2] = [1_000, 3_000];
/// Graphs in the two runs whose difference is what a graph's life executes.
const LIVES: [u64; 2] = [500, 1_500];

/// The counts of one program on one kind of machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// What compiled it.
    rustc: String,
    /// The architecture and system.
    target: String,
    /// How much more is let pass; less is always welcome.
    tolerance_percent: f64,
    /// The counts.
    instructions: Counts,
}

/// Instructions executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    /// By the whole run of the four experiments.
    whole_run: u64,
    /// By one launch of a graph that has run, the model's part included.
    launch: u64,
    /// By a graph's creation, instantiation and destruction.
    life: u64,
}

impl Counts {
    fn named(&self) -> [(&'static str, u64); 3] {
        [
            ("the four experiments", self.whole_run),
            ("one launch", self.launch),
            ("one graph's life", self.life),
        ]
    }
}

/// Counts, and compares the counts with the committed ones or commits them.
///
/// # Errors
///
/// When a program fails or the file cannot be read or written. Without valgrind, or
/// on a machine of another kind than the one that was kept, it says so and passes.
pub fn run(root: &Path, bless: bool) -> anyhow::Result<ExitCode> {
    let version = Command::new("valgrind").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("skipped: valgrind, which counts the instructions, is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let path = root.join(KEPT);
    let here = (rustc_version(), target());
    let kept = match fs::read_to_string(&path) {
        Ok(text) => Some(
            serde_json::from_str::<Kept>(&text)
                .with_context(|| format!("cannot read {}", path.display()))?,
        ),
        Err(_) if bless => None,
        Err(error) => {
            return Err(Trouble::new(
                format!("cannot read {}: {error}", path.display()),
                "commit the counts of this machine with --instructions --bless",
            )
            .into());
        }
    };
    if let Some(kept) = &kept
        && !bless
        && (&kept.rustc, &kept.target) != (&here.0, &here.1)
    {
        println!(
            "skipped: the committed counts are from {} on {}, and this is {} on {}",
            kept.rustc, kept.target, here.0, here.1
        );
        return Ok(ExitCode::SUCCESS);
    }
    let counts = count(&Kit::build(root)?)?;
    if bless {
        let kept = Kept {
            rustc: here.0,
            target: here.1,
            tolerance_percent: kept
                .as_ref()
                .map_or(DEFAULT_TOLERANCE_PERCENT, |kept| kept.tolerance_percent),
            instructions: counts,
        };
        let text = serde_json::to_string_pretty(&kept)?;
        safe_io::write(&path, text + "\n")?;
        println!("written to {KEPT}");
    }
    let kept = kept.filter(|_| !bless);
    let mut more = 0;
    for (index, (name, counted)) in counts.named().into_iter().enumerate() {
        let before = kept.as_ref().and_then(|kept| {
            Some((
                kept.instructions.named().get(index)?.1,
                kept.tolerance_percent,
            ))
        });
        let (line, is_more) = verdict(name, counted, before);
        println!("{line}");
        more += u8::from(is_more);
    }
    if more > 0 {
        println!(
            "  try: find out what the change added (callgrind_annotate); if it is needed, \
             commit the new counts with `cargo xtask bench --instructions --bless`"
        );
    }
    Ok(ExitCode::from(u8::from(more > 0)))
}

/// How much more is let pass where nothing was kept: hashes are seeded anew in each
/// run, and paths and the environment differ in length.
const DEFAULT_TOLERANCE_PERCENT: f64 = 5.0;

/// The line of one count, and whether it is more than is let pass.
fn verdict(name: &str, counted: u64, before: Option<(u64, f64)>) -> (String, bool) {
    let Some((before, tolerance)) = before else {
        return (format!("      {name}: {counted} instructions"), false);
    };
    let change = (counted as f64 / before as f64 - 1.0) * 100.0;
    let is_more = change.is_nan() || change > tolerance;
    let word = match is_more {
        true => "FAIL",
        false => "ok  ",
    };
    let hint = if change < -tolerance {
        "; commit it with --bless"
    } else {
        ""
    };
    (
        format!("{word}  {name}: {counted} instructions, {change:+.1} % from {before}{hint}"),
        is_more,
    )
}

fn count(kit: &Kit) -> anyhow::Result<Counts> {
    let scratch = tempfile::tempdir()?;
    let experiments = ["--backend", "model", "--model-clock", "virtual", "--quiet"];
    let whole_run = callgrind(scratch.path(), &kit.experiments, &experiments, "")?;
    let serve = |request: &str| callgrind(scratch.path(), &kit.ours, &["--model"], request);
    // What the program does besides is in both runs, and so in neither difference.
    let each = |[few, many]: [u64; 2], request: &dyn Fn(u64) -> String| -> anyhow::Result<u64> {
        let more = serve(&request(many))?.saturating_sub(serve(&request(few))?);
        Ok(more / (many - few))
    };
    Ok(Counts {
        whole_run,
        launch: each(LAUNCHES, &|n| {
            format!("relaunch bytes=67108864 launches={n} batch=100\n")
        })?,
        life: each(LIVES, &|n| format!("life bytes=67108864 graphs={n}\n"))?,
    })
}

/// Runs a program under callgrind and reads off how many instructions it executed.
fn callgrind(
    scratch: &Path,
    program: &PathBuf,
    arguments: &[&str],
    input: &str,
) -> anyhow::Result<u64> {
    let (out, file) = (scratch.join("callgrind.out"), scratch.join("input"));
    fs::write(&file, input)?;
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&out);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(option)
        .arg(program)
        .args(arguments)
        // What the caller logs is not the program's work.
        .env_remove("RUST_LOG")
        .stdin(Stdio::from(fs::File::open(&file)?))
        .output()
        .context("cannot start valgrind")?;
    anyhow::ensure!(
        output.status.success(),
        "{} under valgrind ended with {}: {}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = fs::read_to_string(&out).context("valgrind wrote no counts")?;
    total_of(&text).context("valgrind's file has no total")
}

/// The total that a callgrind file ends with, or has in its summary.
fn total_of(file: &str) -> Option<u64> {
    let field = |name: &str| {
        file.lines().find_map(|line| {
            line.strip_prefix(name)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
    };
    field("totals:").or_else(|| field("summary:"))
}

fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn target() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_instructions_than_the_tolerance_fail_and_fewer_never_do() {
        let (line, fails) = verdict("one launch", 1_060, Some((1_000, 5.0)));
        assert!(fails && line.starts_with("FAIL"), "{line}");
        assert!(!verdict("one launch", 1_049, Some((1_000, 5.0))).1);
        let (line, fails) = verdict("one launch", 500, Some((1_000, 5.0)));
        assert!(!fails && line.contains("--bless"), "{line}");
        assert!(!verdict("one launch", 500, None).1);
    }

    #[test]
    fn nothing_kept_before_is_no_pass() {
        assert!(verdict("one launch", 0, Some((0, 5.0))).1);
    }

    #[test]
    fn the_total_is_read_off_callgrind_s_file() {
        assert_eq!(
            total_of("events: Ir\nsummary: 12\nfn=(1) x\ntotals: 34\n"),
            Some(34)
        );
        assert_eq!(total_of("events: Ir\nsummary: 12\n"), Some(12));
        assert_eq!(total_of("events: Ir\n"), None);
    }
}
