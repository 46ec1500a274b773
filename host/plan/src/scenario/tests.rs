use std::fs;
use std::path::Path;

use super::*;
use crate::dot;
use crate::graph::{Location, Use, Work};
use crate::recordings;

const SMALL: &str = r#"
scenario = 1
[[graph]]
name = "g"
copies = 3
spin_time = "2ms"
nodes = [
  { name = "a", alloc = "64MiB" },
  { name = "k", kernel = "spin", spin_time = "1ms", after = "a", uses = ["a"] },
  { name = "m", work = "memset", after = ["a", "k"] },
  { name = "f", free = "a", after = "m" },
  { name = "b", alloc = 7 },
]
[schedule]
steps = [
  { launch = "g", stream = "each" },
  { wait = 1 },
  { launch = "g[1]", times = 2 },
  { free = "g.b" },
  { free = "g[2].b", stream = 1 },
  { destroy = "g[0]" },
  { wait = "all" },
  { trim = true },
]
"#;

#[test]
fn a_scenario_unfolds_to_graphs_and_steps() {
    let scenario = read(SMALL, "test").expect("a scenario");
    let names: Vec<&str> = scenario.instances.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["g[0]", "g[1]", "g[2]"]);
    assert_eq!(scenario.streams, 3);
    let labels: Vec<String> = scenario
        .steps
        .iter()
        .map(|step| scenario.label(step))
        .collect();
    let expected = [
        "launch g[0] on stream 0",
        "launch g[1] on stream 1",
        "launch g[2] on stream 2",
        "wait for stream 1",
        "launch g[1] on stream 0",
        "launch g[1] on stream 0",
        "free g[0].b",
        "free g[1].b",
        "free g[2].b",
        "free g[2].b on stream 1",
        "destroy g[0]",
        "wait for all streams",
        "trim",
    ];
    assert_eq!(labels, expected);
    let graph = &scenario.instances.first().expect("a graph").graph;
    let kinds: Vec<Kind> = graph.nodes.iter().map(|node| node.kind).collect();
    let expected = [
        Kind::Alloc {
            bytes: 64 << 20,
            address: None,
            location: Location::default(),
        },
        Kind::Kernel { spin_ns: 1_000_000 },
        Kind::Other(Work::Memset),
        Kind::Free(Freed::Here(0)),
        Kind::Alloc {
            bytes: 7,
            address: None,
            location: Location::default(),
        },
    ];
    assert_eq!(kinds, expected);
    assert_eq!(graph.dependencies.of(2), [0, 1]);
    assert_eq!(
        graph.uses,
        [Use {
            user: 1,
            allocation: 0
        }]
    );
}

#[test]
fn r15_a_free_node_of_another_graph_finds_its_allocation() {
    let text = "scenario = 1\n[[graph]]\nname = \"a\"\nnodes = [{ name = \"x\", alloc = 1 }]\n\
                [[graph]]\nname = \"b\"\nnodes = [{ name = \"f\", free = \"a.x\" }]\n";
    let scenario = read(text, "test").expect("a scenario");
    assert_eq!(scenario.find_allocation("a.x"), Some((0, 0)));
    let wrong = text.replace("a.x", "a.y");
    assert_eq!(
        read(&wrong, "").expect_err("refused").to_string(),
        "7:31: there is no allocation a.y"
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line_with_its_place() {
    let replaced = [
        (
            "scenario = 1",
            "scenario = 2",
            "2:12: this program reads scenarios of version 1",
        ),
        ("copies = 3", "copies = 0", "5:10: 1 to 100000 graphs"),
        ("copies = 3", "copies = 1000000000", "1 to 100000 graphs"),
        ("copies = 3", "copys = 3", "unknown field `copys`"),
        ("name = \"g\"", "name = \"g.x\"", "no dot or bracket"),
        (
            "alloc = 7",
            "alloc = -7",
            "12:25: a size is a number of bytes or text",
        ),
        (
            "alloc = 7",
            "alloc = \"many\"",
            "12:25: a size is a number of bytes or text",
        ),
        (
            "alloc = 7",
            "alloc = 7, free = \"a\"",
            "12:3: a node has one of alloc, free, kernel and work",
        ),
        (
            "alloc = 7",
            "work = \"x\", spin_time = \"1s\"",
            "only a kernel has a spin time",
        ),
        ("spin_time = \"1ms\"", "spin_time = \"2h\"", "at most 60s"),
        (
            "after = \"m\"",
            "after = \"q\"",
            "11:3: there is no node q in this graph",
        ),
        ("free = \"a\"", "free = \"q\"", "11:24: there is no node q"),
        ("free = \"a\"", "free = \"k\"", "k is not an alloc node"),
        ("uses = [\"a\"]", "uses = \"k\"", "k is not an alloc node"),
        ("name = \"b\"", "name = \"a\"", "a second node a"),
        ("launch = \"g\"", "launch = \"h\"", "there is no graph h"),
        ("times = 2", "times = 0", "1 to 100000 steps"),
        ("times = 2", "times = 1000000", "1 to 100000 steps"),
        ("wait = 1", "wait = \"some\"", "a stream is a number"),
        ("wait = 1", "wait = 1, stream = 2", "a step has one of"),
        ("trim = true", "trim = false", "a step has one of"),
        (
            "free = \"g.b\"",
            "free = \"g.k\"",
            "there is no allocation g.k",
        ),
        (
            "[schedule]",
            "[schedule]\nstreams = 2",
            "stream 2 is used, and there are 2",
        ),
        ("[schedule]", "[schedule", "14:10"),
    ];
    for (from, to, what) in replaced {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL);
        let error = read(&text, "test").expect_err(to).to_string();
        assert!(error.contains(what), "{to}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(
        read("", "test")
            .expect_err("nothing")
            .to_string()
            .contains("missing field `scenario`")
    );
}

#[test]
fn every_recorded_dump_goes_through_a_scenario_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ffi/model/tests/data/dot");
    let mut count = 0;
    for entry in ["random", "apps"]
        .iter()
        .flat_map(|f| fs::read_dir(folder.join(f)).expect("a folder"))
    {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "dot") {
            continue;
        }
        let dumped = dot::read(fs::File::open(&path).expect("a dump"), "dump").expect("a dump");
        let graphs: Vec<Arc<Graph>> = dumped.into_iter().map(Arc::new).collect();
        let mut text = Vec::new();
        write(&graphs, &mut text).expect("memory");
        let text = String::from_utf8(text).expect("UTF-8");
        let scenario = read(&text, "dump").unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (before, after) = (&graphs[0], &scenario.instances[0].graph);
        assert_eq!(before.nodes.len(), after.nodes.len());
        assert_eq!(before.child_graphs, after.child_graphs);
        for ((index, old), (_, new)) in before.indexed().zip(after.indexed()) {
            let without_address = match old.kind {
                Kind::Alloc {
                    bytes, location, ..
                } => Kind::Alloc {
                    location,
                    bytes,
                    address: None,
                },
                other => other,
            };
            assert_eq!((without_address, &old.name), (new.kind, &new.name));
            assert_eq!(before.title(old), after.title(new));
            assert_eq!(before.dependencies.of(index), after.dependencies.of(index));
        }
        count += 1;
    }
    assert_eq!(count, 83);
}

#[test]
fn child_graphs_go_through_a_scenario_unchanged() {
    for recording in recordings::children() {
        let before = recording.graph.child_graphs.clone();
        assert!(!before.is_empty(), "{}", recording.name);
        let scenario = written(vec![recording.graph]);
        let after = &scenario.instances[0].graph.child_graphs;
        assert_eq!(before, *after, "{}", recording.name);
    }
}

#[test]
fn a_child_graph_ends_where_it_says_within_those_around_it() {
    let refused = |nodes: &str| {
        let text = format!("scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [{nodes}]\n");
        read(&text, "test").expect_err(nodes).to_string()
    };
    let begin = |name: &str| format!("{{ name = \"{name}\", work = \"child-begin\" }},");
    let end = |name: &str, ends: &str| {
        format!("{{ name = \"{name}\", work = \"child\", ends = \"{ends}\" }},")
    };
    let open = refused(&begin("a"));
    assert!(open.contains("no node `ends` this child graph"), "{open}");
    let crossed = begin("a") + &begin("b") + &end("x", "a") + &end("y", "b");
    for nodes in [
        crossed,
        end("x", "x"),
        begin("a") + &end("x", "a") + &end("y", "a"),
    ] {
        let why = refused(&nodes);
        assert!(
            why.contains("is not the child graph that began last"),
            "{why}"
        );
    }
    assert!(refused(&end("x", "nobody")).contains("there is no node nobody"));
}

fn written(graphs: Vec<Graph>) -> Scenario {
    let graphs: Vec<Arc<Graph>> = graphs.into_iter().map(Arc::new).collect();
    let mut text = Vec::new();
    write(&graphs, &mut text).expect("memory");
    let text = String::from_utf8(text).expect("UTF-8");
    read(&text, "written").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn names_that_a_scenario_cannot_have_are_made_such_that_it_can() {
    let text = "digraph { subgraph cluster_1 { label=\"graph_1\"; a[label=\"0\ngraph_2\"]; b[label=\"1\ngraph_2\"]; \
                \"\"; \"two\nlines\"; \"quote \\\" dot.\" } subgraph cluster_2 { label=\"graph_2\"; x[label=\"{MEMSET}\"] } }";
    let graphs = dot::read(text.as_bytes(), "a \"file\"").expect("a dump");
    let scenario = written(graphs);
    let graph = &scenario.instances[0].graph;
    let names: Vec<String> = graph
        .nodes
        .iter()
        .map(|node| node.name.to_string())
        .collect();
    let expected = [
        "a begin",
        "x",
        "a",
        "b begin",
        "x (2)",
        "b",
        "node",
        r"two\nlines",
        "quote \" dot.",
    ];
    assert_eq!(names, expected);
}

#[test]
fn r15_a_free_of_another_dumps_allocation_is_written_by_name() {
    // By the name that it has in the scenario, where the dump has none for it, too.
    for name in ["n", "\"\"", "\"two\nlines\""] {
        free_is_written_by_name(name);
    }
}

fn free_is_written_by_name(name: &str) {
    let alloc = format!(
        "digraph {{ subgraph cluster_1 {{ label=\"one\"; {name}[label=\"{{MEM_ALLOC | {{{{bytesize | dptr}} | {{1 | 0x200}}}}}}\"] }} }}"
    );
    let free = "digraph { subgraph cluster_1 { label=\"two\"; m[label=\"{MEM_FREE | {{dptr} | {0x200}}}\"]; \
                o[label=\"{MEM_FREE | {{dptr} | {0x900}}}\"] } }";
    let mut graphs = dot::read(alloc.as_bytes(), "a").expect("a dump");
    graphs.extend(dot::read(free.as_bytes(), "b").expect("a dump"));
    let scenario = written(graphs);
    let two = &scenario.instances[1].graph;
    let kinds: Vec<Kind> = two.nodes.iter().map(|node| node.kind).collect();
    assert!(
        matches!(
            kinds[..],
            [Kind::Free(Freed::Elsewhere(_)), Kind::Other(Work::Unknown)]
        ),
        "{kinds:?}"
    );
}

#[test]
fn sizes_of_all_magnitudes_are_written_exactly() {
    for bytes in [
        0,
        1,
        1023,
        1024,
        (1 << 20) - 1,
        1 << 20,
        (1 << 63) - 1024,
        (1 << 63) + 1,
        u64::MAX,
    ] {
        let dump = format!(
            "digraph {{ n[label=\"{{MEM_ALLOC | {{{{bytesize | dptr}} | {{{bytes} | 0x200}}}}}}\"] }}"
        );
        let scenario = written(dot::read(dump.as_bytes(), "a").expect("a dump"));
        let kind = scenario.instances[0].graph.nodes[0].kind;
        assert_eq!(
            kind,
            Kind::Alloc {
                bytes,
                address: None,
                location: Location::default(),
            }
        );
    }
}
