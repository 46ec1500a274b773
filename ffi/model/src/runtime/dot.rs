//! `cudaGraphDebugDotPrint` and `cuGraphDebugDotPrint`: a graph as text in the DOT
//! language, in the form that the driver writes.
//!
//! Each graph is a cluster; child graphs follow the graph that contains them. `topoId`
//! numbers the nodes from the end: first the nodes on which no node depends, the newest
//! first, then their dependencies, and so on, each node where it is first reached. Edges
//! are sorted by the first node and then by the second; `headlabel` is the position among
//! the dependencies of the second node. All this is as in the recorded dumps, with which
//! `tests/dot.rs` compares it.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use cudart_ffi::CUgraphConditionalNodeType;

use super::queries::numbered_edges;
use super::{Outcome, Runtime};
use crate::objects::effects::{CopyRequest, Side};
use crate::objects::graph::{ConditionalNode, Graph, KernelNode, Node, Work};
use crate::objects::id::GraphId;

/// `cudaGraphDebugDotFlagsVerbose`: print everything.
const VERBOSE: u32 = 1;
/// Describe copies in the form of the runtime instead of that of the driver.
pub const RUNTIME_TYPES: u32 = 1 << 1;
/// The launch dimensions of kernels.
const KERNEL_PARAMS: u32 = 1 << 2;
const MEMCPY_PARAMS: u32 = 1 << 3;
const MEMSET_PARAMS: u32 = 1 << 4;
const HOST_PARAMS: u32 = 1 << 5;
const EVENT_PARAMS: u32 = 1 << 6;
const KERNEL_ATTRIBUTES: u32 = 1 << 9;
const HANDLES: u32 = 1 << 10;
const ALLOC_PARAMS: u32 = 1 << 11;
const FREE_PARAMS: u32 = 1 << 12;
const CONDITIONAL_PARAMS: u32 = 1 << 15;
/// The order of the nodes.
const TOPOLOGY: u32 = 1 << 14;

/// The parts that a dump contains.
#[derive(Debug, Clone, Copy)]
struct Shown(u32);

impl Shown {
    fn any(self, flags: u32) -> bool {
        self.0 & (flags | VERBOSE) != 0
    }
}

impl Runtime {
    /// `cudaGraphDebugDotPrint`: the text of the file.
    ///
    /// # Errors
    ///
    /// 1 for a handle that is not a graph.
    pub fn dot(&self, graph: u64, flags: u32) -> Outcome<String> {
        let id = self.graph_id(graph)?;
        let mut text = "digraph dot {\n".to_owned();
        self.dot_cluster(&mut text, id, Shown(flags));
        text.push_str("}\n");
        Ok(text)
    }

    /// Writes a graph, and after it the graphs in its nodes.
    fn dot_cluster(&self, text: &mut String, id: GraphId, shown: Shown) {
        let Ok(graph) = self.graph(id) else {
            return;
        };
        let number = graph.number;
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            text,
            "subgraph cluster_{number} {{\nlabel=\"graph_{number}\" graph[style=\"dashed\"];\n"
        );
        let topology = topology(graph);
        let mut children = Vec::new();
        for (index, node) in graph.live_nodes() {
            let place = topology.get(&index).copied().unwrap_or(0);
            let label = if shown.any(TOPOLOGY) {
                format!("{index} (topoId: {place})")
            } else {
                index.to_string()
            };
            let _ = write!(text, "\"graph_{number}_node_{index}\"");
            self.dot_node(text, node, &label, shown);
            text.push('\n');
            match &node.work {
                Work::Child { graph, .. } => children.push(*graph),
                Work::Conditional(conditional) => children.extend(&conditional.bodies),
                _ => {}
            }
        }
        for (from, to, place) in numbered_edges(graph) {
            let _ = write!(
                text,
                "\"graph_{number}_node_{from}\" -> \"graph_{number}_node_{to}\""
            );
            if shown.any(TOPOLOGY) {
                let _ = write!(text, " [headlabel={place}]");
            }
            text.push_str(";\n");
        }
        text.push_str("}\n");
        for child in children {
            self.dot_cluster(text, child, shown);
        }
    }

    fn dot_node(&self, text: &mut String, node: &Node, label: &str, shown: Shown) {
        let handle = hex(node.handle.to_handle());
        match &node.work {
            Work::Kernel(kernel) => self.dot_kernel(text, kernel, label, &handle, shown),
            Work::Alloc { allocation, .. } if shown.any(ALLOC_PARAMS) => {
                let found = self
                    .node(node.handle.to_handle())
                    .and_then(|(graph, _)| self.graph(graph))
                    .ok()
                    .and_then(|graph| self.memories.get(graph.memory?))
                    .and_then(|memory| memory.allocations.get(*allocation as usize));
                let (device, bytes, address) = found.map_or((0, 0, 0), |found| {
                    (found.device, found.bytes, found.address)
                });
                record(text, "MEM_ALLOC", label, &handle, shown);
                let _ = write!(
                    text,
                    "| {{{{{{poolProps | {{allocType | handleTypes | {{location | {{type | id}}}}}} | \
                     {{PINNED | NONE | DEVICE | {device}}}}}}}}}\n\
                     | {{{{bytesize | dptr}} | {{{bytes} | {}}}}}\n}}\"];\n",
                    hex(address)
                );
            }
            Work::Free { address, .. } if shown.any(FREE_PARAMS) => {
                record(text, "MEM_FREE", label, &handle, shown);
                let _ = write!(text, "| {{{{dptr}} | {{{}}}}}\n}}\"];\n", hex(*address));
            }
            Work::Set { fill, .. } if shown.any(MEMSET_PARAMS) => {
                let (names, values) = if shown.any(HANDLES) {
                    ("ID | node handle", format!("{label} | {handle}"))
                } else {
                    ("ID", label.to_owned())
                };
                let _ = write!(
                    text,
                    "[style=\"solid\" style=\"solid\" shape=\"record\" label=\"{{MEMSET\n\
                     | {{{{{names} | dptr | pitch | value | elementSize | width | height}} | \
                     {{{values} | {} | {} | {} | {} | {} | {}}}}}}}\"];\n",
                    hex(fill.address),
                    fill.pitch,
                    fill.value,
                    fill.element_bytes,
                    fill.width,
                    fill.height
                );
            }
            Work::Set { fill, .. } => {
                let bytes: u64 = fill.rows().map(|(_, bytes)| bytes).sum();
                let what = format!("({},{bytes})", fill.value);
                shape(
                    text,
                    "shape=\"invtrapezium\"label",
                    "MEMSET",
                    label,
                    &handle,
                    shown,
                    &[what],
                );
            }
            Work::Copy { copy, .. } if shown.any(MEMCPY_PARAMS) => {
                record(text, "MEMCPY", label, &handle, shown);
                if shown.0 & RUNTIME_TYPES != 0 {
                    runtime_copy(text, copy);
                } else {
                    driver_copy(text, copy);
                }
            }
            Work::Copy { copy, .. } => {
                let what = format!("({},{})", direction(copy.from, copy.to), copy.bytes);
                shape(
                    text,
                    "shape=\"trapezium\"label",
                    "MEMCPY",
                    label,
                    &handle,
                    shown,
                    &[what],
                );
            }
            Work::Host(call) => {
                let params = [
                    format!("fn: {}", hex(call.function)),
                    format!("userData: {}", hex(call.user_data)),
                ];
                let params = if shown.any(HOST_PARAMS) {
                    &params[..]
                } else {
                    &[]
                };
                shape(text, RECTANGLE, "HOST", label, &handle, shown, params);
            }
            Work::RecordEvent(event) | Work::WaitEvent(event) => {
                let title = match node.work {
                    Work::RecordEvent(_) => "EVENT_RECORD",
                    _ => "EVENT_WAIT",
                };
                let params = [format!("event: {}", hex(event.to_handle()))];
                let params = if shown.any(EVENT_PARAMS) {
                    &params[..]
                } else {
                    &[]
                };
                shape(text, RECTANGLE, title, label, &handle, shown, params);
            }
            Work::Child { graph, .. } => {
                let number = self.graph(*graph).map_or(0, |graph| graph.number);
                let title = format!("graph_{number}");
                shape(text, RECTANGLE, &title, label, &handle, shown, &[]);
            }
            Work::Conditional(conditional) if shown.any(CONDITIONAL_PARAMS) => {
                self.dot_conditional(text, conditional, label, &handle);
            }
            Work::Conditional(_) => {
                shape(text, RECTANGLE, "CONDITIONAL", label, &handle, shown, &[]);
            }
            Work::Alloc { .. } => shape(text, RECTANGLE, "MEM_ALLOC", label, &handle, shown, &[]),
            Work::Free { .. } => shape(text, RECTANGLE, "MEM_FREE", label, &handle, shown, &[]),
            Work::Empty | Work::Destroyed => {
                shape(text, RECTANGLE, "EMPTY", label, &handle, shown, &[]);
            }
        }
    }

    fn dot_conditional(
        &self,
        text: &mut String,
        conditional: &ConditionalNode,
        label: &str,
        handle: &str,
    ) {
        let number = |at: usize| {
            let body = conditional.bodies.get(at).copied();
            body.and_then(|body| self.graph(body).ok())
                .map_or(0, |body| body.number)
        };
        let condition = conditional.condition;
        let (kind, bodies) = match conditional.kind {
            CUgraphConditionalNodeType::IF => {
                let mut bodies = format!("| {{True | graph_{}}}\n", number(0));
                if conditional.bodies.len() > 1 {
                    let _ = writeln!(bodies, "| {{False| graph_{}}}", number(1));
                }
                ("IF", bodies)
            }
            CUgraphConditionalNodeType::WHILE => {
                ("WHILE", format!("| {{True|graph_{}}}\n", number(0)))
            }
            _ => {
                let bodies = (0..conditional.bodies.len())
                    .map(|at| format!("| {{{at}|  graph_{}}}\n", number(at)));
                ("SWITCH", bodies.collect())
            }
        };
        let _ = write!(
            text,
            "[style=\"bold\" shape=\"record\" label=\"{{\nCONDITIONAL\n| {{ID | {label}}}\n\
             | {{node handle| {handle}}}\n| {{Conditional Handle|{condition}}}\n\
             | {{Conditional Type| {kind}}}\n{bodies}}}\n\"];\n"
        );
    }

    fn dot_kernel(
        &self,
        text: &mut String,
        kernel: &KernelNode,
        label: &str,
        handle: &str,
        shown: Shown,
    ) {
        // The handle that driver calls use for the kernel.
        let function = hex(self.known_function(kernel.kernel));
        let name = escaped(&kernel.name);
        let shape = if shown.any(KERNEL_PARAMS) {
            format!(
                "\\<\\<\\<{},{},{}\\>\\>\\>",
                extents(kernel.grid),
                extents(kernel.block),
                kernel.shared_bytes
            )
        } else {
            String::new()
        };
        if !shown.any(KERNEL_ATTRIBUTES) {
            let functions = [format!("func handle: {function}")];
            let functions = if shown.any(HANDLES) {
                &functions[..]
            } else {
                &[]
            };
            text.push_str("[style=\"bold\" shape=\"octagon\" label=\"");
            lines(text, &name, label, handle, shown, functions);
            let _ = writeln!(text, "{shape}\"];");
            return;
        }
        text.push_str("[style=\"bold\" shape=\"record\" label=\"{KERNEL\n");
        let _ = writeln!(text, "| {{ID | {label} | {name}{shape}}}");
        if shown.any(HANDLES) {
            let _ = writeln!(
                text,
                "| {{{{node handle | func handle}} | {{{handle} | {function}}}}}"
            );
        }
        text.push_str(
            "| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | \
             {0x0000000000000000 | 0 | 0.000000 | N | N}}\n\
             | {cooperative | 0}\n\
             | {priority | 0}\n",
        );
        text.push_str("}\"];\n");
    }
}

const RECTANGLE: &str = "shape=\"rectangle\" label";

/// A node that is a shape with lines of text in it.
fn shape(
    text: &mut String,
    shape: &str,
    title: &str,
    label: &str,
    handle: &str,
    shown: Shown,
    params: &[String],
) {
    let _ = write!(text, "[style=\"solid\" {shape}=\"");
    lines(text, title, label, handle, shown, params);
    text.push_str("\"];\n");
}

fn lines(
    text: &mut String,
    title: &str,
    label: &str,
    handle: &str,
    shown: Shown,
    params: &[String],
) {
    let _ = write!(text, "{label}\n{title}\n");
    if shown.any(HANDLES) {
        let _ = writeln!(text, "node handle: {handle}");
    }
    for line in params {
        let _ = writeln!(text, "{line}");
    }
}

/// A copy in the form of `cudaGraphDebugDotPrint`.
fn runtime_copy(text: &mut String, copy: &CopyRequest) {
    let (from, to) = (hex(copy.from.address()), hex(copy.to.address()));
    let _ = write!(
        text,
        "| {{kind | {} ({} to {})}}\n\
         | {{{{srcPtr | dstPtr}} | {{pitch | ptr | xsize | ysize | pitch | ptr | xsize | ysize}} | \
         {{0 | {from} | 0 | 0 | 0 | {to} | 0 | 0}}}}\n\
         | {{{{srcPos | {{{{x | 0}} | {{y | 0}} | {{z | 0}}}}}} | {{dstPos | {{{{x | 0}} | {{y | 0}} | {{z | 0}}}}}} | \
         {{Extent | {{{{Width | {}}} | {{Height | 1}} | {{Depth | 1}}}}}}}}\n}}\"];\n",
        direction(copy.from, copy.to),
        place_name(copy.from),
        place_name(copy.to),
        copy.bytes
    );
}

/// A copy in the form of `cuGraphDebugDotPrint`.
fn driver_copy(text: &mut String, copy: &CopyRequest) {
    const FIELDS: &str =
        "MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD";
    let side = |side: Side| {
        let (kind, host, device) = match side {
            Side::Host(address) => ("HOST", address, 0),
            Side::Device(address) => ("DEVICE", 0, address),
        };
        format!(
            "{kind} ({}) | {} | {} | {} | 0 | 0 | 0 | 0 | 0 | 0",
            place_name(side),
            hex(0),
            hex(host),
            hex(device)
        )
    };
    let _ = write!(
        text,
        "| {{{{src | dst}} | {{ {FIELDS} | {FIELDS}}} | {{{} | {}}}}}\n\
         | {{Extent | {{WidthInBytes | Height | Depth}} | {{{} | 1 | 1}}}}\n}}\"];\n",
        side(copy.from),
        side(copy.to),
        copy.bytes
    );
}

/// The first rows of a node that is a table.
fn record(text: &mut String, title: &str, label: &str, handle: &str, shown: Shown) {
    let _ = writeln!(
        text,
        "[style=\"solid\" shape=\"record\" label=\"{{\n{title}"
    );
    let _ = if shown.any(HANDLES) {
        writeln!(text, "| {{{{ID | node handle}} | {{{label} | {handle}}}}}")
    } else {
        writeln!(text, "| {{{{ID}} | {{{label}}}}}")
    };
}

fn hex(value: u64) -> String {
    format!("{value:#018X}").replacen("0X", "0x", 1)
}

/// `32` for one dimension, `\{32,24\}` and `\{4,8,16\}` for more.
fn extents([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("\\{{{x},{y}\\}}"),
        _ => format!("\\{{{x},{y},{z}\\}}"),
    }
}

/// A name in which the special characters of a record's label are escaped.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '<' | '>' | '{' | '}' | '|' | '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

fn letter(side: Side) -> char {
    match side {
        Side::Host(_) => 'H',
        Side::Device(_) => 'D',
    }
}

fn direction(from: Side, to: Side) -> String {
    format!("{}to{}", letter(from), letter(to))
}

fn place_name(side: Side) -> &'static str {
    match side {
        Side::Host(_) => "HOST PAGEABLE",
        Side::Device(_) => "DEVICE",
    }
}

/// The number of each node in `topoId`.
fn topology(graph: &Graph) -> HashMap<u32, u32> {
    let mut has_dependents = vec![false; graph.nodes.len()];
    for (_, node) in graph.live_nodes() {
        for &before in &node.dependencies {
            if let Some(flag) = has_dependents.get_mut(before as usize) {
                *flag = true;
            }
        }
    }
    let mut queue: VecDeque<u32> = graph
        .live_nodes()
        .map(|(index, _)| index)
        .filter(|&index| has_dependents.get(index as usize) == Some(&false))
        .collect();
    queue.make_contiguous().reverse();
    let mut numbers: HashMap<u32, u32> = (0_u32..)
        .zip(queue.iter().copied())
        .map(|(number, index)| (index, number))
        .collect();
    while let Some(index) = queue.pop_front() {
        let Some(node) = graph.nodes.get(index as usize) else {
            continue;
        };
        for &before in &node.dependencies {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            if let std::collections::hash_map::Entry::Vacant(vacant) = numbers.entry(before) {
                vacant.insert(next);
                queue.push_back(before);
            }
        }
    }
    numbers
}
