//! Graphs as a scenario file, to play with: one line a node.

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use super::FORMAT;
use super::read::WORK_WORDS;
use crate::plan::description::{Freed, Graph, Kind, Node, NodeIndex, Work};

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
    let origins: Vec<&str> = graphs.iter().map(|graph| graph.origin.as_str()).collect();
    writeln!(out, "name = {}", quoted(&origins.join(", ")))?;
    for graph in graphs {
        writeln!(
            out,
            "\n[[graph]]\nname = {}",
            quoted(&graph_name(&graph.name))
        )?;
        if graph.auto_free {
            writeln!(out, "auto_free = true")?;
        }
        if !graph.hold.is_zero() {
            writeln!(
                out,
                "hold = {}",
                quoted(&humantime::format_duration(graph.hold).to_string())
            )?;
        }
        writeln!(out, "nodes = [")?;
        let mut uses = graph.uses.as_slice();
        let mut line = String::new();
        for (index, node) in graph.indexed() {
            let own = uses.iter().take_while(|one| one.user == index).count();
            let (used, rest) = uses.split_at(own);
            uses = rest;
            line.clear();
            let used = used.iter().map(|one| one.allocation);
            entry(graph, index, node, used, &mut line);
            writeln!(out, "{line}")?;
        }
        writeln!(out, "]")?;
    }
    writeln!(out, "\n[programme]\nsteps = [")?;
    for graph in graphs {
        writeln!(
            out,
            "  {{ launch = {} }},",
            quoted(&graph_name(&graph.name))
        )?;
    }
    writeln!(out, "  {{ wait = \"all\" }},\n  {{ trim = true }},\n]")
}

fn entry(
    graph: &Graph,
    index: NodeIndex,
    node: &Node,
    used: impl Iterator<Item = NodeIndex>,
    line: &mut String,
) {
    let name = |node: NodeIndex| quoted(&graph.node_name(node).to_string());
    *line += "  { name = ";
    *line += &quoted(&node.name.to_string());
    let what = match node.kind {
        Kind::Alloc { bytes, .. } => format!("alloc = {}", size(bytes)),
        Kind::Free(Freed::Here(allocation) | Freed::Again(allocation)) => {
            format!("free = {}", name(allocation))
        }
        // What another graph allocated, by an address that says nothing here.
        Kind::Free(Freed::AtAddress(address)) => format!("work = \"free of {address:#x}\""),
        Kind::Free(Freed::Elsewhere(title)) => {
            format!(
                "free = {}",
                quoted(graph.titles.get(title as usize).map_or("", |t| t))
            )
        }
        Kind::Kernel { hold_ns } => {
            let title = quoted(graph.title(node).unwrap_or(""));
            match hold_ns {
                0 => format!("kernel = {title}"),
                _ => format!("kernel = {title}, hold = \"{hold_ns}ns\""),
            }
        }
        Kind::Other(work) => {
            let word = WORK_WORDS
                .iter()
                .find(|(_, known)| *known == work)
                .map(|(word, _)| *word);
            let title = if work == Work::Unknown {
                graph.title(node)
            } else {
                word
            };
            format!("work = {}", quoted(title.unwrap_or("unknown")))
        }
    };
    let _ = write!(line, ", {what}");
    list(
        "after",
        graph.dependencies.of(index).iter().copied().map(name),
        line,
    );
    list("uses", used.map(name), line);
    *line += " },";
}

fn list(key: &str, names: impl Iterator<Item = String>, line: &mut String) {
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        let _ = write!(line, ", {key} = [{}]", names.join(", "));
    }
}

/// `"64MiB"` where that is exact, else bytes. TOML's integers end at 2^63.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(MIB) => format!("\"{}MiB\"", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("\"{}KiB\"", bytes / KIB),
        _ if i64::try_from(bytes).is_ok() => bytes.to_string(),
        _ => format!("\"{bytes}\""),
    }
}

/// Graph names in a scenario have no dots or brackets, which lead to nodes and copies.
fn graph_name(name: &str) -> String {
    name.replace(['.', '[', ']'], "_")
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
