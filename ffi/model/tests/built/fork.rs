//! What calls answer in a forked process: `fork.h200` is what an H200 answered.

use std::path::PathBuf;

use crate::{command, here, library, run, text};

/// The program `fork.c`, linked with the library.
fn program(folder: &std::path::Path) -> Option<PathBuf> {
    let program = folder.join("fork");
    let library = library();
    let mut cc = command("cc");
    cc.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(here("fork.c"))
        .args(["-pthread", "-Wl,--no-as-needed"])
        .arg(&library)
        .arg(format!(
            "-Wl,-rpath,{}",
            library.parent().expect("a file has a folder").display()
        ));
    let output = run(cc)?;
    assert!(output.status.success(), "{}", text(&output));
    Some(program)
}

fn said(program: &std::path::Path, state: &str) -> String {
    let mut fork = command(program);
    fork.arg(state);
    text(&run(fork).expect("just built"))
}

#[test]
fn forked_children_get_what_the_h200_answers() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = program(folder.path()) else {
        return;
    };
    let recorded = std::fs::read_to_string(here("fork.h200")).expect("the recording");
    let mut compared = 0;
    for state in ["nothing", "versions", "used"] {
        let expected = recorded
            .lines()
            .filter(|line| line.split(' ').next() == Some(state));
        let answers = said(&program, state);
        // The recording of "nothing" was broken off, so the program may say more.
        for (expected, answer) in expected.zip(answers.lines()) {
            if answer.ends_with(" missing") {
                let name = |line: &str| line.split(' ').nth(1).map(str::to_owned);
                assert_eq!(name(answer), name(expected));
                continue;
            }
            assert_eq!(answer, expected);
            compared += 1;
        }
    }
    assert!(compared >= 120, "only {compared} answers were compared");
}

#[test]
fn children_of_a_process_with_threads_do_not_hang() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = program(folder.path()) else {
        return;
    };
    assert_eq!(
        said(&program, "threads"),
        "threads parent 0\n\
         threads: of 100 children 0 hung, 100 got code 3; the parent launches 0\n"
    );
}
