//! Linux on 64-bit ARM, under qemu's user mode.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::{Compiler, Foreign, Outcome, build, shown, succeeds, tool};
use crate::host;

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Where the libraries of the cross compiler are.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// A program that reads its graph memory itself, and its exit code.
const MEASURES: &str = "ffi/watch/tests/support/c/measures.c";
const MEASURES_EXIT: i32 = 7;

pub fn check(root: &Path, native: &Path, scratch: &Path) -> anyhow::Result<Outcome> {
    let Some(qemu) = tool("qemu-aarch64", &[]) else {
        return Ok(Outcome::missing("qemu-aarch64"));
    };
    let Some(gcc) = tool("aarch64-linux-gnu-gcc", &[]) else {
        return Ok(Outcome::missing("aarch64-linux-gnu-gcc"));
    };
    let Some(compiler) = Compiler::for_target(TARGET) else {
        return Ok(Outcome::missing(
            "a Rust compiler with the standard library of aarch64",
        ));
    };
    // In one call, so that what they share is built once. The example is the recorder, which
    // runs on a machine with a GPU.
    let command = [
        "build",
        "--package",
        host::PACKAGE,
        "--package",
        "cudart-simulated",
        "--package",
        "graph-memory-watch",
        "--package",
        "cudart-model",
        "--lib",
        "--bin",
        host::PACKAGE,
        "--example",
        "conformance",
    ];
    let built = build(&compiler, root, TARGET, &gcc, &command)?;

    let emulator: Vec<PathBuf> = vec![qemu, "-L".into(), LIBRARIES.into()];
    let mut command = emulator.clone();
    command.push(built.join("graph-memory-footprint"));
    let foreign = Foreign {
        command,
        native,
        root,
        scratch,
    };
    foreign.answers_like_this_machine()?;
    for page_bytes in [4096, 65536] {
        watches(&foreign, &emulator, &gcc, &built, page_bytes)?;
    }
    Ok(Outcome::Passed)
}

/// What the watch library records of a C program with the simulated driver is what the
/// program reads itself, with pages of this size: Grace has larger ones than x86-64.
///
/// The program of this machine does the watching: the emulator starts no programs. Its own
/// loader says that it cannot preload a library of another system, and goes on.
fn watches(
    foreign: &Foreign<'_>,
    emulator: &[PathBuf],
    gcc: &Path,
    built: &Path,
    page_bytes: u32,
) -> anyhow::Result<()> {
    let program = foreign.scratch.join("measures");
    succeeds(
        Command::new(gcc)
            .args(["-O1", "-std=gnu11", "-w", "-o"])
            .arg(&program)
            .arg(foreign.root.join(MEASURES))
            .arg("-ldl"),
    )?;
    let driver = foreign.scratch.join("driver");
    fs::create_dir_all(&driver)?;
    fs::copy(
        built.join("libcudart_simulated.so"),
        driver.join("libcuda.so.1"),
    )
    .context("cannot copy the simulated driver")?;
    let recorded = foreign.scratch.join("watched.json");
    let ended = foreign
        .native()
        .args(["watch", "--library"])
        .arg(built.join("libgraph_memory_watch.so"))
        .arg("--output")
        .arg(&recorded)
        .arg("--")
        .args(emulator)
        .args(["-p", &page_bytes.to_string()])
        .arg("-E")
        .arg(format!("LD_LIBRARY_PATH={}", driver.display()))
        .arg(&program)
        .output()?;
    anyhow::ensure!(
        ended.status.code() == Some(MEASURES_EXIT),
        "the watched program ended otherwise: {}",
        shown(&ended)
    );
    let read = read_by_itself(&String::from_utf8(ended.stdout)?)
        .context("the program did not print what it read")?;
    let recorded: Value = serde_json::from_str(&fs::read_to_string(&recorded)?)?;
    let recorded = recorded_by_watch(&recorded).context("the recording lacks graphs")?;
    anyhow::ensure!(
        read.len() == 3 && read == recorded,
        "recorded was {recorded:?}, and the program read {read:?}"
    );
    Ok(())
}

/// Growth of the reserved memory, and the used memory after it, for each first launch: the
/// program prints the exec's number, then used, used high, reserved, reserved high and free
/// memory, before and after.
fn read_by_itself(printed: &str) -> Option<Vec<[u64; 2]>> {
    printed
        .lines()
        .map(|line| {
            let numbers: Vec<u64> = line.split(' ').flat_map(str::parse).collect();
            let [_, _, _, reserved_before, _, _, used, _, reserved, ..] = numbers[..] else {
                return None;
            };
            Some([reserved.checked_sub(reserved_before)?, used])
        })
        .collect()
}

/// The same as it was recorded.
fn recorded_by_watch(result: &Value) -> Option<Vec<[u64; 2]>> {
    let graphs = result["processes"].as_array()?.last()?["graphs"].as_array()?;
    let launch = |graph: &Value| {
        let first = &graph["first_launch"];
        Some([
            first["pool_growth_bytes"].as_u64()?,
            first["used_bytes"].as_u64()?,
        ])
    };
    graphs.iter().map(launch).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_program_read_and_what_was_recorded_have_the_same_form() {
        let printed = "1 0 0 0 0 900 64 64 96 96 804\n2 64 64 96 96 804 128 128 128 128 772\n";
        let recorded = json!({"processes": [{"graphs": [
            {"first_launch": {"pool_growth_bytes": 96, "used_bytes": 64}},
            {"first_launch": {"pool_growth_bytes": 32, "used_bytes": 128}},
        ]}]});
        assert_eq!(read_by_itself(printed), recorded_by_watch(&recorded));
        assert_eq!(read_by_itself(printed).unwrap().len(), 2);
        assert_eq!(read_by_itself("1 2 3"), None);
        assert_eq!(recorded_by_watch(&json!({"processes": []})), None);
    }
}
