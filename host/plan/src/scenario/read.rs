//! From TOML to a scenario; what is wrong is said with line and column.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use safe_io::visible;
use toml::Spanned;

use super::file::{GraphEntry, NodeEntry, ScenarioFile, Size, StepEntry, StreamName};
use super::{FORMAT, Instance, MOST_OBJECTS, Scenario, Step};
use crate::graph::{
    Dependencies, Freed, Graph, Kind, Location, MOST_NODES, Node, NodeIndex, Place, Use, Work,
};

/// Why a text is no scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// Line and column, counted from 1.
    pub at: Option<(usize, usize)>,
    /// What is wrong, one line.
    pub what: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// The longest spin time: longer ones would only be waited for.
const LONGEST_SPIN: Duration = Duration::from_secs(60);

/// Reads a scenario.
///
/// # Errors
///
/// Text that is no TOML or not of this form, names that are not there or twice.
pub fn read(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
    let file: ScenarioFile = toml::from_str(text).map_err(|error| ScenarioError {
        at: error.span().map(|span| place(text, span.start)),
        what: visible::line(error.message()).into_owned(),
    })?;
    Reader { text, origin }.scenario(&file)
}

/// Line and column of a byte, counted from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    (line, column)
}

struct Reader<'t> {
    text: &'t str,
    origin: &'t str,
}

/// The graphs that a name in the schedule means.
type Families<'f> = BTreeMap<&'f str, Range<usize>>;

impl Reader<'_> {
    fn scenario(&self, file: &ScenarioFile) -> Result<Scenario, ScenarioError> {
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
            return Err(ScenarioError {
                at: fixed.map(|s| place(self.text, s.span().start)),
                what,
            });
        }
        Ok(scenario)
    }

    fn graph(&self, entry: &GraphEntry) -> Result<Graph, ScenarioError> {
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
        let mut titles = Titles::default();
        let mut freed = vec![false; entry.nodes.len()];
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
            let (kind, title) = self.kind(node, &span, &places, entry, &mut freed, &mut titles)?;
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
                let used = entry.nodes.get(allocation as usize);
                if used.is_none_or(|used| used.get_ref().alloc.is_none()) {
                    return Err(self.error(&span, format!("{name} is no alloc node")));
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
            titles: titles.list.into(),
            elsewhere: titles.elsewhere,
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
        freed: &mut [bool],
        titles: &mut Titles,
    ) -> Result<(Kind, Option<u32>), ScenarioError> {
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
                            let place = titles.elsewhere.len() as u32;
                            titles.elsewhere.push(name.get_ref().as_str().into());
                            Ok((Kind::Free(Freed::Elsewhere(place)), None))
                        }
                        false => Err(self.error(&name.span(), what)),
                    };
                };
                let target = entry.nodes.get(allocation as usize);
                if target.is_none_or(|target| target.get_ref().alloc.is_none()) {
                    let what = format!("{} is no alloc node", name.get_ref());
                    return Err(self.error(&name.span(), what));
                }
                let again = freed
                    .get_mut(allocation as usize)
                    .map(|f| std::mem::replace(f, true));
                let kind = match again {
                    Some(true) => Freed::Again(allocation),
                    _ => Freed::Here(allocation),
                };
                Ok((Kind::Free(kind), None))
            }
            (None, None, Some(title), None) => {
                let spin = self.spin(node.spin.as_ref())?;
                let spin_ns = u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX);
                Ok((Kind::Kernel { spin_ns }, titles.of(title)))
            }
            (None, None, None, Some(title)) => {
                let work = work(title);
                let title = if work == Work::Unknown {
                    titles.of(title)
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
    ) -> Result<(), ScenarioError> {
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

    fn step(
        &self,
        entry: &Spanned<StepEntry>,
        families: &Families<'_>,
        scenario: &mut Scenario,
    ) -> Result<(), ScenarioError> {
        let span = entry.span();
        let step = entry.get_ref();
        let times = step.times.unwrap_or(1);
        let before = scenario.steps.len();
        let mut once = Vec::new();
        let graphs = |name: &str| self.instances(name, families, scenario, &span);
        let stream = |turn: usize| self.stream(step.stream.as_ref(), turn, &span);
        let at = step.stream.is_some();
        match (
            &step.launch,
            &step.upload,
            &step.wait,
            &step.free,
            &step.destroy,
            step.trim,
        ) {
            (Some(name), None, None, None, None, None) => {
                for (turn, instance) in graphs(name)?.enumerate() {
                    once.push(Step::Launch {
                        instance,
                        stream: stream(turn)?,
                    });
                }
            }
            (None, Some(name), None, None, None, None) => {
                for (turn, instance) in graphs(name)?.enumerate() {
                    once.push(Step::Upload {
                        instance,
                        stream: stream(turn)?,
                    });
                }
            }
            (None, None, Some(wait), None, None, None) if !at => once.push(match wait {
                StreamName::Word(word) if word == "all" => Step::Wait { stream: None },
                wait => Step::Wait {
                    stream: Some(self.stream(Some(wait), 0, &span)?),
                },
            }),
            (None, None, None, Some(name), None, None) => {
                let (graph, node) = name.split_once('.').unwrap_or((name, ""));
                for (turn, instance) in graphs(graph)?.enumerate() {
                    let built = scenario.instances.get(instance).map(|built| &*built.graph);
                    let found = built.and_then(|graph| {
                        graph
                            .indexed()
                            .find(|(_, n)| n.name.is(node) && matches!(n.kind, Kind::Alloc { .. }))
                    });
                    let Some((node, _)) = found else {
                        return Err(self.error(&span, format!("there is no allocation {name}")));
                    };
                    let stream = if at { Some(stream(turn)?) } else { None };
                    once.push(Step::Free {
                        instance,
                        node,
                        stream,
                    });
                }
            }
            (None, None, None, None, Some(name), None) if !at => {
                once.extend(graphs(name)?.map(|instance| Step::Destroy { instance }));
            }
            (None, None, None, None, None, Some(true)) if !at => once.push(Step::Trim),
            _ => {
                let what = "a step has one of launch, upload, wait, free, destroy and trim = true, \
                            and a stream only with launch, upload and free";
                return Err(self.error(&span, what));
            }
        }
        if times == 0 || once.len().saturating_mul(times) > MOST_OBJECTS - before {
            return Err(self.error(&span, format!("1 to {MOST_OBJECTS} steps in all")));
        }
        for _ in 0..times {
            scenario.steps.extend_from_slice(&once);
        }
        Ok(())
    }

    /// `g`: all of them; `g[3]`: that one.
    fn instances(
        &self,
        name: &str,
        families: &Families<'_>,
        scenario: &Scenario,
        span: &Range<usize>,
    ) -> Result<Range<usize>, ScenarioError> {
        if let Some(range) = families.get(name) {
            return Ok(range.clone());
        }
        let one = scenario
            .instances
            .iter()
            .position(|instance| instance.name == name);
        one.map(|one| one..one + 1)
            .ok_or_else(|| self.error(span, format!("there is no graph {name}")))
    }

    fn stream(
        &self,
        name: Option<&StreamName>,
        turn: usize,
        span: &Range<usize>,
    ) -> Result<usize, ScenarioError> {
        match name {
            None => Ok(0),
            Some(StreamName::Number(number)) if *number < MOST_OBJECTS => Ok(*number),
            Some(StreamName::Word(word)) if word == "each" => Ok(turn),
            Some(_) => Err(self.error(
                span,
                "a stream is a number, or \"each\" with launch, upload and free",
            )),
        }
    }

    fn location(&self, node: &NodeEntry) -> Result<Location, ScenarioError> {
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

    fn size(&self, size: &Spanned<Size>) -> Result<u64, ScenarioError> {
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

    fn spin(&self, spin: Option<&Spanned<String>>) -> Result<Duration, ScenarioError> {
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

    fn error(&self, span: &Range<usize>, what: impl Into<String>) -> ScenarioError {
        ScenarioError {
            at: Some(place(self.text, span.start)),
            what: visible::line(&what.into()).into_owned(),
        }
    }
}

fn stream_of(step: &Step) -> Option<usize> {
    match *step {
        Step::Launch { stream, .. } | Step::Upload { stream, .. } => Some(stream),
        Step::Wait { stream } | Step::Free { stream, .. } => stream,
        Step::Trim | Step::Destroy { .. } => None,
    }
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

#[derive(Default)]
struct Titles {
    /// The allocations of other graphs that free nodes name.
    elsewhere: Vec<Box<str>>,
    list: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Titles {
    fn of(&mut self, title: &str) -> Option<u32> {
        (!title.is_empty()).then(|| self.number(&visible::line(title)))
    }

    fn number(&mut self, title: &str) -> u32 {
        if let Some(&number) = self.numbers.get(title) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(title.into());
        self.numbers.insert(title.into(), number);
        number
    }
}
