//! What is written: JSON by its schema, CSV, verdicts alone, colours, lists.

use std::collections::BTreeMap;

use crate::support::schema::{assert_valid, faults};
use crate::support::{bare, on_the_model, only_device};
use graph_memory_footprint::experiments::{EXPERIMENTS, OF_THE_SAMPLE};
use graph_memory_footprint::results::read;
use graph_memory_footprint::results::{Growth, MemoryKind, Verdict};
use graph_memory_footprint::rules;
use serde_json::Value;

fn recordings() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings");
    std::fs::read_dir(folder)
        .expect("the recordings")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            (path.display().to_string(), text)
        })
        .collect()
}

#[test]
fn every_kind_of_result_is_as_the_schema_has_it() {
    // `result` holds each to the schema.
    let inconclusive = ["--experiment", "concurrent-streams", "--spin-time", "1us"];
    assert_eq!(on_the_model().args(&inconclusive).result().1, 3);
    let failing = ["--bytes", "16GiB", "--graphs", "10"];
    assert_eq!(on_the_model().args(&failing).result().1, 1);
    let repeated = ["--repeat", "3", "--model-clock", "virtual"];
    assert_eq!(on_the_model().args(&repeated).result().1, 0);
    for experiment in EXPERIMENTS {
        let (result, _) = on_the_model()
            .args(&["--experiment", experiment.name])
            .result();
        assert_eq!(only_device(&result).experiments.len(), 1);
    }
}

#[test]
fn recorded_results_are_read_and_are_as_the_schema_has_it() {
    for (path, text) in recordings() {
        let result = read::from_json(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let json = serde_json::to_value(&result).expect("it is written");
        assert_valid(&json, &path);
        let raw: Value = serde_json::from_str(&text).expect("it is JSON");
        if raw["schema_version"] == json["schema_version"] {
            assert_valid(&raw, &path);
            assert_eq!(raw, json, "{path}: nothing is lost by reading it");
        }
    }
}

#[test]
fn the_schema_refuses_what_is_no_result() {
    let ended = on_the_model().args(&["--format", "json"]).ends();
    let valid: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert_valid(&valid, "the output");
    let step = "/devices/0/experiments/0/steps/0";
    for (pointer, value) in [
        ("/schema_version", Value::from(1)),
        ("/verdict", "MAYBE".into()),
        ("/started_at", "yesterday".into()),
        ("/settings/graphs", 0.into()),
        ("/devices/0/experiments/0/checks/0/expected", 64.into()),
        (&format!("{step}/action"), "jump".into()),
        (&format!("{step}/memory/used_bytes"), (-1).into()),
        (&format!("{step}/took_ms"), "fast".into()),
    ] {
        let mut broken = valid.clone();
        *broken.pointer_mut(pointer).expect(pointer) = value;
        assert!(!faults(&broken).is_empty(), "{pointer}");
    }
    for pointer in ["", "/devices/0", step] {
        let mut extra = valid.clone();
        let object = extra.pointer_mut(pointer).and_then(Value::as_object_mut);
        let object = object.expect(pointer);
        object.insert("extra".to_owned(), 1.into());
        assert!(!faults(&extra).is_empty(), "a field too many at {pointer}");
    }
}

#[test]
fn the_text_is_made_of_the_json_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let json = folder.path().join("result.json");
    let run = on_the_model().args(&["--format", "json", "--repeat", "2", "--output"]);
    assert_eq!(run.arg(&json).ends().code, 0);
    let shown = bare().args(&["show"]).arg(&json).ends();
    assert_eq!(shown.code, 0);
    // All that a run prints, from the head to the summary.
    let printed = on_the_model().args(&["--repeat", "2"]).ends();
    let without_numbers = |text: &str| {
        let words = text.split(|c: char| c.is_ascii_digit() || c.is_whitespace());
        let words = words.map(|word| word.trim_matches(['.', '█', '░']));
        let units = ["", "us", "ms", "KiB", "MiB", "B", "s"];
        let words = words.filter(|word| !units.contains(word));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        without_numbers(&shown.stdout),
        without_numbers(&printed.stdout)
    );
}

#[test]
fn a_result_that_cannot_be_read_is_refused() {
    let manifest = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    for (path, what) in [
        ("no/such.json", "cannot read"),
        (&manifest, "not a result of this program"),
    ] {
        bare().args(&["show", path]).ends().refused_with(64, what);
    }
}

#[test]
fn a_result_of_others_writes_where_it_may_and_steers_no_terminal() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (mut result, _) = on_the_model()
        .args(&["--experiment", "physical-memory-reuse"])
        .result();
    for device in &mut result.devices {
        for experiment in &mut device.experiments {
            experiment.name = "../out/\u{1b}[31m".to_owned();
        }
    }
    let text = serde_json::to_string(&result).expect("it is JSON");
    std::fs::write(folder.path().join("theirs.json"), text).expect("a file");
    std::fs::create_dir(folder.path().join("out")).expect("a directory");
    let arguments = [
        "show",
        "theirs.json",
        "--svg",
        "charts",
        "--color",
        "always",
        "--quiet",
    ];
    let ended = bare().in_folder(folder.path()).args(&arguments).ends();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stdout.contains("\u{1b}[31m"), "{}", ended.stdout);
    let count = |name: &str| {
        let files = std::fs::read_dir(folder.path().join(name)).expect("a directory");
        files.count()
    };
    assert_eq!(count("out"), 0);
    assert!(count("charts") > 0);
}

#[test]
fn csv_has_a_row_a_step_and_reads_back() {
    let (result, _) = on_the_model().result();
    let ended = on_the_model().args(&["--format", "csv"]).ends();
    assert_eq!(ended.code, 0);
    let mut reader = csv::Reader::from_reader(ended.stdout.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("a CSV reader takes it");
    let experiments = &only_device(&result).experiments;
    let steps: Vec<_> = experiments
        .iter()
        .flat_map(|e| e.steps.iter().map(move |step| (e, step)))
        .collect();
    assert_eq!(rows.len(), steps.len());
    for (row, (experiment, step)) in rows.iter().zip(steps) {
        assert_eq!(row["experiment"], experiment.name);
        assert_eq!(row["label"], step.label);
        assert_eq!(row["used_bytes"], step.memory.used_bytes.to_string());
        assert_eq!(
            row["reserved_high_bytes"],
            step.memory.reserved_high_bytes.to_string()
        );
        assert_eq!(row["device"], "0");
    }
    let mut names = rows[0].keys();
    assert!(names.any(|name| name == "at_ms"), "units are in the names");
}

#[test]
fn quiet_prints_the_verdicts_and_that_the_gpu_was_simulated() {
    let ended = on_the_model().args(&["--quiet"]).ends();
    let mut expected: String = OF_THE_SAMPLE
        .iter()
        .map(|experiment| format!("PASS {}\n", experiment.name))
        .collect();
    expected += "simulated GPU: nothing was measured on a GPU\n";
    assert_eq!((ended.code, ended.stdout), (0, expected));
    on_the_model()
        .args(&["--quiet", "--format", "json"])
        .ends()
        .refused_with(64, "--quiet applies to --format text");
}

#[test]
fn colours_are_used_when_asked_for_and_never_when_not() {
    let colours = |when: &str, no_color: &str| {
        let scenario = on_the_model().args(&["--quiet", "--color", when]);
        let ended = scenario.env("NO_COLOR", no_color).ends();
        ended.stdout.contains('\u{1b}')
    };
    assert!(colours("always", ""));
    assert!(!colours("never", ""));
    assert!(!colours("auto", ""), "a pipe is no terminal");
    let forced = on_the_model().args(&["--quiet"]);
    let forced = forced.env("CLICOLOR_FORCE", "1").ends();
    assert!(forced.stdout.contains('\u{1b}'), "the usual variable works");
    let refused = on_the_model().args(&["--quiet"]).env("NO_COLOR", "1");
    assert!(!refused.ends().stdout.contains('\u{1b}'));
}

#[test]
fn the_list_names_every_experiment_and_each_is_explained() {
    let listed = bare().args(&["--list"]).ends();
    assert_eq!(listed.code, 0);
    for experiment in EXPERIMENTS {
        assert!(listed.stdout.contains(experiment.name));
        let explained = bare().args(&["explain", experiment.name]).ends();
        assert_eq!(explained.code, 0);
        for id in experiment.rules {
            let rule = rules::find(id).expect(id);
            let words = rule.says.split_whitespace();
            let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let says = words.collect::<Vec<_>>().join(" ");
            assert!(flat(&explained.stdout).contains(&says), "{id}");
        }
        assert!(explained.stdout.contains("Sources"));
        assert!(
            explained
                .stdout
                .lines()
                .all(|line| line.chars().count() <= 90)
        );
    }
    let rule = bare().args(&["explain", "r35"]).ends();
    assert!(
        rule.stdout.contains("physical-memory-reuse"),
        "{}",
        rule.stdout
    );
    bare()
        .args(&["explain", "R99"])
        .ends()
        .refused_with(64, "there is no experiment or rule named \"R99\"");
}

#[test]
fn every_rule_that_a_check_names_is_one_that_its_experiment_explains() {
    let all: Vec<&str> = EXPERIMENTS
        .iter()
        .flat_map(|e| ["--experiment", e.name])
        .collect();
    let (result, _) = on_the_model().args(&all).result();
    for ran in &only_device(&result).experiments {
        let experiment = EXPERIMENTS.iter().find(|e| e.name == ran.name);
        let explained = experiment.expect("it is in the list").rules;
        for check in &ran.checks {
            for id in check.rule.split_whitespace() {
                assert!(rules::find(id).is_some(), "{}: {id}", ran.name);
                assert!(
                    explained.contains(&id),
                    "{}: {id} is not explained",
                    ran.name
                );
            }
        }
    }
}

#[test]
fn memory_over_many_cycles_is_flat() {
    // So many that a hundred bytes a cycle would be seen, which is what the record of a
    // cycle takes.
    let often = ["--repeat", "1500", "--model-clock", "virtual"];
    let (result, code) = on_the_model()
        .args(&often)
        .args(&["--experiment", "virtual-address-reuse"])
        .result();
    assert_eq!((result.verdict, code), (Verdict::Pass, 0));
    let repeat = only_device(&result)
        .repeat
        .as_ref()
        .expect("it was repeated");
    assert_eq!((repeat.cycles.len(), repeat.kept_cycle), (1500, 1));
    for trend in &repeat.trends {
        assert_eq!(trend.growth, Growth::Flat, "{trend:?}");
    }
    let kinds: Vec<_> = repeat.trends.iter().map(|trend| trend.memory).collect();
    assert!(kinds.contains(&MemoryKind::GraphReserved));
    if cfg!(target_os = "linux") {
        assert!(kinds.contains(&MemoryKind::HostResident));
    }
    let (result, _) = on_the_model().args(&["--repeat", "3"]).result();
    let repeat = only_device(&result)
        .repeat
        .as_ref()
        .expect("it was repeated");
    assert!(
        repeat.trends.iter().all(|t| t.growth == Growth::Unknown),
        "3 cycles say nothing"
    );
}

#[test]
fn each_device_has_its_section() {
    let two = ["--model-profile", "two-devices", "--device", "all"];
    let (result, code) = bare().args(&two).result();
    assert_eq!((result.verdict, code), (Verdict::Pass, 0));
    let ordinals: Vec<_> = result.devices.iter().map(|device| device.ordinal).collect();
    assert_eq!(ordinals, [0, 1]);
    for device in &result.devices {
        assert_eq!(device.experiments.len(), OF_THE_SAMPLE.len());
        assert_eq!(
            device.device.as_ref().map(|info| info.ordinal),
            Some(device.ordinal)
        );
    }
    let text = bare().args(&two).args(&["--quiet"]).ends().stdout;
    assert!(text.contains("PASS device 1: concurrent-streams"), "{text}");
}

#[test]
fn what_stops_one_device_does_not_lose_the_other() {
    // The second call that makes a device current is the second device's.
    let two = ["--model-profile", "two-devices", "--device", "all"];
    let scenario = bare()
        .args(&two)
        .env("CUDART_MODEL_FAULT", "cudaSetDevice:2=46");
    let (result, code) = scenario.result();
    assert_eq!((result.verdict, code), (Verdict::Fail, 1));
    let [first, second] = result.devices.as_slice() else {
        panic!("two sections");
    };
    assert_eq!(first.verdict, Verdict::Pass);
    assert_eq!(first.experiments.len(), OF_THE_SAMPLE.len());
    let stopped = second.stopped.as_ref().expect("it was stopped");
    assert!(!stopped.waived);
    assert!(
        stopped.what.contains("cudaSetDevice failed: 46"),
        "{stopped:?}"
    );
    assert!(second.experiments.is_empty());
}

#[test]
fn devices_that_cannot_do_it_are_waived_together() {
    let none = ["--model-profile", "no-memory-pools", "--device", "all"];
    let ended = bare().args(&none).ends();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("memory pools"), "{}", ended.stderr);
    bare()
        .args(&["--model-profile", "old-driver"])
        .ends()
        .refused_with(2, "graph memory nodes need CUDA 11.4");
}

#[test]
fn model_options_that_make_no_sense_are_refused() {
    bare()
        .args(&["--model-profile", "h100"])
        .ends()
        .refused_with(64, "no built-in profile is called \"h100\"");
    bare()
        .args(&["--model-profile", "no/such.toml"])
        .ends()
        .refused_with(64, "no/such.toml");
    bare()
        .args(&["--backend", "cuda", "--model-clock", "virtual"])
        .ends()
        .refused_with(64, "--backend cuda requires a real one");
    on_the_model()
        .args(&["--cudart", "libcudart.so"])
        .ends()
        .refused_with(64, "--cudart names a library");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_after_the_experiment_and_writes_what_there_is() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let mut child = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"))
        // As many cycles as can be asked for: no memory is set aside for them.
        .args(["--backend", "model", "--format", "json", "--repeat"])
        .arg(usize::MAX.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // Long enough to listen for it, and for some cycles.
    std::thread::sleep(Duration::from_millis(700));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill is there").success());
    let mut text = String::new();
    let mut stdout = child.stdout.take().expect("it is piped");
    std::io::Read::read_to_string(&mut stdout, &mut text).expect("UTF-8");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "by itself, not by the signal");
    assert_valid(
        &serde_json::from_str(&text).expect("it is JSON"),
        "the output",
    );
    let result = read::from_json(&text).expect("a result");
    assert!(result.interrupted);
    let repeat = only_device(&result)
        .repeat
        .as_ref()
        .expect("it was repeated");
    assert!(!repeat.cycles.is_empty());
    let last = repeat.cycles.last().and_then(|cycle| cycle.memory);
    assert_eq!(
        last.map(|memory| memory.reserved_bytes),
        Some(0),
        "all is given back"
    );
}

/// What the binary prints on a terminal of so many columns, by util-linux's
/// `script`; `None`, said aloud, where there is no such program.
#[cfg(target_os = "linux")]
fn on_a_terminal(columns: usize, arguments: &str) -> Option<String> {
    let binary = env!("CARGO_BIN_EXE_graph-memory-footprint");
    let line = format!("stty rows 40 cols {columns} && '{binary}' --backend simulated {arguments}");
    let output = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .output();
    match output {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8(output.stdout).expect("UTF-8"))
        }
        Err(error) => {
            println!("SKIPPED: no terminal to try, `script` does not start: {error}");
            None
        }
    }
}

/// The columns of the longest line with a bar.
#[cfg(target_os = "linux")]
fn longest_bar_line(printed: &str) -> usize {
    let plain = anstream::adapter::strip_str(printed).to_string();
    let bars = plain.lines().filter(|line| line.contains('█'));
    let columns = bars.map(|line| line.trim_end().chars().count());
    columns.max().expect("there are bars")
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_there_are_colours_and_bars_as_long_as_there_is_room() {
    let arguments = "--experiment concurrent-streams";
    let Some(narrow) = on_a_terminal(90, arguments) else {
        return;
    };
    assert_eq!(longest_bar_line(&narrow), 90);
    let wide = on_a_terminal(120, arguments).expect("it was there before");
    assert_eq!(longest_bar_line(&wide), 120);
    assert!(wide.contains("\u{1b}["), "colours");
    let never = on_a_terminal(120, &format!("{arguments} --color never"));
    assert!(!never.expect("it was there before").contains("\u{1b}["));
}

#[test]
#[cfg(target_os = "linux")]
fn a_repeated_run_says_on_a_terminal_how_far_it_is() {
    let Some(printed) = on_a_terminal(120, "--repeat 3 --quiet") else {
        return;
    };
    assert!(
        printed.contains("run 2 of 3: concurrent-streams"),
        "{printed:?}"
    );
    let verdicts = printed.rsplit('\r').find(|part| part.contains("PASS"));
    assert!(verdicts.is_some(), "the line is cleared: {printed:?}");
}
