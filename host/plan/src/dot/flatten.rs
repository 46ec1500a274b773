//! Puts child graphs where their nodes are, and looks up what is freed and used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::raw::RawFile;
use crate::graph::{Dependencies, Freed, Graph, Kind, MOST_NODES, Node, Use, Work};
use crate::name::Name;
use crate::read_error::ReadError;

/// The graphs of a file, one for each cluster that is no other's child.
pub(super) fn flatten(mut file: RawFile, origin: &str) -> Result<Vec<Graph>, ReadError> {
    nodes_of_clusters(&mut file);
    let tree = Tree::new(&mut file);
    tree.refuse_circles(&file)?;
    let titles = std::mem::take(&mut file.titles).into_list();
    let mut graphs = Vec::new();
    let mut nodes_left = MOST_NODES;
    for (cluster, _) in (0..).zip(&tree.is_root).filter(|(_, is_root)| **is_root) {
        let mut graph = tree.graph(&file, cluster, &mut nodes_left)?;
        graph.origin = origin.to_owned();
        graph.titles = Arc::clone(&titles);
        graphs.push(graph);
    }
    if let Some(first) = graphs.first_mut() {
        first.notes.append(&mut file.notes);
    }
    Ok(graphs)
}

/// Nodes are numbered in the order of creation; files have them in it as a rule.
fn nodes_of_clusters(file: &mut RawFile) {
    for (number, node) in (0..).zip(&file.nodes) {
        file.clusters[node.cluster as usize].nodes.push(number);
    }
    let number = |node: u32| file.nodes[node as usize].number;
    for cluster in &mut file.clusters {
        if cluster.nodes.iter().all(|&node| number(node).is_some()) {
            cluster.nodes.sort_by_key(|&node| number(node));
        }
    }
}

/// Which graph is in which node.
struct Tree {
    /// For each node, the cluster that is its child graph, or those that are its bodies.
    child_of: BTreeMap<u32, Vec<u32>>,
    is_root: Vec<bool>,
    /// Edges by the cluster that has both ends.
    edges: Vec<Vec<(u32, u32)>>,
    /// The pointers that each node is known to use.
    pointers: HashMap<u32, Vec<u64>>,
}

impl Tree {
    fn new(file: &mut RawFile) -> Self {
        let by_name: HashMap<&str, u32> = (0..)
            .zip(&file.clusters)
            .map(|(number, cluster)| (cluster.name.as_str(), number))
            .collect();
        let mut child_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&node, names) in &file.references {
            let graphs = names.iter().filter_map(|name| by_name.get(name.as_str()));
            let graphs: Vec<u32> = graphs.copied().collect();
            if !graphs.is_empty() {
                child_of.insert(node, graphs);
            }
        }
        let mut children: BTreeSet<u32> = child_of.values().flatten().copied().collect();
        let mut edges = vec![Vec::new(); file.clusters.len()];
        let mut across = 0_usize;
        for &(from, to) in &file.edges {
            let (source, target) = (&file.nodes[from as usize], &file.nodes[to as usize]);
            if source.cluster == target.cluster {
                edges[source.cluster as usize].push((from, to));
            } else if child_of
                .get(&from)
                .is_some_and(|graphs| graphs.contains(&target.cluster))
            {
                // Drawn from a node to its child graph.
            } else if matches!(
                source.node.kind,
                Kind::Other(Work::Child | Work::Conditional | Work::Unknown)
            ) && !child_of.contains_key(&from)
                && !children.contains(&target.cluster)
            {
                child_of.insert(from, vec![target.cluster]);
                children.insert(target.cluster);
            } else {
                across += 1;
            }
        }
        if across > 0 {
            file.notes.push(format!(
                "{across} edges lead from one graph to another, and say nothing of order"
            ));
        }
        let is_root = (0..)
            .zip(&file.clusters)
            .map(|(number, cluster)| {
                let empty_outside =
                    cluster.parent.is_none() && cluster.nodes.is_empty() && file.clusters.len() > 1;
                !children.contains(&number) && !empty_outside
            })
            .collect();
        let mut pointers: HashMap<u32, Vec<u64>> = HashMap::new();
        for &(node, address) in &file.pointers {
            pointers.entry(node).or_default().push(address);
        }
        Self {
            child_of,
            is_root,
            edges,
            pointers,
        }
    }

    /// Refuses graphs that are in no graph of the file but in one another.
    fn refuse_circles(&self, file: &RawFile) -> Result<(), ReadError> {
        let mut reached = self.is_root.clone();
        let mut pending: Vec<u32> = (0..)
            .zip(&reached)
            .filter(|(_, is)| **is)
            .map(|(n, _)| n)
            .collect();
        while let Some(cluster) = pending.pop() {
            let nodes = &file.clusters[cluster as usize].nodes;
            for &child in nodes
                .iter()
                .filter_map(|node| self.child_of.get(node))
                .flatten()
            {
                if !std::mem::replace(&mut reached[child as usize], true) {
                    pending.push(child);
                }
            }
        }
        let left = file.clusters.iter().zip(&reached);
        let mut left = left.filter(|(cluster, reached)| !**reached && !cluster.nodes.is_empty());
        match left.next() {
            None => Ok(()),
            Some((cluster, _)) => Err(ReadError::whole(format!(
                "{} is a child graph of itself, directly or through others, so no graph can be \
                 launched that has it",
                cluster.name
            ))),
        }
    }

    /// One graph with all that is in it.
    fn graph(&self, file: &RawFile, root: u32, nodes_left: &mut usize) -> Result<Graph, ReadError> {
        let mut builder = Builder {
            tree: self,
            file,
            nodes_left,
            nodes: Vec::new(),
            edges: Vec::new(),
            child_graphs: BTreeMap::new(),
        };
        builder.add(root)?;
        let Builder {
            nodes,
            edges,
            child_graphs,
            ..
        } = builder;
        let name = file.clusters[root as usize].name.as_str();
        let mut graph = Graph {
            name: if name.is_empty() {
                "graph".to_owned()
            } else {
                name.to_owned()
            },
            dependencies: Dependencies::new(nodes.len(), &edges),
            child_graphs,
            ..Graph::default()
        };
        self.resolve(file, &nodes, &mut graph);
        Ok(graph)
    }
}

/// A node of the graph to be: one of the file, or the begin of a child graph.
#[derive(Debug, Clone, Copy)]
enum Part {
    Node(u32),
    Begin(u32),
}

struct Builder<'f> {
    tree: &'f Tree,
    file: &'f RawFile,
    nodes_left: &'f mut usize,
    nodes: Vec<Part>,
    edges: Vec<(u32, u32)>,
    /// Where each child graph ends, and where it begins.
    child_graphs: BTreeMap<u32, u32>,
}

/// Graphs being put in place, the bodies of one node together: how far, and where their
/// nodes are.
struct Frame {
    clusters: Vec<u32>,
    /// The cluster at hand, and its next node.
    at: usize,
    next: usize,
    places: HashMap<u32, Place>,
    /// The child's node in the graph around it, and where it begins.
    inside: Option<(u32, u32)>,
}

/// Where a node of the file begins and ends in the graph.
#[derive(Debug, Clone, Copy)]
struct Place {
    begin: u32,
    end: u32,
}

impl Builder<'_> {
    fn add(&mut self, root: u32) -> Result<(), ReadError> {
        let mut frames = vec![Frame::new(vec![root], None)];
        let mut is_open = vec![false; self.file.clusters.len()];
        is_open[root as usize] = true;
        while let Some(frame) = frames.last_mut() {
            let Some(&cluster) = frame.clusters.get(frame.at) else {
                for &cluster in &frame.clusters {
                    is_open[cluster as usize] = false;
                }
                self.close(&mut frames);
                continue;
            };
            let nodes = &self.file.clusters[cluster as usize].nodes;
            if frame.next == 0 {
                frame.places.reserve(nodes.len());
            }
            let Some(&node) = nodes.get(frame.next) else {
                frame.at += 1;
                frame.next = 0;
                continue;
            };
            frame.next += 1;
            if *self.nodes_left < 2 {
                return Err(ReadError::whole(format!(
                    "more than {MOST_NODES} nodes, with child graphs counted as often as they are used"
                )));
            }
            let Some(children) = self.tree.child_of.get(&node) else {
                let place = self.push(Part::Node(node));
                let (begin, end) = (place, place);
                frame.places.insert(node, Place { begin, end });
                continue;
            };
            for &child in children {
                if std::mem::replace(&mut is_open[child as usize], true) {
                    let name = &self.file.clusters[child as usize].name;
                    return Err(ReadError::whole(format!(
                        "{name} is a child graph of itself"
                    )));
                }
            }
            let begin = self.push(Part::Begin(node));
            frames.push(Frame::new(children.clone(), Some((node, begin))));
        }
        Ok(())
    }

    /// All nodes of the innermost graph are there: adds its edges, and its end.
    fn close(&mut self, frames: &mut Vec<Frame>) {
        let Some(frame) = frames.pop() else {
            return;
        };
        let edges = |&cluster: &u32| &self.tree.edges[cluster as usize];
        let within = frame.clusters.iter().flat_map(edges);
        let (mut has_before, mut has_after) = (BTreeSet::new(), BTreeSet::new());
        for (from, to) in within {
            self.edges
                .push((frame.places[from].end, frame.places[to].begin));
            if frame.inside.is_some() {
                has_after.insert(*from);
                has_before.insert(*to);
            }
        }
        let Some((node, begin)) = frame.inside else {
            return;
        };
        let end = self.push(Part::Node(node));
        self.edges.push((begin, end));
        self.child_graphs.insert(end, begin);
        for (inner, place) in &frame.places {
            if !has_before.contains(inner) {
                self.edges.push((begin, place.begin));
            }
            if !has_after.contains(inner) {
                self.edges.push((place.end, end));
            }
        }
        if let Some(around) = frames.last_mut() {
            around.places.insert(node, Place { begin, end });
        }
    }

    fn push(&mut self, part: Part) -> u32 {
        *self.nodes_left = self.nodes_left.saturating_sub(1);
        self.nodes.push(part);
        self.nodes.len() as u32 - 1
    }
}

impl Frame {
    fn new(clusters: Vec<u32>, inside: Option<(u32, u32)>) -> Self {
        Self {
            clusters,
            at: 0,
            next: 0,
            places: HashMap::new(),
            inside,
        }
    }
}

impl Tree {
    /// Gives each node its kind, and finds which allocation each free node and each
    /// pointer means: in the order of creation, the one that was last at the address.
    fn resolve(&self, file: &RawFile, parts: &[Part], graph: &mut Graph) {
        let pointers = &self.pointers;
        let mut unfreed: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut last_at: HashMap<u64, u32> = HashMap::new();
        let mut ranges: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        graph.nodes.reserve_exact(parts.len());
        for (index, part) in (0_u32..).zip(parts) {
            let number = match *part {
                Part::Node(number) => number,
                Part::Begin(number) => {
                    let child = &file.nodes[number as usize].node.name;
                    graph.nodes.push(Node {
                        name: Name::from(&*format!("{child} begin")),
                        title: None,
                        kind: Kind::Other(Work::ChildBegin),
                    });
                    continue;
                }
            };
            let mut node = file.nodes[number as usize].node.clone();
            match node.kind {
                Kind::Alloc {
                    bytes,
                    address: Some(address),
                    ..
                } => {
                    unfreed.entry(address).or_default().push(index);
                    last_at.insert(address, index);
                    if !pointers.is_empty() {
                        occupy(&mut ranges, address, bytes, index);
                    }
                }
                Kind::Free(Freed::AtAddress(address)) => {
                    let open = unfreed.get_mut(&address).and_then(Vec::pop);
                    node.kind = Kind::Free(match (open, last_at.get(&address)) {
                        (Some(allocation), _) => Freed::Here(allocation),
                        (None, Some(&allocation)) => Freed::Again(allocation),
                        (None, None) => Freed::AtAddress(address),
                    });
                }
                _ => {}
            }
            for &address in pointers.get(&number).into_iter().flatten() {
                let at = ranges.range(..=address).next_back();
                if let Some((_, &(_, allocation))) = at.filter(|(_, (end, _))| address < *end) {
                    graph.uses.push(Use {
                        user: index,
                        allocation,
                    });
                }
            }
            graph.nodes.push(node);
        }
        graph.uses.sort_unstable();
        graph.uses.dedup();
    }
}

/// Notes the newest allocation of a range; what it covers of older ones is theirs
/// no longer.
fn occupy(ranges: &mut BTreeMap<u64, (u64, u32)>, start: u64, bytes: u64, allocation: u32) {
    let end = start.saturating_add(bytes);
    loop {
        let below_end = ranges
            .range(..end)
            .next_back()
            .map(|(&start, &(end, _))| (start, end));
        match below_end {
            Some((other, other_end)) if other_end > start => ranges.remove(&other),
            _ => break,
        };
    }
    ranges.insert(start, (end, allocation));
}
