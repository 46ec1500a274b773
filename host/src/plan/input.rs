//! The files that a plan is made of.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use graph_memory_plan::dot;
use graph_memory_plan::graph::{Graph, Kind};
use graph_memory_plan::scenario::{self, Scenario};

use safe_io::visible;

use crate::cli::exit::Stop;
use crate::watch;

/// What was given.
#[derive(Debug)]
pub enum Input {
    /// Graphs from dumps.
    Graphs(Vec<Arc<Graph>>),
    /// A scenario.
    Scenario(Scenario),
}

/// The largest scenario file: they are written by people, or by `--dump-scenario`.
const LARGEST_SCENARIO: u64 = 1 << 30;

/// Reads all files.
///
/// # Errors
///
/// Files that are not there or not of these forms, with line and column.
pub fn read(files: &[impl AsRef<Path>], recompute: bool, auto_free: bool) -> Result<Input, Stop> {
    if let [file] = files
        && let Some(mut scenario) = recording(file.as_ref())?
    {
        if auto_free {
            scenario.set_auto_free();
        }
        return Ok(Input::Scenario(scenario));
    }
    let scenarios = files
        .iter()
        .filter(|file| is_scenario(file.as_ref()))
        .count();
    if scenarios > 0 {
        let [file] = files else {
            return Err(Stop::usage(
                "a scenario is planned by itself",
                "give one .toml file, or dumps only; --dump-scenario puts several dumps into one",
            ));
        };
        let mut scenario = read_scenario(file.as_ref())?;
        if auto_free {
            scenario.set_auto_free();
        }
        return Ok(Input::Scenario(scenario));
    }
    let mut graphs = Vec::new();
    for file in files {
        graphs.extend(read_dump(file.as_ref())?);
    }
    name_apart(&mut graphs);
    if auto_free {
        graphs.iter_mut().for_each(|graph| graph.auto_free = true);
    }
    if recompute {
        for node in graphs.iter_mut().flat_map(|graph| &mut graph.nodes) {
            if let Kind::Alloc { address, .. } = &mut node.kind {
                *address = None;
            }
        }
    }
    Ok(Input::Graphs(graphs.into_iter().map(Arc::new).collect()))
}

/// The recorded launches of a file that `watch --output` wrote; nothing if it is none.
fn recording(file: &Path) -> Result<Option<Scenario>, Stop> {
    let is_json = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if !is_json {
        return Ok(None);
    }
    let text = crate::results::read::text_of(file)?;
    if !watch::is_watch_result(&text) {
        return Ok(None);
    }
    let scenario = watch::scenario(&watch::read(&text, file)?);
    scenario.map(Some).ok_or_else(|| {
        Stop::usage(
            format!(
                "{}: none of its graphs has memory nodes, so there is nothing to plan",
                file.display()
            ),
            "`show` prints what the recording has",
        )
    })
}

fn is_scenario(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

fn read_scenario(file: &Path) -> Result<Scenario, Stop> {
    let shown = visible::line(&file.display().to_string()).into_owned();
    let mut text = String::new();
    let opened =
        File::open(file).and_then(|file| file.take(LARGEST_SCENARIO).read_to_string(&mut text));
    opened.map_err(|error| cannot_read(&shown, &error))?;
    scenario::read(&text, &shown).map_err(|error| {
        Stop::usage(
            format!("{shown}:{error}"),
            "fix the scenario; host/scenarios has examples",
        )
    })
}

fn read_dump(file: &Path) -> Result<Vec<Graph>, Stop> {
    let shown = visible::line(&file.display().to_string()).into_owned();
    let read = if file == Path::new("-") {
        dot::read(io::stdin().lock(), "standard input")
    } else {
        let opened = File::open(file).map_err(|error| cannot_read(&shown, &error))?;
        if opened.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(Stop::usage(
                format!("{shown} is a directory"),
                "give the files in it",
            ));
        }
        dot::read(opened, &shown)
    };
    let mut graphs = read.map_err(|error| {
        let colon = if error.at.is_some() { ":" } else { ": " };
        Stop::usage(
            format!("{shown}{colon}{error}"),
            "give a file that cudaGraphDebugDotPrint wrote with cudaGraphDebugDotFlagsVerbose",
        )
    })?;
    // Each file calls its graphs graph_1 and so on: the file's name distinguishes them.
    if let Some(stem) = file.file_stem().filter(|_| file != Path::new("-")) {
        let stem = stem.to_string_lossy();
        let stem = visible::line(&stem);
        let alone = graphs.len() == 1;
        for graph in &mut graphs {
            graph.name = if alone {
                stem.clone().into_owned()
            } else {
                format!("{stem}:{}", graph.name)
            };
        }
    }
    Ok(graphs)
}

/// Graphs of the same name get a number.
fn name_apart(graphs: &mut [Graph]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for graph in graphs {
        let count = seen.entry(graph.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            graph.name = format!("{} ({count})", graph.name);
        }
    }
}

fn cannot_read(file: &str, error: &io::Error) -> Stop {
    Stop::usage(
        format!("cannot read {file}: {error}"),
        "give a file that can be read",
    )
}
