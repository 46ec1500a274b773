//! Every graph that the driver dumped on an H200 (`data/dot/README.md`) is built again node
//! by node. The simulated addresses and footprints are compared with the recorded ones.

mod dump;

use std::collections::BTreeMap;

use cudart_model::memory::address::{AddressSpace, Granularity, Order};
use dump::{Dump, Node, read_all, read_dump};

/// A dumped graph, built again.
struct Rebuilt {
    name: String,
    measured: BTreeMap<String, u64>,
    node_count: usize,
    space: AddressSpace,
    /// The driver's addresses and the simulated ones, in the order of creation, both
    /// relative to the first allocation.
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

/// Builds the graph in the simulated runtime. The driver's addresses determine which
/// allocation a free node frees, so that one wrong address does not make all later ones
/// wrong.
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
                    .unwrap_or_else(|| panic!("{name} node {id}: the free node has no allocation"));
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
    read_all(folder)
        .into_iter()
        .map(|(name, dump, columns)| rebuild(&name, &dump, columns))
        .collect()
}

/// The graphs for which `holds` is false, and the number of all graphs.
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
        let requested: u64 = graph.space.allocations().iter().map(|a| a.bytes).sum();
        assert_eq!(requested, graph.measured("asked"), "{name}");
        // As stated for all 80 graphs in the module documentation: nothing is mapped
        // before the launch (R31), no call except the relaunch fails, and nothing is
        // left after the trim (R43).
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
fn m16_reserved_after_launch_is_the_reserved_address_range() {
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
fn r18_relaunch_fails_with_code_1_exactly_if_an_allocation_is_unfreed_and_changes_nothing() {
    let graphs = rebuild_all("random");
    let holds = |g: &Rebuilt| {
        g.measured("relaunch") == u64::from(g.unfreed() > 0)
            && g.measured("used2") == g.space.used_bytes()
    };
    assert_eq!(failing(&graphs, holds), (80, NONE));
}

#[test]
fn r42_a_trim_keeps_the_blocks_of_unfreed_allocations() {
    let graphs = rebuild_all("random");
    let block = Granularity::H200.block_bytes();
    let holds = |g: &Rebuilt| g.space.unfreed_blocks().count() * block == g.measured("trim");
    assert_eq!(failing(&graphs, holds), (80, NONE));
}

#[test]
fn the_reader_refuses_unknown_lines() {
    for text in [
        "\"graph_1_node_0\"[style=\"solid\" shape=\"record\" label=\"{\nMEMSET\n}\"];",
        "\"graph_1_node_1\"[style=\"solid\" shape=\"record\" label=\"{\nMEM_FREE\n| {{dptr} | {0x0}}\n}\"];",
        "\"graph_1_node_0\" -> \"graph_1_node_1\"",
        "anything else",
    ] {
        assert!(read_dump(text).is_err(), "{text}");
    }
}
