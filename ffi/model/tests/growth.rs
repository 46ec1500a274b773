//! No call becomes slow when a program has many objects: with 50,000 live objects, a call
//! takes less than ten times as long as with 50.
//!
//! Only the time in which the thread was running counts, as measured by Linux, and the best
//! of several batches, so that other load on the machine does not matter.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

#[path = "rules/program.rs"]
#[allow(dead_code, reason = "the rules' tests use the rest of it")]
mod program;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use cudart_ffi::types::*;
use program::{MIB, OK, Program};

const FEW: usize = 50;
const MANY: usize = 50_000;
/// The number of calls in a batch. The best of several batches counts.
const CALLS: usize = 40;
const BATCHES: usize = 25;

/// The time for which this thread has run, in nanoseconds.
fn running() -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's count");
    let first = all.split(' ').next().expect("three numbers");
    first.parse().expect("a number")
}

/// The time of a call in nanoseconds: the mean of the best batch.
fn time(mut call: impl FnMut()) -> u64 {
    let batch = |call: &mut dyn FnMut()| {
        let start = running();
        for _ in 0..CALLS {
            call();
        }
        running() - start
    };
    let best = (0..BATCHES).map(|_| batch(&mut call)).min();
    best.unwrap_or(0) / CALLS as u64
}

/// Creates a few objects, measures a call, creates many objects and measures it again.
fn compare(
    what: &str,
    program: &Program,
    mut make: impl FnMut(&Program),
    mut call: impl FnMut(&Program),
) {
    for _ in 0..FEW {
        make(program);
    }
    let few = time(|| call(program));
    for _ in FEW..MANY {
        make(program);
    }
    let many = time(|| call(program));
    // The resolution of the clock is allowed for.
    assert!(
        many < 10 * few.max(100),
        "{what}: {few} ns with {FEW} live objects, {many} ns with {MANY}"
    );
}

fn ok(code: cudaError_t) {
    assert_eq!(code.0, OK);
}

fn malloc(p: &Program, bytes: usize) -> *mut c_void {
    let mut address = null_mut();
    // SAFETY: a variable of this function.
    ok(unsafe { p.f().cudaMalloc(&mut address, bytes) });
    address
}

fn malloc_async(p: &Program, bytes: usize) -> *mut c_void {
    let mut address = null_mut();
    // SAFETY: a variable of this function.
    ok(unsafe {
        p.f()
            .cudaMallocAsync(&mut address, bytes, cudaStream_t::NULL)
    });
    address
}

fn event(p: &Program) -> cudaEvent_t {
    let mut event = cudaEvent_t::NULL;
    // SAFETY: a variable of this function.
    ok(unsafe { p.f().cudaEventCreateWithFlags(&mut event, 0) });
    event
}

fn empty_node(p: &Program, graph: cudaGraph_t, after: Option<cudaGraphNode_t>) -> cudaGraphNode_t {
    let mut node = cudaGraphNode_t::NULL;
    let first = after.as_ref().map_or(null(), |after| after);
    let count = usize::from(after.is_some());
    // SAFETY: variables of this function.
    ok(unsafe { p.f().cudaGraphAddEmptyNode(&mut node, graph, first, count) });
    node
}

fn small_exec(p: &Program) -> cudaGraphExec_t {
    let graph = p.graph();
    empty_node(p, graph, None);
    p.instantiate(graph)
}

#[test]
fn plain_memory() {
    let p = Program::new();
    let free = |p: &Program, address| {
        // SAFETY: the address is looked up.
        ok(unsafe { p.f().cudaFree(address) });
    };
    let make = |p: &Program| {
        malloc(p, 4096);
    };
    compare("cudaMalloc and cudaFree", &p, make, |p| {
        free(p, malloc(p, 4096));
    });
}

#[test]
fn pooled_memory() {
    let p = Program::new();
    let make = |p: &Program| {
        malloc_async(p, 4096);
    };
    compare("cudaMallocAsync, cudaFreeAsync, waiting", &p, make, |p| {
        let address = malloc_async(p, 4096);
        // SAFETY: the address is looked up.
        ok(unsafe { p.f().cudaFreeAsync(address, cudaStream_t::NULL) });
        // SAFETY: the handle is looked up.
        ok(unsafe { p.f().cudaStreamSynchronize(cudaStream_t::NULL) });
    });
}

#[test]
fn streams_and_events() {
    let p = Program::new();
    let make = |p: &Program| {
        let stream = p.stream();
        // SAFETY: handles are looked up.
        ok(unsafe { p.f().cudaEventRecord(event(p), stream) });
    };
    compare("streams and events", &p, make, |p| {
        let (stream, event) = (p.stream(), event(p));
        // SAFETY: handles are looked up.
        unsafe {
            ok(p.f().cudaEventRecord(event, stream));
            ok(p.f().cudaStreamWaitEvent(cudaStream_t::NULL, event, 0));
            ok(p.f().cudaDeviceSynchronize());
            ok(p.f().cudaEventDestroy(event));
            ok(p.f().cudaStreamDestroy(stream));
        }
    });
}

#[test]
fn graphs_and_execs() {
    let p = Program::new();
    let make = |p: &Program| {
        small_exec(p);
    };
    compare("graphs and execs", &p, make, |p| {
        let exec = small_exec(p);
        p.launch(exec, cudaStream_t::NULL);
        // SAFETY: the handle is looked up.
        ok(unsafe { p.f().cudaGraphExecDestroy(exec) });
    });
}

#[test]
fn graphs_with_memory() {
    let p = Program::new();
    let (stream, plain) = (p.stream(), malloc(&p, 4096));
    let round = |p: &Program| {
        let graph = p.graph();
        let mut params = Program::alloc_params(MIB);
        // After the 8,947th graph there are no addresses for another one.
        if let Ok(node) = p.try_alloc(graph, &[], &mut params) {
            p.free_node(graph, &[node], params.dptr);
            p.instantiate(graph);
        }
        graph
    };
    let make = |p: &Program| {
        round(p);
    };
    compare(
        "copies, memsets, trims beside graphs with memory",
        &p,
        make,
        |p| {
            // SAFETY: an array of eight bytes; the address is looked up.
            unsafe {
                let host = [0_u8; 8];
                let kind = cudaMemcpyKind::HOST_TO_DEVICE;
                ok(p.f()
                    .cudaMemcpyAsync(plain, host.as_ptr().cast(), 8, kind, stream));
                ok(p.f().cudaMemsetAsync(plain, 1, 64, stream));
                ok(p.f().cudaDeviceGraphMemTrim(0));
            }
            let graph = round(p);
            // SAFETY: the handle is looked up.
            ok(unsafe { p.f().cudaGraphDestroy(graph) });
        },
    );
}

#[test]
fn nodes_of_a_chain() {
    let p = Program::new();
    let (graph, last) = (p.graph(), std::cell::Cell::new(None));
    let make = |p: &Program| last.set(Some(empty_node(p, graph, last.get())));
    compare("adding and destroying a node", &p, make, |p| {
        let node = empty_node(p, graph, last.get());
        // SAFETY: the handle is looked up.
        ok(unsafe { p.f().cudaGraphDestroyNode(node) });
    });
}

#[test]
fn destroying_a_chain_node_by_node_is_fast_and_removes_the_nodes() {
    let p = Program::new();
    let graph = p.graph();
    let mut nodes: Vec<cudaGraphNode_t> = Vec::new();
    for _ in 0..MANY {
        nodes.push(empty_node(&p, graph, nodes.last().copied()));
    }
    let mut nodes = nodes.into_iter();
    let each = time(|| {
        let node = nodes.next().expect("enough nodes");
        // SAFETY: the handle is looked up.
        ok(unsafe { p.f().cudaGraphDestroyNode(node) });
    });
    assert!(each < 60_000, "{each} ns a node");
    for node in nodes {
        // SAFETY: the handle is looked up.
        ok(unsafe { p.f().cudaGraphDestroyNode(node) });
    }
    // Destroyed nodes are removed, so a clone takes little time.
    let clone = time(|| {
        let mut clone = cudaGraph_t::NULL;
        // SAFETY: a variable of this closure.
        ok(unsafe { p.f().cudaGraphClone(&mut clone, graph) });
    });
    assert!(clone < 200_000, "{clone} ns for a clone");
}

#[test]
fn memory_nodes_of_a_chain() {
    let p = Program::new();
    let (graph, last) = (p.graph(), std::cell::Cell::new(None));
    let pair = |p: &Program| {
        let after: Vec<_> = last.get().into_iter().collect();
        let (node, address) = p.alloc(graph, &after, MIB);
        last.set(Some(p.free_node(graph, &[node], address)));
    };
    compare("adding alloc and free nodes", &p, pair, pair);
}

#[test]
fn memory_nodes_of_branches() {
    let p = Program::new();
    let graph = p.graph();
    let branch = |p: &Program| {
        let (node, address) = p.alloc(graph, &[], 4096);
        p.free_node(graph, &[node], address);
    };
    compare(
        "alloc and free nodes on branches of their own",
        &p,
        branch,
        branch,
    );
}

#[test]
fn written_memory() {
    let p = Program::new();
    let (plain, page) = (malloc(&p, MANY * 8192), std::cell::Cell::new(0));
    let write = |p: &Program| {
        let host = [1_u8, 2, 3, 4, 5, 6, 7, 8];
        let kind = cudaMemcpyKind::HOST_TO_DEVICE;
        let at = page.get() % MANY * 8192;
        page.set(page.get() + 1);
        // SAFETY: an array of eight bytes, within the allocation.
        ok(unsafe {
            p.f().cudaMemcpyAsync(
                plain.byte_add(at),
                host.as_ptr().cast(),
                8,
                kind,
                cudaStream_t::NULL,
            )
        });
    };
    compare("copies of eight bytes", &p, write, write);
}
