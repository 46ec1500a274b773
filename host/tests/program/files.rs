//! Files that are written: what is read is never destroyed, a command that is refused or
//! fails leaves what was there, and a closed pipe ends silently.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ended, bare, on_the_model};

const DUMP: &str = include_str!("../../plan/tests/data/dot/one.dot");
const RESULT: &str = include_str!("../recordings/h200-driver-580-cuda-13.0.json");
const LOG: &str = include_str!("../recordings/nvidia-sample-cuda-13.0.txt");
const SCENARIO: &str = include_str!("../../scenarios/just-over-a-block.toml");
const PTX: &str = include_str!("../../../kernels-rs/ptx/clock_block.ptx");
const PROFILE: &str = include_str!("../../../ffi/model/src/profile/h200.toml");

/// A folder with one input of each kind.
fn inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in [
        ("x.dot", DUMP),
        ("run.json", RESULT),
        ("log.txt", LOG),
        ("s.toml", SCENARIO),
        ("k.ptx", PTX),
        ("p.toml", PROFILE),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// Every file in a folder with its text.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    files.sort();
    files
}

/// Commands that read a file, the file, and the options with which each can write one.
const READERS: [(&str, &str, &[&str]); 10] = [
    ("plan x.dot", "x.dot", PLAN),
    ("plan one.dot x.dot", "x.dot", PLAN),
    ("plan s.toml", "s.toml", PLAN),
    ("plan x.dot --model-profile p.toml", "p.toml", PLAN),
    (
        "plan x.dot --verify --backend simulated --ptx k.ptx",
        "k.ptx",
        &["--output", "--report"],
    ),
    ("show run.json", "run.json", RUN),
    ("--backend simulated --ptx k.ptx", "k.ptx", RUN),
    ("--backend simulated --model-profile p.toml", "p.toml", RUN),
    ("--backend simulated", "env:p.toml", RUN),
    (
        "calibrate --backend simulated --model-profile p.toml",
        "p.toml",
        &["--output"],
    ),
];
const PLAN: &[&str] = &[
    "--output",
    "--format json --output",
    "--dump-scenario --output",
    "--report",
];
const RUN: &[&str] = &[
    "--output",
    "--format json --output",
    "--format csv --output",
    "--quiet --output",
    "--report",
];

#[test]
fn no_option_that_writes_destroys_an_input_however_it_is_spelt() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    fs::copy(at("x.dot"), at("one.dot")).expect("a copy");
    fs::create_dir(at("inner")).expect("a folder");
    for name in ["x.dot", "run.json", "s.toml", "k.ptx", "p.toml"] {
        symlink(name, at(&format!("soft-{name}"))).expect("a link");
        symlink(format!("soft-{name}"), at(&format!("chain-{name}"))).expect("a link");
        fs::hard_link(at(name), at(&format!("hard-{name}"))).expect("a link");
    }
    let before = contents(folder.path());
    let mut refused = 0;
    for (reads, input, writers) in READERS {
        let name = input.trim_start_matches("env:");
        let absolute = at(name).display().to_string();
        let spellings = [
            name.to_owned(),
            absolute,
            format!("./{name}"),
            format!("inner/../{name}"),
            format!("soft-{name}"),
            format!("chain-{name}"),
            format!("hard-{name}"),
        ];
        for (writer, spelling) in writers
            .iter()
            .flat_map(|writer| spellings.iter().map(move |spelling| (writer, spelling)))
        {
            let arguments: Vec<&str> = reads.split(' ').chain(writer.split(' ')).collect();
            let mut command = bare().in_folder(folder.path()).args(&arguments);
            if input != name {
                command = command.env("CUDART_MODEL_PROFILE", name);
            }
            let ended = command.args(&[spelling.as_str()]).ends();
            ended.refused_with(64, "is also an input");
            refused += 1;
        }
    }
    assert_eq!(
        refused,
        7 * READERS.iter().map(|(.., w)| w.len()).sum::<usize>()
    );
    assert!(contents(folder.path()) == before, "a file has changed");
}

#[test]
fn a_watched_programs_own_files_are_inputs() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("train.py"), "print(1)\n").expect("a file");
    fs::hard_link(at("train.py"), at("hard")).expect("a link");
    let before = contents(folder.path());
    for option in ["--text", "--output", "--report", "--trace"] {
        for name in ["train.py", "./train.py", "hard"] {
            let started = bare().in_folder(folder.path());
            let watch = ["watch", option, name, "--", "python3", "train.py"];
            started
                .args(&watch)
                .ends()
                .refused_with(64, "is also an input");
            let library = ["watch", option, name, "--library", "hard", "--", "true"];
            let started = bare().in_folder(folder.path());
            started
                .args(&library)
                .ends()
                .refused_with(64, "is also an input");
        }
    }
    assert!(contents(folder.path()) == before, "a file has changed");
}

#[test]
fn charts_do_not_replace_an_input_either() {
    let folder = inputs();
    let charts = folder.path().join("charts");
    let show = |result: &Path| {
        let show = bare().args(&["show", "--quiet", "--svg"]).arg(&charts);
        show.arg(result).ends()
    };
    assert_eq!(show(&folder.path().join("run.json")).code, 0);
    let (chart, _) = contents(&charts).remove(0);
    // A result and a link to one, under the name of a chart.
    for link in [false, true] {
        fs::remove_file(&chart).expect("it is there");
        match link {
            false => fs::write(&chart, RESULT).expect("a file"),
            true => fs::hard_link(folder.path().join("run.json"), &chart).expect("a link"),
        }
        let before = contents(&charts);
        let ended = show(&chart);
        assert_eq!(ended.code, 64, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("is also an input"),
            "{}",
            ended.stderr
        );
        assert!(contents(&charts) == before, "a file has changed");
    }
}

#[test]
fn standard_input_and_output_are_files_too() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    let run = |arguments: &[&str], stdin: &str, append_to: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
        command.current_dir(folder.path()).args(arguments);
        command.stdin(File::open(at(stdin)).expect("an input"));
        if let Some(name) = append_to {
            let file = OpenOptions::new().append(true).open(at(name));
            command.stdout(file.expect("a file"));
        }
        let output = command.output().expect("it starts");
        Ended {
            code: output.status.code().expect("it ends by itself"),
            stdout: String::new(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    };
    let before = contents(folder.path());
    // Read from standard input, written by name.
    run(&["plan", "-", "--output", "x.dot"], "x.dot", None).refused_with(64, "also an input");
    run(&["show", "-", "--report", "run.json"], "run.json", None).refused_with(64, "also an input");
    // Read by name, appended to.
    for (arguments, name) in [
        (&["plan", "x.dot"][..], "x.dot"),
        (&["plan", "x.dot", "--dump-scenario"], "x.dot"),
        (&["plan", "x.dot", "--output", "/dev/stdout"], "x.dot"),
        (&["show", "run.json"], "run.json"),
        (&["show", "run.json", "--report", "/dev/stdout"], "run.json"),
        (&["compare", "run.json", "log.txt"], "log.txt"),
        (&["compare", "log.txt", "run.json"], "log.txt"),
    ] {
        run(arguments, "x.dot", Some(name)).refused_with(64, "also an input");
    }
    assert!(contents(folder.path()) == before, "a file has changed");
    // What is in a file that is appended to stays, by whatever name it is written.
    let earlier = "an earlier line\n";
    for output in ["-", "/dev/stdout"] {
        fs::write(at("all.txt"), earlier).expect("a file");
        let ended = run(
            &["plan", "x.dot", "--output", output],
            "x.dot",
            Some("all.txt"),
        );
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let text = fs::read_to_string(at("all.txt")).expect("a file");
        assert!(
            text.starts_with(earlier) && text.contains("footprint"),
            "{text}"
        );
    }
    let ended = run(
        &["plan", "x.dot", "--output", "-", "--report", "/dev/stdout"],
        "x.dot",
        Some("all.txt"),
    );
    ended.refused_with(64, "are the same file");
}

#[test]
fn two_outputs_are_never_one_file() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old"), "old text").expect("a file");
    symlink("old", at("soft")).expect("a link");
    fs::hard_link(at("old"), at("hard")).expect("a link");
    symlink("new", at("ahead")).expect("a link");
    let before = contents(&at("."));
    for command in [
        &["plan", "x.dot"][..],
        &["show", "run.json"],
        &["--backend", "simulated"],
    ] {
        let both = |output: &str, report: &str| {
            let started = bare().in_folder(folder.path()).args(command);
            let ended = started
                .args(&["--output", output, "--report", report])
                .ends();
            ended.refused_with(64, "same file");
        };
        for (output, report) in [
            ("old", "old"),
            ("old", "./old"),
            ("old", "soft"),
            ("soft", "hard"),
            ("new", "new"),
            ("new", "./new"),
            ("ahead", "new"),
        ] {
            both(output, report);
        }
    }
    assert!(contents(&at(".")) == before, "a file has changed");
    let on_stdout = on_the_model().args(&["--report", "-"]).ends();
    on_stdout.refused_with(64, "name a file for it");
}

#[test]
fn a_refused_command_leaves_every_old_output_as_it_was() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    for name in ["old", "page", "plain"] {
        fs::write(at(name), "old text").expect("a file");
    }
    fs::create_dir(at("folder")).expect("a folder");
    let before = contents(&at("."));
    let bad: [(&[&str], i32); 11] = [
        (&["--report", "/nonexistent/x"], 64),
        (&["--report", "folder"], 64),
        (&["--report", "plain/x"], 64),
        (&["--report", "new/"], 64),
        (&["--report", "/proc/page"], 64),
        (&["--report", ""], 64),
        (&["--svg", "plain"], 64),
        (&["--svg", "plain/x/y"], 64),
        (&["--svg", "/proc/charts"], 64),
        (&["--device", "7", "--report", "page"], 64),
        // The page cannot be written when the text is whole already.
        (&["--report", "/dev/full"], 1),
    ];
    for (arguments, code) in bad {
        let run = ["--experiment", "virtual-address-reuse", "--output", "old"];
        let started = on_the_model().in_folder(folder.path());
        let ended = started.args(&run).args(arguments).ends();
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
        assert!(contents(&at(".")) == before, "{arguments:?} changed a file");
    }
    for command in [&["show", "run.json"][..], &["plan", "x.dot"]] {
        for (arguments, code) in bad {
            if arguments[0] == "--report" {
                let started = bare().in_folder(folder.path());
                let started = started.args(command).args(arguments);
                let ended = started.args(&["--output", "old"]).ends();
                assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
                assert!(contents(&at(".")) == before, "{arguments:?} changed a file");
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_leaves_every_old_output_as_it_was() {
    let folder = inputs();
    let at = |name: &str| folder.path().join(name);
    for name in ["old", "page"] {
        fs::write(at(name), "old text").expect("a file");
    }
    fs::create_dir(at("charts")).expect("a folder");
    let before = contents(&at("."));
    let run = "--backend simulated --experiment virtual-address-reuse";
    for arguments in [
        "plan x.dot --output old".to_owned(),
        "plan x.dot --format json --output old".to_owned(),
        "plan x.dot --dump-scenario --output old".to_owned(),
        "plan x.dot --output /dev/null --report page".to_owned(),
        "show run.json --output old".to_owned(),
        "show run.json --format csv --output old".to_owned(),
        "show run.json --quiet --report page --output old".to_owned(),
        "show run.json --quiet --svg charts --output old".to_owned(),
        format!("{run} --output old"),
        format!("{run} --format json --output old"),
        format!("{run} --quiet --output old --report page"),
    ] {
        // A disk with room for 512 bytes, or for none where the text is shorter.
        let room = i32::from(!arguments.contains("--dump-scenario"));
        let limited = format!("ulimit -f {room}; exec \"$0\" {arguments}");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_graph-memory-footprint")]);
        let ended = command.current_dir(folder.path()).output().expect("sh");
        let message = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{arguments}: {message}");
        assert!(message.contains("too large"), "{arguments}: {message}");
        assert!(contents(&at(".")) == before, "{arguments} changed a file");
        assert!(contents(&at("charts")).is_empty(), "{arguments}");
    }
}

/// What each command prints, in every form that it has.
fn printing() -> Vec<String> {
    let mut commands: Vec<String> = [
        "--list",
        "--help",
        "--version",
        "plan --help",
        "plan x.dot",
        "plan x.dot --rows 0",
        "plan x.dot --format json",
        "plan x.dot --dump-scenario",
        "plan s.toml",
        "compare run.json log.txt",
        "compare --quiet run.json log.txt",
        "explain R35",
        "explain two-pools",
        "completions bash",
        "completions zsh",
        "completions fish",
        "completions elvish",
        "completions powershell",
        "manual",
        "manual plan",
    ]
    .map(str::to_owned)
    .to_vec();
    for form in ["", " --quiet", " --format json", " --format csv"] {
        commands.push(format!("show run.json{form}"));
        commands.push(format!("--backend simulated{form}"));
        commands.push(format!("--backend simulated --repeat 2{form}"));
    }
    commands
}

#[test]
fn a_closed_pipe_ends_silently() {
    let folder = inputs();
    for arguments in printing() {
        for color in ["never", "always"] {
            let run = |stdout: Stdio| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
                command
                    .current_dir(folder.path())
                    .args(arguments.split(' '));
                command.args(["--color", color]).stdout(stdout);
                let ended = command.output().expect("it starts");
                let message = String::from_utf8_lossy(&ended.stderr);
                assert_eq!(message, "", "{arguments}");
                ended.status.code()
            };
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let cut_off = run(writer.into());
            // The command's own code, or the one for a run that was cut off.
            let same = [run(Stdio::null()), Some(141)].contains(&cut_off);
            assert!(same, "{arguments}: {cut_off:?}");
        }
    }
}

#[test]
fn a_run_whose_reader_is_gone_still_writes_its_page() {
    let folder = inputs();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
    command.current_dir(folder.path()).stdout(writer);
    let ended = command
        .args(["--backend", "simulated", "--report", "page"])
        .output();
    assert_eq!(ended.expect("it starts").status.code(), Some(0));
    let page = fs::read_to_string(folder.path().join("page")).expect("a page");
    assert!(page.trim_end().ends_with("</html>"));
}

#[test]
fn a_closed_standard_error_changes_no_exit_code() {
    let folder = inputs();
    for (arguments, code) in [
        ("plan missing.dot", 64),
        ("--no-such-option", 64),
        ("-vv --backend simulated", 0),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_graph-memory-footprint"));
        command
            .current_dir(folder.path())
            .args(arguments.split(' '));
        let ended = command.stderr(writer).stdout(Stdio::null()).status();
        assert_eq!(ended.expect("it starts").code(), Some(code), "{arguments}");
    }
}
