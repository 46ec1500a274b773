//! The dumps that the simulated runtime writes are read by the planner, and what it plans
//! is what the simulated runtime then holds: random graphs of allocations, frees, kernels,
//! memsets and copies, with one to three dependencies each.

use cudart_ffi::{
    cudaGraphMemAttributeType, cudaMemAllocationHandleType, cudaMemAllocationType, cudaMemLocation,
    cudaMemLocationType,
};
use cudart_model::objects::effects::{CopyRequest, Fill, Side};
use cudart_model::runtime::{AllocRequest, DOT_RUNTIME_TYPES, KernelRequest, Runtime};
use cudart_model::{ClockKind, Profile};
use graph_memory_plan::{Options, Planner, SpinKernel, dot};

const SPIN: SpinKernel<'static> = SpinKernel {
    ptx: include_str!("../../../kernels-rs/ptx/clock_block.ptx"),
    name: "clock_block",
};

/// Numbers that are the same in every run: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

fn request(bytes: u64) -> AllocRequest {
    AllocRequest {
        alloc_type: cudaMemAllocationType::PINNED,
        handle_types: cudaMemAllocationHandleType::NONE,
        location: cudaMemLocation {
            type_: cudaMemLocationType::DEVICE,
            id: 0,
        },
        access: Vec::new(),
        bytes,
    }
}

/// A random graph; `None` where it has no allocation.
fn random_graph(runtime: &mut Runtime, numbers: &mut Numbers) -> Option<u64> {
    let library = runtime.library_load(SPIN.ptx).expect("the kernel's PTX");
    let kernel = runtime
        .library_kernel(library, SPIN.name)
        .expect("the kernel");
    let graph = runtime.graph_create(0).expect("a graph");
    // The program's side of copies, whose nodes run when the graph is launched.
    let bytes: &'static mut [u8; 1] = Box::leak(Box::new([0]));
    let bytes = bytes.as_mut_ptr() as u64;
    let mut nodes: Vec<u64> = Vec::new();
    // Allocations that nothing has freed, with their nodes.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut allocated = false;
    for _ in 0..4 + numbers.below(24) {
        let mut after: Vec<u64> = Vec::new();
        for _ in 0..numbers.below(4) {
            if !nodes.is_empty() {
                let node = nodes[numbers.below(nodes.len() as u64) as usize];
                if !after.contains(&node) {
                    after.push(node);
                }
            }
        }
        let node = match numbers.below(7) {
            0..=2 => {
                let bytes = 1 + numbers.below(100 << 20);
                let (node, address) = runtime
                    .add_alloc_node(graph, &after, request(bytes))
                    .expect("an allocation");
                open.push((address, node));
                allocated = true;
                node
            }
            3 if !open.is_empty() => {
                let (address, node) = open.remove(numbers.below(open.len() as u64) as usize);
                if !after.contains(&node) {
                    after.push(node);
                }
                runtime
                    .add_free_node(graph, &after, address)
                    .expect("a free node")
            }
            5 if !open.is_empty() => {
                let (address, node) = open[numbers.below(open.len() as u64) as usize];
                if !after.contains(&node) {
                    after.push(node);
                }
                let (host, device) = (Side::Host(bytes), Side::Device(address));
                let (to, from) = match numbers.below(2) {
                    0 => (host, device),
                    _ => (device, host),
                };
                let copy = CopyRequest { to, from, bytes: 1 };
                runtime.add_copy_node(graph, &after, copy).expect("a copy")
            }
            4 if !open.is_empty() => {
                let (address, node) = open[numbers.below(open.len() as u64) as usize];
                if !after.contains(&node) {
                    after.push(node);
                }
                runtime
                    .add_set_node(graph, &after, Fill::bytes(address, 1, 1))
                    .expect("a memset")
            }
            _ => {
                let launch = KernelRequest {
                    kernel,
                    grid: [1 + numbers.below(3) as u32, 1, 1],
                    block: [32, 1, 1],
                    shared_bytes: 0,
                    spin_clocks: 0,
                };
                runtime
                    .add_kernel_node(graph, &after, &launch, [0; 2].into_iter().collect())
                    .expect("a kernel")
            }
        };
        nodes.push(node);
    }
    allocated.then_some(graph)
}

#[test]
fn what_is_planned_of_a_dump_is_what_the_simulation_holds() {
    let mut numbers = Numbers(20_261_130);
    let mut compared = 0;
    for round in 0..200 {
        // A process for each graph, as the plan assumes.
        let mut runtime = Runtime::new(Profile::default(), ClockKind::Virtual);
        let Some(graph) = random_graph(&mut runtime, &mut numbers) else {
            continue;
        };
        // As the driver writes it, and as the runtime does.
        let flags = 1 | [0, DOT_RUNTIME_TYPES][round % 2];
        let dump = runtime.dot(graph, flags).expect("a dump");
        let read = dot::read(dump.as_bytes(), "own.dot")
            .unwrap_or_else(|error| panic!("round {round}: {error}\n{dump}"));
        let graphs: Vec<_> = read.into_iter().map(Into::into).collect();
        let mut planner = Planner::new(Profile::default(), SPIN, Options::default());
        planner
            .graphs(&graphs)
            .unwrap_or_else(|error| panic!("round {round}: {error}\n{dump}"));
        let plan = planner.finish();
        let memory = plan.graphs[0]
            .memory
            .as_ref()
            .unwrap_or_else(|| panic!("round {round}: not launched\n{dump}"));

        let exec = runtime.instantiate(graph, 0).expect("an exec");
        let stream = runtime.stream_create(1, 0).expect("a stream");
        runtime.launch(exec, stream, 0).expect("a launch");
        let used = runtime
            .graph_mem_attribute(0, cudaGraphMemAttributeType::USED_MEM_CURRENT)
            .expect("used memory");
        assert_eq!(memory.footprint_bytes, used, "round {round}\n{dump}");
        compared += 1;
    }
    assert!(compared > 190, "{compared}");
}
