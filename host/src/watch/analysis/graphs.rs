//! Graph execs: what each is, what it took, how often it ran.

use std::collections::{BTreeMap, BTreeSet};

use graph_memory_record::counters::CountersFile;
use graph_memory_record::{Event, GraphContent, Instantiate, Line, Reading};

use crate::watch::result::{
    AllocationResult, CaptureResult, FirstLaunch, GraphResult, Group, RecordedAction, RecordedStep,
};

/// The execs of a process.
pub(super) struct Graphs<'r> {
    counters: Option<&'r CountersFile>,
    execs: BTreeMap<u64, GraphResult>,
    streams: BTreeMap<u64, BTreeSet<u64>>,
    /// Who requested the memory of a captured allocation, by capture and address.
    requested_by: BTreeMap<(Option<u64>, u64), String>,
    /// The streams' handles in the order of their use.
    handles: Vec<u64>,
    addresses: BTreeSet<u64>,
    steps: Vec<RecordedStep>,
}

impl<'r> Graphs<'r> {
    pub(super) fn new(counters: Option<&'r CountersFile>) -> Self {
        Self {
            counters,
            execs: BTreeMap::new(),
            streams: BTreeMap::new(),
            requested_by: BTreeMap::new(),
            handles: Vec::new(),
            addresses: BTreeSet::new(),
            steps: Vec::new(),
        }
    }

    fn stream(&mut self, handle: u64) -> usize {
        let known = self.handles.iter().position(|&other| other == handle);
        known.unwrap_or_else(|| {
            self.handles.push(handle);
            self.handles.len() - 1
        })
    }

    fn step(&mut self, time_ns: u64, device: i32, action: RecordedAction, after: &Reading) {
        self.steps.push(RecordedStep {
            time_ns,
            device,
            action,
            used_bytes: after.graph.map(|graph| graph.used_bytes),
        });
    }

    /// Takes what an event says of an exec.
    pub(super) fn note(&mut self, line: &Line) {
        match &line.event {
            Event::CapturedAllocation(captured) => {
                if let Some(origin) = &captured.origin {
                    let key = (captured.capture, captured.address);
                    self.requested_by.insert(key, origin.library.clone());
                }
            }
            Event::Instantiate(call) => {
                if let (Some(exec), Some(content)) = (call.exec, &call.graph) {
                    let graph = self.instantiated(line.time_ns, exec, call, content);
                    let addresses = graph.allocations.iter().map(|a| a.address);
                    self.addresses.extend(addresses);
                    self.execs.insert(exec, graph);
                }
            }
            Event::Call(call) if call.call.contains("GraphMemTrim") => {
                self.step(line.time_ns, call.device, RecordedAction::Trim, &call.after);
            }
            Event::Call(call) if call.call.contains("Free") && call.result == 0 => {
                if let Some(address) = call.address.filter(|a| self.addresses.contains(a)) {
                    let action = RecordedAction::Free { address };
                    self.step(line.time_ns, call.device, action, &call.after);
                }
            }
            Event::Launch(launch) => {
                let stream = self.stream(launch.stream);
                if launch.result == 0 {
                    let exec = launch.exec;
                    let action = RecordedAction::Launch { exec, stream };
                    self.step(line.time_ns, launch.device, action, &launch.after);
                }
                self.streams
                    .entry(launch.exec)
                    .or_default()
                    .insert(launch.stream);
                let Some(graph) = self.execs.get_mut(&launch.exec) else {
                    return;
                };
                if launch.result != 0 {
                    graph.failed_launches += 1;
                    graph.failed_code.get_or_insert(launch.result);
                    return;
                }
                // Without counters this is the least that is known.
                graph.launches = graph.launches.max(launch.launch);
                let growth = reserved(&launch.after) - reserved(&launch.before);
                graph.launches_that_grew += u64::from(growth > 0);
                if graph.first_launch.is_none() {
                    graph.first_launch = Some(FirstLaunch {
                        time_ns: line.time_ns,
                        duration_ns: launch.duration_ns,
                        used_growth_bytes: used(&launch.after) - used(&launch.before),
                        pool_growth_bytes: growth,
                        taken_bytes: taken(&launch.before, &launch.after),
                        used_bytes: launch.after.graph.map(|graph| graph.used_bytes),
                    });
                }
            }
            Event::Upload(upload) => {
                let stream = self.stream(upload.stream);
                if upload.result == 0 {
                    let exec = upload.exec;
                    let action = RecordedAction::Upload { exec, stream };
                    self.step(line.time_ns, upload.device, action, &upload.after);
                }
                if let Some(graph) = self.execs.get_mut(&upload.exec) {
                    graph.uploads += u64::from(upload.result == 0);
                }
            }
            Event::Update(update) => {
                if let Some(graph) = self.execs.get_mut(&update.exec) {
                    graph.updates = graph.updates.max(update.update);
                }
            }
            Event::ExecDestroy(destroy) => {
                if destroy.result == 0 {
                    let action = RecordedAction::Destroy { exec: destroy.exec };
                    self.step(line.time_ns, destroy.device, action, &destroy.after);
                }
                if let Some(graph) = self.execs.get_mut(&destroy.exec) {
                    graph.destroyed = true;
                    graph.destroyed_ns = Some(line.time_ns);
                    graph.launches = graph.launches.max(destroy.launches);
                    let left = graph.unfreed > 0 && graph.launches > 0;
                    let after = destroy.after.graph.map(|graph| graph.used_bytes);
                    graph.used_after_destroy_bytes = after.filter(|&used| left && used > 0);
                }
            }
            _ => {}
        }
    }

    fn instantiated(
        &self,
        time_ns: u64,
        exec: u64,
        call: &Instantiate,
        content: &GraphContent,
    ) -> GraphResult {
        let allocations: Vec<AllocationResult> = content
            .allocations
            .iter()
            .zip(content.freed())
            .map(|(node, freed)| AllocationResult {
                bytes: node.bytes,
                address: node.address,
                device: node.device,
                freed,
                origin: self
                    .requested_by
                    .get(&(call.capture, node.address))
                    .cloned(),
            })
            .collect();
        let unfreed = allocations.iter().filter(|allocation| !allocation.freed);
        GraphResult {
            exec,
            device: call.device,
            time_ns,
            origin: call.origin.as_ref().map(|origin| origin.library.clone()),
            capture: call.capture,
            flags: call.flags,
            nodes: content
                .nodes
                .iter()
                .map(|(kind, count)| (kind.to_string(), *count))
                .collect(),
            requested_bytes: content.requested_bytes(),
            unfreed_bytes: unfreed.clone().map(|allocation| allocation.bytes).sum(),
            unfreed: unfreed.count(),
            footprint_bytes: allocations.is_empty().then_some(0),
            allocations,
            instantiate_taken_bytes: taken(&call.before, &call.after),
            instantiate_ns: call.duration_ns,
            first_launch: None,
            launches: 0,
            launches_that_grew: 0,
            failed_launches: 0,
            failed_code: None,
            uploads: 0,
            updates: 0,
            streams: 0,
            destroyed: false,
            destroyed_ns: None,
            used_after_destroy_bytes: None,
            dot: content.dot.clone(),
        }
    }

    /// The execs in the order of instantiation, with their counters, and the steps.
    pub(super) fn finish(self) -> (Vec<GraphResult>, Vec<RecordedStep>) {
        let mut graphs: Vec<GraphResult> = self.execs.into_values().collect();
        for graph in &mut graphs {
            graph.streams = self.streams.get(&graph.exec).map_or(0, BTreeSet::len);
            let Some(counters) = self.counters.and_then(|file| file.of(graph.exec)) else {
                continue;
            };
            graph.launches = graph.launches.max(counters.launches);
            graph.launches_that_grew = graph.launches_that_grew.max(counters.grew);
            graph.failed_launches = graph.failed_launches.max(counters.failed);
            graph.uploads = graph.uploads.max(counters.uploads);
            graph.updates = graph.updates.max(counters.updates);
            graph.destroyed |= counters.destroyed;
            let others = usize::from(counters.other_streams > 0);
            graph.streams = graph.streams.max(counters.streams.len() + others);
        }
        graphs.sort_by_key(|graph| (graph.time_ns, graph.exec));
        (graphs, self.steps)
    }
}

fn reserved(reading: &Reading) -> i64 {
    let reserved = reading.graph.map_or(0, |graph| graph.reserved_bytes);
    i64::try_from(reserved).unwrap_or(i64::MAX)
}

fn used(reading: &Reading) -> i64 {
    let used = reading.graph.map_or(0, |graph| graph.used_bytes);
    i64::try_from(used).unwrap_or(i64::MAX)
}

/// Free memory that went between two readings, beside what graph memory and the
/// stream-ordered pools reserved.
fn taken(before: &Reading, after: &Reading) -> i64 {
    let (Some(free_before), Some(free_after)) = (before.free_bytes, after.free_bytes) else {
        return 0;
    };
    let pools = |reading: &Reading| -> i64 {
        let reserved: u64 = reading.pools.iter().map(|pool| pool.reserved_bytes).sum();
        i64::try_from(reserved).unwrap_or(i64::MAX)
    };
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let grew = match after.pools.is_empty() {
        true => 0,
        false => pools(after) - pools(before),
    };
    signed(free_before) - signed(free_after) - (reserved(after) - reserved(before)) - grew
}

/// Equal execs together, the ones that took most first.
pub(super) fn groups(graphs: &[GraphResult], captures: &[CaptureResult]) -> Vec<Group> {
    type Key<'g> = (
        i32,
        Option<&'g str>,
        u64,
        &'g BTreeMap<String, u64>,
        Vec<(u64, bool)>,
    );
    let mut alike: BTreeMap<Key<'_>, Vec<&GraphResult>> = BTreeMap::new();
    for graph in graphs {
        let sizes = graph.allocations.iter();
        let key = (
            graph.device,
            graph.origin.as_deref(),
            graph.flags,
            &graph.nodes,
            sizes.map(|a| (a.bytes, a.freed)).collect(),
        );
        alike.entry(key).or_default().push(graph);
    }
    let captured = |graph: &GraphResult| {
        let capture = captures.iter().find(|c| Some(c.capture) == graph.capture)?;
        // A capture that made several execs is counted with the first of them.
        (capture.execs.first() == Some(&graph.exec)).then_some(capture.plain_taken_bytes)
    };
    let mut groups: Vec<Group> = alike
        .into_values()
        .map(|execs| Group {
            execs: execs.iter().map(|graph| graph.exec).collect(),
            pool_growth_bytes: execs
                .iter()
                .filter_map(|graph| graph.first_launch.as_ref())
                .map(|launch| launch.pool_growth_bytes)
                .sum(),
            captured_plain_bytes: execs.iter().filter_map(|graph| captured(graph)).sum(),
            exec_taken_bytes: execs
                .iter()
                .map(|graph| {
                    let first = graph.first_launch.as_ref();
                    graph.instantiate_taken_bytes + first.map_or(0, |launch| launch.taken_bytes)
                })
                .sum(),
        })
        .collect();
    groups.sort_by_key(|group| {
        (
            std::cmp::Reverse(group.taken_bytes()),
            group.execs.first().copied(),
        )
    });
    groups
}
