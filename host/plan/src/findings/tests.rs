use cudart_model::memory::address::Granularity;

use super::*;
use crate::recordings;
use crate::scenario;

const MIB: u64 = 1 << 20;

fn graph(nodes: &str) -> Graph {
    let text = format!("scenario = 1\n[[graph]]\nname = \"g\"\nnodes = [{nodes}]\n");
    let scenario = scenario::read(&text, "test").unwrap_or_else(|error| panic!("{error}\n{text}"));
    (*scenario.instances[0].graph).clone()
}

fn find_in(graph: &Graph) -> Vec<Finding> {
    let layouts = Layouts::of(graph, Granularity::H200, Effort::steps(u64::MAX)).expect("layouts");
    find(graph, &layouts, &|_| false)
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> Vec<&Finding> {
    findings
        .iter()
        .filter(|finding| finding.kind == kind)
        .collect()
}

/// Pairs of alloc, kernel and free, chained or side by side.
fn pairs(count: usize, chained: bool) -> Graph {
    let mut nodes = String::new();
    for pair in 0..count {
        let after = match pair.checked_sub(1) {
            Some(before) if chained => format!(", after = \"f{before}\""),
            _ => String::new(),
        };
        nodes += &format!(
            "{{ name = \"a{pair}\", alloc = \"64MiB\"{after} }}, \
             {{ name = \"k{pair}\", kernel = \"k\", after = \"a{pair}\" }}, \
             {{ name = \"f{pair}\", free = \"a{pair}\", after = \"k{pair}\" }},\n"
        );
    }
    graph(&nodes)
}

#[test]
fn r3_r4_a_missing_edge_is_found_with_what_it_saves() {
    let findings = find_in(&pairs(2, false));
    let [finding] = of_kind(&findings, FindingKind::MissingEdge)[..] else {
        panic!("{findings:?}");
    };
    let edge = NewEdge {
        from: "f0".to_owned(),
        to: "a1".to_owned(),
        saving_bytes: 64 * MIB,
    };
    assert_eq!(finding.edges, [edge]);
    assert_eq!(
        (finding.saving_bytes, finding.footprint_after_bytes),
        (64 * MIB, Some(64 * MIB))
    );
    assert!(of_kind(&find_in(&pairs(2, true)), FindingKind::MissingEdge).is_empty());
}

#[test]
fn the_edges_of_a_finding_give_the_footprint_that_it_promises() {
    for count in [3, 8, 20] {
        let graph = pairs(count, false);
        let findings = find_in(&graph);
        let finding = of_kind(&findings, FindingKind::MissingEdge)[0];
        assert_eq!(finding.footprint_after_bytes, Some(64 * MIB), "{count}");
        assert_eq!(finding.edges.len(), count - 1);
        let node = |name: &str| {
            graph
                .indexed()
                .find(|(_, n)| n.name.is(name))
                .expect("a node")
                .0
        };
        let edges = finding
            .edges
            .iter()
            .map(|edge| (node(&edge.from), node(&edge.to)))
            .collect();
        let change = Change {
            edges,
            ..Change::default()
        };
        let (layout, _) = Layout::changed(
            &graph,
            Granularity::H200,
            &change,
            &mut Effort::steps(u64::MAX),
        )
        .expect("a layout");
        assert_eq!(Some(layout.used_bytes()), finding.footprint_after_bytes);
    }
}

#[test]
fn edges_that_save_a_block_only_together_are_found_and_no_more_than_needed() {
    let nodes: String = (0..8)
        .map(|pair| {
            format!(
                "{{ name = \"a{pair}\", alloc = \"8MiB\" }}, {{ name = \"f{pair}\", free = \"a{pair}\", after = \"a{pair}\" }},"
            )
        })
        .collect();
    let findings = find_in(&graph(&nodes));
    let finding = of_kind(&findings, FindingKind::MissingEdge)[0];
    assert_eq!(finding.saving_bytes, 32 * MIB);
    assert_eq!(finding.edges.len(), 4, "{finding:?}");
}

#[test]
fn every_saving_found_in_a_recorded_graph_is_below_its_footprint() {
    let mut edges = 0;
    for recording in recordings::all() {
        let layouts = Layouts::of(&recording.graph, Granularity::H200, Effort::steps(u64::MAX))
            .expect("layouts");
        let layout = &layouts.computed;
        for finding in find(&recording.graph, &layouts, &|_| false) {
            assert!(
                finding.saving_bytes < layout.used_bytes()
                    || finding.kind == FindingKind::NeverUsed
            );
            if let (Some(after), true) = (finding.footprint_after_bytes, finding.saving_bytes > 0) {
                assert_eq!(
                    after + finding.saving_bytes,
                    layout.used_bytes(),
                    "{}",
                    recording.name
                );
            }
            edges += finding.edges.len();
        }
    }
    assert!(edges > 0, "some of 83 graphs have branches");
}

#[test]
fn r11_users_out_of_order_are_hazards() {
    let findings = find_in(&graph(
        "{ name = \"a\", alloc = 1 }, { name = \"m\", work = \"memset\", uses = \"a\" }, \
         { name = \"f\", free = \"a\", after = \"a\" }",
    ));
    assert_eq!(
        of_kind(&findings, FindingKind::FreeBeforeUse)[0].nodes,
        ["f", "m", "a"]
    );
    assert_eq!(
        of_kind(&findings, FindingKind::UseBeforeAlloc)[0].nodes,
        ["m", "a"]
    );
    let right = find_in(&graph(
        "{ name = \"a\", alloc = 1 }, { name = \"m\", work = \"memset\", uses = \"a\", after = \"a\" }, \
         { name = \"f\", free = \"a\", after = \"m\" }",
    ));
    assert!(right.is_empty(), "{right:?}");
}

#[test]
fn an_allocation_without_a_possible_user_is_found_and_one_with_a_kernel_is_not() {
    let unused = "{ name = \"a\", alloc = \"40MiB\" }, { name = \"k\", kernel = \"k\" }, \
                  { name = \"f\", free = \"a\", after = [\"a\", \"k\"] }";
    let findings = find_in(&graph(unused));
    let finding = of_kind(&findings, FindingKind::NeverUsed)[0];
    assert_eq!(
        (finding.saving_bytes, finding.footprint_after_bytes),
        (64 * MIB, Some(0))
    );
    let used = unused.replace("kernel = \"k\"", "kernel = \"k\", after = \"a\"");
    assert!(of_kind(&find_in(&graph(&used)), FindingKind::NeverUsed).is_empty());
    // A kernel that lists what it uses uses nothing else.
    let other = format!(
        "{{ name = \"b\", alloc = 1 }}, {}",
        used.replace(
            "\"k\", after = \"a\"",
            "\"k\", after = [\"a\", \"b\"], uses = \"b\""
        )
    );
    assert_eq!(
        of_kind(&find_in(&graph(&other)), FindingKind::NeverUsed)[0].nodes,
        ["a"]
    );
}

#[test]
fn m1_a_size_just_over_a_block_is_found_with_what_less_would_save() {
    let findings = find_in(&graph("{ name = \"a\", alloc = \"33MiB\" }"));
    let finding = of_kind(&findings, FindingKind::JustOverABlock)[0];
    assert_eq!(
        (finding.saving_bytes, finding.footprint_after_bytes),
        (32 * MIB, Some(32 * MIB))
    );
    assert!(
        finding.remedy.contains("1 MiB less, 32 MiB in all"),
        "{}",
        finding.remedy
    );
    let whole = find_in(&graph("{ name = \"a\", alloc = \"64MiB\" }"));
    assert!(of_kind(&whole, FindingKind::JustOverABlock).is_empty());
}

#[test]
fn r13_r14_free_nodes_too_many_and_too_few() {
    let findings = find_in(&graph(
        "{ name = \"a\", alloc = 1 }, { name = \"f\", free = \"a\" }, { name = \"g\", free = \"a\" }, \
         { name = \"b\", alloc = \"5MiB\" }",
    ));
    assert_eq!(
        of_kind(&findings, FindingKind::FreedTwice)[0].nodes,
        ["g", "a"]
    );
    let unfreed = of_kind(&findings, FindingKind::NeverFreed)[0];
    assert_eq!(unfreed.nodes, ["b"]);
    assert!(
        unfreed.what.contains("5 MiB") && unfreed.what.contains("keeps 32 MiB"),
        "{}",
        unfreed.what
    );
    assert_eq!(
        findings.first().map(|finding| finding.severity),
        Some(Severity::Error)
    );
}
