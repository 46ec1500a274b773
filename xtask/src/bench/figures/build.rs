//! Building: from nothing, and after a change of one file. Takes minutes, so it is
//! measured only when it is asked for.

use std::env;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::bench::bed::{Bed, Limit};
use crate::bench::results::{Figure, Side};

pub fn measure(bed: &Bed, _: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let Some(root) = &bed.kit.root else {
        figure
            .skipped
            .push("all of it: a carried folder has no sources".to_owned());
        return Ok(());
    };
    let target = tempfile::tempdir_in(bed.scratch.path())?;
    let build = |profile: &[&str]| -> anyhow::Result<f64> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let start = Instant::now();
        let status = Command::new(cargo)
            .current_dir(root)
            .env("CARGO_TARGET_DIR", target.path())
            .args([
                "build",
                "--quiet",
                "--package",
                "graph-memory-footprint",
                "--bins",
            ])
            .args(profile)
            .stdout(Stdio::null())
            .status()
            .context("cannot start cargo")?;
        anyhow::ensure!(status.success(), "cargo build ended with {status}");
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    for (what, profile) in [("debug", &[][..]), ("release", &["--release"][..])] {
        figure.times(
            &format!("{what}, from nothing"),
            Side::Ours,
            &[],
            &[build(profile)?],
        );
        figure.times(
            &format!("{what}, nothing changed"),
            Side::Ours,
            &[],
            &[build(profile)?],
        );
    }
    Ok(())
}
