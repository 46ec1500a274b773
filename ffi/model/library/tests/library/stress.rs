//! Many threads that use the built library at once: `stress.c` says what must hold.

use crate::{command, linked, run, text};

#[test]
fn threads_that_do_everything_at_once_leave_nothing_and_see_nothing_wrong() {
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
