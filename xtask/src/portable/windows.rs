//! 64-bit Windows, under wine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Compiler, Foreign, Outcome, build, succeeds, tool};
use crate::host;

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Debian has it outside of `PATH`.
const WINE: &str = "/usr/lib/wine/wine64";

/// A library that Rust's standard library needs and wine 8 lacks.
const RANDOM: &str = r"
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    return RtlGenRandom(data, (ULONG)length);
}
";

pub fn check(root: &Path, native: &Path, scratch: &Path) -> anyhow::Result<Outcome> {
    let Some(wine) = tool("wine64", &[WINE]) else {
        return Ok(Outcome::missing("wine64"));
    };
    let Some(gcc) = tool("x86_64-w64-mingw32-gcc", &[]) else {
        return Ok(Outcome::missing("x86_64-w64-mingw32-gcc"));
    };
    let Some(compiler) = Compiler::for_target(TARGET) else {
        return Ok(Outcome::missing(
            "a Rust compiler with the standard library of Windows, or its source",
        ));
    };
    let command = ["build", "--package", host::PACKAGE, "--bin", host::PACKAGE];
    let built = build(&compiler, root, TARGET, &gcc, &command)?;
    // Windows looks for libraries beside the program.
    let here = scratch.join("graph-memory-footprint.exe");
    fs::copy(built.join("graph-memory-footprint.exe"), &here)?;
    let source = scratch.join("random.c");
    fs::write(&source, RANDOM)?;
    succeeds(
        Command::new(&gcc)
            .arg("-shared")
            .arg("-o")
            .arg(scratch.join("bcryptprimitives.dll"))
            .arg(&source)
            .arg("-ladvapi32"),
    )?;
    let foreign = Foreign {
        command: vec![
            "env".into(),
            format!("WINEPREFIX={}", scratch.join("wine").display()).into(),
            PathBuf::from("WINEDEBUG=-all"),
            wine,
            here,
        ],
        native,
        root,
        scratch,
    };
    foreign.answers_like_this_machine()?;
    Ok(Outcome::Passed)
}
