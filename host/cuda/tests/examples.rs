//! The examples run on the simulated runtime and print what is measured on an H200 of the
//! same steps (M1, R32, R36, R37).

use std::process::Command;

#[track_caller]
fn output(example: &str) -> String {
    let run = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--package"])
        .args([env!("CARGO_PKG_NAME"), "--example", example])
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{example}: {errors}");
    String::from_utf8(run.stdout).expect("text")
}

#[test]
fn memory_nodes_on_two_streams_share_only_what_is_not_used_at_once() {
    assert_eq!(
        output("memory_nodes"),
        "\
before any launch                0 MiB
one graph runs                  64 MiB
two graphs run at once         128 MiB
two graphs, one after another   64 MiB
"
    );
}

#[test]
fn what_a_captured_stream_computes_arrives() {
    assert_eq!(
        output("captured_stream"),
        "\
[1, 2, 3, 4] became [-1, -16, -81, -256]
[5, 6, 7, 8] became [-625, -1296, -2401, -4096]
"
    );
}

#[test]
fn the_four_attributes_follow_a_graphs_life() {
    let output = output("four_attributes");
    let rows: Vec<Vec<&str>> = output
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    // 100,000,000 bytes take three times 32 MiB. The graph keeps its mapping when its
    // allocation is freed.
    let expected = [
        "instantiated 0 0 0 0",
        "launched 96 96 96 96",
        "freed 96 96 96 96",
        "trimmed 0 96 0 96",
        "marks reset 0 0 0 0",
    ];
    let rows: Vec<String> = rows.into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(rows, expected);
}
