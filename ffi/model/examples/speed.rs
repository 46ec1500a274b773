//! Measures the time and memory that the simulated runtime takes. Run it with `--release`.
//!
//! It measures launches, and the creation of many graphs with an alloc, an empty and a free
//! node. The process's memory is read from `/proc` if that exists.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

use std::ffi::c_void;
use std::time::Instant;

use cudart_ffi::{Cudart, types::*};
use cudart_model::{ClockKind, Config, Isolated, Profile};

const GRAPHS: usize = 100_000;
const LAUNCHES: usize = 1_000_000;

fn main() {
    // This number of graphs needs more addresses than an H200 has: 32 MiB for each
    // graph, and twice the device's memory in total.
    let mut profile = Profile::default();
    profile.memory.total_bytes = 1 << 44;
    let _model = Isolated::new(Config {
        profile,
        clock: ClockKind::Virtual,
        ..Config::default()
    });
    // SAFETY: the simulated runtime has the table's prototypes and exists as long as the
    // process.
    let cudart = match unsafe { Cudart::from_symbols(cudart_model::symbol) } {
        Ok(cudart) => cudart,
        Err(missing) => {
            eprintln!("the simulated runtime lacks {missing:?}");
            std::process::exit(1);
        }
    };
    // The handles belong to this program, and are allocated before its memory is
    // measured.
    let none = (cudaGraph_t::NULL, cudaGraphExec_t::NULL);
    let mut made = vec![none; GRAPHS];
    made.iter_mut()
        .for_each(|pair| *std::hint::black_box(pair) = none);
    let start_kib = resident_kib();
    let begin = Instant::now();
    for pair in &mut made {
        *pair = usual(&cudart, 64 << 20);
    }
    report("create and instantiate a graph", begin, GRAPHS);
    let begin = Instant::now();
    for (_, exec) in &made {
        launch(&cudart, *exec);
    }
    report("first launch", begin, GRAPHS);
    match (start_kib, resident_kib()) {
        (Some(before), Some(after)) => println!(
            "{:<32} {:>10.0} bytes each, {} MiB for {GRAPHS}",
            "memory of a graph and its exec",
            after.saturating_sub(before) as f64 * 1024.0 / GRAPHS as f64,
            after.saturating_sub(before) / 1024
        ),
        _ => println!("memory: not measured, because /proc/self/status has no VmRSS"),
    }
    let begin = Instant::now();
    if let Some(&(_, exec)) = made.first() {
        for _ in 0..LAUNCHES {
            launch(&cudart, exec);
        }
    }
    report("launch again", begin, LAUNCHES);
    let begin = Instant::now();
    for (graph, exec) in &made {
        // SAFETY: handles are only looked up.
        unsafe {
            cudart.cudaGraphExecDestroy(*exec);
            cudart.cudaGraphDestroy(*graph);
        }
    }
    report("destroy a graph and its exec", begin, GRAPHS);
}

fn usual(cudart: &Cudart, bytes: usize) -> (cudaGraph_t, cudaGraphExec_t) {
    let mut graph = cudaGraph_t::NULL;
    let mut exec = cudaGraphExec_t::NULL;
    let mut nodes = [cudaGraphNode_t::NULL; 3];
    let [alloc, empty, free] = &mut nodes;
    let mut params = cudaMemAllocNodeParams::zeroed();
    params.pool_props.alloc_type = cudaMemAllocationType::PINNED;
    params.pool_props.location.type_ = cudaMemLocationType::DEVICE;
    params.bytesize = bytes;
    let none = std::ptr::null();
    // SAFETY: the pointers are to local variables; handles are only looked up.
    unsafe {
        expect(cudart.cudaGraphCreate(&mut graph, 0));
        expect(cudart.cudaGraphAddMemAllocNode(alloc, graph, none, 0, &mut params));
        expect(cudart.cudaGraphAddEmptyNode(empty, graph, alloc, 1));
        let address: *mut c_void = params.dptr;
        expect(cudart.cudaGraphAddMemFreeNode(free, graph, empty, 1, address));
        expect(cudart.cudaGraphInstantiateWithFlags(&mut exec, graph, 0));
    }
    (graph, exec)
}

fn launch(cudart: &Cudart, exec: cudaGraphExec_t) {
    // SAFETY: handles are only looked up.
    expect(unsafe { cudart.cudaGraphLaunch(exec, cudaStream_t::NULL) });
}

fn expect(code: cudaError_t) {
    if !code.is_success() {
        eprintln!("a call returned {code:?}");
        std::process::exit(1);
    }
}

fn report(what: &str, begin: Instant, count: usize) {
    let each = begin.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("{what:<32} {each:>10.3} us each");
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
