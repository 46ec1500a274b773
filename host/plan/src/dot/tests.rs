use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::graph::{Freed, Graph, Kind, Location, Use, Work};

fn graphs(text: &str) -> Vec<Graph> {
    read(text.as_bytes(), "test").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn graph(text: &str) -> Graph {
    let mut all = graphs(text);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn refusal(text: &str) -> String {
    match read(text.as_bytes(), "test") {
        Ok(graphs) => panic!("accepted as {graphs:?}"),
        Err(error) => error.to_string(),
    }
}

/// A dump in the form that runtime 13.0 writes.
fn dump(nodes: &[&str], edges: &[(u32, u32)]) -> String {
    let mut text =
        "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n"
            .to_owned();
    for (number, label) in nodes.iter().enumerate() {
        text += &format!(
            "\"graph_1_node_{number}\"[style=\"solid\" shape=\"record\" label=\"{{\n{label}\n}}\"];\n\n"
        );
    }
    for (from, to) in edges {
        text += &format!("\"graph_1_node_{from}\" -> \"graph_1_node_{to}\" [headlabel=0];\n");
    }
    text + "}\n}\n"
}

const ALLOC: &str = "MEM_ALLOC\n| {{bytesize | dptr} | {4096 | 0x302000000}}";
const FREE: &str = "MEM_FREE\n| {{dptr} | {0x302000000}}";

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ffi/model/tests/data/dot")
}

#[test]
fn every_recorded_dump_is_read() {
    let mut count = 0;
    for folder in ["random", "apps"] {
        for entry in fs::read_dir(recordings().join(folder)).expect("the recordings") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "dot") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a dump");
            let graph = graph(&text);
            assert_eq!(
                graph.nodes.len(),
                text.matches("\"{").count(),
                "{}",
                path.display()
            );
            assert_eq!(graph.dependencies.edge_count(), text.matches("->").count());
            assert_eq!(
                graph.allocations().count(),
                text.matches("MEM_ALLOC").count()
            );
            let with_crlf = graphs(&text.replace('\n', "\r\n"));
            assert_eq!(format!("{with_crlf:?}"), format!("{:?}", [graph]));
            count += 1;
        }
    }
    assert_eq!(count, 83);
}

#[test]
fn r3_a_free_node_ends_the_allocation_that_was_last_at_its_address() {
    let graph = graph(&dump(
        &[ALLOC, FREE, ALLOC, FREE, FREE],
        &[(0, 1), (1, 2), (2, 3), (3, 4)],
    ));
    let kinds: Vec<Kind> = graph.nodes.iter().map(|node| node.kind).collect();
    assert_eq!(kinds.get(1), Some(&Kind::Free(Freed::Here(0))));
    assert_eq!(kinds.get(3), Some(&Kind::Free(Freed::Here(2))));
    assert_eq!(kinds.get(4), Some(&Kind::Free(Freed::Again(2))));
    assert_eq!(
        graph.freed_by(),
        [Some(1), None, Some(3), None, None].into_iter().collect()
    );
}

#[test]
fn r14_a_free_of_what_the_graph_does_not_allocate_is_kept_with_its_address() {
    let graph = graph(&dump(&[FREE], &[]));
    assert_eq!(
        graph.nodes.first().map(|node| node.kind),
        Some(Kind::Free(Freed::AtAddress(0x3_0200_0000)))
    );
}

#[test]
fn copies_and_sets_are_users_of_what_they_point_into() {
    let memset = "MEMSET\n| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | \
                  {1 (topoId: 0) | 0x1 | 0x302000100 | 0 | 0 | 1 | 640 | 1}}";
    let elsewhere = "MEMSET\n| {{ID | node handle | dptr} | {2 | 0x1 | 0x302001000}}";
    let graph = graph(&dump(&[ALLOC, memset, elsewhere], &[(0, 1)]));
    assert_eq!(
        graph.uses,
        [Use {
            user: 1,
            allocation: 0
        }]
    );
    assert_eq!(
        graph.nodes.get(1).map(|node| node.kind),
        Some(Kind::Other(Work::Memset))
    );
}

#[test]
fn types_that_are_not_known_are_kept_by_name() {
    let graph = graph(&dump(&["WORMHOLE\n| {to | 3}", ALLOC], &[(0, 1)]));
    let node = graph.nodes.first().expect("a node");
    assert_eq!(
        (node.kind, graph.title(node)),
        (Kind::Other(Work::Unknown), Some("WORMHOLE"))
    );
}

#[test]
fn a_dump_without_the_verbose_flag_says_which_flag_is_missing() {
    let alloc = "digraph dot {\nsubgraph cluster_1 {\n\"graph_1_node_0\"[shape=\"rectangle\" label=\"0\nMEM_ALLOC\n\"];\n}\n}";
    let refusal = refusal(alloc);
    assert!(
        refusal.starts_with("3:1: graph_1_node_0 is a MEM_ALLOC without its bytesize"),
        "{refusal}"
    );
    assert!(
        refusal.contains("cudaGraphDebugDotFlagsVerbose"),
        "{refusal}"
    );
    let free = "digraph dot {\n\"n\"[shape=\"record\" label=\"{MEM_FREE | {{ID | node handle} | {0 | 0x1}}}\"];\n}";
    assert!(
        super::read(free.as_bytes(), "")
            .unwrap_err()
            .what
            .contains("without its dptr")
    );
    // Without memory nodes there is nothing to refuse, but it is said.
    let kernel = graph(
        "digraph dot {\n\"n\"[style=\"bold\" shape=\"octagon\" label=\"0\n_Z5saxpyifPfS_\n\"];\n}",
    );
    assert_eq!(
        kernel.nodes.first().map(|node| node.kind),
        Some(Kind::Kernel { spin_ns: 0 })
    );
    assert!(
        kernel
            .notes
            .iter()
            .any(|note| note.contains("cudaGraphDebugDotFlagsVerbose"))
    );
}

#[test]
fn numbers_that_overflow_are_refused_where_they_are() {
    let alloc = "MEM_ALLOC\n| {{bytesize | dptr} | {99999999999999999999 | 0x1}}";
    let refusal = refusal(&dump(&[ALLOC, alloc], &[]));
    assert!(
        refusal.starts_with("9:1: bytesize of graph_1_node_1: 99999999999999999999 does not fit"),
        "{refusal}"
    );
}

#[test]
fn child_graphs_become_part_of_the_graph_around_them() {
    let text = "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\";\n\
        a[label=\"{HOST}\"]; c[label=\"{GRAPH | graph_2}\"]; z[label=\"{HOST}\"]; a -> c -> z;\n\
        subgraph cluster_2 { label=\"graph_2\"; x[label=\"{MEMSET}\"]; y[label=\"{MEMSET}\"]; x -> y }\n}\n}";
    let graph = graph(text);
    let names: Vec<String> = graph
        .nodes
        .iter()
        .map(|node| node.name.to_string())
        .collect();
    assert_eq!(names, ["a", "c begin", "x", "y", "c", "z"]);
    let after: Vec<&[u32]> = (0..6).map(|node| graph.dependencies.of(node)).collect();
    assert_eq!(after, [&[][..], &[0], &[1], &[2], &[1, 3], &[4]]);
}

#[test]
fn a_child_used_twice_is_there_twice_and_one_of_itself_is_refused() {
    let child = "subgraph cluster_2 { label=\"graph_2\"; x[label=\"{MEMSET}\"] }";
    let twice = format!(
        "digraph {{ subgraph cluster_1 {{ label=\"graph_1\"; a[label=\"0\ngraph_2\n\"]; b[label=\"1\ngraph_2\n\"] }} {child} }}"
    );
    assert_eq!(graph(&twice).nodes.len(), 6);
    let itself = "digraph { subgraph cluster_1 { label=\"graph_1\"; a[label=\"0\ngraph_2\n\"] } \
                  subgraph cluster_2 { label=\"graph_2\"; b[label=\"0\ngraph_3\n\"] } \
                  subgraph cluster_3 { label=\"graph_3\"; c[label=\"0\ngraph_2\n\"] } }";
    assert!(refusal(itself).contains("is a child graph of itself"));
}

#[test]
fn a_small_file_cannot_unfold_without_end() {
    let mut text = "digraph {".to_owned();
    for level in 1..40 {
        text += &format!("subgraph cluster_{level} {{ label=\"graph_{level}\"; ");
        for name in ["a", "b"] {
            text += &format!("{name}{level}[label=\"0\ngraph_{}\n\"]; ", level + 1);
        }
        text += "}\n";
    }
    text += "subgraph cluster_40 { label=\"graph_40\"; x } }";
    assert!(refusal(&text).contains("more than 4000000 nodes"));
}

#[test]
fn several_graphs_of_a_file_are_told_apart() {
    let two = dump(&[ALLOC], &[]) + &dump(&[ALLOC, FREE], &[(0, 1)]);
    let sizes: Vec<usize> = graphs(&two).iter().map(|graph| graph.nodes.len()).collect();
    assert_eq!(sizes, [1, 2]);
    let side_by_side = "digraph { subgraph cluster_1 { a } subgraph cluster_2 { b; c } }";
    let sizes: Vec<usize> = graphs(side_by_side)
        .iter()
        .map(|graph| graph.nodes.len())
        .collect();
    assert_eq!(sizes, [1, 2]);
}

#[test]
fn what_no_runtime_writes_is_refused_in_one_line() {
    let read_as = [
        ("digraph G { a -> b -> c [label=x]; b -> d }", 4, 3),
        ("digraph { rankdir=LR; subgraph s { a; b } }", 2, 0),
        ("digraph {}", 0, 0),
        ("log\ndigraph { a }\nlog \"\n", 1, 0),
        (
            "digraph { a [label=\"{HOST\"] [shape=\"record\"]; a -> b }",
            2,
            1,
        ),
    ];
    for (text, nodes, edges) in read_as {
        let all = graphs(text);
        let count: usize = all.iter().map(|graph| graph.nodes.len()).sum();
        let edge_count: usize = all
            .iter()
            .map(|graph| graph.dependencies.edge_count())
            .sum();
        assert_eq!((count, edge_count), (nodes, edges), "{text}");
    }
    let refused = [
        ("", "no line begins with `digraph`"),
        ("   \n", "no line begins with `digraph`"),
        ("{\"a\": 1}", "this is not a dump"),
        ("\x7fELF", "this is not a dump"),
        ("strict graph { a -- b }", "this is not a dump"),
        ("digraph { a -> b:n }", "1:17: `:` where a dump"),
        ("digraph { a [label=<b>] }", "1:20: `<` where a dump"),
        ("digraph { /* c */ a }", "1:11: `/` where a dump"),
        (
            "digraph {",
            "1:10: the file ends inside the graph that begins at 1:9",
        ),
        ("digraph { a -> ", "the name of a node should follow"),
        ("digraph { a [label=\"x", "no closing quote"),
        ("digraph { a [", "the file ends inside the `[` at 1:13"),
        ("digraph { a [label=] }", "a value should follow"),
        (
            "digraph { {a b} -> c }",
            "a node, an edge or `}` should be here",
        ),
        ("digraph { a -> {b c} }", "the name of a node should follow"),
        ("digraph { a - b }", "a `-` that does not begin"),
        (
            "digraph { a [label=\"x\"]; a [label=\"y\"] }",
            "described a second time, first at 1:11",
        ),
        ("digraph { subgraph x }", "`{` should follow `subgraph`"),
    ];
    for (text, what) in refused {
        let refusal = refusal(text);
        assert!(refusal.contains(what), "{text:?}: {refusal}");
        assert!(!refusal.contains('\n'), "{refusal}");
    }
}

#[test]
fn what_a_file_has_of_control_characters_reaches_no_terminal() {
    let label = "MEM_ALLOC\n| {{bytesize | dptr} | {1 | 0x1}}";
    let text = format!(
        "digraph {{ subgraph cluster_1 {{ label=\"g\u{1b}[2J\"; \"a\u{7}\nb\"[label=\"{{{label}}}\"]; \
         c[label=\"{{\u{1b}X | y}}\"] }} }}"
    );
    let graph = graph(&text);
    let shown = format!("{} {:?} {:?}", graph.name, graph.nodes, graph.titles);
    assert!(!shown.contains(char::is_control), "{shown:?}");
    let refusal = refusal("digraph { \"a\nb\"[label=\"{MEM_FREE | {{dptr} | {0\u{1b}}}}\"] }");
    assert!(!refusal.contains(char::is_control), "{refusal:?}");
}

#[test]
fn deep_nesting_is_no_matter() {
    let depth = 100_000;
    let begun = "subgraph c{".repeat(depth);
    let nested = format!("digraph {{{begun}{}", "}".repeat(depth + 1));
    assert!(graphs(&nested).len() < depth + 1);
    let cut_off = format!("digraph {{{begun}");
    assert!(refusal(&cut_off).contains("it was cut off"));
}

#[test]
fn every_cut_of_a_dump_is_refused_with_a_place() {
    let text = dump(
        &[
            ALLOC,
            "KERNEL\n| {ID | 1 (topoId: 0) | k\\<\\<\\<1,1,0\\>\\>\\>}",
            FREE,
        ],
        &[(0, 1), (1, 2)],
    );
    let whole = text.trim_end().len();
    for end in 0..whole {
        let refusal = refusal(&text[..end]);
        if end <= "digraph".len() {
            assert!(refusal.contains("no line begins with `digraph`"));
            continue;
        }
        let (line, rest) = refusal.split_once(':').expect("a line");
        assert!(
            line.parse::<u64>().is_ok() && rest.contains(':'),
            "{end}: {refusal}"
        );
    }
    assert_eq!(graph(&text[..whole]).nodes.len(), 3);
}

fn of_runtime(name: &str) -> Graph {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dot");
    let text =
        fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    graph(&text)
}

#[test]
fn every_runtime_from_11_8_to_13_5_writes_the_same_graph() {
    let shown = |graph: &Graph| {
        let nodes = graph
            .nodes
            .iter()
            .map(|node| (node.name.clone(), node.kind, graph.title(node)));
        let edges: Vec<_> = graph.dependencies.edges().collect();
        format!(
            "{:?} {edges:?} {:?} {:?}",
            nodes.collect::<Vec<_>>(),
            graph.uses,
            graph.notes
        )
    };
    let newest = of_runtime("kinds-13.5.dot");
    for version in ["11.8", "12.0", "12.4", "12.8", "12.9", "13.0"] {
        assert_eq!(
            shown(&of_runtime(&format!("kinds-{version}.dot"))),
            shown(&newest),
            "{version}"
        );
    }
    let kinds: Vec<Kind> = newest.nodes.iter().map(|node| node.kind).collect();
    let alloc = |bytes, address| Kind::Alloc {
        bytes,
        address: Some(address),
        location: Location::default(),
    };
    let expected = [
        alloc(64 << 20, 0x3_0200_0000),
        Kind::Other(Work::Memset),
        Kind::Kernel { spin_ns: 0 },
        alloc(33 << 20, 0x3_0600_0000),
        Kind::Other(Work::Memcpy),
        Kind::Other(Work::Host),
        Kind::Other(Work::EventRecord),
        Kind::Other(Work::EventWait),
        Kind::Other(Work::Empty),
        Kind::Free(Freed::Here(0)),
        alloc(64 << 20, 0x3_0200_0000),
        Kind::Other(Work::ChildBegin),
        Kind::Other(Work::Memset),
        Kind::Other(Work::Memset),
        Kind::Other(Work::Child),
        Kind::Kernel { spin_ns: 0 },
        Kind::Free(Freed::Here(3)),
    ];
    assert_eq!(kinds, expected);
    // The memset of the first allocation, and the copy from it to the second.
    let uses = [(1, 0), (4, 0), (4, 3)];
    assert_eq!(
        newest.uses,
        uses.map(|(user, allocation)| Use { user, allocation })
    );
    assert!(newest.notes.is_empty(), "{:?}", newest.notes);
}

#[test]
fn r26_child_graphs_of_child_graphs_and_their_memory_nodes_are_in_their_places() {
    let nested = of_runtime("nested.dot");
    let names: Vec<String> = nested
        .nodes
        .iter()
        .map(|node| node.name.to_string())
        .collect();
    let expected = [
        "graph_6_node_0",
        "graph_6_node_1 begin",
        "graph_10_node_0 begin",
        "graph_11_node_0",
        "graph_10_node_0",
        "graph_6_node_1",
        "graph_6_node_2",
    ];
    assert_eq!(names, expected);
    let moved = of_runtime("moved.dot");
    assert_eq!(
        moved
            .allocations()
            .map(|(_, bytes, _)| bytes >> 20)
            .collect::<Vec<_>>(),
        [16, 48]
    );
    assert_eq!(moved.freed_by().iter().flatten().count(), 2);
    assert_eq!(moved.uses.len(), 1);
    assert!(moved.has_child_memory() && !nested.has_child_memory());
    assert!(nested.notes.is_empty());
}

#[test]
fn dumps_with_other_flags_are_refused_or_read_with_a_note() {
    for flags in ["plain", "handles"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/dot/kinds-{flags}.dot"));
        let text = fs::read_to_string(path).expect("a dump");
        assert!(
            refusal(&text).starts_with("4:1: graph_1_node_0 is a MEM_ALLOC without its bytesize")
        );
    }
    // These two flags are enough for the memory, and not for its users.
    let memory_nodes = of_runtime("kinds-memnodes.dot");
    assert_eq!(memory_nodes.allocations().count(), 3);
    assert!(memory_nodes.uses.is_empty());
    assert!(
        memory_nodes
            .notes
            .iter()
            .any(|note| note.contains("cudaGraphDebugDotFlagsVerbose"))
    );
    assert!(of_runtime("empty.dot").nodes.is_empty());
    assert_eq!(
        of_runtime("one.dot")
            .allocations()
            .map(|(_, bytes, _)| bytes)
            .collect::<Vec<_>>(),
        [1]
    );
}

/// A small generator of its own, so that the test needs no crate.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[test]
fn seeds_of_the_fuzzer_and_dumps_with_bytes_changed_are_read_or_refused() {
    let mut files: Vec<Vec<u8>> = Vec::new();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/dump");
    for entry in fs::read_dir(seeds).expect("the seeds") {
        files.push(fs::read(entry.expect("an entry").path()).expect("a seed"));
    }
    files.push(fs::read(recordings().join("random/g013.dot")).expect("a dump"));
    let mut noise = Noise(2026);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..4000 {
        let mut bytes = files[round % files.len()].clone();
        for _ in 0..noise.below(6) {
            let at = noise.below(bytes.len());
            match noise.below(5) {
                0 => bytes[at] = noise.below(256) as u8,
                1 => bytes.truncate(at),
                2 => drop(bytes.drain(at..(at + noise.below(40)).min(bytes.len()))),
                3 => bytes.insert(at, b"{}[]|\"\\;->=0"[noise.below(12)]),
                _ => {
                    let piece = bytes[at..(at + noise.below(200)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        match read(&*bytes, "changed") {
            Ok(graphs) => {
                taken += 1;
                for graph in graphs {
                    let (plan, _) = crate::analysis::analyse(
                        &graph,
                        &cudart_model::Profile::default(),
                        &|_| false,
                    );
                    assert!(plan.memory.is_some() || plan.problem.is_some());
                }
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
            }
        }
    }
    assert!(
        taken > 500 && refused > 500,
        "{taken} taken, {refused} refused"
    );
}
