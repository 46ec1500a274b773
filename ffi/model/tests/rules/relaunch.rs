//! R18 to R22, M5, M7: relaunches.

use crate::program::{INVALID_VALUE, MIB, OK, Program};
use cudart_ffi::types::*;

const SIZE: u64 = 64 * MIB;
const AUTO_FREE: u64 = instantiate_flags::AUTO_FREE_ON_LAUNCH;

#[test]
fn r18_m7_relaunch_with_a_live_allocation_is_invalid_value_and_not_sticky() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.launch(exec, stream), INVALID_VALUE);
    // SAFETY: takes nothing.
    let last = || unsafe { p.f().cudaGetLastError() }.0;
    assert_eq!((last(), last()), (INVALID_VALUE, OK));
    assert_eq!(p.used(), SIZE);
    assert_eq!(p.free(address), OK);
    assert_eq!(p.launch(exec, stream), OK);
}

#[test]
fn r19_r20_m5_auto_free_frees_the_previous_launchs_allocation_but_not_the_current_one() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.try_instantiate(graph, AUTO_FREE).unwrap();
    for _ in 0..3 {
        assert_eq!(p.launch(exec, stream), OK);
        assert_eq!(p.used(), SIZE);
    }
    assert_eq!(p.free(address), OK);
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    assert_eq!(p.exec_destroy(exec), OK);
    p.trim();
    assert_eq!(p.used(), SIZE);
    assert_eq!(p.free(address), OK);
    p.trim();
    assert_eq!(p.used(), 0);
}

#[test]
fn r21_auto_free_excludes_device_launch() {
    let p = Program::new();
    let graph = p.graph();
    p.kernel(graph, &[], 1);
    let both = AUTO_FREE | instantiate_flags::DEVICE_LAUNCH;
    assert_eq!(p.try_instantiate(graph, both), Err(INVALID_VALUE));
    assert!(p.try_instantiate(graph, AUTO_FREE).is_ok());
}

#[test]
fn r22_an_exec_never_overlaps_itself_even_in_another_stream() {
    let p = Program::new();
    let (first, second) = (p.stream(), p.stream());
    let (graph, _) = p.usual_graph(SIZE, 10_000);
    let exec = p.instantiate(graph);
    let start = p.model.now();
    assert_eq!(p.launch(exec, first), OK);
    assert_eq!(p.launch(exec, second), OK);
    // SAFETY: handles are looked up.
    unsafe { p.f().cudaStreamSynchronize(first) };
    assert!(p.model.now() - start < 15_000_000);
    // SAFETY: handles are looked up.
    unsafe { p.f().cudaStreamSynchronize(second) };
    assert!(p.model.now() - start >= 20_000_000);
    assert_eq!(p.used(), SIZE);
}
