use super::*;
use crate::graph::{Dependencies, Location, Node, Work};
use crate::recordings::{Recording, all, children, column, laid_out, recordings};

/// Both ways to a layout: the dump's addresses, and the same dump without them.
fn both(recording: &Recording) -> [Layout; 2] {
    let mut without = recording.graph.clone();
    for node in &mut without.nodes {
        if let Kind::Alloc { address, .. } = &mut node.kind {
            *address = None;
        }
    }
    let layouts = [&recording.graph, &without]
        .map(|graph| laid_out(graph).unwrap_or_else(|e| panic!("{}: {e:?}", recording.name)));
    assert_eq!(
        layouts.each_ref().map(|layout| layout.source),
        [Source::Dump, Source::Computed]
    );
    layouts
}

#[test]
fn m16_the_footprint_of_every_recorded_graph_is_what_was_measured() {
    for recording in all() {
        for layout in both(&recording) {
            assert_eq!(
                layout.used_bytes(),
                column(&recording, "used"),
                "{}",
                recording.name
            );
            let reserved = column(&recording, "reserved");
            assert_eq!(layout.reserved_bytes, Some(reserved), "{}", recording.name);
        }
    }
}

#[test]
fn r42_what_a_trim_leaves_of_every_recorded_graph_is_what_was_measured() {
    for recording in recordings("random") {
        for layout in both(&recording) {
            let held = layout.bytes(&layout.held());
            assert_eq!(held, column(&recording, "trim"), "{}", recording.name);
            assert_eq!(
                layout.unfreed().count() as u64,
                column(&recording, "unfreed")
            );
        }
    }
}

#[test]
fn r1_computed_addresses_are_the_drivers() {
    for recording in all() {
        let [dumped, computed] = both(&recording);
        let relative = |layout: &Layout| -> Vec<u64> {
            layout
                .allocations
                .iter()
                .map(|placed| placed.address - layout.base)
                .collect()
        };
        assert_eq!(relative(&dumped), relative(&computed), "{}", recording.name);
    }
}

#[test]
fn r28_m10_sizes_that_the_runtime_refuses_are_refused_with_its_code() {
    for (bytes, code) in [(0, 1), (u64::MAX, 2)] {
        let mut recording = recordings("random").remove(0);
        if let Some(node) = recording.graph.nodes.first_mut() {
            node.kind = Kind::Alloc {
                bytes,
                address: Some(4096),
                location: Location::default(),
            };
        }
        let refused = match laid_out(&recording.graph) {
            Err(LayoutError::Refused(refused)) => refused,
            other => panic!("{other:?}"),
        };
        assert_eq!((refused.code, &*refused.node), (code, "graph_1_node_0"));
    }
}

#[test]
fn regions_hold_what_shares_addresses() {
    let placed = |node, address, bytes| Placed {
        node,
        bytes,
        address,
        freed_by: None,
    };
    let layout = Layout {
        source: Source::Computed,
        allocations: vec![
            placed(0, 0, 10),
            placed(1, 10, 10),
            placed(2, 0, 5),
            placed(3, 4, 2),
        ],
        base: 0,
        end: 20,
        reserved_bytes: None,
        mapped: None,
        granularity: Granularity::H200,
    };
    let regions = layout.regions();
    let expected = [
        Region {
            start: 0,
            end: 10,
            nodes: vec![0, 2, 3],
        },
        Region {
            start: 10,
            end: 20,
            nodes: vec![1],
        },
    ];
    assert_eq!(regions, expected);
}

#[test]
fn a_layout_is_given_up_after_the_same_effort_everywhere() {
    let recordings = all();
    let graph = &recordings[0].graph;
    let change = Change::default();
    let taken = |steps| {
        let mut effort = Effort::steps(steps);
        let layout = Layout::changed(graph, Granularity::H200, &change, &mut effort);
        (layout.map(|(layout, _)| layout.used_bytes()), effort)
    };
    let plenty = 1_000_000;
    let (enough, left) = taken(plenty);
    assert!(enough.is_ok());
    let needed = (0..plenty).find(|&steps| Effort::steps(plenty - steps) == left);
    let needed = needed.expect("what is left is less than was given");
    assert!(needed >= graph.nodes.len() as u64);
    assert_eq!(taken(needed), (enough, Effort::steps(0)));
    let given_up = (Err(LayoutError::TakesTooLong), Effort::steps(0));
    assert_eq!(taken(needed / 2), given_up);
}

#[test]
fn r26_child_graphs_take_the_memory_that_was_measured() {
    let mut unexplained = Vec::new();
    for recording in children() {
        let (name, graph) = (&recording.name, &recording.graph);
        let layouts = Layouts::of(graph, Granularity::H200, Effort::steps(u64::MAX))
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let layout = layouts.dumped.as_ref().unwrap_or(&layouts.computed);
        let measured = |what| column(&recording, what);
        assert_eq!(layout.used_bytes(), measured("used"), "{name}");
        let held = layout.bytes(&layout.held());
        assert_eq!(held, measured("used 3"), "{name} after a trim");
        assert_eq!(held > 0, measured("launch 2") == 1, "R18 of {name}");
        match layout.reserved_bytes {
            Some(reserved) => assert_eq!(reserved, measured("reserved"), "{name}"),
            None => unexplained.push(name.clone()),
        }
    }
    // A dump does not say where the segments of their addresses lie.
    assert_eq!(unexplained, ["r022", "r029"]);
}

#[test]
fn a_child_graph_without_memory_changes_nothing() {
    for recording in all() {
        let plain = &recording.graph;
        let mut with_child = plain.clone();
        let begin = plain.nodes.len() as NodeIndex;
        for (name, work) in [("c begin", Work::ChildBegin), ("c", Work::Child)] {
            with_child.nodes.push(Node {
                name: Name::from(name),
                title: None,
                kind: Kind::Other(work),
            });
        }
        let edges: Vec<_> = plain.dependencies.edges().collect();
        let edges = [edges, vec![(begin, begin + 1)]].concat();
        with_child.dependencies = Dependencies::new(with_child.nodes.len(), &edges);
        with_child.child_graphs.insert(begin + 1, begin);
        let [plain, with_child] = [plain, &with_child].map(|graph| {
            let layout = laid_out(graph).expect("a layout");
            (
                layout.mapped(),
                layout.reserved_bytes,
                layout.has_all_addresses(),
            )
        });
        assert_eq!(plain, with_child, "{}", recording.name);
    }
}

#[test]
fn r26_a_child_graph_that_frees_all_takes_a_block_more_than_by_itself() {
    let scenario = |nodes: &str| {
        let text = format!("scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [{nodes}]\n");
        let scenario = crate::scenario::read(&text, "test");
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let graph = &scenario.instances[0].graph;
        let layout = laid_out(graph).expect("a layout");
        (
            layout.used_bytes() >> 20,
            layout.bytes(&layout.held()) >> 20,
        )
    };
    let child = |free: &str| {
        format!(
            "{{ name = \"c begin\", work = \"child-begin\" }},
             {{ name = \"a\", alloc = \"48MiB\", after = \"c begin\" }}, {free}
             {{ name = \"c\", work = \"child\", ends = \"c begin\", after = \"a\" }},"
        )
    };
    let freed = child("{ name = \"f\", free = \"a\", after = \"a\" },");
    let left = child("");
    let after = |nodes: &str, bytes: &str| {
        format!("{nodes} {{ name = \"b\", alloc = \"{bytes}\", after = \"c\" }}")
    };
    assert_eq!(scenario(&freed), (96, 0));
    assert_eq!(scenario(&left), (64, 64));
    // 96 MiB are there for whoever comes after it, unless it leaves what it has.
    assert_eq!(scenario(&after(&freed, "96MiB")), (96, 96));
    assert_eq!(scenario(&after(&freed, "97MiB")), (224, 128));
    assert_eq!(scenario(&after(&left, "32MiB")), (96, 96));
}
