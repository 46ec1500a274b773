//! The built library under the names of NVIDIA's libcudart, for programs that were linked
//! with NVIDIA's library.

use std::path::Path;

use super::{command, here, library, run, text};

/// Builds a library with the names and versions of NVIDIA's functions, but empty bodies,
/// with which a program can be linked. `None` if there is no compiler.
fn stand_in(folder: &Path, soname: &str, major: u32) -> Option<()> {
    let exports = include_str!("../data/exports/libcudart.txt");
    let release = format!("{major}.");
    let functions: String = exports
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (name, releases) = line.split_once(' ')?;
            let exported = releases.split(' ').any(|r| r.starts_with(&release));
            exported.then(|| format!("void {name}(void) {{}}\n"))
        })
        .collect();
    let script = format!("{soname} {{ global: *; }};\n");
    std::fs::write(folder.join("stand_in.c"), functions).expect("the folder can be written");
    std::fs::write(folder.join("stand_in.map"), script).expect("the folder can be written");
    let mut cc = command("cc");
    cc.args([
        "-shared",
        "-fPIC",
        "-fno-builtin",
        "-o",
        soname,
        "stand_in.c",
    ])
    .arg(format!("-Wl,-soname,{soname}"))
    .arg("-Wl,--version-script=stand_in.map")
    .current_dir(folder);
    let output = run(cc)?;
    assert!(output.status.success(), "{}", text(&output));
    Some(())
}

/// The output of a program that was linked with one version, and runs on the simulated
/// runtime under the name of that version.
fn linked_with(soname: &str, major: u32) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let simulation = folder.path().join("simulation");
    std::fs::create_dir(&simulation).expect("the folder can be written");
    std::os::unix::fs::symlink(library(), simulation.join(soname))
        .expect("the folder can be written");
    stand_in(folder.path(), soname, major)?;
    let program = folder.path().join("linked");
    let mut cc = command("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(format!("-DCUDA_MAJOR={major}"))
        .arg(here("linked.c"))
        .arg(folder.path().join(soname));
    let output = run(cc)?;
    assert!(output.status.success(), "{}", text(&output));
    let mut linked = command(&program);
    // All symbols are bound at the start, so a missing one would be an error.
    linked
        .env("LD_LIBRARY_PATH", &simulation)
        .env("LD_BIND_NOW", "1");
    Some(text(&run(linked).expect("just built")))
}

#[test]
fn programs_linked_with_nvidias_library_run_without_a_linker_warning() {
    for (soname, major) in [("libcudart.so.12", 12), ("libcudart.so.13", 13)] {
        let Some(said) = linked_with(soname, major) else {
            return;
        };
        assert_eq!(
            said,
            "codes 0, edges 1 of 1, 1\n\
             entry points 0, 1, 0, 1\n\
             not simulated 801, last error 801\n\
             cudart_model: cudaMipmappedArrayGetSparseProperties is not simulated and \
             returns 801\n",
            "{soname}"
        );
    }
}
