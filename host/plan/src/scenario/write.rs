//! Graphs as a scenario file, to play with: one line a node.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

use safe_io::visible::{self, toml_string as quoted};

use super::FORMAT;
use super::read::{PLACES, WORK_WORDS};
use crate::graph::{Freed, Graph, Kind, Location, Node, NodeIndex, Place, Work};

/// Writes graphs as a scenario that launches each once, waits, and trims.
///
/// # Errors
///
/// Those of writing.
pub fn write(graphs: &[Arc<Graph>], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "# A scenario for `graph-memory-footprint plan`. Addresses are not part of it:"
    )?;
    writeln!(
        out,
        "# they follow from the order of the nodes, their sizes and their dependencies."
    )?;
    writeln!(out, "scenario = {FORMAT}")?;
    let mut origins: Vec<&str> = graphs.iter().map(|graph| graph.origin.as_str()).collect();
    origins.dedup();
    writeln!(out, "name = {}", quoted(&origins.join(", ")))?;
    // Dots lead to nodes and brackets to copies.
    let names = graphs
        .iter()
        .map(|graph| graph.name.replace(['.', '[', ']'], "_"));
    let graph_names = unique(names, "graph");
    let node_names: Vec<Vec<String>> = graphs
        .iter()
        .map(|graph| unique(graph.nodes.iter().map(|node| node.name.to_string()), "node"))
        .collect();
    let foreign = foreign_allocations(graphs, &graph_names, &node_names);
    for ((graph, name), names) in graphs.iter().zip(&graph_names).zip(&node_names) {
        writeln!(out, "\n[[graph]]\nname = {}", quoted(name))?;
        if graph.auto_free {
            writeln!(out, "auto_free = true")?;
        }
        if !graph.spin.is_zero() {
            let spin = humantime::format_duration(graph.spin).to_string();
            writeln!(out, "spin_time = {}", quoted(&spin))?;
        }
        writeln!(out, "nodes = [")?;
        let entries = Entries {
            graph,
            names,
            foreign: &foreign,
        };
        entries.write(out)?;
        writeln!(out, "]")?;
    }
    writeln!(out, "\n[schedule]\nsteps = [")?;
    for name in &graph_names {
        writeln!(out, "  {{ launch = {} }},", quoted(name))?;
    }
    writeln!(out, "  {{ wait = \"all\" }},\n  {{ trim = true }},\n]")
}

/// The allocations that launches leave allocated, `graph.node` by address.
fn foreign_allocations(
    graphs: &[Arc<Graph>],
    graph_names: &[String],
    node_names: &[Vec<String>],
) -> BTreeMap<u64, String> {
    let mut by_address = BTreeMap::new();
    for ((graph, name), nodes) in graphs.iter().zip(graph_names).zip(node_names) {
        let freed_by = graph.freed_by();
        for (node, _, address) in graph.allocations() {
            let freed = freed_by[node];
            if let (Some(address), None) = (address, freed) {
                let node = nodes.get(node as usize).map_or("", |node| node);
                let allocation = || format!("{name}.{node}");
                by_address.entry(address).or_insert_with(allocation);
            }
        }
    }
    by_address
}

/// Names of one line, none empty, each once: child graphs that are used twice have
/// the same nodes twice.
fn unique(names: impl Iterator<Item = String>, empty: &str) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut unique = Vec::new();
    for name in names {
        let mut name = visible::line(&name).into_owned();
        if name.is_empty() {
            empty.clone_into(&mut name);
        }
        if taken.contains(&name) {
            let numbered = |number: usize| format!("{name} ({number})");
            // There are fewer names than numbers.
            let free = (2..).map(numbered).find(|name| !taken.contains(name));
            name = free.unwrap_or(name);
        }
        taken.insert(name.clone());
        unique.push(name);
    }
    unique
}

struct Entries<'g> {
    graph: &'g Graph,
    names: &'g [String],
    foreign: &'g BTreeMap<u64, String>,
}

impl Entries<'_> {
    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut uses = self.graph.uses.as_slice();
        let mut line = String::new();
        for (index, node) in self.graph.indexed() {
            let own = uses.iter().take_while(|one| one.user == index).count();
            let (used, rest) = uses.split_at(own);
            uses = rest;
            line.clear();
            let _ = write!(
                line,
                "  {{ name = {}, {}",
                self.name(index),
                self.what(node)
            );
            if let Some(&begin) = self.graph.child_graphs.get(&index) {
                let _ = write!(line, ", ends = {}", self.name(begin));
            }
            let after = self.graph.dependencies.of(index).iter();
            self.list("after", after.copied(), &mut line);
            self.list("uses", used.iter().map(|one| one.allocation), &mut line);
            writeln!(out, "{line} }},")?;
        }
        Ok(())
    }

    fn name(&self, node: NodeIndex) -> String {
        quoted(self.names.get(node as usize).map_or("", |name| name))
    }

    fn what(&self, node: &Node) -> String {
        match node.kind {
            Kind::Alloc {
                bytes, location, ..
            } => format!("alloc = {}{}", size(bytes), written(location)),
            Kind::Free(Freed::Here(allocation) | Freed::Again(allocation)) => {
                format!("free = {}", self.name(allocation))
            }
            Kind::Free(Freed::AtAddress(address)) => match self.foreign.get(&address) {
                Some(allocation) => format!("free = {}", quoted(allocation)),
                // No graph here allocates it, and the address says nothing here.
                None => format!("work = \"free of {address:#x}\""),
            },
            Kind::Free(Freed::Elsewhere(place)) => {
                format!("free = {}", quoted(self.graph.elsewhere(place)))
            }
            Kind::Kernel { spin_ns } => {
                let title = quoted(self.graph.title(node).unwrap_or(""));
                match spin_ns {
                    0 => format!("kernel = {title}"),
                    _ => format!("kernel = {title}, spin_time = \"{spin_ns}ns\""),
                }
            }
            Kind::Other(Work::Unknown) => {
                format!(
                    "work = {}",
                    quoted(self.graph.title(node).unwrap_or("unknown"))
                )
            }
            Kind::Other(work) => {
                let word = WORK_WORDS.iter().find(|(_, known)| *known == work);
                format!(
                    "work = {}",
                    quoted(word.map_or("unknown", |(word, _)| *word))
                )
            }
        }
    }

    fn list(&self, key: &str, nodes: impl Iterator<Item = NodeIndex>, line: &mut String) {
        let names: Vec<String> = nodes.map(|node| self.name(node)).collect();
        if !names.is_empty() {
            let _ = write!(line, ", {key} = [{}]", names.join(", "));
        }
    }
}

/// What is said of a place that is not the first GPU, or of managed memory.
fn written(location: Location) -> String {
    let mut text = match location.place {
        Place::Device(0) => String::new(),
        Place::Device(ordinal) => format!(", device = {ordinal}"),
        place => {
            let word = PLACES.iter().find(|(_, known)| *known == place);
            format!(
                ", place = {}",
                quoted(word.map_or("host", |(word, _)| *word))
            )
        }
    };
    if location.is_managed {
        text += ", managed = true";
    }
    text
}

/// `"64MiB"` where that is exact, else bytes. TOML's integers end at 2^63.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0 => "0".to_owned(),
        _ if i64::try_from(bytes).is_err() => format!("\"{bytes}\""),
        _ if bytes.is_multiple_of(MIB) => format!("\"{}MiB\"", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("\"{}KiB\"", bytes / KIB),
        _ => bytes.to_string(),
    }
}
