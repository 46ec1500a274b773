//! The golden traces: the memory of the programs of the four experiments, step by step.

use crate::program::{MIB, OK, Program};

const SIZE: u64 = 64 * MIB;

#[test]
fn e1_an_ordered_second_allocation_shares_the_first_ones_memory() {
    let p = Program::new();
    let graph = p.graph();
    let (a, address_a) = p.alloc(graph, &[], SIZE);
    let kernel_a = p.kernel(graph, &[a], 100);
    let free_a = p.free_node(graph, &[kernel_a], address_a);
    let (b, address_b) = p.alloc(graph, &[free_a], SIZE);
    let kernel_b = p.kernel(graph, &[b], 100);
    p.free_node(graph, &[kernel_b], address_b);
    assert_eq!(address_a, address_b);
    let exec = p.instantiate(graph);
    assert_eq!(p.attributes(), [0; 4]);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    assert_eq!(p.used(), SIZE);
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn e2_graphs_of_one_stream_share_the_footprint_of_one_launch() {
    let p = Program::new();
    let stream = p.stream();
    let graphs: Vec<_> = (0..8).map(|_| p.usual_graph(SIZE, 100)).collect();
    let execs: Vec<_> = graphs
        .iter()
        .map(|(graph, _)| p.instantiate(*graph))
        .collect();
    let mut addresses: Vec<_> = graphs.iter().map(|(_, address)| *address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 8);
    assert_eq!(p.used(), 0);
    for exec in execs.iter().chain([&execs[0]]) {
        assert_eq!(p.launch(*exec, stream), OK);
        assert_eq!(p.used(), SIZE);
    }
    p.sync();
    p.trim();
    assert_eq!(p.attributes(), [0, SIZE, 0, SIZE]);
}

#[test]
fn e3_graphs_that_overlap_in_several_streams_do_not_share_memory() {
    let p = Program::new();
    let graphs: Vec<_> = (0..8).map(|_| p.usual_graph(SIZE, 20_000).0).collect();
    let execs: Vec<_> = graphs.iter().map(|graph| p.instantiate(*graph)).collect();
    let streams: Vec<_> = execs.iter().map(|_| p.stream()).collect();
    for (i, (exec, stream)) in (1..).zip(execs.iter().zip(&streams)) {
        assert_eq!(p.launch(*exec, *stream), OK);
        assert_eq!(p.used(), i * SIZE);
    }
    for stream in &streams {
        assert_eq!(p.query(*stream), crate::program::NOT_READY);
    }
    p.sync();
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn e4_unfreed_allocations_add_up_and_trim_returns_only_freed_memory() {
    let p = Program::new();
    let stream = p.stream();
    let graphs: Vec<_> = (0..8).map(|_| p.unfreed_graph(SIZE, 100)).collect();
    let execs: Vec<_> = graphs
        .iter()
        .map(|(graph, _)| p.instantiate(*graph))
        .collect();
    for (i, exec) in (1..).zip(&execs) {
        assert_eq!(p.launch(*exec, stream), OK);
        assert_eq!(p.used(), i * SIZE);
    }
    p.sync();
    p.trim();
    assert_eq!(p.used(), 8 * SIZE);
    for (_, address) in &graphs {
        assert_eq!(p.free(*address), OK);
    }
    p.trim();
    assert_eq!(p.used(), 0);
    assert_eq!(p.launch(execs[0], stream), OK);
    assert_eq!(p.used(), SIZE);
}
