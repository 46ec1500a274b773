//! Text from outside steers nothing: hostile names through every input into every output,
//! with colours as for a terminal, and on a terminal.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::on_the_model;
use serde_json::Value;

/// Sets a terminal's title, clears it, turns text magenta, moves back, and changes the
/// order in which text appears; at the end a forged message.
const HOSTILE: &str = "<b>a\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[35;7mb\u{1}\u{9b}5A\u{8}c\u{202e}d\u{2066}\
                       e\u{200b}\u{7f}\rf\nerror: forged";

/// The same for a file's name.
fn hostile_name(ending: &str) -> String {
    HOSTILE.replace('/', "|") + ending
}

/// The forms in which this program's own styles appear.
const STYLES: [&str; 12] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[36m",
    "\u{1b}[1;31m",
    "\u{1b}[39m",
    "\u{1b}[22m",
];

/// Asserts that nothing in the text does anything where it is shown.
fn assert_harmless(text: &[u8], what: &str) {
    let text = str::from_utf8(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    // The lines of CSV, and those of a terminal, end in CR LF.
    let plain = STYLES
        .iter()
        .fold(text.replace("\r\n", "\n"), |text, style| {
            text.replace(style, "")
        });
    let active = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if let Some(at) = plain.find(active) {
        let from = plain.floor_char_boundary(at.saturating_sub(200));
        let to = plain.ceil_char_boundary((at + 100).min(plain.len()));
        panic!(
            "{what}: {:?} in {:?}",
            plain[at..].chars().next(),
            &plain[from..to]
        );
    }
    if what.starts_with("std") {
        let forged = |line: &str| line.starts_with("error: forged");
        assert!(!plain.lines().any(forged), "{what}: {plain}");
    }
}

/// A folder with hostile inputs of every kind, and their names.
struct Inputs {
    folder: tempfile::TempDir,
}

impl Inputs {
    fn new() -> Self {
        let inputs = Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
        };
        let one_line = HOSTILE.replace(['\n', '\r'], " ");
        let ptx = include_str!("../../../kernels-rs/ptx/clock_block.ptx");
        let ptx = ptx.replace("//@ compiler: rustc", &format!("//@ compiler: {one_line}"));
        let ptx = ptx.replace("//@ arch: ", &format!("//@ arch: {one_line}"));
        inputs.write("k.ptx", &ptx);
        let profile = include_str!("../../../ffi/model/src/profile/h200.toml");
        let named = format!("device_name = {}", toml_string(HOSTILE));
        let line = profile.lines().find(|line| line.starts_with("device_name"));
        let profile = profile.replace(line.expect("the device has a name"), &named);
        assert!(profile.contains(&named));
        inputs.write("p.toml", &profile);
        let log = include_str!("../recordings/nvidia-sample-cuda-13.0.txt");
        let log = log.replace("GPU Device 0: ", &format!("GPU Device 0: {one_line}"));
        inputs.write("log.txt", &log);
        let recorded = include_str!("../recordings/h200-driver-580-cuda-13.0.json");
        let mut result: Value = serde_json::from_str(recorded).expect("a result");
        spoil(&mut result);
        inputs.write("run.json", &result.to_string());
        let dump = include_str!("../../../ffi/model/tests/data/dot/apps/cupy_sum.dot");
        inputs.write("x.dot", &spoilt_dump(dump));
        inputs.write("plain.dot", dump);
        fs::write(inputs.at(&hostile_name(".dot")), dump).expect("a file");
        inputs.write(
            "s.toml",
            &format!(
                "scenario = 1\nname = {0}\nabout = {0}\n[[graph]]\nname = \"g\"\nnodes = [\n\
                 {{ name = \"a\", alloc = \"24MiB\" }},\n\
                 {{ name = \"k\", kernel = {0}, after = \"a\", uses = [\"a\"] }},\n]\n\
                 [schedule]\nsteps = [{{ launch = \"g\" }}, {{ wait = \"all\" }}]\n",
                toml_string(HOSTILE)
            ),
        );
        inputs
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("a file");
    }

    /// Runs in the folder; both streams have to be harmless.
    fn run(&self, arguments: &[&str]) -> (Vec<u8>, i32) {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Vec<u8>, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, value) in environment {
            command.env(name, value);
        }
        let ended = command.args(arguments).args(["--color", "always"]).output();
        let ended = ended.expect("it starts");
        assert_harmless(&ended.stdout, &format!("stdout of {arguments:?}"));
        assert_harmless(&ended.stderr, &format!("stderr of {arguments:?}"));
        let code = ended
            .status
            .code()
            .unwrap_or_else(|| panic!("{arguments:?} was killed"));
        assert_ne!(code, 101, "{arguments:?} panicked");
        let mut text = ended.stdout;
        text.extend(ended.stderr);
        (text, code)
    }

    /// The same, where it has to succeed; what was printed.
    fn runs(&self, arguments: &[&str]) -> String {
        let (text, code) = self.run(arguments);
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(code, 0, "{arguments:?}: {text}");
        text
    }

    /// Every file that was written has to be harmless.
    fn assert_file(&self, name: &str) -> String {
        let bytes = fs::read(self.at(name)).expect("it was written");
        assert_harmless(&bytes, name);
        String::from_utf8(bytes).expect("UTF-8")
    }
}

fn toml_string(text: &str) -> String {
    let escaped = text.chars().map(|c| format!("\\U{:08X}", u32::from(c)));
    format!("\"{}\"", escaped.collect::<String>())
}

/// Makes every string hostile that is not one of a fixed set.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) => *text += HOSTILE,
        Value::Array(values) => values.iter_mut().for_each(spoil),
        Value::Object(fields) => {
            for (name, field) in fields {
                let fixed = [
                    "action",
                    "format",
                    "growth",
                    "kind",
                    "memory",
                    "model_clock",
                    "severity",
                    "verdict",
                    "what",
                ];
                if !fixed.contains(&name.as_str()) || !field.is_string() {
                    spoil(field);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A dump whose names of nodes and graphs, and titles of kernels, are hostile.
fn spoilt_dump(dump: &str) -> String {
    let name = HOSTILE.replace(['"', '\\', '\n', '\r', '{', '}', '<', '>', '|'], " ");
    dump.replace("_node_", &format!("{name}_node_"))
        .replace("label=\"graph_", &format!("label=\"{name}graph_"))
        .replace("KERNEL\n", &format!("KERNEL {name}\n"))
}

#[test]
fn experiments_show_hostile_kernels_and_devices_as_what_they_are() {
    let inputs = Inputs::new();
    let on = [
        "--backend",
        "simulated",
        "--ptx",
        "k.ptx",
        "--model-profile",
        "p.toml",
        "--experiment",
        "virtual-address-reuse",
    ];
    let text = inputs.runs(&on);
    assert!(
        text.contains(r"\u{1b}[2J") && text.contains(r"\u{202e}"),
        "{text}"
    );
    for more in [
        &["--format", "csv"][..],
        &["--quiet"],
        &["-vv"],
        &["--repeat", "3"],
    ] {
        inputs.runs(&[&on[..], more].concat());
    }
    let json = inputs.runs(&[&on[..], &["--format", "json"]].concat());
    let result: Value = serde_json::from_str(&json).expect("JSON");
    // What machines read is what the device said, whatever it was.
    assert_eq!(result["devices"][0]["device"]["name"], HOSTILE);
    inputs.runs(&[&on[..], &["--report", "page.html", "--svg", "charts"]].concat());
    assert!(inputs.assert_file("page.html").contains(r"\u{1b}[2J"));
    // An environment variable does the same as the option.
    let named = [("CUDART_MODEL_PROFILE", "p.toml")];
    let (text, _) = inputs.run_with(&["--backend", "simulated"], &named);
    assert!(String::from_utf8_lossy(&text).contains(r"\u{1b}[2J"));
}

#[test]
fn a_result_full_of_hostile_text_is_shown_in_every_form() {
    let inputs = Inputs::new();
    for more in [&[][..], &["--quiet"], &["--format", "csv"]] {
        let text = inputs.runs(&[&["show", "run.json"][..], more].concat());
        assert!(text.contains(r"\u{202e}"), "{text}");
    }
    // JSON comes out as it went in, in characters that can be shown.
    let json = inputs.runs(&["show", "run.json", "--format", "json"]);
    let before: Value =
        serde_json::from_slice(&fs::read(inputs.at("run.json")).expect("a file")).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), before);
    inputs.runs(&[
        "show",
        "run.json",
        "--report",
        "page.html",
        "--svg",
        "charts",
    ]);
    let page = inputs.assert_file("page.html");
    assert!(page.contains("&lt;b>") && !page.contains("<b>a"), "markup");
    let charts = fs::read_dir(inputs.at("charts")).expect("charts");
    let charts: Vec<String> = charts
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(!charts.is_empty());
    for chart in &charts {
        assert_harmless(chart.as_bytes(), "a file's name");
        inputs.assert_file(&format!("charts/{chart}"));
    }
    for pair in [
        ["run.json", "log.txt"],
        ["log.txt", "run.json"],
        ["run.json", "run.json"],
    ] {
        let (text, _) = inputs.run(&["compare", pair[0], pair[1]]);
        assert!(
            String::from_utf8_lossy(&text).contains(r"\u{1b}"),
            "{pair:?}"
        );
    }
}

#[test]
fn plans_of_hostile_dumps_and_scenarios_are_shown_in_every_form() {
    let inputs = Inputs::new();
    let file = hostile_name(".dot");
    for input in ["x.dot", file.as_str(), "s.toml"] {
        for more in [
            &[][..],
            &["--rows", "0"],
            &["--format", "json"],
            &["--model-profile", "p.toml"],
            &["--verify", "--backend", "simulated", "--ptx", "k.ptx"],
            &["--dump-scenario"],
            &["--report", "page.html"],
        ] {
            let (text, code) = inputs.run(&[&["plan", input][..], more].concat());
            let text = String::from_utf8_lossy(&text);
            assert!(matches!(code, 0 | 1), "{input} {more:?}: {text}");
            let escaped = text.contains("\\u{1b}") || text.contains("\\\\u{1b}");
            // A page is not standard output, and JSON has escapes of its own.
            assert!(
                escaped || text.contains("\\u001b"),
                "{input} {more:?}: {text}"
            );
        }
        let page = inputs.assert_file("page.html");
        assert!(page.contains(r"\u{1b}"), "{input}");
        // A scenario that was made of hostile names can be planned in its turn.
        inputs.run(&["plan", input, "--dump-scenario", "--output", "made.toml"]);
        inputs.assert_file("made.toml");
        inputs.run(&["plan", "made.toml"]);
    }
}

#[test]
fn messages_show_hostile_arguments_files_and_variables_as_what_they_are() {
    let inputs = Inputs::new();
    let h = HOSTILE;
    let option = format!("--{h}");
    let valued = format!("--bytes={h}");
    let folder = hostile_name("");
    fs::create_dir(inputs.at(&folder)).expect("a folder");
    let below = format!("{folder}/missing/x");
    let broken = hostile_name(".toml");
    for (name, text) in [
        ("broken.json", format!("{{\"{h}\": 1}}")),
        ("broken.log", format!("FOOTPRINT: {h} bytes")),
        ("broken.ptx", format!(".version 5.0\n.target {h}\n")),
        ("broken.dot", format!("digraph {h} {{")),
        (
            "broken2.dot",
            format!("digraph dot {{ \"{h}\" [label=\"{{{h}}}\"] }}"),
        ),
        (
            "broken.toml",
            format!("scenario = 1\n{} = 1\n", toml_string(h)),
        ),
        (
            "broken2.toml",
            format!(
                "scenario = 1\nname = {}\n[[graph]]\nname = {0}\n",
                toml_string(h)
            ),
        ),
        (broken.as_str(), format!("{h} = {h}")),
    ] {
        inputs.write(name, &text);
    }
    let cases: Vec<Vec<&str>> = vec![
        vec![h],
        vec![&option],
        vec![&valued],
        vec!["--bytes", h],
        vec!["--graphs", h],
        vec!["--repeat", h],
        vec!["--device", h],
        vec!["--leave", h],
        vec!["--experiment", h],
        vec!["--format", h],
        vec!["--backend", h],
        vec!["--model-clock", h],
        vec!["--kernel-route", h],
        vec!["--cudart", h],
        vec!["--cudart", &folder],
        vec!["--backend", "simulated", "--ptx", h],
        vec!["--backend", "simulated", "--ptx", &folder],
        vec!["--backend", "simulated", "--ptx", "broken.ptx"],
        vec!["--backend", "simulated", "--model-profile", h],
        vec!["--backend", "simulated", "--model-profile", &broken],
        vec!["--backend", "simulated", "--model-profile", "broken.toml"],
        vec!["--backend", "simulated", "--output", &folder],
        vec!["--backend", "simulated", "--output", &below],
        vec!["--backend", "simulated", "--report", &below],
        vec!["--backend", "simulated", "--svg", &broken],
        vec![
            "--backend",
            "simulated",
            "--output",
            &broken,
            "--report",
            &broken,
        ],
        vec!["show", h],
        vec!["show", &folder],
        vec!["show", "broken.json"],
        vec!["compare", h, h],
        vec!["compare", "broken.json", "broken.log"],
        vec!["compare", "broken.log", "broken.json"],
        vec!["explain", h],
        vec!["completions", h],
        vec!["manual", h],
        vec!["plan", h],
        vec!["plan", &folder],
        vec!["plan", "broken.dot"],
        vec!["plan", "broken.toml"],
        vec!["plan", "broken2.toml"],
        vec!["plan", &broken],
        vec!["plan", "plain.dot", "--streams", h],
        vec!["plan", "plain.dot", "--output", &below],
        vec!["plan", &broken, "--output", &broken],
    ];
    let mut shown = 0;
    for case in &cases {
        let (text, code) = inputs.run(case);
        let text = String::from_utf8_lossy(&text);
        assert!(code != 0, "{case:?} is refused: {text}");
        shown += usize::from(text.contains(r"\u{1b}"));
    }
    assert!(
        shown * 3 > cases.len() * 2,
        "most repeat it: {shown} of {}",
        cases.len()
    );
    inputs.runs(&["plan", "broken2.dot"]);
    for variable in [
        "CUDART_MODEL_PROFILE",
        "CUDART_MODEL_CLOCK",
        "CUDART_MODEL_FAULT",
    ] {
        let (text, code) = inputs.run_with(&["--backend", "simulated"], &[(variable, h)]);
        let text = String::from_utf8_lossy(&text);
        assert_eq!(code, 64, "{variable}: {text}");
        assert!(text.contains(r"\u{1b}"), "{variable}: {text}");
    }
    for variable in [
        "RUST_LOG",
        "CUDA_PATH",
        "CUDA_HOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    ] {
        inputs.run_with(&["-vv"], &[(variable, h)]);
        inputs.run_with(&["-vv"], &[(variable, &format!("/{h}"))]);
        inputs.run_with(&["-vv"], &[("LD_LIBRARY_PATH", h)]);
    }
}

#[test]
fn arguments_that_are_not_utf_8_are_refused_in_a_sentence() {
    let raw = std::ffi::OsStr::from_bytes(b"\xff\x1b[2J");
    for before in [
        &["plan"][..],
        &["show"],
        &["--bytes"],
        &["explain"],
        &["--ptx"],
    ] {
        let ended = on_the_model().args(before).arg(Path::new(raw)).ends();
        assert_ne!(ended.code, 0, "{before:?}");
        assert_harmless(ended.stderr.as_bytes(), &format!("{before:?}"));
    }
}

#[test]
fn a_terminal_gets_nothing_but_this_programs_own_styles() {
    let script = Command::new("script").arg("--version").output();
    if !script.is_ok_and(|script| script.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI has to have script");
        println!("SKIPPED: there is no script (apt-get install bsdutils)");
        return;
    }
    let inputs = Inputs::new();
    for arguments in [
        "show run.json",
        "show run.json --quiet",
        "compare run.json log.txt",
        "plan x.dot",
        "plan s.toml",
        "plan \"$HOSTILE\".dot",
        "plan \"$HOSTILE\"",
        "\"--$HOSTILE\"",
        "--bytes \"$HOSTILE\"",
        "explain \"$HOSTILE\"",
        "--backend simulated --ptx k.ptx --model-profile p.toml",
        "--backend simulated --model-profile \"$HOSTILE\"",
        "-vv --cudart \"$HOSTILE\"",
    ] {
        let mut command = Command::new("script");
        let line = format!("\"$PROGRAM\" {arguments}");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.current_dir(inputs.folder.path());
        command.env("PROGRAM", env!("CARGO_BIN_EXE_graph-memory-footprint"));
        command
            .env("HOSTILE", HOSTILE)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh");
        command.env_remove("NO_COLOR").env_remove("CLICOLOR");
        let ended = command
            .stdin(Stdio::null())
            .output()
            .expect("script starts");
        let shown = String::from_utf8(ended.stdout).expect("UTF-8");
        if ended.status.success() && !arguments.contains("quiet") {
            let coloured = shown.contains("\u{1b}[");
            assert!(coloured, "{arguments}: {shown:?}");
        }
        assert!(shown.contains(r"\u{1b}"), "{arguments}: {shown:?}");
        assert_harmless(shown.as_bytes(), &format!("stdout of {arguments}"));
    }
}

#[test]
fn a_recording_of_a_watched_program_is_shown_in_every_form() {
    let inputs = Inputs::new();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/watch");
    for program in ["cupy", "torch-default", "sample-graphMemoryFootprint"] {
        let folder = recordings.join(program);
        let folder = folder.to_str().expect("UTF-8");
        let json = inputs.runs(&["show", folder, "--format", "json"]);
        let mut result: Value = serde_json::from_str(&json).expect("JSON");
        spoil(&mut result);
        inputs.write("watched.json", &result.to_string());
        let text = inputs.runs(&["show", "watched.json"]);
        assert!(text.contains(r"\u{202e}"), "{text}");
        let json = inputs.runs(&["show", "watched.json", "--format", "json"]);
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), result);
        inputs.runs(&["show", "watched.json", "--report", "page.html"]);
        let page = inputs.assert_file("page.html");
        assert!(page.contains(r"\u{202e}") && !page.contains("<b>a"));
        inputs.run(&["compare", "watched.json", folder]);
        inputs.run(&["compare", folder, "watched.json"]);
    }
}
