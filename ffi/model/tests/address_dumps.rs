//! Every graph that the driver dumped on an H200 (`data/dot/README.md`) is
//! built again node by node, and the model's addresses and footprints are
//! compared with the recorded ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cudart_model::address::{AddressSpace, Granularity, Order};

/// A node as the dump describes it.
#[derive(Clone, Copy, Debug)]
enum Node {
    Alloc { bytes: u64, address: u64 },
    Free { address: u64 },
    Kernel,
}

/// A dumped graph: nodes in the order of creation, and for each the nodes it
/// depends on.
#[derive(Debug, Default)]
struct Dump {
    nodes: Vec<Node>,
    dependencies: Vec<Vec<usize>>,
}

fn data(folder: &str) -> PathBuf {
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

/// Reads the lines of one dump, strictly: a line of a kind not known is an
/// error, so that nothing of a graph is passed over.
fn read_dump(text: &str) -> Result<Dump, String> {
    let mut nodes = BTreeMap::new();
    let mut edges = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((from, rest)) = line.split_once(" -> ") {
            let (to, _) = rest
                .split_once(" [headlabel=")
                .ok_or_else(|| format!("edge: {line}"))?;
            edges.push((node_number(from)?, node_number(to)?));
        } else if let Some((name, attributes)) = line.split_once("[style=") {
            if name.starts_with("label=") {
                continue;
            }
            let body: Vec<&str> = lines.by_ref().take_while(|&line| line != "}\"];").collect();
            let node = read_node(attributes, &body)?;
            if nodes.insert(node_number(name)?, node).is_some() {
                return Err(format!("node twice: {name}"));
            }
        } else if !(line.is_empty()
            || line == "}"
            || line == "digraph dot {"
            || line.starts_with("subgraph cluster_"))
        {
            return Err(format!("line not understood: {line}"));
        }
    }
    let mut dump = Dump {
        nodes: nodes.values().copied().collect(),
        dependencies: vec![Vec::new(); nodes.len()],
    };
    if !nodes.keys().copied().eq(0..nodes.len()) {
        return Err("the nodes are not numbered from 0 without gaps".to_owned());
    }
    for (from, to) in edges {
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
        _ => Err(format!("node kind not understood: {attributes} {body:?}")),
    }
}

/// A line of `measured.txt`: the graph's name, then words each followed by a
/// number. A word that comes again gets a number itself: `used`, `used2`.
fn read_measured(text: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
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
                "{name}: {title} a third time"
            );
        }
        graphs.insert(name.to_owned(), columns);
    }
    graphs
}

/// One dumped graph, built again.
struct Rebuilt {
    name: String,
    measured: BTreeMap<String, u64>,
    node_count: usize,
    space: AddressSpace,
    /// The driver's addresses and the model's, in the order of creation, both
    /// counted from the first allocation.
    driver: Vec<u64>,
    model: Vec<u64>,
}

impl Rebuilt {
    fn measured(&self, column: &str) -> u64 {
        *self
            .measured
            .get(column)
            .unwrap_or_else(|| panic!("{}: no column {column}", self.name))
    }

    fn unfreed(&self) -> usize {
        self.space.unfreed().count()
    }
}

/// Builds the graph on the model. Which allocation a free node ends is read
/// from the driver's addresses, so that one differing address does not make
/// all that follows differ.
fn rebuild(name: &str, dump: &Dump, measured: BTreeMap<String, u64>) -> Rebuilt {
    let mut order = Order::new();
    let mut model_address_of = BTreeMap::new();
    let (mut driver, mut model) = (Vec::new(), Vec::new());
    let first = dump.nodes.iter().find_map(|node| match node {
        Node::Alloc { address, .. } => Some(*address),
        _ => None,
    });
    let base = first.unwrap_or_else(|| panic!("{name}: no allocation"));
    let mut space = AddressSpace::new(base, Granularity::H200);
    for (dependencies, node) in dump.dependencies.iter().zip(&dump.nodes) {
        let id = order
            .add_node(dependencies)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        match *node {
            Node::Kernel => {}
            Node::Alloc { bytes, address } => {
                let given = space
                    .add_alloc(&order, id, bytes)
                    .unwrap_or_else(|e| panic!("{name} node {id}: {e}"));
                model_address_of.insert(address, given);
                driver.push(address - base);
                model.push(given - base);
            }
            Node::Free { address } => {
                let given = model_address_of
                    .get(&address)
                    .unwrap_or_else(|| panic!("{name} node {id}: stray free"));
                space
                    .add_free(&order, id, *given)
                    .unwrap_or_else(|e| panic!("{name} node {id}: {e}"));
            }
        }
    }
    Rebuilt {
        name: name.to_owned(),
        measured,
        node_count: dump.nodes.len(),
        space,
        driver,
        model,
    }
}

fn rebuild_all(folder: &str) -> Vec<Rebuilt> {
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
        "{folder}: dumps and measured lines are not the same graphs"
    );
    measured
        .into_iter()
        .map(|(name, columns)| {
            let dump = read_dump(&read(data(folder).join(format!("{name}.dot"))));
            rebuild(
                &name,
                &dump.unwrap_or_else(|e| panic!("{name}: {e}")),
                columns,
            )
        })
        .collect()
}

/// The graphs for which `holds` fails, with a count of all.
fn failing(graphs: &[Rebuilt], holds: impl Fn(&Rebuilt) -> bool) -> (usize, Vec<&str>) {
    (
        graphs.len(),
        graphs
            .iter()
            .filter(|g| !holds(g))
            .map(|g| g.name.as_str())
            .collect(),
    )
}

const NONE: Vec<&str> = Vec::new();

#[test]
fn the_dumps_are_the_graphs_that_were_measured() {
    for graph in rebuild_all("random") {
        let name = &graph.name;
        assert_eq!(graph.node_count as u64, graph.measured("nodes"), "{name}");
        assert_eq!(
            graph.space.allocations().len() as u64,
            graph.measured("allocs"),
            "{name}"
        );
        assert_eq!(graph.unfreed() as u64, graph.measured("unfreed"), "{name}");
        let asked: u64 = graph.space.allocations().iter().map(|a| a.bytes).sum();
        assert_eq!(asked, graph.measured("asked"), "{name}");
        // What the module's docs say of all 80: nothing is mapped before the
        // launch (R31), no call but the relaunch fails, nothing is left (R43).
        for column in ["inst", "used0", "launch", "sync", "freed+trim"] {
            assert_eq!(graph.measured(column), 0, "{name}: {column}");
        }
    }
}

#[test]
fn r1_r3_r4_every_address_of_all_80_random_graphs() {
    let graphs = rebuild_all("random");
    assert_eq!(failing(&graphs, |g| g.driver == g.model), (80, NONE));
}

#[test]
fn r1_r3_r4_every_address_of_the_3_captured_graphs() {
    let graphs = rebuild_all("apps");
    assert_eq!(failing(&graphs, |g| g.driver == g.model), (3, NONE));
}

#[test]
fn m16_used_after_launch_is_the_blocks_touched() {
    for (folder, count) in [("random", 80), ("apps", 3)] {
        let graphs = rebuild_all(folder);
        assert_eq!(
            failing(&graphs, |g| g.space.used_bytes() == g.measured("used")),
            (count, NONE)
        );
    }
}

#[test]
fn m16_reserved_after_launch_is_the_space_set_aside() {
    for (folder, count) in [("random", 80), ("apps", 3)] {
        let graphs = rebuild_all(folder);
        assert_eq!(
            failing(&graphs, |g| g.space.reserved_bytes()
                == g.measured("reserved")),
            (count, NONE)
        );
    }
}

#[test]
fn r18_relaunch_fails_with_1_exactly_when_something_is_unfreed_and_changes_nothing() {
    let graphs = rebuild_all("random");
    let holds = |g: &Rebuilt| {
        g.measured("relaunch") == u64::from(g.unfreed() > 0)
            && g.measured("used2") == g.space.used_bytes()
    };
    assert_eq!(failing(&graphs, holds), (80, NONE));
}

#[test]
fn r42_a_trim_leaves_the_blocks_of_what_is_unfreed() {
    let graphs = rebuild_all("random");
    let block = Granularity::H200.block_bytes();
    let holds = |g: &Rebuilt| g.space.unfreed_blocks().count() * block == g.measured("trim");
    assert_eq!(failing(&graphs, holds), (80, NONE));
}

#[test]
fn the_reader_refuses_what_it_does_not_know() {
    for text in [
        "\"graph_1_node_0\"[style=\"solid\" shape=\"record\" label=\"{\nMEMSET\n}\"];",
        "\"graph_1_node_1\"[style=\"solid\" shape=\"record\" label=\"{\nMEM_FREE\n| {{dptr} | {0x0}}\n}\"];",
        "\"graph_1_node_0\" -> \"graph_1_node_1\"",
        "anything else",
    ] {
        assert!(read_dump(text).is_err(), "{text}");
    }
}
