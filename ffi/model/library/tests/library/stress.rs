//! Many threads that use the built library at the same time. `stress.c` describes what is
//! checked.

use crate::{command, linked, run, text};

#[test]
fn concurrent_threads_leave_no_objects_and_all_checks_hold() {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let Some(program) = linked(folder.path(), "stress") else {
        return;
    };
    let mut stress = command(&program);
    stress.args(["8", "60"]);
    let output = run(stress).expect("just built");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("0 wrong, "), "{said}");
}
