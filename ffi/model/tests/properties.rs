//! Random programs of valid and invalid calls, and properties that must hold for all of
//! them.
//!
//! The programs are generated from seeds, so a failure can be reproduced.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

#[path = "rules/program.rs"]
#[allow(dead_code, reason = "the rules' tests use the rest of it")]
mod program;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::time::{Duration, Instant};

use cudart_ffi::types::*;
use cudart_model::{Fault, LiveObjects, Profile};
use program::{INVALID_VALUE, MIB, NOT_READY, OK, Program};

/// A small random number generator, so that the tests need no crate.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// A random element, or a handle that is not valid.
    fn pick<T: Copy>(&mut self, all: &[T], nothing: T) -> T {
        match all.len() {
            0 => nothing,
            _ if self.below(20) == 0 => nothing,
            count => all[self.below(count)],
        }
    }
}

/// The objects that a program has created, including destroyed ones, on which calls are
/// also made.
#[derive(Default)]
struct Made {
    graphs: Vec<cudaGraph_t>,
    nodes: BTreeMap<usize, Vec<cudaGraphNode_t>>,
    addresses: Vec<*mut c_void>,
    execs: Vec<cudaGraphExec_t>,
    streams: Vec<cudaStream_t>,
    events: Vec<cudaEvent_t>,
    plain: Vec<*mut c_void>,
}

/// Makes one random call and returns its code.
fn call(p: &Program, made: &mut Made, dice: &mut Dice) -> i32 {
    const TIB: u64 = MIB * MIB;
    let sizes = [
        1,
        512,
        513,
        MIB,
        31 * MIB,
        32 * MIB,
        33 * MIB,
        100 * MIB,
        TIB,
    ];
    let graph_at = dice.below(made.graphs.len().max(1));
    let graph = dice.pick(&made.graphs[..], cudaGraph_t::NULL);
    let exec = dice.pick(&made.execs[..], cudaGraphExec_t::NULL);
    let stream = dice.pick(&made.streams[..], cudaStream_t::NULL);
    let event = dice.pick(&made.events[..], cudaEvent_t::NULL);
    let address = dice.pick(&made.addresses[..], std::ptr::null_mut());
    let own = made.graphs.get(graph_at).copied();
    let nodes = made.nodes.entry(graph_at).or_default();
    let after: Vec<cudaGraphNode_t> = (0..dice.below(3))
        .map(|_| dice.pick(&nodes[..], cudaGraphNode_t::NULL))
        .collect();
    let node_code = |made: Result<cudaGraphNode_t, i32>, nodes: &mut Vec<_>| match made {
        Ok(node) => {
            nodes.push(node);
            OK
        }
        Err(code) => code,
    };
    // SAFETY: variables of this function; handles and addresses are looked up.
    unsafe {
        match dice.below(24) {
            0 | 1 => {
                made.graphs.push(p.graph());
                OK
            }
            2..=5 => {
                let mut params = Program::alloc_params(sizes[dice.below(sizes.len())]);
                let node = p.try_alloc(own.unwrap_or(graph), &after, &mut params);
                if node.is_ok() {
                    made.addresses.push(params.dptr);
                }
                node_code(node, nodes)
            }
            6..=8 => node_code(
                p.try_free_node(own.unwrap_or(graph), &after, address),
                nodes,
            ),
            9 => {
                let microseconds = dice.below(300) as i64;
                let one = dim3::linear(1);
                let clocks = microseconds * 1980;
                node_code(
                    p.try_kernel(own.unwrap_or(graph), &after, one, one, clocks),
                    nodes,
                )
            }
            10 | 11 => match p.try_instantiate(graph, dice.below(2) as u64) {
                Ok(exec) => {
                    made.execs.push(exec);
                    OK
                }
                Err(code) => code,
            },
            12..=15 => p.launch(exec, stream),
            16 => p.upload(exec, stream),
            17 => match dice.below(8) {
                0 => p.graph_destroy(graph),
                1 | 2 => p.exec_destroy(exec),
                3 => p.f().cudaStreamDestroy(stream).0,
                4 => p.f().cudaEventDestroy(event).0,
                _ => p.query(stream),
            },
            18 => p.free(address),
            19 => p.free_async(address, stream),
            20 => p.f().cudaDeviceGraphMemTrim(0).0,
            21 if made.streams.len() < 4 => {
                made.streams.push(p.stream());
                OK
            }
            21 => p.f().cudaStreamSynchronize(stream).0,
            22 => {
                let mut event = cudaEvent_t::NULL;
                let code = p.f().cudaEventCreateWithFlags(&mut event, 0).0;
                made.events.push(event);
                code
            }
            _ => match dice.below(4) {
                0 => p.f().cudaEventRecord(event, stream).0,
                1 => p.f().cudaStreamWaitEvent(stream, event, 0).0,
                2 => {
                    let mut address = std::ptr::null_mut();
                    let code = p.f().cudaMalloc(&mut address, 1 << 20).0;
                    made.plain.push(address);
                    code
                }
                _ => p.free(made.plain.pop().unwrap_or(std::ptr::null_mut())),
            },
        }
    }
}

/// Destroys and frees everything that is left.
fn clean_up(p: &Program, made: &Made) {
    p.sync();
    for address in made.addresses.iter().chain(&made.plain) {
        p.free(*address);
    }
    // SAFETY: handles are looked up.
    unsafe {
        made.execs.iter().for_each(|exec| _ = p.exec_destroy(*exec));
        made.graphs
            .iter()
            .for_each(|graph| _ = p.graph_destroy(*graph));
        made.streams
            .iter()
            .for_each(|stream| _ = p.f().cudaStreamDestroy(*stream));
        made.events
            .iter()
            .for_each(|event| _ = p.f().cudaEventDestroy(*event));
    }
    p.trim();
}

#[test]
fn r50_used_is_at_most_reserved_and_free_memory_agrees() {
    let block = Profile::default().block_bytes();
    for seed in 0..60 {
        let p = Program::new();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        let (free_at_start, total) = p.mem_info();
        let mut plain = 0;
        for _ in 0..300 {
            let before = made.plain.len();
            call(&p, &mut made, &mut dice);
            plain = plain + made.plain.len() - before.min(made.plain.len());
            let [used, used_high, reserved, reserved_high] = p.attributes();
            assert!(
                used <= reserved,
                "seed {seed}: used {used}, reserved {reserved}"
            );
            assert!(
                used <= used_high && reserved <= reserved_high,
                "seed {seed}"
            );
            assert!(used % block == 0 && reserved % block == 0, "seed {seed}");
            let (free, still_total) = p.mem_info();
            assert_eq!(still_total, total);
            // Plain allocations of 1 MiB share units of 2 MiB.
            let taken = free_at_start - free;
            assert!(taken >= reserved, "seed {seed}");
            assert!(taken - reserved <= plain as u64 * 2 * MIB, "seed {seed}");
        }
    }
}

#[test]
fn r41_r42_no_memory_is_left_when_everything_is_freed_and_destroyed() {
    for seed in 0..60 {
        let p = Program::new();
        let start = p.mem_info();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        for _ in 0..300 {
            call(&p, &mut made, &mut dice);
        }
        clean_up(&p, &made);
        let only_the_kernel = LiveObjects {
            libraries: 1,
            ..LiveObjects::default()
        };
        assert_eq!(p.model.live_objects(), only_the_kernel, "seed {seed}");
        // A block that the driver loses is part of both values. Nothing else is
        // left.
        let lost = p.reserved();
        assert_eq!(start.0 - p.mem_info().0, lost, "seed {seed}");
        assert!(lost <= 20 * 32 * MIB, "seed {seed}: {lost}");
    }
}

#[test]
fn the_same_program_gets_the_same_codes_addresses_and_times() {
    let run = |seed| {
        let p = Program::new();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        let codes: Vec<(i32, u64, [u64; 4])> = (0..400)
            .map(|_| {
                let code = call(&p, &mut made, &mut dice);
                (code, p.model.now(), p.attributes())
            })
            .collect();
        (codes, made.addresses)
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

#[test]
fn calls_fail_only_with_codes_that_cuda_documents() {
    let mut seen = BTreeMap::new();
    for seed in 0..60 {
        let p = Program::new();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        for _ in 0..300 {
            *seen.entry(call(&p, &mut made, &mut dice)).or_insert(0) += 1;
        }
    }
    let codes: Vec<i32> = seen.keys().copied().collect();
    assert_eq!(
        codes,
        [OK, INVALID_VALUE, 2, 400, NOT_READY, 801],
        "{seen:?}"
    );
}

/// A call that fails because of a fault has no effect: the rest of the program has the same
/// results as without that call.
#[test]
fn an_injected_failure_changes_nothing() {
    for seed in 0..30 {
        let p = Program::new();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        for step in 0..200 {
            let before = (p.attributes(), p.mem_info(), p.model.live_objects());
            let next = p.model.calls() + 1;
            let fault: Fault = format!("{next}=999").parse().unwrap();
            if step % 7 == 0 {
                p.model.inject([fault]);
                // SAFETY: handles are looked up; a variable of this block.
                let code = unsafe {
                    match dice.below(5) {
                        0 => p.launch(
                            dice.pick(&made.execs, cudaGraphExec_t::NULL),
                            cudaStream_t::NULL,
                        ),
                        1 => p.graph_destroy(dice.pick(&made.graphs, cudaGraph_t::NULL)),
                        2 => p.free(dice.pick(&made.addresses, std::ptr::null_mut())),
                        3 => p.f().cudaDeviceGraphMemTrim(0).0,
                        _ => p.f().cudaGraphCreate(&mut cudaGraph_t::NULL.clone(), 0).0,
                    }
                };
                assert_eq!(code, 999);
                let after = (p.attributes(), p.mem_info(), p.model.live_objects());
                assert_eq!(before, after, "seed {seed}, step {step}");
            }
            call(&p, &mut made, &mut dice);
        }
    }
}

/// R4, R5: for any graphs, built in any order, allocations that may be live at the same
/// time do not overlap.
#[test]
fn r4_r5_unfreed_allocations_of_all_graphs_do_not_overlap() {
    for seed in 0..40 {
        let p = Program::new();
        let mut dice = Dice(seed);
        let graphs: Vec<_> = (0..4).map(|_| p.graph()).collect();
        let mut nodes = vec![Vec::new(); graphs.len()];
        let mut alive: BTreeMap<u64, (usize, u64, cudaGraphNode_t)> = BTreeMap::new();
        for _ in 0..200 {
            let which = dice.below(graphs.len());
            let graph = graphs[which];
            let own: Vec<u64> = alive
                .iter()
                .filter(|(_, (owner, ..))| *owner == which)
                .map(|(address, _)| *address)
                .collect();
            let mut after: Vec<cudaGraphNode_t> = Vec::new();
            for _ in 0..dice.below(3) {
                let node = dice.pick(&nodes[which][..], cudaGraphNode_t::NULL);
                if !node.is_null() && !after.contains(&node) {
                    after.push(node);
                }
            }
            if dice.below(2) == 0 || own.is_empty() {
                let bytes = 1 + dice.below(80 << 20) as u64;
                let (node, address) = p.alloc(graph, &after, bytes);
                let (start, end) = (address as u64, address as u64 + bytes);
                for (&other, &(_, size, _)) in &alive {
                    assert!(end <= other || other + size <= start, "seed {seed}");
                }
                alive.insert(start, (which, bytes, node));
                nodes[which].push(node);
            } else {
                let address = own[dice.below(own.len())];
                if let Some((_, _, node)) = alive.remove(&address)
                    && !after.contains(&node)
                {
                    after.push(node);
                }
                let free = p.free_node(graph, &after, address as *mut c_void);
                nodes[which].push(free);
            }
        }
    }
}

/// A release build makes the million calls in about half a second. A debug build makes a
/// fifth of them in the same time limit, so that other load on the machine does not fail
/// the test.
#[test]
fn a_million_random_calls_take_under_ten_seconds() {
    const PER_PROGRAM: u64 = 1000;
    let programs = if cfg!(debug_assertions) { 200 } else { 1000 };
    let begin = Instant::now();
    for seed in 0..programs {
        let p = Program::new();
        let (mut made, mut dice) = (Made::default(), Dice(seed));
        let before = p.model.calls();
        for _ in 0..PER_PROGRAM {
            call(&p, &mut made, &mut dice);
        }
        assert!(p.model.calls() >= before + PER_PROGRAM, "seed {seed}");
    }
    let elapsed = begin.elapsed();
    println!("{} calls in {elapsed:?}", programs * PER_PROGRAM);
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}
