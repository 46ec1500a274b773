//! R23 to R30, M9 to M11: refused calls, and their codes.

use crate::program::{INVALID_VALUE, MEMORY_ALLOCATION, MIB, NOT_SUPPORTED, OK, Program};
use cudart_ffi::types::*;

fn clone(p: &Program, graph: cudaGraph_t) -> i32 {
    let mut clone = cudaGraph_t::NULL;
    // SAFETY: a variable of this function.
    unsafe { p.f().cudaGraphClone(&mut clone, graph) }.0
}

fn child(p: &Program, graph: cudaGraph_t, child: cudaGraph_t) -> i32 {
    let mut node = cudaGraphNode_t::NULL;
    // SAFETY: a variable of this function; no dependencies.
    unsafe {
        p.f()
            .cudaGraphAddChildGraphNode(&mut node, graph, std::ptr::null(), 0, child)
    }
    .0
}

fn destroy_node(p: &Program, node: cudaGraphNode_t) -> i32 {
    // SAFETY: handles are looked up.
    unsafe { p.f().cudaGraphDestroyNode(node) }.0
}

#[test]
fn r23_nodes_of_a_graph_with_memory_nodes_cannot_be_removed() {
    let p = Program::new();
    let graph = p.graph();
    let kernel = p.kernel(graph, &[], 1);
    let (alloc, _) = p.alloc(graph, &[kernel], MIB);
    assert_eq!(destroy_node(&p, alloc), NOT_SUPPORTED);
    assert_eq!(destroy_node(&p, kernel), NOT_SUPPORTED);
    let plain = p.graph();
    let kernel = p.kernel(plain, &[], 1);
    assert_eq!(destroy_node(&p, kernel), OK);
    assert_eq!(destroy_node(&p, kernel), INVALID_VALUE);
}

#[test]
fn r24_r26_m9_clone_and_child_of_a_graph_with_memory_nodes_are_not_supported() {
    let p = Program::new();
    let (graph, address) = p.unfreed_graph(MIB, 1);
    let freeing = p.graph();
    p.free_node(freeing, &[], address);
    let plain = p.graph();
    p.kernel(plain, &[], 1);
    for with_memory in [graph, freeing] {
        assert_eq!(clone(&p, with_memory), NOT_SUPPORTED);
        assert_eq!(child(&p, plain, with_memory), NOT_SUPPORTED);
    }
    assert_eq!(clone(&p, plain), OK);
    assert_eq!(child(&p, graph, plain), OK);
}

#[test]
fn r25_m9_a_second_live_exec_is_not_supported_a_later_one_is() {
    let p = Program::new();
    let (graph, _) = p.usual_graph(MIB, 1);
    let first = p.instantiate(graph);
    assert_eq!(p.try_instantiate(graph, 0), Err(NOT_SUPPORTED));
    p.kernel(graph, &[], 1);
    assert_eq!(p.exec_destroy(first), OK);
    assert!(p.try_instantiate(graph, 0).is_ok());
    let plain = p.graph();
    p.kernel(plain, &[], 1);
    assert!(p.try_instantiate(plain, 0).is_ok());
    assert!(p.try_instantiate(plain, 0).is_ok());
}

#[test]
fn r28_r29_m10_alloc_parameters_that_are_refused() {
    let p = Program::new();
    let graph = p.graph();
    let refused = |change: &dyn Fn(&mut cudaMemAllocNodeParams)| {
        let mut params = Program::alloc_params(MIB);
        change(&mut params);
        p.try_alloc(graph, &[], &mut params).unwrap_err()
    };
    assert_eq!(refused(&|a| a.bytesize = 0), INVALID_VALUE);
    assert_eq!(refused(&|a| a.bytesize = 1 << 40), MEMORY_ALLOCATION);
    assert_eq!(refused(&|a| a.bytesize = usize::MAX), MEMORY_ALLOCATION);
    assert_eq!(refused(&|a| a.pool_props.location.id = 77), INVALID_VALUE);
    assert_eq!(refused(&|a| a.pool_props.location.id = -1), INVALID_VALUE);
    let invalid = cudaMemLocationType::INVALID;
    assert_eq!(
        refused(&|a| a.pool_props.location.type_ = invalid),
        INVALID_VALUE
    );
    let invalid = cudaMemAllocationType::INVALID;
    assert_eq!(
        refused(&|a| a.pool_props.alloc_type = invalid),
        INVALID_VALUE
    );
    let posix = cudaMemAllocationHandleType::POSIX_FILE_DESCRIPTOR;
    assert_eq!(
        refused(&|a| a.pool_props.handle_types = posix),
        NOT_SUPPORTED
    );
    assert_eq!(refused(&|a| a.access_desc_count = 2), INVALID_VALUE);
    // No node was added by these calls, so the graph may still be cloned.
    assert_eq!(clone(&p, graph), OK);
}

#[test]
fn r30_m10_free_nodes_that_are_refused() {
    let p = Program::new();
    let graph = p.graph();
    let (alloc, address) = p.alloc(graph, &[], MIB);
    let unknown = address.wrapping_byte_add(512);
    assert_eq!(
        p.try_free_node(graph, &[alloc], unknown),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        p.try_free_node(graph, &[alloc], std::ptr::null_mut()),
        Err(INVALID_VALUE)
    );
    let free = p.free_node(graph, &[alloc], address);
    assert_eq!(p.try_free_node(graph, &[free], address), Err(INVALID_VALUE));
}

#[test]
fn m11_launch_dimensions_of_kernel_nodes() {
    let p = Program::new();
    let graph = p.graph();
    let shape = |grid: u32, block: u32| {
        p.try_kernel(graph, &[], dim3::linear(grid), dim3::linear(block), 1)
            .map(|_| ())
    };
    assert_eq!(shape(0, 32), Err(INVALID_VALUE));
    assert_eq!(shape(1, 2048), Err(INVALID_VALUE));
    assert_eq!(shape(0x8000_0000, 32), Err(INVALID_VALUE));
    assert_eq!(shape(0x7fff_ffff, 32), Ok(()));
}

#[test]
fn m11_launching_a_null_exec_is_invalid_value() {
    let p = Program::new();
    assert_eq!(p.launch(cudaGraphExec_t::NULL, p.stream()), INVALID_VALUE);
}

#[test]
fn dependencies_must_be_distinct_nodes_of_the_graph() {
    let p = Program::new();
    let (graph, other) = (p.graph(), p.graph());
    let (mine, _) = p.alloc(graph, &[], MIB);
    let foreign = p.kernel(other, &[], 1);
    for wrong in [vec![foreign], vec![mine, mine], vec![cudaGraphNode_t::NULL]] {
        let mut params = Program::alloc_params(MIB);
        assert_eq!(p.try_alloc(graph, &wrong, &mut params), Err(INVALID_VALUE));
        assert!(params.dptr.is_null());
    }
}
