//! Which dumps are read, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{MIB, at, bytes, case, dump, plan, scenario, text, validator, written};
use crate::support::bare;

#[test]
fn a_dump_is_planned_with_the_drivers_addresses_and_without() {
    let file = dump("apps/torch_xf.dot");
    for (arguments, source) in [(&[][..], "dump"), (&["--recompute"], "computed")] {
        let (plan, code) = plan(&file, arguments);
        assert_eq!(code, 0);
        let memory = at(&plan, "/graphs/0/memory");
        assert_eq!(memory["addresses"], source);
        assert_eq!(bytes(memory, "/footprint_bytes"), 128 * MIB);
        assert_eq!(bytes(memory, "/reserved_bytes"), 128 * MIB);
        // Left allocated after the launch: its result, and what the capture kept.
        assert_eq!(bytes(memory, "/kept_after_trim_bytes"), 64 * MIB);
        let relaunch = at(&plan, "/schedules/0/steps/2");
        assert_eq!(at(relaunch, "/planned/failure/code"), 1, "R18");
    }
}

#[test]
fn several_dumps_are_planned_together() {
    let ended = bare()
        .args(&["plan", "--format", "json"])
        .arg(dump("apps/cupy_chain.dot"))
        .arg(dump("apps/cupy_sum.dot"))
        .ends();
    let plan: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let named = |name: &str| {
        let schedules = at(&plan, "/schedules").as_array().expect("schedules");
        let found = schedules.iter().find(|schedule| schedule["name"] == name);
        bytes(
            found.unwrap_or_else(|| panic!("no {name}")),
            "/footprint_bytes",
        )
    };
    // R35: 64 MiB each, and in one stream they share. R36: at once they do not.
    assert_eq!(named("all graphs in one stream"), 64 * MIB);
    assert_eq!(named("all graphs at once"), 128 * MIB);
    assert_eq!(named("cupy_sum on 2 streams"), 128 * MIB);
}

#[test]
fn a_dump_as_a_scenario_is_the_same_graph() {
    let file = dump("random/g053.dot");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let toml = folder.path().join("g053.toml");
    let output = toml.to_str().expect("UTF-8");
    let ended = text(&file, &["--dump-scenario", "--output", output]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, ""),
        "{}",
        ended.stderr
    );
    let (from_dump, _) = plan(&file, &["--recompute"]);
    let (from_scenario, _) = plan(&toml, &[]);
    for figure in [
        "footprint_bytes",
        "reserved_bytes",
        "requested_bytes",
        "peak_live_bytes",
    ] {
        let pointer = format!("/graphs/0/memory/{figure}");
        assert_eq!(
            bytes(&from_dump, &pointer),
            bytes(&from_scenario, &pointer),
            "{figure}"
        );
    }
    let (_, again) = (
        text(&toml, &["--dump-scenario"]),
        fs::read_to_string(&toml).expect("a scenario"),
    );
    assert!(again.contains("[[graph]]"));
}

#[test]
fn files_that_cannot_be_read_are_refused_with_line_and_column() {
    let missing = "digraph dot {\nn[label=\"0\nMEM_ALLOC\n\"]; }";
    for (name, contents, what) in [
        (
            "cut.dot",
            "digraph dot {\n\"a\" -> ",
            "cut.dot:2:8: the name of a node should follow",
        ),
        (
            "plain.dot",
            missing,
            "plain.dot:2:1: n is a MEM_ALLOC without its bytesize",
        ),
        ("plain.dot", missing, "cudaGraphDebugDotFlagsVerbose"),
        ("x.json", "{}", "x.json: this is not a dump"),
        (
            "s.toml",
            "scenario = 1\nnam = 2",
            "s.toml:2:1: unknown field `nam`",
        ),
        ("s.toml", "scenario = \"1\"", "s.toml:1:12: invalid type"),
        ("empty.dot", "", "empty.dot: this is not a dump"),
    ] {
        let (_folder, file) = written(name, contents);
        text(&file, &[]).refused_with(64, what);
    }
    let missing = Path::new("no/such.dot");
    text(missing, &[]).refused_with(64, "cannot read no/such.dot");
    let folder = tempfile::tempdir().expect("a temporary directory");
    text(folder.path(), &[]).refused_with(64, "is a directory");
    text(&scenario("virtual-address-reuse"), &["x.dot"])
        .refused_with(64, "a scenario is planned by itself");
    text(&dump("apps/cupy_sum.dot"), &["--streams", "0"]).refused_with(64, "1 to 4096");
    text(
        &dump("apps/cupy_sum.dot"),
        &["--output", "no/such/folder/x"],
    )
    .refused_with(64, "cannot write");
}

#[test]
fn plans_of_every_recorded_dump_are_what_the_schema_says() {
    let mut count = 0;
    for folder in ["random", "apps"] {
        for entry in fs::read_dir(dump(folder)).expect("the recordings") {
            let file = entry.expect("an entry").path();
            if file.extension().is_some_and(|extension| extension == "dot") {
                let (plan, code) = plan(&file, &[]);
                assert_eq!((plan["schema_version"].as_u64(), code), (Some(2), 0));
                count += 1;
            }
        }
    }
    assert_eq!(count, 83);
    let mut broken = plan(&scenario("forked-branches"), &[]).0;
    broken["graphs"][0]["memory"]["footprint"] = Value::from(1);
    assert!(
        !validator().is_valid(&broken),
        "a field that is not in the schema is a fault"
    );
}

#[test]
fn a_name_of_65_536_characters_is_printed() {
    let long = "n".repeat(65_536);
    let text_of = format!(
        "scenario = 1\n[[graph]]\nname = \"{long}\"\nnodes = [{{ name = \"{long}\", alloc = 1 }}]\n\
         [schedule]\nsteps = [{{ launch = \"{long}\" }}]\n"
    );
    let (folder, file) = written("long.toml", &text_of);
    let page = folder.path().join("long.html");
    let ended = text(&file, &["--report", page.to_str().expect("UTF-8")]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains(&long));
}

#[test]
fn lines_of_a_log_around_a_dump_are_skipped_with_a_note() {
    let dump = fs::read_to_string(case("memset.dot")).expect("the dump");
    let (_folder, file) = written("log.dot", &format!("[INFO] graph \"a\n\n{dump}\ndone\n"));
    let (plan, code) = plan(&file, &[]);
    assert_eq!(code, 0);
    let notes = at(&plan, "/graphs/0/notes").to_string();
    assert!(notes.contains("1 line before `digraph`"), "{notes}");
}

#[test]
fn graphs_that_are_child_graphs_of_one_another_are_an_error() {
    text(&case("cycle.dot"), &[]).refused_with(64, "graph_1 is a child graph of itself");
    let (plan, code) = plan(&case("mlx.dot"), &[]);
    assert_eq!((code, at(&plan, "/graphs/0/nodes").as_u64()), (0, Some(11)));
    text(&case("hip.dot"), &[]).refused_with(64, "MEM_ALLOC without its bytesize");
}
