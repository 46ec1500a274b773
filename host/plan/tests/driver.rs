//! The plan is compared with what one H200 did (driver for CUDA 13.0): graphs with
//! conditional nodes, graphs that the driver refuses, graphs that belong together and
//! managed memory. `tests/data/driver` has a verbose dump of each graph, made before it was
//! instantiated, and in `cases.txt` the code of every call with used and reserved after it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudart_model::Profile;
use graph_memory_plan::findings::Severity;
use graph_memory_plan::graph::{Graph, NodeIndex};
use graph_memory_plan::result::{Outcome, Plan};
use graph_memory_plan::scenario::{Instance, Scenario, Step};
use graph_memory_plan::{Options, Planner, SpinKernel, dot};

const SPIN: SpinKernel<'static> = SpinKernel {
    ptx: include_str!("../../../kernels-rs/ptx/clock_block.ptx"),
    name: "clock_block",
};

/// `cudaGraphInstantiateFlagAutoFreeOnLaunch`.
const AUTO_FREE: u64 = 1;

/// Refused for a reason that no dump tells, so that a plan of the dump cannot: what was
/// instantiated before, flags that a plan does not have, handles of conditional nodes.
const NOT_IN_A_DUMP: [(&str, &str); 12] = [
    ("handle_unused", "a conditional handle that no node has"),
    ("conditional_sizes", "handles of nodes that were refused"),
    (
        "conditional_twice_instantiated",
        "R25: a second instantiation",
    ),
    ("second_instantiate", "R25: a second instantiation"),
    (
        "body_instantiated_alone",
        "the body of another graph's node",
    ),
    (
        "child_instantiated_alone",
        "the child graph of another graph",
    ),
    (
        "conditional_device_launch",
        "R21: the flag for device launch",
    ),
    ("memory_device_launch", "R21: the flag for device launch"),
    ("device_launch_host_node", "R21: the flag for device launch"),
    (
        "device_launch_empty_node",
        "R21: the flag for device launch",
    ),
    (
        "auto_free_device_launch",
        "R21: flags that exclude each other",
    ),
    ("flag_unknown", "a flag that does not exist"),
];

/// Not replayed on the simulated runtime.
const NOT_REPLAYED: [(&str, &str); 4] = [
    (
        "outputs_large_temporary",
        "its first graphs have address ranges that earlier graphs of the process left",
    ),
    (
        "free_before_alloc",
        "nodes are added in an order that their edges allow",
    ),
    (
        "freed_by_owner_and_elsewhere",
        "the second graph was built after the first had run",
    ),
    (
        "freed_elsewhere_then_by_owner",
        "the second graph was built after the first had run",
    ),
];

#[derive(Debug, Default)]
struct Case {
    name: String,
    graphs: Vec<Recorded>,
    steps: Vec<RecordedStep>,
}

#[derive(Debug)]
struct Recorded {
    flags: u64,
    instantiate: u64,
}

#[derive(Debug)]
struct RecordedStep {
    what: What,
    code: u64,
    used: u64,
    reserved: u64,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Launch { graph: usize, stream: usize },
    Trim,
    Free { address: u64 },
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/driver")
}

/// `key value` pairs of a line.
fn pairs(line: &str) -> BTreeMap<&str, u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("hexadecimal"),
        None => text.parse().expect("a number"),
    };
    words
        .chunks_exact(2)
        .map(|pair| (pair[0], number(pair[1])))
        .collect()
}

fn cases() -> Vec<Case> {
    let text = fs::read_to_string(folder().join("cases.txt")).expect("the recording");
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let first = line.split_whitespace().next().unwrap_or("");
        if first == "case" {
            let name = line.split_whitespace().nth(2).expect("a name").to_owned();
            cases.push(Case {
                name,
                ..Case::default()
            });
            continue;
        }
        if !["graph", "launch", "trim", "free"].contains(&first) {
            continue;
        }
        let (case, of) = (cases.last_mut().expect("a case first"), pairs(line));
        if first == "graph" {
            assert_eq!((of["graph"], of["dump"]), (case.graphs.len() as u64, 0));
            case.graphs.push(Recorded {
                flags: of["flags"],
                instantiate: of["instantiate"],
            });
            continue;
        }
        case.steps.push(RecordedStep {
            what: match first {
                "launch" => What::Launch {
                    graph: of["launch"] as usize,
                    stream: of["stream"] as usize,
                },
                "trim" => What::Trim,
                _ => What::Free {
                    address: of["free"],
                },
            },
            code: of["code"],
            used: of["used"],
            reserved: of["reserved"],
        });
    }
    assert_eq!(cases.len(), 134, "all cases of the recording");
    // Two calls of the recording program ended it, in the driver.
    cases.retain(|case| !["child_of_itself", "alloc_refused"].contains(&&*case.name));
    cases
}

fn graph(case: &Case, number: usize) -> Graph {
    let file = format!("{}.{number}.dot", case.name);
    let opened = fs::File::open(folder().join(&file)).expect("the dump");
    let mut graphs = dot::read(opened, &file).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(
        graphs.len(),
        1,
        "{file}: bodies and child graphs are no graphs of their own"
    );
    let mut graph = graphs.remove(0);
    graph.name = format!("{}.{number}", case.name);
    graph.auto_free = case.graphs[number].flags & AUTO_FREE != 0;
    graph
}

fn planned(graphs: &[Arc<Graph>]) -> Plan {
    let options = Options {
        streams: 1,
        ..Options::default()
    };
    let mut planner = Planner::new(Profile::default(), SPIN, options);
    planner
        .graphs(graphs)
        .unwrap_or_else(|error| panic!("{error}"));
    planner.finish()
}

fn tells(case: &Case) -> bool {
    !NOT_IN_A_DUMP.iter().any(|(name, _)| *name == case.name)
}

#[test]
fn r56_m19_what_the_driver_refuses_to_instantiate_is_a_problem_and_nothing_else_is() {
    let (mut refused, mut accepted) = (0, 0);
    for case in cases().iter().filter(|case| tells(case)) {
        for (number, recorded) in case.graphs.iter().enumerate() {
            let plan = planned(&[Arc::new(graph(case, number))]);
            let problem = &plan.graphs[0].problem;
            match recorded.instantiate {
                0 => {
                    assert_eq!(*problem, None, "{}", case.name);
                    accepted += 1;
                }
                code => {
                    let problem = problem.as_ref().unwrap_or_else(|| panic!("{}", case.name));
                    assert!(
                        problem.what.contains(&format!("returns {code} ")),
                        "{problem:?}"
                    );
                    assert!(!problem.nodes.is_empty() && plan.schedules.is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused >= 20 && accepted >= 100,
        "{refused} refused, {accepted} accepted"
    );
}

/// The scenario that the recording went through.
fn scenario(case: &Case) -> Scenario {
    let graphs: Vec<Arc<Graph>> = (0..case.graphs.len())
        .map(|number| Arc::new(graph(case, number)))
        .collect();
    let find = |address: u64| -> (usize, NodeIndex) {
        let found = graphs.iter().enumerate().find_map(|(instance, graph)| {
            let mut at = graph.allocations().filter(|(.., at)| *at == Some(address));
            at.next_back_or_last().map(|node| (instance, node))
        });
        found.expect("an allocation at the address")
    };
    let mut steps = Vec::new();
    for step in &case.steps {
        steps.push(match step.what {
            What::Launch { graph, stream } => Step::Launch {
                instance: graph,
                stream,
            },
            What::Trim => Step::Trim,
            What::Free { address } => {
                let (instance, node) = find(address);
                Step::Free {
                    instance,
                    node,
                    stream: None,
                }
            }
        });
        if matches!(step.what, What::Launch { .. }) {
            steps.push(Step::Wait { stream: None });
        }
    }
    Scenario {
        name: case.name.clone(),
        instances: graphs
            .into_iter()
            .map(|graph| Instance {
                name: graph.name.clone(),
                graph,
            })
            .collect(),
        streams: 3,
        steps,
        ..Scenario::default()
    }
}

trait LastNode {
    fn next_back_or_last(&mut self) -> Option<NodeIndex>;
}

impl<I: Iterator<Item = (NodeIndex, u64, Option<u64>)>> LastNode for I {
    /// Of several allocations at one address the last is the one that may be unfreed.
    fn next_back_or_last(&mut self) -> Option<NodeIndex> {
        self.last().map(|(node, ..)| node)
    }
}

#[test]
fn m16_r18_r35_every_launch_trim_and_free_comes_to_what_was_measured() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| tells(case)) {
        if case.graphs.iter().any(|graph| graph.instantiate != 0) {
            continue;
        }
        let scenario = scenario(case);
        if scenario
            .instances
            .iter()
            .any(|one| one.graph.has_child_memory())
        {
            // R26: these are planned by rule, one graph at a time.
            let [instance] = &*scenario.instances else {
                panic!("{}", case.name)
            };
            let plan = planned(&[Arc::clone(&instance.graph)]);
            let steps = plan.schedules[0].steps.iter().map(|step| &step.planned);
            compare(case, &steps.collect::<Vec<_>>());
            compared += 1;
            continue;
        }
        if NOT_REPLAYED.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        let mut planner = Planner::new(Profile::default(), SPIN, Options::default());
        planner
            .scenario(scenario)
            .unwrap_or_else(|error| panic!("{error}"));
        let plan = planner.finish();
        let steps = plan.schedules[0].steps.iter();
        let steps = steps.filter(|step| !step.label.starts_with("wait"));
        compare(case, &steps.map(|step| &step.planned).collect::<Vec<_>>());
        compared += 1;
    }
    assert!(compared >= 90, "{compared}");
}

fn compare(case: &Case, planned: &[&Outcome]) {
    assert_eq!(planned.len(), case.steps.len(), "{}", case.name);
    for (number, (planned, measured)) in planned.iter().zip(&case.steps).enumerate() {
        let code = planned.failure.as_ref().map_or(0, |failure| failure.code);
        assert_eq!(
            (code as u64, planned.used_bytes, planned.reserved_bytes),
            (measured.code, measured.used, Some(measured.reserved)),
            "{} step {number}: {:?}",
            case.name,
            measured.what
        );
    }
}

/// The graphs of a case and the most that was used at any launch of the first round.
fn measured(name: &str) -> (Vec<Arc<Graph>>, u64) {
    let cases = cases();
    let case = cases
        .iter()
        .find(|case| case.name == name)
        .expect("the case");
    let graphs = (0..case.graphs.len()).map(|number| Arc::new(graph(case, number)));
    let used = case.steps.iter().map(|step| step.used).max();
    (graphs.collect(), used.expect("steps"))
}

#[test]
fn r46_small_outputs_cost_a_block_each_and_the_saving_is_the_one_measured() {
    for name in ["outputs_small", "outputs_small_auto_free"] {
        let (graphs, before) = measured(name);
        let (_, after) = measured("outputs_before");
        let plan = planned(&graphs);
        let [finding] = &*plan.findings else {
            panic!("{name}: {:?}", plan.findings)
        };
        assert_eq!(finding.saving_bytes, before - after, "{name}");
        assert_eq!(finding.footprint_after_bytes, Some(after));
        assert_eq!(finding.nodes.len(), 5);
        assert!(
            finding.remedy.contains("before the capture"),
            "{}",
            finding.remedy
        );
    }
    // 40 MiB are no small output, and one graph alone has nothing to share.
    assert!(planned(&measured("outputs_large").0).findings.is_empty());
    assert!(planned(&measured("unfreed").0).findings.is_empty());
    assert!(planned(&measured("outputs_before").0).findings.is_empty());
}

#[test]
fn r14_graphs_that_belong_together_are_found_by_address_and_launched_in_turn() {
    let together = [
        ("freed_elsewhere", 2),
        ("freed_elsewhere_by_two", 3),
        ("freed_elsewhere_both_allocate", 2),
    ];
    for (name, graphs) in together {
        let plan = planned(&measured(name).0);
        let mut in_turn = plan
            .schedules
            .iter()
            .filter(|one| one.name.ends_with("in turn"));
        let schedule = in_turn.next().unwrap_or_else(|| panic!("{name}"));
        assert!(in_turn.next().is_none(), "{name}");
        let launches = schedule
            .steps
            .iter()
            .filter(|step| step.label.starts_with("launch"));
        assert_eq!(launches.count(), 2 * graphs, "{name}");
        let last = schedule.steps.last().expect("steps");
        assert_eq!(last.planned.used_bytes, 0, "{name}: a trim gives all back");
        // The second of two that free the same has nothing to free.
        assert_eq!(
            schedule.failing_steps,
            if graphs == 3 { 2 } else { 0 },
            "{name}"
        );
    }
    let apart = planned(&measured("managed_two_graphs").0);
    assert!(
        !apart
            .schedules
            .iter()
            .any(|one| one.name.ends_with("in turn"))
    );
}

#[test]
fn r11_a_free_that_may_run_before_its_allocation_is_a_hazard_that_the_driver_takes() {
    for name in ["free_unordered", "free_before_alloc"] {
        let plan = planned(&measured(name).0);
        let mut hazards = plan.graphs[0].findings.iter();
        let hazard = hazards.find(|finding| finding.severity == Severity::Hazard);
        let hazard = hazard.unwrap_or_else(|| panic!("{name}"));
        assert!(
            hazard.what.contains("is not ordered after it"),
            "{}",
            hazard.what
        );
        assert_eq!(hazard.nodes.len(), 2);
    }
    let plan = planned(&measured("around_while").0);
    assert!(
        plan.graphs[0]
            .findings
            .iter()
            .all(|one| one.severity != Severity::Hazard)
    );
}
