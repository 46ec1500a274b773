//! R8, R9, R13 to R16, M5, M6, M8: the lifetime of an allocation.

use crate::program::{INVALID_VALUE, MIB, OK, Program};
use cudart_ffi::types::*;

const SIZE: u64 = 64 * MIB;

fn memset(p: &Program, address: *mut std::ffi::c_void) -> i32 {
    // SAFETY: the address is only looked up.
    unsafe { p.f().cudaMemsetAsync(address, 0, 1, cudaStream_t::NULL) }.0
}

#[test]
fn r8_each_launch_creates_the_allocation_again() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    for _ in 0..3 {
        assert_eq!(p.launch(exec, stream), OK);
        p.sync();
        assert_eq!(memset(&p, address), OK);
        assert_eq!(p.free(address), OK);
        assert_eq!(memset(&p, address), INVALID_VALUE);
    }
}

#[test]
fn r9_cuda_free_is_immediate_and_cuda_free_async_is_in_stream_order() {
    let p = Program::new();
    let (stream, other) = (p.stream(), p.stream());
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    assert_eq!(p.free(address), OK);
    p.trim();
    assert_eq!(p.used(), 0);

    assert_eq!(p.launch(exec, stream), OK);
    // The stream of the free is busy for a long time, and the memory stays in use until
    // then.
    let (long, _) = p.usual_graph(SIZE, 50_000);
    let long = p.instantiate(long);
    p.sync();
    assert_eq!(p.launch(long, other), OK);
    assert_eq!(p.free_async(address, other), OK);
    p.trim();
    assert_eq!(p.used(), 2 * SIZE);
    p.sync();
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn r13_an_allocation_freed_in_its_own_graph_cannot_be_freed_elsewhere() {
    let p = Program::new();
    let (graph, address) = p.usual_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    assert_eq!(p.free(address), INVALID_VALUE);
    assert_eq!(p.free_async(address, cudaStream_t::NULL), INVALID_VALUE);
    let other = p.graph();
    assert_eq!(p.try_free_node(other, &[], address), Err(INVALID_VALUE));
}

#[test]
fn r14_a_free_node_in_another_graph_frees_the_allocation() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let freeing = p.graph();
    p.free_node(freeing, &[], address);
    let (exec, freeing) = (p.instantiate(graph), p.instantiate(freeing));
    for _ in 0..3 {
        assert_eq!(p.launch(exec, stream), OK);
        assert_eq!(p.launch(freeing, stream), OK);
    }
    p.sync();
    assert_eq!(p.free(address), INVALID_VALUE);
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn r15_free_nodes_cannot_be_in_the_owner_and_in_another_graph() {
    let p = Program::new();
    let graph = p.graph();
    let (alloc, address) = p.alloc(graph, &[], SIZE);
    let (other, third) = (p.graph(), p.graph());
    let free = p.free_node(other, &[], address);
    assert_eq!(p.try_free_node(other, &[free], address), Err(INVALID_VALUE));
    p.free_node(third, &[], address);
    let in_owner = || p.try_free_node(graph, &[alloc], address);
    assert_eq!(in_owner(), Err(INVALID_VALUE));
    // On the H200 this also holds after the other graphs are destroyed.
    assert_eq!((p.graph_destroy(other), p.graph_destroy(third)), (OK, OK));
    assert_eq!(in_owner(), Err(INVALID_VALUE));
}

#[test]
fn r16_m6_destroying_graph_and_exec_does_not_free_allocations() {
    let p = Program::new();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    assert_eq!(p.exec_destroy(exec), OK);
    assert_eq!(p.graph_destroy(graph), OK);
    p.trim();
    assert_eq!(p.used(), SIZE);
    assert_eq!(p.model.live_objects().allocations, 1);
    assert_eq!(memset(&p, address), OK);
    assert_eq!(p.free(address), OK);
    assert_eq!(p.free(address), INVALID_VALUE);
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn m8_an_address_whose_graph_never_ran_cannot_be_freed() {
    let p = Program::new();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    assert_eq!(p.free(address), INVALID_VALUE);
    let exec = p.instantiate(graph);
    assert_eq!(p.free(address), INVALID_VALUE);
    let stream = p.stream();
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.free_async(address, stream), OK);
    assert_eq!(p.launch(exec, stream), OK);
}

#[test]
fn an_address_inside_an_allocation_cannot_be_freed() {
    let p = Program::new();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, p.stream()), OK);
    let inner = address.wrapping_byte_add(512);
    assert_eq!(p.free(inner), INVALID_VALUE);
    assert_eq!(memset(&p, inner), OK);
}
