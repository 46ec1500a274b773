//! Every command in README.md and `docs/` is run: the program's own commands here,
//! cargo's by `.ci/run`, and Python programs that load the simulated runtime by
//! `ffi/model/library/tests/library`.
//!
//! A fenced block that is not run says why after its language, as in
//! "```python not run: needs PyTorch and a GPU".

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::bare;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const CI: &str = include_str!("../../../.ci/run");

/// What a block that is not run has after its language.
const NOT_RUN: &str = "not run: ";

/// Languages of blocks that show text and contain no commands.
const SHOWN: &[&str] = &["text", "rust", "llvm"];

/// A fenced block of a page.
struct Block {
    /// The page and line, for messages.
    place: String,
    /// What follows the opening fence.
    info: String,
    lines: Vec<String>,
}

/// A command of a console block, and the output that the page shows for it.
struct Command {
    place: String,
    text: String,
    output: Vec<String>,
}

/// README.md, the other pages at the top, those of `docs/`, and the READMEs of the
/// crates.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "BENCHMARKS.md",
        "CONTRIBUTING.md",
        "ffi/README.md",
        "ffi/model/tests/conformance/README.md",
        "host/fuzz/README.md",
        "kernels-rs/README.md",
    ]
    .iter()
    .map(|page| root.join(page))
    .collect();
    for entry in fs::read_dir(root.join("docs")).expect("docs/ is there") {
        let path = entry.expect("docs/ can be read").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

fn blocks() -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page can be read");
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            // Blocks in lists are indented.
            match line.trim_start().strip_prefix("```") {
                Some(_) if inside => inside = false,
                Some(info) => {
                    inside = true;
                    found.push(Block {
                        place: format!("{}:{}", page.display(), number + 1),
                        info: info.to_owned(),
                        lines: Vec::new(),
                    });
                }
                None if inside => {
                    let block = found.last_mut().expect("a block was opened");
                    block.lines.push(line.trim_end().to_owned());
                }
                None => {}
            }
        }
        assert!(!inside, "{}: a block is not closed", page.display());
    }
    found
}

/// The commands that are run, with the output that follows each.
fn commands() -> Vec<Command> {
    let mut found: Vec<Command> = Vec::new();
    for block in blocks().into_iter().filter(|block| block.info == "console") {
        let mut in_block = false;
        for line in block.lines {
            if let Some(text) = line.strip_prefix("$ ") {
                found.push(Command {
                    place: block.place.clone(),
                    text: text.split("  #").next().unwrap_or(text).trim().to_owned(),
                    output: Vec::new(),
                });
                in_block = true;
            } else {
                assert!(in_block, "{}: output before a command", block.place);
                let command = found.last_mut().expect("a command was found");
                command.output.push(line);
            }
        }
    }
    found
}

/// Whether the page's lines are in the real output: in order, and one after another
/// except where the page has a line `...`.
fn shows(real: &str, page: &[String]) -> bool {
    let real: Vec<&str> = real.lines().map(str::trim_end).collect();
    let mut rest = real.as_slice();
    page.split(|line| line.trim() == "...").all(|run| {
        if run.is_empty() {
            return true;
        }
        let at = rest
            .windows(run.len())
            .position(|window| window.iter().zip(run).all(|(one, other)| one == other));
        match at {
            Some(at) => {
                rest = &rest[at + run.len()..];
                true
            }
            None => false,
        }
    })
}

#[test]
fn every_block_is_run_or_says_why_it_is_not() {
    for block in blocks() {
        let (language, reason) = block
            .info
            .split_once(' ')
            .map_or((block.info.as_str(), None), |(language, rest)| {
                (language, Some(rest))
            });
        let python_on_the_simulated_runtime = language == "python"
            && block
                .lines
                .iter()
                .any(|line| line.contains("libcudart_simulated"));
        match reason {
            Some(reason) => assert!(
                reason
                    .strip_prefix(NOT_RUN)
                    .is_some_and(|why| why.len() > 5),
                "{}: {reason:?} is no reason",
                block.place
            ),
            None => assert!(
                language == "console"
                    || SHOWN.contains(&language)
                    || python_on_the_simulated_runtime,
                "{}: who runs this {language:?} block?",
                block.place
            ),
        }
    }
}

/// The words of a command line; double quotes keep words together.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}

#[test]
fn every_command_of_the_program_runs_and_prints_what_the_page_shows() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    // The pages' paths are those of a checkout.
    for part in ["host", "ffi"] {
        std::os::unix::fs::symlink(format!("{ROOT}/{part}"), folder.path().join(part))
            .expect("a link into the checkout");
    }
    // The reader's own dump.
    fs::copy(
        Path::new(ROOT).join("ffi/model/tests/data/dot/apps/cupy_chain.dot"),
        folder.path().join("graph.dot"),
    )
    .expect("a dump is copied");
    let mut ran = 0;
    for command in commands() {
        let Some(arguments) = command.text.strip_prefix("graph-memory-footprint") else {
            continue;
        };
        let arguments = words(arguments);
        let ended = bare().in_folder(folder.path()).args(&arguments).ends();
        assert_eq!(
            ended.code, 0,
            "{}: {}\n{}\n{}",
            command.place, command.text, ended.stdout, ended.stderr
        );
        assert!(
            shows(&ended.stdout, &command.output),
            "{}: {} prints something else than the page shows:\n{}",
            command.place,
            command.text,
            ended.stdout
        );
        ran += 1;
    }
    assert!(ran > 20, "the pages show examples: {ran}");
}

#[test]
fn every_other_command_is_run_in_ci() {
    let mut found = 0;
    for command in commands() {
        if command.text.starts_with("graph-memory-footprint") {
            continue;
        }
        let step = format!("step {}", command.text);
        assert!(
            CI.lines().any(|line| line == step),
            "{}: .ci/run does not run {}",
            command.place,
            command.text
        );
        found += 1;
    }
    assert!(found >= 2, "the two commands to try are there");
}

#[test]
fn the_readme_has_at_most_900_words_outside_code() {
    let text = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("README.md is there");
    let mut inside = false;
    let mut words = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            words += line.split_whitespace().count();
        }
    }
    assert!(words <= 900, "{words} words");
}

#[test]
fn links_between_pages_lead_to_files() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page can be read");
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or(target);
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let folder = page.parent().expect("a page is in a folder");
            assert!(
                folder.join(path).exists(),
                "{}: {target} leads nowhere",
                page.display()
            );
        }
    }
}

#[test]
fn a_page_that_shows_other_output_is_found_out() {
    let page = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(shows("a\nb\nc\n", &page("a\nb")));
    assert!(shows("a\nb\nc\n", &page("a\n...\nc")));
    assert!(!shows("a\nb\nc\n", &page("a\nc")));
    assert!(!shows("a\nb\nc\n", &page("c\n...\na")));
    assert!(!shows("a\nb\nc\n", &page("a\nb 1")));
}
