//! Any bytes as a dump: read, lay out, search for findings, write as a scenario,
//! read that again and find the same graph.

#![no_main]

use std::sync::Arc;

use cudart_model::Profile;
use cudart_model::memory::address::Granularity;
use graph_memory_plan::graph::{Freed, Graph, Kind};
use graph_memory_plan::layout::{Effort, Layouts};
use graph_memory_plan::{analyse, dot, findings, scenario};
use libfuzzer_sys::fuzz_target;

/// Larger graphs take time and show nothing more.
const NODES: usize = 500;

fuzz_target!(|data: &[u8]| {
    let graphs = match dot::read(data, "fuzz") {
        Ok(graphs) => graphs,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "one line: {error}");
            return;
        }
    };
    if graphs.len() > 20 || graphs.iter().any(|graph| graph.nodes.len() > NODES) {
        return;
    }
    for graph in &graphs {
        plan(graph);
    }
    again(graphs);
});

fn plan(graph: &Graph) {
    let (plan, _) = analyse(graph, &Profile::default(), &|_| false);
    let Some(memory) = plan.memory else {
        return;
    };
    assert!(memory.peak_live_bytes <= memory.requested_bytes);
    let Ok(layouts) = Layouts::of(graph, Granularity::H200, Effort::steps(u64::MAX)) else {
        return;
    };
    let computed = &layouts.computed;
    assert!(Some(computed.used_bytes()) <= computed.reserved_bytes, "R50");
    for finding in findings::find(graph, &layouts, &|_| false) {
        if let (Some(after), true) = (finding.footprint_after_bytes, finding.saving_bytes > 0) {
            assert_eq!(after + finding.saving_bytes, computed.used_bytes(), "{finding:?}");
        }
    }
    if let Some(dumped) = &layouts.dumped {
        let _ = (dumped.regions(), dumped.used_bytes(), dumped.held());
    }
}

fn again(graphs: Vec<Graph>) {
    let graphs: Vec<Arc<Graph>> = graphs.into_iter().map(Arc::new).collect();
    let mut text = Vec::new();
    scenario::write(&graphs, &mut text).expect("memory takes all");
    let text = String::from_utf8(text).expect("TOML is UTF-8");
    let scenario = scenario::read(&text, "again").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(scenario.instances.len(), graphs.len());
    for (before, after) in graphs.iter().zip(&scenario.instances) {
        assert_eq!(before.nodes.len(), after.graph.nodes.len());
        let edges = |graph: &Graph| graph.dependencies.edges().collect::<Vec<_>>();
        assert_eq!(edges(before), edges(&after.graph));
        assert_eq!(before.child_graphs, after.graph.child_graphs);
        for (old, new) in before.nodes.iter().zip(&after.graph.nodes) {
            match (old.kind, new.kind) {
                (Kind::Alloc { bytes: a, .. }, Kind::Alloc { bytes: b, .. }) => assert_eq!(a, b),
                (Kind::Free(Freed::Here(a)), Kind::Free(Freed::Here(b))) => assert_eq!(a, b),
                (Kind::Alloc { .. }, _) | (_, Kind::Alloc { .. }) => panic!("{old:?} {new:?}"),
                _ => {}
            }
        }
    }
}
