//! Programs that nvcc compiled: their kernels are in fat binaries, which nvcc made here too.

use std::path::Path;

use crate::{command, linked, run, text};

/// What an H200 printed with libcudart 13.0 and driver 580.159.04, for each of the files.
const H200: &str = "count 7 1006\nhalve 1.5 500.5\nnode -1 998\ncodes 0\nunregistered 400\n";
/// The same for the first 40 bytes of one.
const H200_CUT: &str = "not launched\ncount 0 0\nnot launched\nhalve 0 0\nnode 0 0\n\
                        not launched\nnot launched\ncodes 400\nunregistered 400\n";

/// Kernels are found by their host functions, in each of the ways in which nvcc
/// compresses, and run if their PTX can be: the program gets the numbers that the text of
/// `kernels.cu` says. One that cannot be run is named once.
#[test]
fn kernels_of_fat_binaries_run() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "nvcc") else {
        return;
    };
    for file in ["none", "speed", "size", "half"] {
        let mut nvcc = command(&program);
        nvcc.arg(fat_binary(file));
        let output = run(nvcc).expect("just built");
        let named = match file {
            "half" => {
                "cudart_model: the kernel shared_sum is not simulated: it takes its time and \
                 writes nothing\n"
            }
            _ => "",
        };
        assert_eq!(text(&output), format!("{H200}{named}"), "{file}");
    }
}

/// What a recording holds, without its head.
pub(crate) fn recorded(name: &str) -> String {
    let recording = crate::here(name).with_extension("h200");
    let recording = std::fs::read_to_string(recording).expect("the recording can be read");
    let lines = recording.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

pub(crate) fn fat_binary(name: &str) -> std::path::PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nvcc");
    data.join(name).with_extension("fatbin")
}

/// Kernels with shared memory, barriers, atomics, shuffles, local arrays, conversions and
/// calls leave in memory what they left there on an H200.
#[test]
fn kernels_of_whole_blocks_leave_what_they_left_on_an_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "blocks") else {
        return;
    };
    let mut blocks = command(&program);
    blocks.arg(fat_binary("blocks"));
    let output = run(blocks).expect("just built");
    assert_eq!(text(&output), recorded("blocks"));
}

/// Text of `printf` appears when a call waits for the kernel, and with those calls that an
/// H200 showed it with.
#[test]
fn text_of_kernels_appears_with_the_calls_that_wait_for_them() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "prints") else {
        return;
    };
    let shown = folder.path().join("shown");
    let mut said = String::new();
    let wanted = recorded("prints");
    for which in 0..wanted.lines().count() {
        let mut prints = command(&program);
        prints.arg(fat_binary("prints")).arg(which.to_string());
        prints.stdout(std::fs::File::create(&shown).expect("the folder can be written"));
        let output = run(prints).expect("just built");
        said.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    let mut compared = 0;
    for (said, wanted) in said.lines().zip(wanted.lines()) {
        if !wanted.ends_with(" either") {
            assert_eq!(said, wanted);
            compared += 1;
        }
    }
    assert_eq!(compared, 25);
}

/// What kernels write with `printf`, among what the program writes.
#[test]
fn text_of_kernels_is_that_of_an_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "prints") else {
        return;
    };
    let mut prints = command(&program);
    prints.arg(fat_binary("prints")).arg("text");
    let output = run(prints).expect("just built");
    assert_eq!(text(&output), recorded("prints-text"));
}

/// Of a fat binary that is broken off no kernel can be launched.
#[test]
fn kernels_of_a_broken_fat_binary_are_refused() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "nvcc") else {
        return;
    };
    let whole = std::fs::read(fat_binary("size")).expect("the fat binary can be read");
    let cut = folder.path().join("cut.fatbin");
    std::fs::write(&cut, &whole[..40]).expect("the folder can be written");
    let mut nvcc = command(&program);
    nvcc.arg(&cut);
    assert_eq!(text(&run(nvcc).expect("just built")), H200_CUT);
}
