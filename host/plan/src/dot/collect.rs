//! Makes graphs of DOT's statements: a cluster is a graph, a label says what a node
//! does.

use std::borrow::Cow;

use safe_io::visible;

use super::by_name::ByName;
use super::flatten::flatten;
use super::label::{self, Facts};
use super::raw::{Attributes, Cluster, RawFile, RawNode};
use crate::graph::{Freed, Graph, Kind, Location, MOST_NODES, Node, Place, Work};
use crate::name::Name;
use crate::read_error::{Position, ReadError};

/// What to do about a dump that lacks what a plan needs.
const VERBOSE: &str = "the dump was made without the verbose flag: give cudaGraphDebugDotPrint \
                       the flag cudaGraphDebugDotFlagsVerbose (1)";

pub(super) struct Collector {
    origin: String,
    graphs: Vec<Graph>,
    file: RawFile,
    open: Vec<u32>,
    by_name: ByName,
    plain_labels: bool,
}

impl Collector {
    pub(super) fn new(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            graphs: Vec::new(),
            file: RawFile::default(),
            open: Vec::new(),
            by_name: ByName::default(),
            plain_labels: false,
        }
    }

    pub(super) fn into_graphs(self) -> Vec<Graph> {
        self.graphs
    }

    /// A graph of the file begins, after so many lines that are no part of one.
    pub(super) fn begin_file_graph(&mut self, name: &[u8], skipped: u64) {
        self.file = RawFile::default();
        if skipped > 0 {
            let lines = if skipped == 1 { "line" } else { "lines" };
            let note = format!("{skipped} {lines} before `digraph` are no part of the dump");
            self.file.notes.push(note);
        }
        self.by_name = ByName::default();
        self.plain_labels = false;
        self.open.clear();
        self.begin_cluster(name);
    }

    pub(super) fn end_file_graph(&mut self) -> Result<(), ReadError> {
        let mut file = std::mem::take(&mut self.file);
        self.by_name = ByName::default();
        if self.plain_labels {
            file.notes.push(VERBOSE.to_owned());
        }
        let graphs = flatten(file, &self.origin)?;
        self.graphs.extend(graphs);
        Ok(())
    }

    pub(super) fn begin_cluster(&mut self, name: &[u8]) {
        let parent = self.open.last().copied();
        self.open.push(self.file.clusters.len() as u32);
        let name = visible::line(&String::from_utf8_lossy(name)).into_owned();
        self.file.clusters.push(Cluster {
            name,
            parent,
            nodes: Vec::new(),
        });
    }

    pub(super) fn end_cluster(&mut self) {
        self.open.pop();
    }

    /// A graph's label is its name.
    pub(super) fn cluster_label(&mut self, label: &[u8]) {
        let name = visible::line(String::from_utf8_lossy(label).trim()).into_owned();
        let open = self.open_cluster();
        self.file.clusters[open as usize].name = name;
    }

    /// The innermost cluster that is open; the `digraph` itself is one.
    fn open_cluster(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    /// A node that is named, here or elsewhere described.
    pub(super) fn mention(&mut self, name: &[u8], at: Position) -> Result<u32, ReadError> {
        let name = Name::from(&*lossy(name));
        if let Some(node) = self.by_name.get(&name) {
            return Ok(node);
        }
        if self.file.nodes.len() >= MOST_NODES {
            return Err(ReadError::at(at, format!("more than {MOST_NODES} nodes")));
        }
        let node = self.file.nodes.len() as u32;
        let cluster = self.open_cluster();
        self.file.nodes.push(RawNode {
            node: Node {
                name: name.clone(),
                title: None,
                kind: Kind::Other(Work::Unknown),
            },
            cluster,
            described: None,
            number: name.number(),
        });
        self.by_name.insert(name, node);
        Ok(node)
    }

    pub(super) fn edge(&mut self, from: u32, to: u32, at: Position) -> Result<(), ReadError> {
        if self.file.edges.len() >= 8 * MOST_NODES {
            return Err(ReadError::at(
                at,
                format!("more than {} edges", 8 * MOST_NODES),
            ));
        }
        self.file.edges.push((from, to));
        Ok(())
    }

    pub(super) fn node(
        &mut self,
        name: &[u8],
        attributes: &Attributes,
        at: Position,
    ) -> Result<(), ReadError> {
        let node = self.mention(name, at)?;
        let text = attributes.label().map(lossy);
        let facts = text.as_deref().map(label::read).unwrap_or_default();
        let kind = self.kind(&facts, &attributes.shape, name, at)?;
        let title = match kind {
            Kind::Kernel { .. } | Kind::Other(Work::Unknown) => {
                let title = facts.title.as_deref().unwrap_or(facts.type_name);
                self.file.titles.number(title)
            }
            _ => None,
        };
        // With the verbose flag these are records; host functions, events and child
        // graphs never are.
        self.plain_labels |= !facts.is_record
            && matches!(
                kind,
                Kind::Kernel { .. } | Kind::Other(Work::Memset | Work::Memcpy)
            );
        for pointer in &facts.pointers {
            // A pointer that cannot be read is one that is not known.
            if let Ok(address) = label::number(pointer) {
                self.file.pointers.push((node, address));
            }
        }
        if !facts.graphs.is_empty() {
            let graphs = facts.graphs.iter().map(|&graph| graph.to_owned());
            self.file.references.insert(node, graphs.collect());
        }
        let open = self.open_cluster();
        let raw = &mut self.file.nodes[node as usize];
        if let Some(first) = raw.described {
            let what = format!(
                "node {} is described a second time, first at {first}",
                raw.node.name
            );
            return Err(ReadError::at(at, what));
        }
        raw.described = Some(at);
        raw.node.kind = kind;
        raw.node.title = title;
        raw.number = raw.number.or(facts.number);
        // Where an edge of another graph named it first, it belongs where it is described.
        raw.cluster = open;
        Ok(())
    }

    fn kind(
        &self,
        facts: &Facts<'_>,
        shape: &[u8],
        name: &[u8],
        at: Position,
    ) -> Result<Kind, ReadError> {
        let field = |value: Option<&str>, what: &str| {
            let name = String::from_utf8_lossy(name);
            let Some(text) = value else {
                let type_name = facts.type_name;
                return Err(ReadError::at(
                    at,
                    format!("{name} is a {type_name} without its {what}: {VERBOSE}"),
                ));
            };
            label::number(text).map_err(|why| ReadError::at(at, format!("{what} of {name}: {why}")))
        };
        Ok(match facts.type_name {
            "MEM_ALLOC" => Kind::Alloc {
                bytes: field(facts.bytes, "bytesize")?,
                address: facts
                    .address
                    .map(|address| field(Some(address), "dptr"))
                    .transpose()?,
                location: location(facts.location)
                    .map_err(|why| ReadError::at(at, format!("{}: {why}", lossy(name))))?,
            },
            "MEM_FREE" => Kind::Free(Freed::AtAddress(field(facts.address, "dptr")?)),
            "KERNEL" => Kind::Kernel { spin_ns: 0 },
            _ if !facts.is_record && shape == b"octagon" => Kind::Kernel { spin_ns: 0 },
            other => Kind::Other(work(other, facts)),
        })
    }
}

/// Where an alloc node's memory is; the first GPU where an older runtime does not say.
fn location(written: Option<[&str; 3]>) -> Result<Location, String> {
    let Some([alloc_type, place, id]) = written else {
        return Ok(Location::default());
    };
    let is_managed = match alloc_type {
        "PINNED" => false,
        "MANAGED" => true,
        other => return Err(format!("memory of the type {other} is not known here")),
    };
    let place = match place {
        "DEVICE" => Place::Device(id.parse().map_err(|_| format!("{id} is no device"))?),
        "HOST" => Place::Host,
        "HOST_NUMA" => Place::HostNuma,
        "HOST_NUMA_CURRENT" => Place::HostNumaCurrent,
        "NONE" | "INVALID" => Place::Unspecified,
        other => return Err(format!("memory at {other} is not known here")),
    };
    Ok(Location { is_managed, place })
}

/// As [`String::from_utf8_lossy`], and faster where nothing is lost.
fn lossy(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(text),
    }
}

fn work(type_name: &str, facts: &Facts<'_>) -> Work {
    match type_name {
        "MEMSET" => Work::Memset,
        "MEMCPY" => Work::Memcpy,
        "HOST" => Work::Host,
        "EMPTY" => Work::Empty,
        "EVENT_RECORD" => Work::EventRecord,
        "WAIT_EVENT" | "EVENT_WAIT" => Work::EventWait,
        "EXT_SEMAS_SIGNAL" | "EXT_SEMAS_WAIT" => Work::Semaphore,
        "BATCH_MEM_OP" => Work::BatchMemOp,
        "CONDITIONAL" => Work::Conditional,
        "GRAPH" | "CHILD_GRAPH" => Work::Child,
        _ if !facts.graphs.is_empty() => Work::Child,
        _ => Work::Unknown,
    }
}
