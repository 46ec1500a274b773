//! The graphs that the driver dumped on an H200, with the measurements of each
//! (`data/dot/README.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A node, as the dump describes it.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    Alloc { bytes: u64, address: u64 },
    Free { address: u64 },
    Kernel,
}

/// A dumped graph: its nodes in the order of creation, and the dependencies of each.
#[derive(Debug, Default)]
pub struct Dump {
    pub nodes: Vec<Node>,
    pub dependencies: Vec<Vec<usize>>,
}

pub fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/dot")
        .join(folder)
}

/// The number at the end of `"graph_12_node_34"`.
fn node_number(quoted: &str) -> Result<usize, String> {
    let name = quoted
        .strip_prefix("\"graph_")
        .and_then(|s| s.strip_suffix('"'));
    let number = name
        .and_then(|s| s.split_once("_node_"))
        .map(|(_, number)| number);
    number
        .and_then(|s| s.parse().ok())
        .ok_or_else(|| format!("not a node: {quoted}"))
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text
        .strip_prefix("0x")
        .ok_or_else(|| format!("not an address: {text}"))?;
    u64::from_str_radix(digits, 16).map_err(|e| format!("{text}: {e}"))
}

/// Reads the lines of one dump. A line of an unknown kind is an error, so that no part of a
/// graph is skipped.
pub fn read_dump(text: &str) -> Result<Dump, String> {
    let mut nodes = BTreeMap::new();
    let mut edges = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((from, rest)) = line.split_once(" -> ") {
            let (to, place) = rest
                .split_once(" [headlabel=")
                .ok_or_else(|| format!("edge: {line}"))?;
            let place = place.strip_suffix("];").and_then(|p| p.parse().ok());
            let place: usize = place.ok_or_else(|| format!("edge: {line}"))?;
            edges.push((place, node_number(from)?, node_number(to)?));
        } else if let Some((name, attributes)) = line.split_once("[style=") {
            if name.starts_with("label=") {
                continue;
            }
            let body: Vec<&str> = lines.by_ref().take_while(|&line| line != "}\"];").collect();
            let node = read_node(attributes, &body)?;
            if nodes.insert(node_number(name)?, node).is_some() {
                return Err(format!("two nodes named {name}"));
            }
        } else if !(line.is_empty()
            || line == "}"
            || line == "digraph dot {"
            || line.starts_with("subgraph cluster_"))
        {
            return Err(format!("unknown line: {line}"));
        }
    }
    let mut dump = Dump {
        nodes: nodes.values().copied().collect(),
        dependencies: vec![Vec::new(); nodes.len()],
    };
    if !nodes.keys().copied().eq(0..nodes.len()) {
        return Err("the nodes are not numbered from 0 without gaps".to_owned());
    }
    // The label of an edge is the position in the list of dependencies that the program
    // passed.
    edges.sort_unstable();
    for (_, from, to) in edges {
        if from >= to {
            return Err(format!("node {to} depends on the newer node {from}"));
        }
        dump.dependencies
            .get_mut(to)
            .ok_or_else(|| format!("no node {to}"))?
            .push(from);
    }
    Ok(dump)
}

fn read_node(attributes: &str, body: &[&str]) -> Result<Node, String> {
    let values = |titles: &str| {
        let line = body
            .iter()
            .find_map(|line| line.strip_prefix(&format!("| {{{{{titles}}} | {{")));
        line.and_then(|s| s.strip_suffix("}}"))
            .ok_or_else(|| format!("no {titles} in {body:?}"))
    };
    match body.first() {
        Some(&"MEM_ALLOC") => {
            let (bytes, dptr) = values("bytesize | dptr")?
                .split_once(" | ")
                .ok_or_else(|| format!("no dptr in {body:?}"))?;
            let bytes = bytes.parse().map_err(|e| format!("{bytes}: {e}"))?;
            Ok(Node::Alloc {
                bytes,
                address: address(dptr)?,
            })
        }
        Some(&"MEM_FREE") => Ok(Node::Free {
            address: address(values("dptr")?)?,
        }),
        _ if attributes.ends_with("label=\"{KERNEL") => Ok(Node::Kernel),
        _ => Err(format!("unknown kind of node: {attributes} {body:?}")),
    }
}

/// A line of `measured.txt` has the graph's name, and then words that are each followed by
/// a number. If a word occurs again, a number is appended to it: `used`, `used2`.
pub fn read_measured(text: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut graphs = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let name = words
            .next()
            .expect("each line starts with the graph's name");
        let mut columns = BTreeMap::new();
        while let (Some(title), Some(value)) = (words.next(), words.next()) {
            let value = value
                .parse()
                .unwrap_or_else(|e| panic!("{name}: {title} {value}: {e}"));
            let key = if columns.contains_key(title) {
                format!("{title}2")
            } else {
                title.to_owned()
            };
            assert_eq!(
                columns.insert(key, value),
                None,
                "{name}: {title} occurs three times"
            );
        }
        graphs.insert(name.to_owned(), columns);
    }
    graphs
}

/// Every graph of a folder: its name, its dump, and its measured columns.
pub fn read_all(folder: &str) -> Vec<(String, Dump, BTreeMap<String, u64>)> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let measured = read_measured(&read(data(folder).join("measured.txt")));
    let dumped: BTreeSet<String> = fs::read_dir(data(folder))
        .expect("the recordings are part of the repository")
        .filter_map(|entry| {
            entry
                .ok()?
                .file_name()
                .into_string()
                .ok()?
                .strip_suffix(".dot")
                .map(str::to_owned)
        })
        .collect();
    assert!(
        dumped.iter().eq(measured.keys()),
        "{folder}: the dumps and the lines of measured.txt are of different graphs"
    );
    measured
        .into_iter()
        .map(|(name, columns)| {
            let dump = read_dump(&read(data(folder).join(format!("{name}.dot"))))
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, dump, columns)
        })
        .collect()
}
