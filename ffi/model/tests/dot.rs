//! Compares `cudaGraphDebugDotPrint` of the simulated runtime with dumps by the driver on
//! an H200 (driver 580, CUDA 13.0). Every recorded graph is built again, and the texts must
//! be equal except for handles and the numbers of graphs. Addresses are compared in
//! `address_dumps.rs`; here only their positions are compared.

#[allow(dead_code, reason = "shared with another test")]
mod dump;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cudart_ffi::{
    cudaMemAllocationHandleType, cudaMemAllocationType, cudaMemLocation, cudaMemLocationType,
};
use cudart_model::objects::effects::{CopyRequest, Fill, HostCall, Side};
use cudart_model::runtime::{AllocRequest, DOT_RUNTIME_TYPES, KernelRequest, Runtime};
use cudart_model::{ClockKind, Profile};
use dump::{Node, data, read_dump};

const MIB: u64 = 1 << 20;

/// A text in which handles, numbers of graphs and addresses of allocations are replaced.
/// Each handle and graph is replaced by the position of its first occurrence, so that equal
/// ones stay equal.
fn comparable(text: &str) -> String {
    let mut addresses = Vec::new();
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("| {{bytesize | dptr} | {")
            && let Some((_, address)) = rest.split_once(" | ")
        {
            addresses.push(address.trim_end_matches('}').to_owned());
        }
    }
    let mut handles: Vec<String> = Vec::new();
    let mut graphs: Vec<String> = Vec::new();
    let place = |list: &mut Vec<String>, word: &str| {
        if let Some(at) = list.iter().position(|known| known == word) {
            return at;
        }
        list.push(word.to_owned());
        list.len() - 1
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let graph = ["graph_", "cluster_"].into_iter().find_map(|word| {
            let digits = rest.strip_prefix(word)?;
            let end = digits.find(|c: char| !c.is_ascii_digit())?;
            (end > 0).then(|| (word, digits.split_at(end)))
        });
        if let Some((word, (number, after))) = graph {
            out.push_str(&format!("{word}{}", place(&mut graphs, number)));
            rest = after;
        } else if rest.starts_with("0x") && rest.len() >= 18 {
            let (word, after) = rest.split_at(18);
            if word == "0x0000000000000000" {
                out.push_str(word);
            } else if addresses.iter().any(|address| address == word) {
                out.push_str("ADDRESS");
            } else {
                out.push_str(&format!("HANDLE {}", place(&mut handles, word)));
            }
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn runtime() -> Runtime {
    Runtime::new(Profile::default(), ClockKind::Virtual)
}

fn alloc_request(bytes: u64) -> AllocRequest {
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

/// A kernel with this name that does nothing.
fn kernel(runtime: &mut Runtime, name: &str) -> u64 {
    let ptx = format!(
        ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry {name}()\n{{ ret; }}\n"
    );
    let library = runtime
        .library_load(&ptx)
        .unwrap_or_else(|refused| panic!("{name}: {refused:?}"));
    runtime
        .library_kernel(library, name)
        .expect("the library contains the kernel")
}

fn launch(kernel: u64, grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> KernelRequest {
    KernelRequest {
        kernel,
        grid,
        block,
        shared_bytes,
        spin_clocks: 0,
    }
}

/// `name\<\<\<32,128,0\>\>\>` or `name\<\<\<\{32,24\},\{4,2\},0\>\>\>`.
fn parse_launch(text: &str) -> (String, [u32; 3], [u32; 3], u32) {
    let (name, shape) = text.split_once("\\<\\<\\<").expect("a shape");
    let shape = shape.trim_end_matches("\\>\\>\\>}");
    let mut numbers = Vec::new();
    let mut rest = shape;
    while !rest.is_empty() {
        let (part, after) = match rest.strip_prefix("\\{") {
            Some(inner) => {
                let (inner, after) = inner.split_once("\\}").expect("closed");
                (inner, after)
            }
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        let mut extents = [1; 3];
        for (extent, number) in extents.iter_mut().zip(part.split(',')) {
            *extent = number.parse().expect("a number");
        }
        numbers.push(extents);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    let [grid, block, [shared, ..]] = numbers[..] else {
        panic!("{text}");
    };
    (name.to_owned(), grid, block, shared)
}

/// Builds a recorded graph again and dumps it.
fn dumped_again(name: &str, text: &str) -> String {
    let dump = read_dump(text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let mut launches = text
        .lines()
        .filter(|line| line.starts_with("| {ID | "))
        .map(|line| parse_launch(line.rsplit(" | ").next().expect("a launch")));
    let mut runtime = runtime();
    let graph = runtime.graph_create(0).expect("a graph");
    let mut kernels: BTreeMap<String, u64> = BTreeMap::new();
    let mut nodes: Vec<u64> = Vec::new();
    // The simulated address for the recorded address of each allocation that is not
    // freed yet.
    let mut ours: BTreeMap<u64, u64> = BTreeMap::new();
    for (node, dependencies) in dump.nodes.iter().zip(&dump.dependencies) {
        let after: Vec<u64> = dependencies.iter().map(|&number| nodes[number]).collect();
        let added = match *node {
            Node::Alloc { bytes, address } => runtime
                .add_alloc_node(graph, &after, alloc_request(bytes))
                .map(|(node, given)| {
                    ours.insert(address, given);
                    node
                }),
            Node::Free { address } => {
                let given = ours.get(&address).copied().expect("an allocation");
                runtime.add_free_node(graph, &after, given)
            }
            Node::Kernel => {
                let (title, grid, block, shared) =
                    launches.next().expect("one launch for each kernel");
                let known = kernels.get(&title).copied();
                let handle = known.unwrap_or_else(|| kernel(&mut runtime, &title));
                kernels.insert(title, handle);
                let request = launch(handle, grid, block, shared);
                runtime.add_kernel_node(graph, &after, &request, Default::default())
            }
        };
        nodes.push(added.unwrap_or_else(|code| panic!("{name}: node {}: {code:?}", nodes.len())));
    }
    runtime.dot(graph, 1).expect("a dump")
}

fn first_difference(ours: &str, recorded: &str) -> String {
    let differs = ours.lines().zip(recorded.lines()).find(|(a, b)| a != b);
    format!(
        "{differs:?}, {} and {} lines",
        ours.lines().count(),
        recorded.lines().count()
    )
}

#[test]
fn every_recorded_graph_has_the_same_dump_as_from_the_driver() {
    let mut compared = 0;
    for folder in ["random", "apps"] {
        for entry in fs::read_dir(data(folder)).expect("the recordings are there") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "dot") {
                continue;
            }
            let name = path.display().to_string();
            let recorded = fs::read_to_string(&path).expect("a text");
            let (ours, recorded) = (
                comparable(&dumped_again(&name, &recorded)),
                comparable(&recorded),
            );
            assert_eq!(
                ours,
                recorded,
                "{name}: {}",
                first_difference(&ours, &recorded)
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 83);
}

/// The graph of `kinds-*.dot`, as the recording program created it: a node of each kind.
fn all_kinds(runtime: &mut Runtime) -> u64 {
    let graph = runtime.graph_create(0).expect("a graph");
    let child = runtime.graph_create(0).expect("a graph");
    let buffer = runtime.malloc(MIB, 0).expect("memory");
    let set = Fill::bytes(buffer, 0, MIB);
    let first = runtime.add_set_node(child, &[], set).expect("a memset");
    runtime
        .add_set_node(child, &[first], set)
        .expect("a memset");
    let spin = kernel(runtime, "clock_block");
    let spin = launch(spin, [1; 3], [32, 1, 1], 0);
    let event = runtime.event_create(0).expect("an event");
    let (n0, a) = runtime
        .add_alloc_node(graph, &[], alloc_request(64 * MIB))
        .expect("an allocation");
    let fill = Fill::bytes(a, 0, 64 * MIB);
    let n1 = runtime.add_set_node(graph, &[n0], fill).expect("a memset");
    let n2 = runtime
        .add_kernel_node(graph, &[n1], &spin, Default::default())
        .expect("a kernel");
    let (n3, b) = runtime
        .add_alloc_node(graph, &[n0], alloc_request(33 * MIB))
        .expect("an allocation");
    let copy = CopyRequest {
        to: Side::Device(b),
        from: Side::Device(a),
        bytes: 33 * MIB,
    };
    let n4 = runtime
        .add_copy_node(graph, &[n2, n3], copy)
        .expect("a copy");
    let call = HostCall {
        function: 0x7f9e_bb00_a010,
        user_data: 0,
    };
    let n5 = runtime
        .add_host_node(graph, &[n4], call)
        .expect("a host node");
    let n6 = runtime
        .add_event_node(graph, &[n5], event, false)
        .expect("a record");
    let n7 = runtime
        .add_event_node(graph, &[n6], event, true)
        .expect("a wait");
    let n8 = runtime.add_empty_node(graph, &[n7]).expect("an empty node");
    let n9 = runtime.add_free_node(graph, &[n8], a).expect("a free node");
    let (n10, again) = runtime
        .add_alloc_node(graph, &[n9], alloc_request(64 * MIB))
        .expect("an allocation");
    assert_eq!(again, a);
    let n11 = runtime
        .add_child_graph_node(graph, &[n10], child)
        .expect("a child graph");
    let n12 = runtime
        .add_kernel_node(graph, &[n11], &spin, Default::default())
        .expect("a kernel");
    runtime
        .add_free_node(graph, &[n12], b)
        .expect("a free node");
    graph
}

fn recorded(file: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../host/plan/tests/data/dot")
        .join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_node_of_each_kind_has_the_same_dump_as_from_the_driver_for_each_flag() {
    for (file, flags) in [
        ("kinds-13.0.dot", 1),
        ("kinds-plain.dot", 0),
        ("kinds-handles.dot", 1 << 10),
        ("kinds-memnodes.dot", 1 << 11 | 1 << 12),
    ] {
        let mut runtime = runtime();
        let graph = all_kinds(&mut runtime);
        let flags = flags | DOT_RUNTIME_TYPES;
        let ours = runtime.dot(graph, flags).expect("a dump");
        // In this dump, the numbers of graphs are also the same.
        assert!(
            ours.contains("cluster_1 ") && ours.contains("cluster_3 "),
            "{ours}"
        );
        let (ours, recorded) = (comparable(&ours), comparable(&recorded(file)));
        assert_eq!(
            ours,
            recorded,
            "{file}: {}",
            first_difference(&ours, &recorded)
        );
    }
}

#[test]
fn dumps_of_nested_graphs_and_of_an_empty_graph() {
    let mut runtime = runtime();
    let empty = runtime.graph_create(0).expect("a graph");
    let text = runtime.dot(empty, 1).expect("a dump");
    assert_eq!(comparable(&text), comparable(&recorded("empty.dot")));

    let graphs: Vec<u64> = (0..3)
        .map(|_| runtime.graph_create(0).expect("a graph"))
        .collect();
    let [outer, middle, inner] = graphs[..] else {
        unreachable!("three graphs were created");
    };
    let buffer = runtime.malloc(MIB, 0).expect("memory");
    let set = Fill::bytes(buffer, 0, MIB);
    runtime.add_set_node(inner, &[], set).expect("a memset");
    runtime
        .add_child_graph_node(middle, &[], inner)
        .expect("a child");
    let (alloc, address) = runtime
        .add_alloc_node(outer, &[], alloc_request(MIB))
        .expect("an allocation");
    let child = runtime
        .add_child_graph_node(outer, &[alloc], middle)
        .expect("a child");
    runtime
        .add_free_node(outer, &[child], address)
        .expect("a free node");
    let text = runtime.dot(outer, 1).expect("a dump");
    assert_eq!(comparable(&text), comparable(&recorded("nested.dot")));
    assert!(runtime.dot(0, 1).is_err());
}

/// The graph of `data/dot/flags`, which a program created and dumped with the driver's
/// calls.
fn by_the_driver(runtime: &mut Runtime) -> u64 {
    let graph = runtime.graph_create(0).expect("a graph");
    let child = runtime.graph_create(0).expect("a graph");
    runtime.add_empty_node(child, &[]).expect("an empty node");
    let buffer = runtime.malloc(MIB, 0).expect("memory");
    // The first kernel is a function of a module, the second a kernel of a library.
    let (first, second) = (kernel(runtime, "store"), kernel(runtime, "store"));
    let event = runtime.event_create(0).expect("an event");
    let launched = |runtime: &mut Runtime, kernel, after: &[u64]| {
        let request = launch(kernel, [2, 3, 1], [32, 1, 1], 0);
        runtime.add_kernel_node(graph, after, &request, Default::default())
    };
    let n0 = launched(runtime, first, &[]).expect("a kernel");
    let n1 = launched(runtime, second, &[n0]).expect("a kernel");
    let fill = Fill {
        address: buffer,
        value: 9,
        element_bytes: 4,
        width: 10,
        height: 2,
        pitch: 512,
    };
    let n2 = runtime.add_set_node(graph, &[n1], fill).expect("a memset");
    runtime.add_set_node(graph, &[], fill).expect("a memset");
    let copy = |to, from| CopyRequest { to, from, bytes: 4 };
    let (host, device) = (Side::Host(0x7ffd_e55e_594c), Side::Device(buffer));
    let n4 = runtime
        .add_copy_node(graph, &[n2], copy(device, host))
        .expect("a copy");
    let n5 = runtime
        .add_copy_node(graph, &[n4], copy(host, device))
        .expect("a copy");
    let call = HostCall {
        function: 0x5574_5500_1234,
        user_data: 0x10,
    };
    let n6 = runtime
        .add_host_node(graph, &[n5], call)
        .expect("a host node");
    let n7 = runtime
        .add_event_node(graph, &[n6], event, false)
        .expect("a record");
    let n8 = runtime
        .add_event_node(graph, &[n7], event, true)
        .expect("a wait");
    let n9 = runtime
        .add_child_graph_node(graph, &[n8], child)
        .expect("a child graph");
    let (n10, address) = runtime
        .add_alloc_node(graph, &[n9], alloc_request(MIB))
        .expect("an allocation");
    runtime
        .add_free_node(graph, &[n10], address)
        .expect("a free node");
    runtime
        .add_empty_node(graph, &[n0, n1])
        .expect("an empty node");
    graph
}

#[test]
fn dumps_by_the_driver_function_are_equal_for_each_flag() {
    for bit in -1..17 {
        let mut runtime = runtime();
        let graph = by_the_driver(&mut runtime);
        let flags = u32::try_from(bit).map_or(0, |bit| 1 << bit);
        let ours = runtime.dot(graph, flags).expect("a dump");
        let path = data("flags").join(format!("flags-{bit}.dot"));
        let recorded = fs::read_to_string(&path).expect("the recordings are there");
        let (ours, recorded) = (with_one_side(&ours), with_one_side(&recorded));
        assert_eq!(
            ours,
            recorded,
            "{}: {}",
            path.display(),
            first_difference(&ours, &recorded)
        );
    }
}

/// A comparable text without the pointers of copies, because the recorded program had set
/// both pointers for each side.
fn with_one_side(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let sides = line.starts_with("| {{src | dst}");
        let words = line.split(" | ").map(|word| match word.starts_with("0x") {
            true if sides => "POINTER",
            _ => word,
        });
        out.push_str(&words.collect::<Vec<_>>().join(" | "));
        out.push('\n');
    }
    comparable(&out)
}
