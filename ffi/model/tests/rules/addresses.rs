//! R1 to R7, M2, M3, M16: virtual addresses.

use crate::program::{INVALID_VALUE, MIB, OK, Program};
use cudart_ffi::types::*;

#[test]
fn r1_the_address_is_known_when_the_node_is_added() {
    let p = Program::new();
    let graph = p.graph();
    let (node, address) = p.alloc(graph, &[], MIB);
    assert!(!address.is_null());
    let mut params = cudaMemAllocNodeParams::zeroed();
    // SAFETY: a variable of this function.
    let code = unsafe { p.f().cudaGraphMemAllocNodeGetParams(node, &mut params) };
    assert_eq!((code.0, params.dptr), (OK, address));
    assert_eq!(params.bytesize as u64, MIB);
}

#[test]
fn r2_the_address_stays_through_instantiations_and_launches() {
    let p = Program::new();
    let stream = p.stream();
    let graph = p.graph();
    let (node, address) = p.alloc(graph, &[], MIB);
    p.free_node(graph, &[node], address);
    for _ in 0..2 {
        let exec = p.instantiate(graph);
        assert_eq!(p.launch(exec, stream), OK);
        p.sync();
        p.trim();
        assert_eq!(p.launch(exec, stream), OK);
        p.sync();
        assert_eq!(p.exec_destroy(exec), OK);
        let mut params = cudaMemAllocNodeParams::zeroed();
        // SAFETY: a variable of this function.
        unsafe { p.f().cudaGraphMemAllocNodeGetParams(node, &mut params) };
        assert_eq!(params.dptr, address);
    }
}

#[test]
fn r3_an_address_is_reused_only_by_a_node_ordered_after_its_free() {
    let p = Program::new();
    let graph = p.graph();
    let (a, first) = p.alloc(graph, &[], MIB);
    let kernel = p.kernel(graph, &[a], 1);
    let free = p.free_node(graph, &[kernel], first);
    let (_, beside) = p.alloc(graph, &[kernel], MIB);
    assert_ne!(beside, first, "ordered after the kernel only");
    let between = p.kernel(graph, &[free], 1);
    let (_, after) = p.alloc(graph, &[between], MIB);
    assert_eq!(after, first, "ordered after the free through another node");
}

#[test]
fn r4_allocations_without_an_order_never_overlap() {
    let p = Program::new();
    let graph = p.graph();
    let mut ranges: Vec<(u64, u64)> = (1..50)
        .map(|i| {
            let bytes = i * 700_001;
            (p.alloc(graph, &[], bytes).1 as u64, bytes)
        })
        .collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:x?}");
    }
}

#[test]
fn r5_graphs_have_distinct_addresses_even_when_built_alternately() {
    let p = Program::new();
    let graphs: Vec<_> = (0..6).map(|_| p.graph()).collect();
    let mut ranges = Vec::new();
    for round in 1..12 {
        for graph in &graphs {
            let bytes = round * 11 * MIB + 1;
            ranges.push((p.alloc(*graph, &[], bytes).1 as u64, bytes));
        }
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:x?}");
    }
}

#[test]
fn r7_before_the_first_launch_nothing_backs_the_address() {
    let p = Program::new();
    let (graph, address) = p.unfreed_graph(MIB, 1);
    p.instantiate(graph);
    assert_eq!(p.used(), 0);
    // SAFETY: the address is looked up.
    let code = unsafe { p.f().cudaMemsetAsync(address, 0, 1, cudaStream_t::NULL) };
    assert_eq!(code.0, INVALID_VALUE);
}

#[test]
fn m2_the_first_address_of_a_new_process_and_of_an_emptied_pool() {
    let p = Program::new();
    for _ in 0..3 {
        let (graph, address) = p.usual_graph(64 * MIB, 1);
        assert_eq!(address as u64, 0x3_0200_0000);
        let exec = p.instantiate(graph);
        assert_eq!(p.launch(exec, p.stream()), OK);
        p.sync();
        assert_eq!(p.exec_destroy(exec), OK);
        assert_eq!(p.graph_destroy(graph), OK);
        p.trim();
    }
}

#[test]
fn m3_two_allocations_of_one_graph_are_adjacent() {
    let p = Program::new();
    let graph = p.graph();
    let (a, first) = p.alloc(graph, &[], 32 * MIB);
    let (_, second) = p.alloc(graph, &[a], 16 * MIB);
    assert_eq!(second as u64 - first as u64, 32 * MIB);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, p.stream()), OK);
    assert_eq!(p.used(), 64 * MIB);
}

#[test]
fn m16_small_allocations_share_a_block_in_steps_of_512_bytes() {
    let p = Program::new();
    let graph = p.graph();
    let first = p.alloc(graph, &[], 1).1 as u64;
    let second = p.alloc(graph, &[], 513).1 as u64;
    let third = p.alloc(graph, &[], 1).1 as u64;
    assert_eq!((second - first, third - second), (512, 1024));
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, p.stream()), OK);
    assert_eq!(p.used(), 32 * MIB);
}
