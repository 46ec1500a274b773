//! The results of calls in a forked process. `fork.h200` contains those of an H200.

use crate::{command, here, linked, run, text};

fn said(program: &std::path::Path, state: &str) -> String {
    let mut fork = command(program);
    fork.arg(state);
    text(&run(fork).expect("just built"))
}

#[test]
fn calls_in_forked_children_return_the_same_as_on_the_h200() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "fork") else {
        return;
    };
    let recorded = std::fs::read_to_string(here("fork.h200")).expect("the recording");
    let mut compared = 0;
    for state in ["nothing", "versions", "used"] {
        let expected = recorded
            .lines()
            .filter(|line| line.split(' ').next() == Some(state));
        let answers = said(&program, state);
        // The recording of "nothing" ended early, so the program may print more
        // lines.
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
    assert!(compared >= 160, "only {compared} answers were compared");
}

#[test]
fn children_of_a_process_with_threads_do_not_hang() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "fork") else {
        return;
    };
    assert_eq!(
        said(&program, "threads"),
        "threads parent 0\n\
         threads: of 100 children 0 hung, 100 got code 3; the parent launches 0\n"
    );
}
