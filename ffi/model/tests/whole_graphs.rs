//! Every graph that the driver dumped on an H200 is built again node by node through the C
//! functions. Then the same calls are made as in the measurements: launch, relaunch, trim
//! with the unfreed allocations live, frees, trim.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

mod dump;
#[path = "rules/program.rs"]
#[allow(dead_code, reason = "the rules' tests use the rest of it")]
mod program;

use std::collections::BTreeMap;
use std::ffi::c_void;

use dump::{Dump, Node, read_all};
use program::{OK, Program};

/// Makes the calls on the simulated runtime. Returns the values under the names of the
/// measured columns.
fn live(dump: &Dump) -> (Vec<u64>, Vec<u64>, BTreeMap<&'static str, u64>) {
    let p = Program::new();
    let stream = p.stream();
    let graph = p.graph();
    let mut nodes = Vec::new();
    let mut unfreed: BTreeMap<u64, *mut c_void> = BTreeMap::new();
    let (mut driver, mut model) = (Vec::new(), Vec::new());
    for (node, dependencies) in dump.nodes.iter().zip(&dump.dependencies) {
        let after: Vec<_> = dependencies.iter().map(|&before| nodes[before]).collect();
        nodes.push(match *node {
            Node::Kernel => p.kernel(graph, &after, 1),
            Node::Alloc { bytes, address } => {
                let (node, given) = p.alloc(graph, &after, bytes);
                driver.push(address);
                model.push(given as u64);
                unfreed.insert(address, given);
                node
            }
            Node::Free { address } => {
                let given = unfreed.remove(&address).expect("an allocation to free");
                p.free_node(graph, &after, given)
            }
        });
    }
    let mut found = BTreeMap::new();
    let exec = p.instantiate(graph);
    found.insert("used0", p.used());
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    found.insert("used", p.used());
    found.insert("reserved", p.reserved());
    found.insert("relaunch", u64::try_from(p.launch(exec, stream)).unwrap());
    p.sync();
    found.insert("used2", p.used());
    p.trim();
    found.insert("trim", p.used());
    for address in unfreed.into_values() {
        assert_eq!(p.free(address), OK);
    }
    p.trim();
    found.insert("freed+trim", p.used());
    (driver, model, found)
}

#[test]
fn every_random_graph_has_the_drivers_addresses_and_footprints() {
    let graphs = read_all("random");
    assert_eq!(graphs.len(), 80);
    for (name, dump, measured) in graphs {
        let (driver, model, found) = live(&dump);
        assert_eq!(driver, model, "{name}");
        for (column, value) in found {
            assert_eq!(Some(&value), measured.get(column), "{name}: {column}");
        }
    }
}

#[test]
fn every_captured_graph_has_the_drivers_addresses_and_footprint() {
    let graphs = read_all("apps");
    assert_eq!(graphs.len(), 3);
    for (name, dump, measured) in graphs {
        let (driver, model, found) = live(&dump);
        let from_first = |all: &[u64]| -> Vec<u64> { all.iter().map(|a| a - all[0]).collect() };
        assert_eq!(from_first(&driver), from_first(&model), "{name}");
        for column in ["used", "reserved"] {
            assert_eq!(found.get(column), measured.get(column), "{name}: {column}");
        }
    }
}
