//! From TOML to a scenario; what is wrong is said with line and column.

mod steps;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use safe_io::visible;
use toml::Spanned;

use super::file::{GraphEntry, NodeEntry, ScenarioFile, Size};
use super::{FORMAT, Instance, MOST_OBJECTS, Scenario};
use crate::graph::{
    Dependencies, Freed, Graph, Kind, Location, MOST_NODES, Node, NodeIndex, Place, Titles, Use,
    Work,
};
use crate::read_error::{Position, ReadError};
use steps::{Families, stream_of};

/// The longest spin time: longer ones would only be waited for.
const LONGEST_SPIN: Duration = Duration::from_secs(60);

/// Reads a scenario.
///
/// # Errors
///
/// Text that is no TOML or not of this form, names that are not there or twice.
pub fn read(text: &str, origin: &str) -> Result<Scenario, ReadError> {
    let file: ScenarioFile = toml::from_str(text).map_err(|error| ReadError {
        at: error.span().map(|span| place(text, span.start)),
        ..ReadError::whole(error.message())
    })?;
    Reader { text, origin }.scenario(&file)
}

/// The line and column of a byte.
fn place(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    Position {
        line: line as u64,
        column: column as u64,
    }
}

struct Reader<'t> {
    text: &'t str,
    origin: &'t str,
}

impl Reader<'_> {
    fn scenario(&self, file: &ScenarioFile) -> Result<Scenario, ReadError> {
        if *file.scenario.get_ref() != FORMAT {
            let what = format!("this program reads scenarios of version {FORMAT}");
            return Err(self.error(&file.scenario.span(), what));
        }
        let mut scenario = Scenario {
            name: visible::line(&file.name).into_owned(),
            about: visible::line(&file.about).into_owned(),
            ..Scenario::default()
        };
        let mut families = Families::new();
        for entry in &file.graph {
            let graph = Arc::new(self.graph(entry.get_ref())?);
            let entry = entry.get_ref();
            let name = entry.name.get_ref();
            let first = scenario.instances.len();
            let copies = entry.copies.as_ref().map_or(1, |copies| *copies.get_ref());
            if copies == 0 || copies > MOST_OBJECTS - first {
                let span = entry
                    .copies
                    .as_ref()
                    .map_or(entry.name.span(), Spanned::span);
                return Err(self.error(&span, format!("1 to {MOST_OBJECTS} graphs in all")));
            }
            let several = entry.copies.is_some();
            let instance = |number| Instance {
                name: if several {
                    format!("{name}[{number}]")
                } else {
                    name.clone()
                },
                graph: Arc::clone(&graph),
            };
            scenario.instances.extend((0..copies).map(instance));
            if families.insert(name, first..first + copies).is_some() {
                return Err(self.error(&entry.name.span(), format!("a second graph {name}")));
            }
        }
        self.check_foreign_frees(file, &scenario)?;
        let fixed = file.schedule.streams.as_ref();
        if let Some(streams) = fixed.filter(|s| !(1..=MOST_OBJECTS).contains(s.get_ref())) {
            return Err(self.error(&streams.span(), format!("1 to {MOST_OBJECTS} streams")));
        }
        for step in &file.schedule.steps {
            self.step(step, &families, &mut scenario)?;
        }
        let named = scenario
            .steps
            .iter()
            .filter_map(stream_of)
            .max()
            .map_or(1, |last| last + 1);
        scenario.streams = fixed.map_or(named, |streams| *streams.get_ref());
        if named > scenario.streams {
            let what = format!(
                "stream {} is used, and there are {}",
                named - 1,
                scenario.streams
            );
            return Err(ReadError {
                at: fixed.map(|s| place(self.text, s.span().start)),
                ..ReadError::whole(what)
            });
        }
        Ok(scenario)
    }

    fn graph(&self, entry: &GraphEntry) -> Result<Graph, ReadError> {
        let name = entry.name.get_ref();
        if name.is_empty() || name.contains(['.', '[', ']']) || !visible::is_plain(name) {
            return Err(self.error(
                &entry.name.span(),
                "a graph's name is one line of characters that can be seen, with no dot or bracket",
            ));
        }
        if entry.nodes.len() > MOST_NODES {
            return Err(self.error(&entry.name.span(), format!("more than {MOST_NODES} nodes")));
        }
        let mut places: HashMap<&str, NodeIndex> = HashMap::new();
        for (index, node) in (0..).zip(&entry.nodes) {
            let name = &node.get_ref().name;
            if name.get_ref().is_empty() || !visible::is_plain(name.get_ref()) {
                return Err(self.error(
                    &name.span(),
                    "a node needs a name: one line of characters that can be seen",
                ));
            }
            if places.insert(name.get_ref(), index).is_some() {
                return Err(self.error(&name.span(), format!("a second node {}", name.get_ref())));
            }
        }
        let mut collected = Collected {
            titles: Titles::default(),
            elsewhere: Vec::new(),
            is_freed: vec![false; entry.nodes.len()],
        };
        let (mut nodes, mut edges, mut uses) = (Vec::new(), Vec::new(), Vec::new());
        // The child graphs that have begun, each with its place in the text.
        let mut open: Vec<(NodeIndex, Range<usize>)> = Vec::new();
        let mut child_graphs = BTreeMap::new();
        for (index, node) in (0..).zip(&entry.nodes) {
            let span = node.span();
            let node = node.get_ref();
            let find = |name: &str| {
                let missing =
                    || self.error(&span, format!("there is no node {name} in this graph"));
                places.get(name).copied().ok_or_else(missing)
            };
            let (kind, title) = self.kind(node, &span, &places, entry, &mut collected)?;
            if let Some(name) = &node.ends {
                let begin = find(name)?;
                if open.pop().is_none_or(|(innermost, _)| innermost != begin) {
                    let what = format!("{name} is not the child graph that began last");
                    return Err(self.error(&span, what));
                }
                child_graphs.insert(index, begin);
            }
            if kind == Kind::Other(Work::ChildBegin) {
                open.push((index, span.clone()));
            }
            for name in node.after.iter() {
                edges.push((find(name)?, index));
            }
            for name in node.uses.iter() {
                let allocation = find(name)?;
                if !is_alloc(entry, allocation) {
                    return Err(self.error(&span, format!("{name} is not an alloc node")));
                }
                uses.push(Use {
                    user: index,
                    allocation,
                });
            }
            nodes.push(Node {
                name: node.name.get_ref().as_str().into(),
                title,
                kind,
            });
        }
        uses.sort_unstable();
        uses.dedup();
        if let Some((_, span)) = open.last() {
            return Err(self.error(span, "no node `ends` this child graph"));
        }
        Ok(Graph {
            name: name.clone(),
            origin: self.origin.to_owned(),
            dependencies: Dependencies::new(nodes.len(), &edges),
            nodes,
            uses,
            child_graphs,
            titles: collected.titles.into_list(),
            elsewhere: collected.elsewhere,
            auto_free: entry.auto_free,
            spin: self.spin(entry.spin.as_ref())?,
            notes: Vec::new(),
        })
    }

    fn kind(
        &self,
        node: &NodeEntry,
        span: &Range<usize>,
        places: &HashMap<&str, NodeIndex>,
        entry: &GraphEntry,
        collected: &mut Collected,
    ) -> Result<(Kind, Option<u32>), ReadError> {
        if node.spin.is_some() && node.kernel.is_none() {
            return Err(self.error(span, "only a kernel has a spin time"));
        }
        let located = node.device.is_some() || node.managed || node.place.is_some();
        if located && node.alloc.is_none() {
            return Err(self.error(span, "only an alloc node has a device, place or managed"));
        }
        match (&node.alloc, &node.free, &node.kernel, &node.work) {
            (Some(size), None, None, None) => Ok((
                Kind::Alloc {
                    bytes: self.size(size)?,
                    address: None,
                    location: self.location(node)?,
                },
                None,
            )),
            (None, Some(name), None, None) => {
                let Some(&allocation) = places.get(name.get_ref().as_str()) else {
                    let foreign = name.get_ref().contains('.');
                    let what = format!("there is no node {} in this graph", name.get_ref());
                    return match foreign {
                        true => {
                            let place = collected.elsewhere.len() as u32;
                            collected.elsewhere.push(name.get_ref().as_str().into());
                            Ok((Kind::Free(Freed::Elsewhere(place)), None))
                        }
                        false => Err(self.error(&name.span(), what)),
                    };
                };
                if !is_alloc(entry, allocation) {
                    let what = format!("{} is not an alloc node", name.get_ref());
                    return Err(self.error(&name.span(), what));
                }
                let is_freed = &mut collected.is_freed[allocation as usize];
                let freed = match std::mem::replace(is_freed, true) {
                    true => Freed::Again(allocation),
                    false => Freed::Here(allocation),
                };
                Ok((Kind::Free(freed), None))
            }
            (None, None, Some(title), None) => {
                let spin = self.spin(node.spin.as_ref())?;
                let spin_ns = u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX);
                Ok((Kind::Kernel { spin_ns }, collected.titles.number(title)))
            }
            (None, None, None, Some(title)) => {
                let work = work(title);
                let title = if work == Work::Unknown {
                    collected.titles.number(title)
                } else {
                    None
                };
                Ok((Kind::Other(work), title))
            }
            _ => Err(self.error(span, "a node has one of alloc, free, kernel and work")),
        }
    }

    /// Free nodes for other graphs' allocations: each must name one.
    fn check_foreign_frees(
        &self,
        file: &ScenarioFile,
        scenario: &Scenario,
    ) -> Result<(), ReadError> {
        let nodes = file.graph.iter().flat_map(|graph| &graph.get_ref().nodes);
        for name in nodes.filter_map(|node| node.get_ref().free.as_ref()) {
            let has_dot = name.get_ref().contains('.');
            let own = || {
                let all = file.graph.iter().flat_map(|graph| &graph.get_ref().nodes);
                let mut names = all.map(|node| node.get_ref().name.get_ref());
                names.any(|other| other == name.get_ref())
            };
            if has_dot && scenario.find_allocation(name.get_ref()).is_none() && !own() {
                let what = format!("there is no allocation {}", name.get_ref());
                return Err(self.error(&name.span(), what));
            }
        }
        Ok(())
    }

    fn location(&self, node: &NodeEntry) -> Result<Location, ReadError> {
        let place = match (&node.device, &node.place) {
            (None, None) => Place::Device(0),
            (Some(device), None) => Place::Device(*device.get_ref()),
            (None, Some(word)) => {
                let known = PLACES.iter().find(|(known, _)| known == word.get_ref());
                let Some((_, place)) = known else {
                    let words = PLACES.map(|(word, _)| word).join(", ");
                    return Err(self.error(&word.span(), format!("a place is one of {words}")));
                };
                *place
            }
            (Some(_), Some(word)) => {
                return Err(self.error(&word.span(), "a device is a place already"));
            }
        };
        Ok(Location {
            is_managed: node.managed,
            place,
        })
    }

    fn size(&self, size: &Spanned<Size>) -> Result<u64, ReadError> {
        match size.get_ref() {
            Size::Bytes(bytes) => Ok(*bytes),
            Size::Text(text) => {
                let parsed: Result<ByteSize, _> = text.parse();
                let what = || {
                    self.error(
                        &size.span(),
                        "a size is a number of bytes or text such as \"64MiB\"",
                    )
                };
                parsed.map(|size| size.as_u64()).map_err(|_| what())
            }
        }
    }

    fn spin(&self, spin: Option<&Spanned<String>>) -> Result<Duration, ReadError> {
        let Some(spin) = spin else {
            return Ok(Duration::ZERO);
        };
        match humantime::parse_duration(spin.get_ref()) {
            Ok(time) if time <= LONGEST_SPIN => Ok(time),
            _ => Err(self.error(
                &spin.span(),
                "a spin time is a time such as \"2ms\", at most 60s",
            )),
        }
    }

    fn error(&self, span: &Range<usize>, what: impl Into<String>) -> ReadError {
        ReadError::at(place(self.text, span.start), what)
    }
}

/// What reading the nodes of a graph collects beside them.
struct Collected {
    titles: Titles,
    /// The allocations of other graphs that free nodes name.
    elsewhere: Vec<Box<str>>,
    /// Whether a free node before this one names the alloc node.
    is_freed: Vec<bool>,
}

fn is_alloc(entry: &GraphEntry, node: NodeIndex) -> bool {
    entry.nodes[node as usize].get_ref().alloc.is_some()
}

/// Places of memory that are no GPU.
pub(super) const PLACES: [(&str, Place); 4] = [
    ("host", Place::Host),
    ("host-numa", Place::HostNuma),
    ("host-numa-current", Place::HostNumaCurrent),
    ("unspecified", Place::Unspecified),
];

/// Kinds of work that have a word; [`super::write()`] writes the same ones.
pub(super) const WORK_WORDS: [(&str, Work); 11] = [
    ("memset", Work::Memset),
    ("memcpy", Work::Memcpy),
    ("host", Work::Host),
    ("empty", Work::Empty),
    ("event-record", Work::EventRecord),
    ("event-wait", Work::EventWait),
    ("child-begin", Work::ChildBegin),
    ("child", Work::Child),
    ("conditional", Work::Conditional),
    ("semaphore", Work::Semaphore),
    ("batch-mem-op", Work::BatchMemOp),
];

fn work(word: &str) -> Work {
    let known = WORK_WORDS.iter().find(|(known, _)| *known == word);
    known.map_or(Work::Unknown, |(_, work)| *work)
}
