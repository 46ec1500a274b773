//! R31 to R43, R45, R46, M1, M4, M13, M14: mapping, sharing and returning of memory.

use crate::program::{MEMORY_ALLOCATION, MIB, OK, Program};
use cudart_ffi::types::*;

const SIZE: u64 = 64 * MIB;
const GIB: u64 = 1024 * MIB;

#[test]
fn r31_m4_building_and_instantiating_map_no_memory() {
    let p = Program::new();
    let (graph, _) = p.usual_graph(SIZE, 1);
    p.instantiate(graph);
    assert_eq!(p.attributes(), [0; 4]);
}

#[test]
fn m1_memory_is_mapped_in_blocks_of_32_mib() {
    for (requested, held) in [
        (1, 32),
        (MIB, 32),
        (32 * MIB, 32),
        (33 * MIB, 64),
        (SIZE, 64),
        (100 * MIB, 128),
        (GIB, 1024),
    ] {
        let p = Program::new();
        let (graph, _) = p.usual_graph(requested, 1);
        let exec = p.instantiate(graph);
        assert_eq!(p.launch(exec, p.stream()), OK);
        assert_eq!(
            (p.used(), p.reserved()),
            (held * MIB, held * MIB),
            "{requested}"
        );
    }
}

#[test]
fn r32_r33_upload_maps_and_the_launch_after_it_does_not() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, _) = p.usual_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    let cost = |call: &dyn Fn() -> i32| {
        let before = p.model.now();
        assert_eq!(call(), OK);
        p.model.now() - before
    };
    let upload = cost(&|| p.upload(exec, stream));
    assert_eq!(p.used(), SIZE);
    let launch = cost(&|| p.launch(exec, stream));
    assert_eq!(p.used(), SIZE);
    assert!(
        upload > 10 * launch,
        "upload {upload} ns, launch {launch} ns"
    );
}

#[test]
fn r34_the_mapping_stays_after_the_run() {
    let p = Program::new();
    let stream = p.stream();
    let (graph, _) = p.usual_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    assert_eq!(p.used(), SIZE);
    let before = p.model.now();
    assert_eq!(p.launch(exec, stream), OK);
    assert!(p.model.now() - before < 6_000, "a relaunch maps nothing");
}

#[test]
fn r35_graphs_of_one_stream_use_as_much_memory_as_the_largest_one() {
    let p = Program::new();
    let stream = p.stream();
    for bytes in [128 * MIB, 64 * MIB, 32 * MIB] {
        let exec = p.instantiate(p.usual_graph(bytes, 1_000).0);
        assert_eq!(p.launch(exec, stream), OK);
        assert_eq!(p.used(), 128 * MIB);
    }
}

#[test]
fn r36_a_graph_shares_neither_with_a_running_one_nor_with_an_unfreed_allocation() {
    let p = Program::new();
    let (first, second) = (p.stream(), p.stream());
    let running = p.instantiate(p.usual_graph(SIZE, 20_000).0);
    let beside = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(running, first), OK);
    assert_eq!(p.launch(beside, second), OK);
    assert_eq!(p.used(), 2 * SIZE);

    let p = Program::new();
    let stream = p.stream();
    let unfreed = p.instantiate(p.unfreed_graph(SIZE, 1).0);
    let after = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(unfreed, stream), OK);
    p.sync();
    assert_eq!(p.launch(after, stream), OK);
    assert_eq!(p.used(), 2 * SIZE);
}

#[test]
fn r36_waiting_on_an_event_does_not_let_a_graph_share_memory_with_a_running_one() {
    let p = Program::new();
    let (first, second) = (p.stream(), p.stream());
    let mut event = cudaEvent_t::NULL;
    let running = p.instantiate(p.usual_graph(SIZE, 20_000).0);
    let after = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(running, first), OK);
    // SAFETY: a variable of this function; handles are looked up.
    unsafe {
        p.f()
            .cudaEventCreateWithFlags(&mut event, event_flags::DISABLE_TIMING);
        p.f().cudaEventRecord(event, first);
        p.f().cudaStreamWaitEvent(second, event, 0);
    }
    assert_eq!(p.launch(after, second), OK);
    assert_eq!(p.used(), 2 * SIZE);
}

#[test]
fn r37_another_stream_can_use_the_memory_of_a_completed_graph() {
    let p = Program::new();
    for _ in 0..4 {
        let exec = p.instantiate(p.usual_graph(SIZE, 1_000).0);
        assert_eq!(p.launch(exec, p.stream()), OK);
        p.sync();
        assert_eq!(p.used(), SIZE);
    }
}

#[test]
fn r38_a_relaunch_maps_other_memory_if_an_unfreed_allocation_is_in_its_blocks() {
    let p = Program::new();
    let stream = p.stream();
    let shared = p.instantiate(p.usual_graph(SIZE, 1).0);
    let unfreed = p.instantiate(p.unfreed_graph(SIZE, 1).0);
    assert_eq!(p.launch(shared, stream), OK);
    assert_eq!(p.launch(unfreed, stream), OK);
    assert_eq!(p.used(), SIZE);
    assert_eq!(p.launch(shared, stream), OK);
    assert_eq!(p.used(), 2 * SIZE);
}

#[test]
fn r41_destroying_execs_returns_no_memory() {
    let p = Program::new();
    let exec = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    let (free, _) = p.mem_info();
    assert_eq!(p.exec_destroy(exec), OK);
    assert_eq!(p.mem_info().0, free);
    assert_eq!(p.reserved(), SIZE);
}

#[test]
fn r42_m14_trim_keeps_the_memory_of_a_running_graph_and_returns_at_once() {
    let p = Program::new();
    let exec = p.instantiate(p.usual_graph(SIZE, 20_000).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    let before = p.model.now();
    p.trim();
    assert!(p.model.now() - before < 1_000_000);
    assert_eq!(p.used(), SIZE);
    assert_eq!(p.exec_destroy(exec), OK);
    assert_eq!(p.used(), SIZE);
    p.sync();
    p.trim();
    assert_eq!(p.attributes(), [0, SIZE, 0, SIZE]);
}

#[test]
fn r43_after_a_trim_an_exec_maps_again() {
    let p = Program::new();
    let stream = p.stream();
    let exec = p.instantiate(p.usual_graph(SIZE, 1).0);
    for _ in 0..3 {
        assert_eq!(p.launch(exec, stream), OK);
        assert_eq!((p.used(), p.reserved()), (SIZE, SIZE));
        p.sync();
        p.trim();
        assert_eq!((p.used(), p.reserved()), (0, 0));
    }
}

#[test]
fn r46_an_unfreed_allocation_has_its_own_block_in_addition_to_the_reused_one() {
    let p = Program::new();
    let stream = p.stream();
    let graph = p.graph();
    let mut after = Vec::new();
    for _ in 0..3 {
        let (alloc, address) = p.alloc(graph, &after, SIZE);
        after = vec![p.free_node(graph, &[alloc], address)];
    }
    // One more allocation that is never freed, in addition to the others: 128 MiB in
    // total.
    p.alloc(graph, &[], SIZE);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.used(), 2 * SIZE);
}

#[test]
fn m13_out_of_memory_is_returned_by_the_launch_until_memory_is_freed() {
    let p = Program::new();
    let stream = p.stream();
    let graphs: Vec<_> = (0..9).map(|_| p.unfreed_graph(16 * GIB, 1)).collect();
    let execs: Vec<_> = graphs
        .iter()
        .map(|(graph, _)| p.instantiate(*graph))
        .collect();
    for exec in &execs[..8] {
        assert_eq!(p.launch(*exec, stream), OK);
    }
    let [used, used_high, reserved, _] = p.attributes();
    assert_eq!(
        (used, used_high, reserved),
        (128 * GIB, 128 * GIB, 128 * GIB)
    );
    let (free, _) = p.mem_info();
    assert_eq!(p.launch(execs[8], stream), MEMORY_ALLOCATION);
    // As in the recordings, the remaining memory is now reserved and lost.
    let lost = free / (32 * MIB) * 32 * MIB;
    let after = [used, used_high, reserved + lost, reserved + lost];
    assert_eq!(p.attributes(), after);
    assert_eq!(p.free(graphs[1].1), OK);
    let small = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(small, stream), OK);
    p.sync();
    assert_eq!(p.free(graphs[0].1), OK);
    assert_eq!(p.launch(execs[8], stream), OK);
    for (_, address) in &graphs[2..] {
        assert_eq!(p.free(*address), OK);
    }
    p.sync();
    p.trim();
    assert_eq!((p.used(), p.reserved()), (0, lost));
}

#[test]
fn reserved_memory_is_not_free_memory() {
    let p = Program::new();
    let (before, total) = p.mem_info();
    assert!(before < total);
    let exec = p.instantiate(p.usual_graph(100 * MIB, 1).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    assert_eq!(before - p.mem_info().0, p.reserved());
    p.sync();
    p.trim();
    assert_eq!(p.mem_info().0, before);
}

#[test]
fn r39_the_host_waits_for_a_remap_while_the_graph_itself_runs() {
    let p = Program::new();
    let (first, second) = (p.stream(), p.stream());
    let moving = p.instantiate(p.usual_graph(SIZE, 10_000).0);
    let sharing = p.instantiate(p.usual_graph(SIZE, 1).0);
    // A graph that shares its memory with no other one keeps it when it moves to another
    // stream.
    assert_eq!(p.launch(moving, first), OK);
    let before = p.model.now();
    assert_eq!(p.launch(moving, second), OK);
    assert!(p.model.now() - before < 1_000_000);
    assert_eq!(p.used(), SIZE);
    p.sync();
    // A graph that shares its memory with another one gets other memory, after its own
    // run has ended.
    assert_eq!(p.launch(sharing, first), OK);
    p.sync();
    assert_eq!(p.launch(moving, first), OK);
    let before = p.model.now();
    assert_eq!(p.launch(moving, second), OK);
    assert!(p.model.now() - before >= 10_000_000);
    assert_eq!(p.used(), 2 * SIZE);
}

#[test]
fn m13_cuda_malloc_trims_the_pool_if_memory_is_short() {
    let p = Program::new();
    let exec = p.instantiate(p.usual_graph(100 * GIB, 1).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    let mut address = std::ptr::null_mut();
    // SAFETY: a variable of this function.
    let code = unsafe { p.f().cudaMalloc(&mut address, 60 << 30) };
    assert_eq!((code.0, p.used(), p.reserved()), (OK, 0, 0));
}

#[test]
fn r28_addresses_end_at_twice_the_devices_memory() {
    let p = Program::new();
    let graph = p.graph();
    let mut params = Program::alloc_params(100 * GIB);
    assert!(p.try_alloc(graph, &[], &mut params).is_ok());
    assert!(p.try_alloc(graph, &[], &mut params).is_ok());
    let third = p.try_alloc(graph, &[], &mut params);
    assert_eq!(third, Err(MEMORY_ALLOCATION));
    params.bytesize = 64 << 20;
    assert!(p.try_alloc(graph, &[], &mut params).is_ok());
}
