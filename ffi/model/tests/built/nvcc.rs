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
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nvcc");
    for compression in ["none", "speed", "size"] {
        let mut nvcc = command(&program);
        nvcc.arg(data.join(compression).with_extension("fatbin"));
        let output = run(nvcc).expect("just built");
        let named = "cudart_model: the kernel shared_sum is not simulated: it takes its time \
                     and writes nothing\n";
        assert_eq!(text(&output), format!("{H200}{named}"), "{compression}");
    }
}

/// Of a fat binary that is broken off no kernel can be launched.
#[test]
fn kernels_of_a_broken_fat_binary_are_refused() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "nvcc") else {
        return;
    };
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nvcc/size.fatbin");
    let whole = std::fs::read(whole).expect("the fat binary can be read");
    let cut = folder.path().join("cut.fatbin");
    std::fs::write(&cut, &whole[..40]).expect("the folder can be written");
    let mut nvcc = command(&program);
    nvcc.arg(&cut);
    assert_eq!(text(&run(nvcc).expect("just built")), H200_CUT);
}
