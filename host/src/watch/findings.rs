//! What is wrong or could take less memory: of each graph by the planner, and of the
//! process as a whole.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cudart_model::Profile;
use graph_memory_plan::analyse;
use graph_memory_plan::findings::{Finding as Planned, Severity};

use super::planned;
use super::result::{Finding, GraphResult, ProcessResult, RecordedAction};
use super::text::first_of;
use crate::report::units;

/// Physical memory is mapped in blocks of this size on the GPU that the plan is for.
fn granularity() -> u64 {
    Profile::default().block_bytes()
}

/// Adds what there is to find, the worst and largest first.
pub(super) fn find(process: &mut ProcessResult, dots: &BTreeMap<String, String>) {
    let mut found = Vec::new();
    found.extend(of_graphs(process, dots));
    found.extend(left_allocated(process));
    found.extend(captures_without_shared_pool(process));
    found.extend(destroyed_with_memory(process));
    found.extend(never_destroyed(process));
    found.extend(kept_by_the_pool(process));
    found.extend(failed(process));
    found.sort_by_key(|finding| (finding.severity, Reverse(finding.saving_bytes)));
    process.findings = found;
}

/// The planner's findings, once for graphs that are equal.
fn of_graphs(process: &ProcessResult, dots: &BTreeMap<String, String>) -> Vec<Finding> {
    let gpu = Profile::default();
    let mut found = Vec::new();
    for group in &process.groups {
        let graph = first_of(process, group);
        let Some(described) = graph.and_then(|graph| planned::described(graph, dots)) else {
            continue;
        };
        // What other graphs of the process leave allocated is known here.
        let known = |_| true;
        let (plan, _) = analyse(&described, &gpu, &known);
        // Notes are in `plan`; here they would hide what matters.
        let matters = |finding: &Planned| finding.severity != Severity::Note;
        found.extend(
            plan.findings
                .into_iter()
                .filter(matters)
                .map(|finding| Finding {
                    severity: finding.severity,
                    what: finding.what,
                    remedy: finding.remedy,
                    rule: finding.rule.to_owned(),
                    saving_bytes: finding.saving_bytes,
                    execs: group.execs.clone(),
                }),
        );
    }
    found
}

/// Launches that leave memory allocated: each keeps whole blocks of physical memory, which
/// no other graph can use (R36, M1).
fn left_allocated(process: &ProcessResult) -> Option<Finding> {
    let block = granularity();
    let last_launch = last_launch(process);
    let keeps: Vec<&GraphResult> = process
        .graphs
        .iter()
        .filter(|graph| graph.launches > 0 && graph.unfreed > 0)
        .filter(|graph| {
            graph
                .destroyed_ns
                .is_none_or(|destroyed| destroyed >= last_launch)
        })
        .collect();
    if keeps.len() < 2 {
        return None;
    }
    let bytes: u64 = keeps.iter().map(|graph| graph.unfreed_bytes).sum();
    let blocks = |graph: &&GraphResult| -> u64 {
        let mut touched: Vec<u64> = graph
            .allocations
            .iter()
            .filter(|allocation| !allocation.freed && allocation.bytes > 0)
            .flat_map(|a| a.address / block..=a.address.saturating_add(a.bytes - 1) / block)
            .take(1 << 20)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        touched.len() as u64
    };
    let kept = keeps.iter().map(blocks).sum::<u64>().saturating_mul(block);
    let needed = bytes.div_ceil(block).max(1).saturating_mul(block);
    let saving = kept.saturating_sub(needed);
    (saving > 0).then(|| Finding {
        severity: Severity::Saving,
        what: format!(
            "{} leave {} allocated in all, and each keeps whole blocks of {} for it: {}",
            units::count(keeps.len(), "graph"),
            units::bytes(bytes),
            units::bytes(block),
            units::bytes(kept)
        ),
        remedy: "allocate the outputs before the capture and write into them, so that the graphs \
                 free everything that they allocate"
            .to_owned(),
        rule: "R36 M1".to_owned(),
        saving_bytes: saving,
        execs: keeps.iter().map(|graph| graph.exec).collect(),
    })
}

/// When the last launch was recorded. What was destroyed after it was destroyed at the end
/// of the program.
fn last_launch(process: &ProcessResult) -> u64 {
    let launches = process.steps.iter().filter_map(|step| match step.action {
        RecordedAction::Launch { .. } => Some(step.time_ns),
        _ => None,
    });
    launches.max().unwrap_or(0)
}

/// Captures that took plain memory, each for itself: frameworks let captures share a pool
/// (M22). Whether these do cannot be seen from outside the framework.
fn captures_without_shared_pool(process: &ProcessResult) -> Option<Finding> {
    let took: Vec<_> = process
        .captures
        .iter()
        .filter(|capture| capture.plain_taken_bytes > 0)
        .collect();
    let (first, rest) = took.split_first()?;
    let later: i64 = rest.iter().map(|capture| capture.plain_taken_bytes).sum();
    let all = later.saturating_add(first.plain_taken_bytes);
    let torch = took.iter().any(|capture| {
        let libraries = capture.by_library.iter();
        let mut names = libraries.map(|(library, _)| library.as_str());
        names.any(|name| name.contains("torch") || name.contains("c10"))
    });
    if later <= 0 {
        return None;
    }
    let remedy = if torch {
        "capture the largest batch first, and give all captures one memory pool, if they have not: \
         torch.cuda.graph(g, pool=first.pool()); a replay may then overwrite outputs of the other \
         graphs, so never replay two graphs of a pool at the same time, and read or copy an output \
         that is still needed before another graph of the pool is replayed"
    } else {
        "allocate before the capture what the graphs can share, and capture the largest first"
    };
    Some(Finding {
        severity: Severity::Saving,
        what: format!(
            "plain allocations during {} took {}, {} of it after the first capture (an upper \
             bound of what sharing can save)",
            units::count(took.len(), "capture"),
            signed(all),
            signed(later)
        ),
        remedy: remedy.to_owned(),
        rule: "M22".to_owned(),
        saving_bytes: 0,
        execs: took
            .iter()
            .flat_map(|capture| capture.execs.clone())
            .collect(),
    })
}

/// Execs that were destroyed while allocations of their last launch were live (R16, R20).
fn destroyed_with_memory(process: &ProcessResult) -> Option<Finding> {
    let last_launch = last_launch(process);
    let left: Vec<&GraphResult> = process
        .graphs
        .iter()
        .filter(|graph| graph.used_after_destroy_bytes.is_some())
        .filter(|graph| {
            graph
                .destroyed_ns
                .is_some_and(|destroyed| destroyed < last_launch)
        })
        .collect();
    let bytes: u64 = left.iter().map(|graph| graph.unfreed_bytes).sum();
    (!left.is_empty()).then(|| Finding {
        severity: Severity::Note,
        what: format!(
            "{} may have been destroyed while {} that their launches left allocated were live; \
             destroying frees nothing",
            units::count(left.len(), "graph exec"),
            units::bytes(bytes)
        ),
        remedy: "free these allocations with cudaFree or cudaFreeAsync, in PyTorch by deleting \
                 the output tensors"
            .to_owned(),
        rule: "R16 R20".to_owned(),
        saving_bytes: 0,
        execs: left.iter().map(|graph| graph.exec).collect(),
    })
}

/// Many equal execs that live on: memory per request, and no end.
fn never_destroyed(process: &ProcessResult) -> Vec<Finding> {
    const MANY: usize = 64;
    let is_live = |exec: &u64| {
        let graph = process.graphs.iter().find(|graph| graph.exec == *exec);
        graph.is_some_and(|graph| !graph.destroyed)
    };
    let groups = process.groups.iter().filter_map(|group| {
        let live: Vec<u64> = group.execs.iter().copied().filter(is_live).collect();
        (live.len() >= MANY).then(|| Finding {
            severity: Severity::Note,
            what: format!(
                "{} equal graph execs are live, which took {} of device memory",
                live.len(),
                signed(group.taken_bytes())
            ),
            remedy: "if they are made for each request, destroy them after use, or update one \
                     exec with cudaGraphExecUpdate"
                .to_owned(),
            rule: "R41".to_owned(),
            saving_bytes: 0,
            execs: live,
        })
    });
    groups.collect()
}

/// Graph memory that is reserved and not used: a trim returns it (R42).
fn kept_by_the_pool(process: &ProcessResult) -> Vec<Finding> {
    let devices = process.devices.iter().filter_map(|device| {
        let memory = device.graph_memory?;
        let idle = memory.reserved_bytes.saturating_sub(memory.used_bytes);
        (idle > 0).then(|| Finding {
            severity: Severity::Saving,
            what: format!(
                "the graph memory pool of device {} reserves {} that no graph uses",
                device.device,
                units::bytes(idle)
            ),
            remedy: "call cudaDeviceGraphMemTrim when no graph with memory nodes runs".to_owned(),
            rule: "R42".to_owned(),
            saving_bytes: idle,
            execs: Vec::new(),
        })
    });
    devices.collect()
}

/// Launches and instantiations that the driver refused.
fn failed(process: &ProcessResult) -> Vec<Finding> {
    let launches = process.graphs.iter().filter_map(|graph| {
        let code = graph.failed_code?;
        let why = match code {
            1 if graph.unfreed > 0 => {
                "an allocation of the launch before is live: free it, or instantiate with \
                 cudaGraphInstantiateFlagAutoFreeOnLaunch"
            }
            2 => "the device has too little free memory: see the account above",
            _ => "look the code up in the CUDA documentation of cuGraphLaunch",
        };
        Some(Finding {
            severity: Severity::Error,
            what: format!(
                "{} of exec {} failed with {code}",
                units::count(
                    usize::try_from(graph.failed_launches).unwrap_or(usize::MAX),
                    "launch"
                ),
                graph.exec
            ),
            remedy: why.to_owned(),
            rule: "R18 M13".to_owned(),
            saving_bytes: 0,
            execs: vec![graph.exec],
        })
    });
    let instantiations = process.failed_instantiations.iter().map(|call| Finding {
        severity: Severity::Error,
        what: format!("{} failed with {}", call.call, call.code),
        remedy: "a graph with memory nodes has one exec at a time, and none in the body of a \
                 conditional node"
            .to_owned(),
        rule: "R25".to_owned(),
        saving_bytes: 0,
        execs: Vec::new(),
    });
    launches.chain(instantiations).collect()
}

/// A number of bytes that may be negative.
pub(crate) fn signed(bytes: i64) -> String {
    let size = units::bytes(bytes.unsigned_abs());
    if bytes < 0 { format!("-{size}") } else { size }
}
