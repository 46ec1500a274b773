//! The calls: one operation of the language is one call of a function in the table.

use core::ffi::c_void;
use core::hash::Hash;
use core::ptr::{null, null_mut, without_provenance_mut};
use std::collections::HashMap;

use cudart_ffi::{
    Cudart, cudaError_t, cudaEvent_t, cudaGraph_t, cudaGraphExec_t, cudaGraphMemAttributeType,
    cudaGraphNode_t, cudaMemAccessDesc, cudaMemAccessFlags, cudaMemAllocNodeParams,
    cudaMemAllocationHandleType, cudaMemAllocationType, cudaMemLocation, cudaMemLocationType,
    cudaStream_t,
};

use super::kernel::BusyKernel;
use super::program::{After, Alloc, HighMark, Name, Op, Pointer};

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// The result code.
    pub code: cudaError_t,
    /// The address that the call returned.
    pub address: Option<u64>,
    /// Another value that the call returned.
    pub value: Option<u64>,
}

impl From<cudaError_t> for Outcome {
    fn from(code: cudaError_t) -> Self {
        Self {
            code,
            address: None,
            value: None,
        }
    }
}

/// The objects for the program's names. Destroyed handles are included, because programs
/// test their misuse.
#[derive(Debug, Default)]
struct Names {
    streams: HashMap<String, cudaStream_t>,
    events: HashMap<String, cudaEvent_t>,
    graphs: HashMap<String, cudaGraph_t>,
    nodes: HashMap<String, cudaGraphNode_t>,
    execs: HashMap<String, cudaGraphExec_t>,
    pointers: HashMap<String, *mut c_void>,
}

/// The objects that cleanup must destroy or free.
#[derive(Debug, Default)]
struct Live {
    streams: Vec<cudaStream_t>,
    events: Vec<cudaEvent_t>,
    graphs: Vec<cudaGraph_t>,
    execs: Vec<cudaGraphExec_t>,
    /// Addresses that alloc nodes returned, without duplicates.
    allocations: Vec<*mut c_void>,
    /// Addresses that `malloc` lines returned.
    plain: Vec<*mut c_void>,
}

/// A running program.
pub struct Run<'s> {
    cudart: &'s Cudart,
    kernel: &'s BusyKernel,
    names: Names,
    live: Live,
}

/// The handle of a name. The parser accepts only names of objects that were created.
fn handle<T: Copy>(name: &Name, made: &HashMap<String, T>, null: T) -> T {
    match name {
        Name::Null => null,
        Name::Named(name) => made.get(name).copied().unwrap_or(null),
    }
}

/// Creates an object. For a null name, the out pointer is null.
fn make<T: Copy + Eq + Hash>(
    name: &Name,
    null: T,
    made: &mut HashMap<String, T>,
    call: impl FnOnce(*mut T) -> cudaError_t,
) -> (cudaError_t, Option<T>) {
    match name {
        Name::Null => (call(null_mut()), None),
        Name::Named(name) => {
            let mut out = null;
            let code = call(&raw mut out);
            made.insert(name.clone(), out);
            (code, code.is_success().then_some(out))
        }
    }
}

fn forget_one<T: PartialEq>(live: &mut Vec<T>, gone: T) {
    if let Some(index) = live.iter().position(|handle| *handle == gone) {
        live.swap_remove(index);
    }
}

impl<'s> Run<'s> {
    /// The state before the first line.
    pub fn new(cudart: &'s Cudart, kernel: &'s BusyKernel) -> Self {
        Self {
            cudart,
            kernel,
            names: Names::default(),
            live: Live::default(),
        }
    }

    fn stream(&self, name: &Name) -> cudaStream_t {
        handle(name, &self.names.streams, cudaStream_t::NULL)
    }

    fn event(&self, name: &Name) -> cudaEvent_t {
        handle(name, &self.names.events, cudaEvent_t::NULL)
    }

    fn graph(&self, name: &Name) -> cudaGraph_t {
        handle(name, &self.names.graphs, cudaGraph_t::NULL)
    }

    fn node(&self, name: &Name) -> cudaGraphNode_t {
        handle(name, &self.names.nodes, cudaGraphNode_t::NULL)
    }

    fn exec(&self, name: &Name) -> cudaGraphExec_t {
        handle(name, &self.names.execs, cudaGraphExec_t::NULL)
    }

    fn pointer(&self, pointer: &Pointer) -> *mut c_void {
        match pointer {
            Pointer::Null => null_mut(),
            Pointer::Absolute(address) => without_provenance_mut(*address as usize),
            Pointer::Named(name, beyond) => self
                .names
                .pointers
                .get(name)
                .copied()
                .unwrap_or(null_mut())
                .wrapping_byte_add(*beyond as usize),
        }
    }

    /// Makes the call of a line.
    pub fn call(&mut self, op: &Op) -> Outcome {
        let cudart = self.cudart;
        // SAFETY, for every call below: out pointers are null on purpose, which the
        // runtime checks, or point to local variables. Handles are null, or were
        // returned by the runtime. A program that uses destroyed handles does so on
        // purpose, and runs in its own process. Kernels and memsets access only
        // memory that the program specified.
        match op {
            Op::Stream { stream, flags } => {
                let names = &mut self.names.streams;
                // SAFETY: see above.
                let (code, made) = make(stream, cudaStream_t::NULL, names, |out| unsafe {
                    cudart.cudaStreamCreateWithFlags(out, *flags)
                });
                self.live.streams.extend(made);
                code.into()
            }
            Op::DestroyStream { stream } => {
                let stream = self.stream(stream);
                // SAFETY: see above.
                let code = unsafe { cudart.cudaStreamDestroy(stream) };
                if code.is_success() {
                    forget_one(&mut self.live.streams, stream);
                }
                code.into()
            }
            Op::Sync { stream } => {
                // SAFETY: see above.
                unsafe { cudart.cudaStreamSynchronize(self.stream(stream)) }.into()
            }
            // SAFETY: see above.
            Op::Query { stream } => unsafe { cudart.cudaStreamQuery(self.stream(stream)) }.into(),
            // SAFETY: see above.
            Op::DeviceSync => unsafe { cudart.cudaDeviceSynchronize() }.into(),
            Op::Event { event, flags } => {
                let names = &mut self.names.events;
                // SAFETY: see above.
                let (code, made) = make(event, cudaEvent_t::NULL, names, |out| unsafe {
                    cudart.cudaEventCreateWithFlags(out, *flags)
                });
                self.live.events.extend(made);
                code.into()
            }
            Op::DestroyEvent { event } => {
                let event = self.event(event);
                // SAFETY: see above.
                let code = unsafe { cudart.cudaEventDestroy(event) };
                if code.is_success() {
                    forget_one(&mut self.live.events, event);
                }
                code.into()
            }
            Op::Record { event, stream } => {
                // SAFETY: see above.
                unsafe { cudart.cudaEventRecord(self.event(event), self.stream(stream)) }.into()
            }
            Op::Wait {
                stream,
                event,
                flags,
            } => {
                let (stream, event) = (self.stream(stream), self.event(event));
                // SAFETY: see above.
                unsafe { cudart.cudaStreamWaitEvent(stream, event, *flags) }.into()
            }
            Op::SyncEvent { event } => {
                // SAFETY: see above.
                unsafe { cudart.cudaEventSynchronize(self.event(event)) }.into()
            }
            Op::Launch { exec, stream } => {
                // SAFETY: see above.
                unsafe { cudart.cudaGraphLaunch(self.exec(exec), self.stream(stream)) }.into()
            }
            Op::Upload { exec, stream } => {
                // SAFETY: see above.
                unsafe { cudart.cudaGraphUpload(self.exec(exec), self.stream(stream)) }.into()
            }
            // SAFETY: see above.
            Op::Trim { device } => unsafe { cudart.cudaDeviceGraphMemTrim(*device) }.into(),
            // SAFETY: see above.
            Op::SetDevice { device } => unsafe { cudart.cudaSetDevice(*device) }.into(),
            // SAFETY: see above.
            Op::LastError => unsafe { cudart.cudaGetLastError() }.into(),
            Op::Malloc { .. } | Op::CudaFree { .. } | Op::FreeAsync { .. } | Op::Memset { .. } => {
                self.memory(op)
            }
            Op::SetHigh { .. } | Op::GetAttribute { .. } | Op::SetAttribute { .. } => {
                self.attributes(op)
            }
            _ => self.graphs(op),
        }
    }

    fn memory(&mut self, op: &Op) -> Outcome {
        let cudart = self.cudart;
        match op {
            Op::Malloc { pointer, size } => {
                let names = &mut self.names.pointers;
                // SAFETY: as in `call`.
                let (code, made) = make(pointer, null_mut(), names, |out| unsafe {
                    cudart.cudaMalloc(out, *size as usize)
                });
                self.live.plain.extend(made);
                code.into()
            }
            Op::CudaFree { pointer } => {
                let pointer = self.pointer(pointer);
                // SAFETY: as in `call`.
                let code = unsafe { cudart.cudaFree(pointer) };
                if code.is_success() {
                    forget_one(&mut self.live.plain, pointer);
                }
                code.into()
            }
            Op::FreeAsync { pointer, stream } => {
                let (pointer, stream) = (self.pointer(pointer), self.stream(stream));
                // SAFETY: as in `call`.
                let code = unsafe { cudart.cudaFreeAsync(pointer, stream) };
                if code.is_success() {
                    forget_one(&mut self.live.plain, pointer);
                }
                code.into()
            }
            Op::Memset {
                pointer,
                stream,
                size,
            } => {
                let (pointer, stream) = (self.pointer(pointer), self.stream(stream));
                // SAFETY: as in `call`.
                unsafe { cudart.cudaMemsetAsync(pointer, 0, *size as usize, stream) }.into()
            }
            _ => unreachable_op(op),
        }
    }

    fn attributes(&mut self, op: &Op) -> Outcome {
        let cudart = self.cudart;
        match *op {
            Op::SetHigh { mark, mut to } => {
                let mark = match mark {
                    HighMark::Used => cudaGraphMemAttributeType::USED_MEM_HIGH,
                    HighMark::Reserved => cudaGraphMemAttributeType::RESERVED_MEM_HIGH,
                };
                // SAFETY: as in `call`.
                unsafe { cudart.cudaDeviceSetGraphMemAttribute(0, mark, (&raw mut to).cast()) }
                    .into()
            }
            Op::GetAttribute {
                index,
                device,
                without_value,
            } => {
                let mut value = 0_u64;
                let out = if without_value {
                    null_mut()
                } else {
                    &raw mut value
                };
                let attribute = cudaGraphMemAttributeType(index);
                // SAFETY: as in `call`.
                let code =
                    unsafe { cudart.cudaDeviceGetGraphMemAttribute(device, attribute, out.cast()) };
                Outcome {
                    value: code.is_success().then_some(value),
                    ..code.into()
                }
            }
            Op::SetAttribute {
                index,
                mut to,
                device,
                without_value,
            } => {
                let value = if without_value {
                    null_mut()
                } else {
                    &raw mut to
                };
                let attribute = cudaGraphMemAttributeType(index);
                // SAFETY: as in `call`.
                unsafe { cudart.cudaDeviceSetGraphMemAttribute(device, attribute, value.cast()) }
                    .into()
            }
            _ => unreachable_op(op),
        }
    }

    fn graphs(&mut self, op: &Op) -> Outcome {
        let cudart = self.cudart;
        match op {
            Op::Graph { graph, flags } => {
                let names = &mut self.names.graphs;
                // SAFETY: as in `call`.
                let (code, made) = make(graph, cudaGraph_t::NULL, names, |out| unsafe {
                    cudart.cudaGraphCreate(out, *flags)
                });
                self.live.graphs.extend(made);
                code.into()
            }
            Op::DestroyGraph { graph } => {
                let graph = self.graph(graph);
                // SAFETY: as in `call`.
                let code = unsafe { cudart.cudaGraphDestroy(graph) };
                if code.is_success() {
                    forget_one(&mut self.live.graphs, graph);
                }
                code.into()
            }
            Op::Clone { clone, graph } => {
                let original = self.graph(graph);
                let names = &mut self.names.graphs;
                // SAFETY: as in `call`.
                let (code, made) = make(clone, cudaGraph_t::NULL, names, |out| unsafe {
                    cudart.cudaGraphClone(out, original)
                });
                self.live.graphs.extend(made);
                code.into()
            }
            Op::Instantiate { exec, graph, flags } => {
                let graph = self.graph(graph);
                let names = &mut self.names.execs;
                // SAFETY: as in `call`.
                let (code, made) = make(exec, cudaGraphExec_t::NULL, names, |out| unsafe {
                    cudart.cudaGraphInstantiateWithFlags(out, graph, *flags)
                });
                self.live.execs.extend(made);
                code.into()
            }
            Op::DestroyExec { exec } => {
                let exec = self.exec(exec);
                // SAFETY: as in `call`.
                let code = unsafe { cudart.cudaGraphExecDestroy(exec) };
                if code.is_success() {
                    forget_one(&mut self.live.execs, exec);
                }
                code.into()
            }
            Op::DestroyNode { node } => {
                // SAFETY: as in `call`.
                unsafe { cudart.cudaGraphDestroyNode(self.node(node)) }.into()
            }
            Op::AllocParams { node } => {
                let mut params = cudaMemAllocNodeParams::zeroed();
                let node = self.node(node);
                // SAFETY: as in `call`.
                let code = unsafe { cudart.cudaGraphMemAllocNodeGetParams(node, &raw mut params) };
                let told = code.is_success();
                Outcome {
                    code,
                    address: told.then_some(params.dptr.addr() as u64),
                    value: told.then_some(params.bytesize as u64),
                }
            }
            Op::FreeParams { node } => {
                let mut pointer: *mut c_void = null_mut();
                let node = self.node(node);
                // SAFETY: as in `call`; the call writes one pointer.
                let code = unsafe {
                    cudart.cudaGraphMemFreeNodeGetParams(node, (&raw mut pointer).cast())
                };
                Outcome {
                    address: code.is_success().then_some(pointer.addr() as u64),
                    ..code.into()
                }
            }
            _ => self.add_node(op),
        }
    }

    fn add_node(&mut self, op: &Op) -> Outcome {
        let cudart = self.cudart;
        let (Op::Alloc {
            node, graph, after, ..
        }
        | Op::Kernel {
            node, graph, after, ..
        }
        | Op::Empty { node, graph, after }
        | Op::Free {
            node, graph, after, ..
        }
        | Op::Child {
            node, graph, after, ..
        }) = op
        else {
            return unreachable_op(op);
        };
        let graph = self.graph(graph);
        let dependencies: Vec<_> = after.nodes.iter().map(|node| self.node(node)).collect();
        let passed = passed(after, &dependencies);
        let pointer = match op {
            Op::Free { pointer, .. } => self.pointer(pointer),
            _ => null_mut(),
        };
        let child = match op {
            Op::Child { child, .. } => self.graph(child),
            _ => cudaGraph_t::NULL,
        };
        let mut allocated = None;
        let kernel = self.kernel;
        let names = &mut self.names.nodes;
        let (code, _) = make(node, cudaGraphNode_t::NULL, names, |out| match op {
            Op::Alloc { params, .. } => {
                let (code, address) = add_alloc(cudart, out, graph, passed, params);
                allocated = Some(address);
                code
            }
            Op::Kernel { params, .. } => kernel.add_node(cudart, out, graph, passed, params),
            // SAFETY: as in `call`.
            Op::Empty { .. } => unsafe {
                cudart.cudaGraphAddEmptyNode(out, graph, passed.0, passed.1)
            },
            // SAFETY: as in `call`.
            Op::Free { .. } => unsafe {
                cudart.cudaGraphAddMemFreeNode(out, graph, passed.0, passed.1, pointer)
            },
            // SAFETY: as in `call`.
            _ => unsafe {
                cudart.cudaGraphAddChildGraphNode(out, graph, passed.0, passed.1, child)
            },
        });
        let mut outcome = Outcome::from(code);
        if let (Some(address), Name::Named(name)) = (allocated, node) {
            self.names.pointers.insert(name.clone(), address);
            if code.is_success() {
                outcome.address = Some(address.addr() as u64);
                if !self.live.allocations.contains(&address) {
                    self.live.allocations.push(address);
                }
            }
        }
        outcome
    }

    /// Waits for the device.
    pub fn finish(&mut self) -> Outcome {
        // SAFETY: nothing is passed.
        unsafe { self.cudart.cudaDeviceSynchronize() }.into()
    }

    /// Tries to free every address that an alloc node returned. The value is the number
    /// of addresses that were still allocated.
    pub fn free_all(&mut self) -> Outcome {
        let mut freed = 0;
        for pointer in core::mem::take(&mut self.live.allocations) {
            // SAFETY: the runtime refuses an address that is not allocated (M6).
            freed += u64::from(unsafe { self.cudart.cudaFree(pointer) }.is_success());
        }
        Outcome {
            value: Some(freed),
            ..cudaError_t::SUCCESS.into()
        }
    }

    /// Destroys all remaining objects. The code is the first one that is not 0.
    pub fn destroy_all(&mut self) -> Outcome {
        let cudart = self.cudart;
        let live = core::mem::take(&mut self.live);
        let mut codes = Vec::new();
        for &exec in &live.execs {
            // SAFETY: the exec is valid and not used any more.
            codes.push(unsafe { cudart.cudaGraphExecDestroy(exec) });
        }
        for &graph in &live.graphs {
            // SAFETY: as above.
            codes.push(unsafe { cudart.cudaGraphDestroy(graph) });
        }
        for &event in &live.events {
            // SAFETY: as above.
            codes.push(unsafe { cudart.cudaEventDestroy(event) });
        }
        for &stream in &live.streams {
            // SAFETY: as above.
            codes.push(unsafe { cudart.cudaStreamDestroy(stream) });
        }
        for &pointer in &live.plain {
            // SAFETY: as above.
            codes.push(unsafe { cudart.cudaFree(pointer) });
        }
        let failed = codes.into_iter().find(|code| !code.is_success());
        failed.unwrap_or(cudaError_t::SUCCESS).into()
    }

    /// The last step of cleanup.
    pub fn trim(&mut self) -> Outcome {
        // SAFETY: nothing is passed.
        unsafe { self.cudart.cudaDeviceGraphMemTrim(0) }.into()
    }
}

/// The dependencies in the form of the call's arguments.
fn passed(after: &After, dependencies: &[cudaGraphNode_t]) -> (*const cudaGraphNode_t, usize) {
    match after.count_without_array {
        Some(count) => (null(), count),
        None if dependencies.is_empty() => (null(), 0),
        None => (dependencies.as_ptr(), dependencies.len()),
    }
}

fn add_alloc(
    cudart: &Cudart,
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    (dependencies, dependency_count): (*const cudaGraphNode_t, usize),
    wanted: &Alloc,
) -> (cudaError_t, *mut c_void) {
    let access: Vec<_> = wanted
        .access
        .iter()
        .map(|&id| cudaMemAccessDesc {
            location: cudaMemLocation {
                type_: cudaMemLocationType::DEVICE,
                id,
            },
            flags: cudaMemAccessFlags::PROT_READ_WRITE,
        })
        .collect();
    let mut params = cudaMemAllocNodeParams::zeroed();
    params.pool_props.alloc_type = cudaMemAllocationType(wanted.alloc_type);
    params.pool_props.handle_types = cudaMemAllocationHandleType(wanted.handle_types);
    params.pool_props.location.type_ = cudaMemLocationType(wanted.location_type);
    params.pool_props.location.id = wanted.device;
    if !access.is_empty() {
        params.access_descs = access.as_ptr();
    }
    params.access_desc_count = wanted.access_count.unwrap_or(access.len());
    params.bytesize = wanted.size.unwrap_or(0) as usize;
    let passed = if wanted.size.is_some() {
        &raw mut params
    } else {
        null_mut()
    };
    // SAFETY: the parameters are null or a local variable that exists during the call,
    // and so are the access descriptors. The handles are the program's.
    let code = unsafe {
        cudart.cudaGraphAddMemAllocNode(node, graph, dependencies, dependency_count, passed)
    };
    (code, params.dptr)
}

/// Called for an operation that another function handles, which the dispatch excludes.
fn unreachable_op(op: &Op) -> Outcome {
    debug_assert!(false, "{op:?} was sent to the wrong function");
    cudaError_t::UNKNOWN.into()
}
