//! Programs that nvcc compiled. Their kernels are in fat binaries, which nvcc also made
//! here.

use std::path::Path;

use crate::{command, linked, run, text};

/// The output on an H200 with libcudart 13.0 and driver 580.159.04, for each of the files.
const H200: &str = "count 7 1006\nhalve 1.5 500.5\nnode -1 998\ncodes 0\nunregistered 400\n";
/// The output for only the first 40 bytes of a file.
const H200_CUT: &str = "not launched\ncount 0 0\nnot launched\nhalve 0 0\nnode 0 0\n\
                        not launched\nnot launched\ncodes 400\nunregistered 400\n";

/// Kernels are found by their host functions, for each of the ways in which nvcc
/// compresses. They run if their PTX is supported, and the program gets the results that
/// follow from `kernels.cu`. A message names, once, each kernel that cannot run.
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

/// The content of a recording without its header.
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
/// calls leave the same values in memory as on an H200.
#[test]
fn kernels_of_whole_blocks_write_the_same_values_as_on_an_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "blocks") else {
        return;
    };
    let mut blocks = command(&program);
    blocks.arg(fat_binary("blocks"));
    let output = run(blocks).expect("just built");
    assert_eq!(text(&output), recorded("blocks"));
}

/// The text of `printf` appears when a call synchronizes with the kernel, for the same
/// calls as on an H200.
#[test]
fn text_of_kernels_appears_at_the_calls_that_synchronize_with_them() {
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

/// The text that kernels write with `printf`, between lines of the program.
#[test]
fn text_of_kernels_is_the_same_as_on_an_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "prints") else {
        return;
    };
    let mut prints = command(&program);
    prints.arg(fat_binary("prints")).arg("text");
    let output = run(prints).expect("just built");
    assert_eq!(text(&output), recorded("prints-text"));
}

/// No kernel of an incomplete fat binary can be launched.
#[test]
fn kernels_of_an_incomplete_fat_binary_are_refused() {
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
