//! For tests: the graphs that were dumped and measured on an H200, from the model's
//! recordings.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cudart_model::memory::address::Granularity;

use crate::SpinKernel;
use crate::dot;
use crate::graph::Graph;
use crate::layout::{Effort, Layout, LayoutError, Layouts};

/// The kernel that this project's programs embed.
pub(crate) const SPIN: SpinKernel<'static> = SpinKernel {
    ptx: include_str!("../../../kernels-rs/ptx/clock_block.ptx"),
    name: "clock_block",
};

pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) graph: Graph,
    pub(crate) measured: BTreeMap<String, u64>,
}

/// A graph with the addresses of its dump, or, where it has none, with computed ones.
pub(crate) fn laid_out(graph: &Graph) -> Result<Layout, LayoutError> {
    let layouts = Layouts::of(graph, Granularity::H200, Effort::steps(u64::MAX))?;
    Ok(layouts.dumped.unwrap_or(layouts.computed))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../ffi/model/tests/data/dot")
        .join(name)
}

/// Graphs with child graphs that have memory nodes, which the simulated runtime cannot build.
pub(crate) fn children() -> Vec<Recording> {
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dot/children"))
}

/// Words and numbers of a line of `measured.txt`; a word that comes again is
/// numbered: `used`, `used 2`, `used 3`.
fn columns(line: &str) -> (String, BTreeMap<String, u64>) {
    let mut words = line.split_whitespace();
    let name = words.next().expect("a name").to_owned();
    let mut columns = BTreeMap::new();
    while let (Some(word), Some(value)) = (words.next(), words.next()) {
        let mut key = word.to_owned();
        let mut times = 1;
        while columns.contains_key(&key) {
            times += 1;
            key = format!("{word} {times}");
        }
        columns.insert(key, value.parse().expect("a number"));
    }
    (name, columns)
}

pub(crate) fn recordings(name: &str) -> Vec<Recording> {
    read_all(&folder(name))
}

fn read_all(folder: &Path) -> Vec<Recording> {
    let measured = fs::read_to_string(folder.join("measured.txt")).expect("the measurements");
    let read = |line| {
        let (name, measured) = columns(line);
        let file = fs::File::open(folder.join(format!("{name}.dot"))).expect("the dump");
        let mut graphs = dot::read(file, &name).expect("a dump");
        Recording {
            name,
            graph: graphs.remove(0),
            measured,
        }
    };
    measured.lines().map(read).collect()
}

pub(crate) fn all() -> Vec<Recording> {
    let mut all = recordings("random");
    all.extend(recordings("apps"));
    assert_eq!(all.len(), 83);
    all
}

pub(crate) fn column(recording: &Recording, name: &str) -> u64 {
    *recording
        .measured
        .get(name)
        .unwrap_or_else(|| panic!("{}: no {name}", recording.name))
}
