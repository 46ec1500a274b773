//! Graphs: their origin, their content, and their instantiation.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use cudart_ffi::types::*;
use graph_memory_record::settings::DOT_NODES;
use graph_memory_record::{
    AllocationNode, Event, GraphContent, Instantiate, NodeType, NoteKind, Reading,
};

use crate::account::since;
use crate::context;
use crate::driver::Driver;
use crate::execs::Exec;
use crate::guard::{shield, with_file_size_signal_blocked};
use crate::origin::origin;
use crate::process::Dot;
use crate::reading::{current_device, read, relaxed};
use crate::start::Watched;
use crate::state::State;
use crate::wrap::Entry;

/// The largest depth of child graphs that is read.
const DEEPEST: usize = 64;

/// `CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE`.
const DOT_VERBOSE: u32 = 1;

/// The flags of an instantiation.
pub enum Flags {
    /// As an argument.
    Value(u64),
    /// In a struct.
    Params(*mut CUDA_GRAPH_INSTANTIATE_PARAMS),
}

impl Flags {
    fn value(&self) -> u64 {
        match *self {
            Self::Value(flags) => flags,
            Self::Params(params) if params.is_null() => 0,
            // SAFETY: the caller passed a struct of this type.
            Self::Params(params) => unsafe { (*params).flags },
        }
    }
}

/// `cuGraphCreate`. The handle may be that of a destroyed graph, so the capture that made
/// that graph is forgotten.
pub fn created(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    graph: *mut CUgraph,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    if result.is_success() && !graph.is_null() {
        // SAFETY: the driver wrote the handle.
        let graph = unsafe { *graph };
        shield(|| watched.state.lock().graphs.remove(&(graph.0 as usize)));
    }
    result
}

/// `cuGraphClone`: the clone was made by the same capture as the original.
pub fn cloned(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    clone: *mut CUgraph,
    original: CUgraph,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let result = real();
    if result.is_success() && !clone.is_null() {
        // SAFETY: the driver wrote the handle.
        let clone = unsafe { *clone };
        shield(|| {
            let mut inner = watched.state.lock();
            match inner.graphs.get(&(original.0 as usize)).copied() {
                Some(capture) => inner.graphs.insert(clone.0 as usize, capture),
                None => inner.graphs.remove(&(clone.0 as usize)),
            }
        });
    }
    result
}

/// `cuGraphDestroy`.
pub fn destroyed(
    _entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    graph: CUgraph,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    shield(|| watched.state.lock().graphs.remove(&(graph.0 as usize)));
    real()
}

/// All functions that instantiate a graph.
pub fn instantiated(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    exec: *mut CUgraphExec,
    graph: CUgraph,
    flags: Flags,
) -> CUresult {
    let Some(watched) = Watched::enter() else {
        return real();
    };
    let before = shield(|| {
        let device = current_device(watched.driver)?;
        watched.state.graphs_seen.store(true, Ordering::Relaxed);
        context::record_current(watched.state, watched.driver, device, entry.name());
        Some((device, read(watched.state, watched.driver, device)))
    });
    let start = Instant::now();
    let result = real();
    let duration_ns = since(start);
    shield(|| {
        let (device, before) = before.flatten().unwrap_or_default();
        let done = Instantiated {
            watched: &watched,
            entry,
            device,
            flags: flags.value(),
            result,
            duration_ns,
            before,
        };
        if result.is_success() && !exec.is_null() {
            // SAFETY: the call succeeded, so the driver wrote the handle.
            let exec = unsafe { *exec };
            relaxed(watched.driver, || done.succeeded(exec, graph));
        } else {
            // After a failure the driver has not written the handle, so it must
            // not be read.
            done.write(None, graph, None);
        }
    });
    result
}

struct Instantiated<'a> {
    watched: &'a Watched,
    entry: &'a Entry,
    device: i32,
    flags: u64,
    result: CUresult,
    duration_ns: u64,
    before: Reading,
}

impl Instantiated<'_> {
    fn succeeded(self, exec: CUgraphExec, graph: CUgraph) {
        let (state, driver) = (self.watched.state, self.watched.driver);
        let mut content = Contents::of(state, driver, graph);
        let memory = content.has_memory(self.device);
        let wanted = match state.settings.dot {
            Dot::All => true,
            Dot::None => false,
            Dot::Memory => memory.is_some(),
        };
        let nodes = content
            .graph
            .nodes
            .values()
            .fold(0_u64, |a, b| a.saturating_add(*b));
        if wanted && state.settings.dot == Dot::Memory && nodes > DOT_NODES {
            let text =
                "a graph has too many nodes to be printed as a DOT file at its instantiation";
            state.note(NoteKind::Dot, text, None, None);
        } else if wanted {
            content.graph.dot = print(state, driver, graph);
        }
        let error;
        let added = {
            let mut inner = state.lock();
            let (counters, created) = inner.counters();
            let (slot, grown) = counters.next();
            error = created.or(grown);
            if let Some((number, slot)) = slot {
                let exec_entry = Exec {
                    number,
                    slot,
                    memory_devices: memory.unwrap_or_default(),
                    device: self.device,
                };
                state.execs.insert(exec.0 as usize, exec_entry);
            }
            slot.map(|(number, _)| number)
        };
        if let Some(error) = error {
            state.counters_failed(&error);
        }
        self.write(added, graph, Some(content.graph));
    }

    fn write(self, exec: Option<u64>, graph: CUgraph, content: Option<GraphContent>) {
        let (state, driver) = (self.watched.state, self.watched.driver);
        let capture = state.lock().graphs.get(&(graph.0 as usize)).copied();
        state.event(Event::Instantiate(Instantiate {
            exec,
            call: self.entry.name().to_owned(),
            device: self.device,
            flags: self.flags,
            result: self.result.0.cast_unsigned(),
            duration_ns: self.duration_ns,
            origin: origin(),
            capture,
            graph: content,
            before: self.before,
            after: read(state, driver, self.device),
        }));
    }
}

/// The content of a graph.
struct Contents {
    graph: GraphContent,
}

impl Contents {
    fn of(state: &State, driver: &Driver, graph: CUgraph) -> Self {
        let mut this = Self {
            graph: GraphContent {
                nodes: BTreeMap::new(),
                ..GraphContent::default()
            },
        };
        this.add(state, driver, graph, 0);
        this
    }

    /// A bit for each device on which the graph has memory nodes; `None` without memory
    /// nodes. Memory nodes in the body of a conditional node are not visible here, so a
    /// graph with conditional nodes is treated as if it had some.
    fn has_memory(&self, device: i32) -> Option<u64> {
        let bit = |device: i32| 1_u64 << (device.cast_unsigned() % 64);
        let count = |kind| self.graph.nodes.get(&kind).copied().unwrap_or_default();
        let nodes = count(NodeType::MemAlloc) + count(NodeType::MemFree);
        if nodes + count(NodeType::Conditional) == 0 {
            return None;
        }
        let devices = self.graph.allocations.iter().map(|node| bit(node.device));
        Some(devices.fold(bit(device), |all, one| all | one))
    }

    fn add(&mut self, state: &State, driver: &Driver, graph: CUgraph, depth: usize) {
        let mut count = 0_usize;
        // SAFETY: the graph is valid, since the caller passes it to the driver;
        // without an array the driver writes only the count.
        let mut result =
            unsafe { driver.cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut count) };
        let mut nodes = vec![CUgraphNode::NULL; count];
        if result.is_success() && count > 0 {
            // SAFETY: the array has `count` places.
            result = unsafe { driver.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) };
        }
        if !result.is_success() {
            state.failed("cuGraphGetNodes", result);
            return;
        }
        nodes.truncate(count);
        for node in nodes {
            let mut kind = CUgraphNodeType::default();
            // SAFETY: a node of the graph; the pointer is to a live variable.
            let result = unsafe { driver.cuGraphNodeGetType(node, &raw mut kind) };
            if !result.is_success() {
                state.failed("cuGraphNodeGetType", result);
                continue;
            }
            *self.graph.nodes.entry(NodeType::from(kind.0)).or_default() += 1;
            match kind {
                CUgraphNodeType::MEM_ALLOC => self.allocation(state, driver, node),
                CUgraphNodeType::MEM_FREE => self.free(state, driver, node),
                CUgraphNodeType::GRAPH if depth < DEEPEST => {
                    let mut child = CUgraph::NULL;
                    // SAFETY: as above.
                    let result =
                        unsafe { driver.cuGraphChildGraphNodeGetGraph(node, &raw mut child) };
                    if result.is_success() && !child.is_null() {
                        self.add(state, driver, child, depth + 1);
                    } else {
                        state.failed("cuGraphChildGraphNodeGetGraph", result);
                    }
                }
                _ => {}
            }
        }
    }

    fn allocation(&mut self, state: &State, driver: &Driver, node: CUgraphNode) {
        // SAFETY: the struct is plain data, for which zeroes are valid.
        let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: an allocation node; the pointer is to a live variable.
        let result = unsafe { driver.cuGraphMemAllocNodeGetParams(node, &raw mut params) };
        if !result.is_success() {
            state.failed("cuGraphMemAllocNodeGetParams", result);
            return;
        }
        self.graph.allocations.push(AllocationNode {
            bytes: params.bytesize as u64,
            address: params.dptr,
            device: params.pool_props.location.id,
        });
    }

    fn free(&mut self, state: &State, driver: &Driver, node: CUgraphNode) {
        let mut address: CUdeviceptr = 0;
        // SAFETY: a free node; the pointer is to a live variable.
        let result = unsafe { driver.cuGraphMemFreeNodeGetParams(node, &raw mut address) };
        if result.is_success() {
            self.graph.frees.push(address);
        } else {
            state.failed("cuGraphMemFreeNodeGetParams", result);
        }
    }
}

/// Prints a graph into the recording and returns the file's name. The name is a hash of the
/// text, so graphs with equal text share one file.
fn print(state: &State, driver: &Driver, graph: CUgraph) -> Option<String> {
    let left = state.settings.dot_limit.checked_sub(state.lock().dot_bytes);
    if left.is_none_or(|left| left == 0) {
        let text = "the limit of DOT files is reached: further graphs are not printed";
        state.note(NoteKind::Dot, text, None, None);
        return None;
    }
    let folder = state.settings.graphs();
    // SAFETY: `gettid` has no arguments and cannot fail.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    let fresh = folder.join(format!(".{}.{thread}", state.name));
    let printed = with_file_size_signal_blocked(|| {
        fs::create_dir_all(&folder)?;
        let path = CString::new(fresh.as_os_str().as_bytes())?;
        // SAFETY: the graph is valid, since the caller passes it to the driver.
        let result = unsafe { driver.cuGraphDebugDotPrint(graph, path.as_ptr(), DOT_VERBOSE) };
        if result.is_success() {
            keep(&fresh, &folder)
        } else {
            state.failed("cuGraphDebugDotPrint", result);
            Ok(None)
        }
    });
    match printed {
        Ok(Some((name, bytes))) => {
            state.lock().dot_bytes += bytes;
            Some(name)
        }
        Ok(None) => {
            let _ = fs::remove_file(&fresh);
            None
        }
        Err(error) => {
            let _ = fs::remove_file(&fresh);
            let code = error.raw_os_error().map(i64::from);
            let text = "a graph could not be printed as a DOT file into the recording";
            state.note(NoteKind::Dot, text, None, code);
            None
        }
    }
}

/// Gives a printed graph its final name.
fn keep(fresh: &Path, folder: &Path) -> io::Result<Option<(String, u64)>> {
    let text = fs::read(fresh)?;
    if !text.trim_ascii_end().ends_with(b"}") {
        // The file is incomplete, because the disk is full.
        return Err(io::ErrorKind::StorageFull.into());
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&text);
    let mut hash = hasher.finish();
    loop {
        let name = format!("{hash:016x}.dot");
        let path: PathBuf = folder.join(&name);
        // `hard_link` fails if the file exists, so only one of two processes can
        // create it.
        match fs::hard_link(fresh, &path) {
            Ok(()) => {
                fs::remove_file(fresh)?;
                return Ok(Some((name, text.len() as u64)));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&path)? == text {
                    fs::remove_file(fresh)?;
                    return Ok(Some((name, 0)));
                }
                hash = hash.wrapping_add(1);
            }
            // The file system does not support hard links.
            Err(_) => {
                fs::rename(fresh, &path)?;
                return Ok(Some((name, text.len() as u64)));
            }
        }
    }
}
