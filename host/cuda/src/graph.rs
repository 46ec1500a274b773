//! Graphs under construction: nodes, dependencies, and addresses.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use cudart_ffi::{
    cudaError_t, cudaGraph_t, cudaGraphExec_t, cudaGraphNode_t, cudaMemAllocNodeParams,
    cudaMemAllocationType, cudaMemLocation, cudaMemLocationType, instantiate_flags,
};

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::exec::GraphExec;
use crate::kernel::{Argument, Kernel, LaunchConfig};
use crate::region::Region;
use crate::runtime::Runtime;
use crate::uses::{Use, Uses};

/// A graph: nodes that depend on one another.
///
/// It keeps the kernels and buffers that its nodes use, and so do the execs that are
/// instantiated from it.
#[derive(Debug)]
pub struct Graph<'rt> {
    pub(crate) runtime: &'rt Runtime,
    pub(crate) raw: cudaGraph_t,
    id: GraphId,
    device: i32,
    frees: RefCell<Frees>,
    uses: RefCell<Uses<'rt>>,
    /// It belongs to a node of another graph, which destroys it.
    is_part: bool,
}

/// What a graph allocates and frees, as far as it concerns more than one launch of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frees {
    /// Addresses and sizes of alloc nodes that no free node of this graph frees.
    pub(crate) unfreed: Vec<(DeviceAddress, u64)>,
    /// Addresses of other graphs' allocations that free nodes of this one free.
    pub(crate) elsewhere: Vec<DeviceAddress>,
}

impl Frees {
    pub(crate) fn allocated(&mut self, address: DeviceAddress, bytes: u64) {
        self.unfreed.push((address, bytes));
    }

    pub(crate) fn freed(&mut self, address: DeviceAddress) {
        // What is freed was most often allocated last.
        let own = self.unfreed.iter().rposition(|&(own, _)| own == address);
        match own {
            Some(own) => {
                self.unfreed.remove(own);
            }
            None => self.elsewhere.push(address),
        }
    }
}

/// The number of a graph, which no other graph of this process ever has. It tells its nodes
/// from those of other graphs, whatever runtime they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GraphId(u64);

impl GraphId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A node, usable as a dependency in the graph that it is part of, for as long as that
/// lives:
///
/// ```compile_fail,E0505
/// use cuda_graphs::{Graph, Runtime};
///
/// let runtime = Runtime::built_in_model();
/// let (one, other) = (Graph::new(&runtime, 0)?, Graph::new(&runtime, 0)?);
/// let alloc = one.add_alloc(&[], 1)?;
/// drop(one);
/// other.add_free(&[alloc.node], alloc.address)?;
/// # Ok::<(), cuda_graphs::CudaError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Node<'g> {
    raw: cudaGraphNode_t,
    of: GraphId,
    graph: PhantomData<&'g ()>,
}

/// An alloc node and the address that it was given.
#[derive(Debug, Clone, Copy)]
pub struct AllocNode<'g, 'rt> {
    /// The node.
    pub node: Node<'g>,
    /// The allocation's address, fixed from here on (R1, R2).
    pub address: DeviceAddress,
    runtime: &'rt Runtime,
    given: DeviceAddress,
    bytes: u64,
}

impl<'rt> AllocNode<'_, 'rt> {
    /// The memory, to use in kernels of this graph after the node, and of other graphs
    /// that are launched while it is allocated.
    #[must_use]
    pub fn region(&self) -> Region<'rt> {
        Region::of_graph(self.runtime, self.given, self.bytes)
    }
}

impl<'rt> Graph<'rt> {
    /// Creates an empty graph. `device` is the ordinal of the device that it allocates on.
    ///
    /// # Errors
    ///
    /// 2 `cudaErrorMemoryAllocation`.
    #[doc(alias = "cudaGraphCreate")]
    pub fn new(runtime: &'rt Runtime, device: i32) -> Result<Self> {
        let mut raw = cudaGraph_t::NULL;
        // SAFETY: the pointer is valid for the write of a handle.
        let code = unsafe { runtime.api.cudaGraphCreate(&raw mut raw, 0) };
        runtime.check("cudaGraphCreate", code)?;
        Ok(Self::of(
            runtime,
            raw,
            device,
            Frees::default(),
            Uses::default(),
        ))
    }

    /// A graph whose handle, and what it allocates, frees and uses, are known.
    pub(crate) fn of(
        runtime: &'rt Runtime,
        raw: cudaGraph_t,
        device: i32,
        frees: Frees,
        uses: Uses<'rt>,
    ) -> Self {
        Self {
            runtime,
            raw,
            id: GraphId::new(),
            device,
            frees: RefCell::new(frees),
            uses: RefCell::new(uses),
            is_part: false,
        }
    }

    /// Adds a node that allocates `bytes` on the graph's device.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` for 0 bytes, or for a dependency that is a node of
    ///   another graph.
    /// - 2 `cudaErrorMemoryAllocation` for more than the device could ever have (M10).
    #[doc(alias = "cudaGraphAddMemAllocNode")]
    pub fn add_alloc<'g>(&'g self, after: &[Node<'g>], bytes: u64) -> Result<AllocNode<'g, 'rt>> {
        self.add_alloc_on(self.device, after, bytes)
    }

    /// The same on the device of this ordinal.
    ///
    /// # Errors
    ///
    /// As [`add_alloc`](Self::add_alloc), and 1 `cudaErrorInvalidValue` for a device that
    /// does not exist.
    #[doc(alias = "cudaGraphAddMemAllocNode")]
    pub fn add_alloc_on<'g>(
        &'g self,
        device: i32,
        after: &[Node<'g>],
        bytes: u64,
    ) -> Result<AllocNode<'g, 'rt>> {
        let after = self.dependencies("cudaGraphAddMemAllocNode", after)?;
        let mut params = cudaMemAllocNodeParams::zeroed();
        params.pool_props.alloc_type = cudaMemAllocationType::PINNED;
        params.pool_props.location = cudaMemLocation {
            type_: cudaMemLocationType::DEVICE,
            id: device,
        };
        // On a 32-bit host a size beyond its range is more than any device has.
        params.bytesize = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is live, the dependencies are nodes of it, and the pointers
        // are valid for the writes of a node and the params.
        let code = unsafe {
            self.runtime.api.cudaGraphAddMemAllocNode(
                &raw mut raw,
                self.raw,
                after.as_slice().as_ptr(),
                after.as_slice().len(),
                &raw mut params,
            )
        };
        self.runtime.check("cudaGraphAddMemAllocNode", code)?;
        let address = DeviceAddress::of(params.dptr);
        self.runtime.ownership.give(address);
        self.frees.borrow_mut().allocated(address, bytes);
        Ok(AllocNode {
            node: self.node(raw),
            address,
            runtime: self.runtime,
            given: address,
            bytes,
        })
    }

    /// Adds a node that frees the allocation at this address, of this graph or of
    /// another (R14).
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` for an address that no alloc node was given, a second
    /// free (R30), or one here and another in the graph that it belongs to (R15); for a
    /// dependency that is a node of another graph.
    #[doc(alias = "cudaGraphAddMemFreeNode")]
    pub fn add_free<'g>(&'g self, after: &[Node<'g>], address: DeviceAddress) -> Result<Node<'g>> {
        let after = self.dependencies("cudaGraphAddMemFreeNode", after)?;
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is live, and the dependencies are nodes of it. The address
        // is only compared with those that alloc nodes were given.
        let code = unsafe {
            self.runtime.api.cudaGraphAddMemFreeNode(
                &raw mut raw,
                self.raw,
                after.as_slice().as_ptr(),
                after.as_slice().len(),
                address.as_ptr(),
            )
        };
        self.runtime.check("cudaGraphAddMemFreeNode", code)?;
        self.frees.borrow_mut().freed(address);
        Ok(self.node(raw))
    }

    /// Adds a node that launches a kernel. The kernel stays loaded for as long as the
    /// graph, its execs and their launches need it, also if it is dropped before.
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` if the arguments are not those that the kernel's
    ///   parameters require, or a dependency is a node of another graph.
    /// - 9 `cudaErrorInvalidConfiguration` for a grid or a block that the device does not
    ///   allow.
    /// - 400 `cudaErrorInvalidResourceHandle` for a kernel of another [`Runtime`].
    /// - Those of the kernel's compilation, which may happen only now: 218
    ///   `cudaErrorInvalidPtx`, 209 `cudaErrorNoKernelImageForDevice`.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`], whenever the graph is launched.
    #[doc(alias = "cudaGraphAddKernelNode")]
    pub unsafe fn add_kernel<'g>(
        &'g self,
        after: &[Node<'g>],
        kernel: &Kernel<'rt>,
        config: LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<Node<'g>> {
        const CALL: &str = "cudaGraphAddKernelNode";
        self.runtime.same(kernel.runtime(), CALL, "kernel")?;
        let after = self.dependencies(CALL, after)?;
        let raw = kernel.add_node(self.raw, after.as_slice(), config, arguments)?;
        self.keep(&kernel.uses());
        Ok(self.node(raw))
    }

    /// Keeps what a node uses for as long as the graph lives.
    pub(crate) fn keep(&self, one: &Use<'rt>) {
        self.uses.borrow_mut().add(one);
    }

    /// Keeps what another graph keeps.
    pub(crate) fn keep_all_of(&self, other: &Self) {
        if !std::ptr::eq(self, other) {
            self.uses.borrow_mut().add_all(&other.uses.borrow());
        }
    }

    /// Makes the graph executable. Nothing is mapped by this (R31).
    ///
    /// # Errors
    ///
    /// 801 `cudaErrorNotSupported` for a graph with memory nodes while another exec of it
    /// exists (R25).
    #[doc(alias = "cudaGraphInstantiateWithFlags")]
    pub fn instantiate(&self) -> Result<GraphExec<'rt>> {
        self.instantiate_with(0)
    }

    /// Makes the graph executable such that each launch first frees what the last
    /// one left allocated (R19).
    ///
    /// # Errors
    ///
    /// As [`Graph::instantiate`].
    pub fn instantiate_auto_free(&self) -> Result<GraphExec<'rt>> {
        self.instantiate_with(instantiate_flags::AUTO_FREE_ON_LAUNCH)
    }

    fn instantiate_with(&self, flags: u64) -> Result<GraphExec<'rt>> {
        let mut raw = cudaGraphExec_t::NULL;
        // SAFETY: the graph is live; the pointer is valid for the write of a handle.
        let code = unsafe {
            self.runtime
                .api
                .cudaGraphInstantiateWithFlags(&raw mut raw, self.raw, flags)
        };
        self.runtime.check("cudaGraphInstantiateWithFlags", code)?;
        Ok(GraphExec::new(
            self.runtime,
            raw,
            self.frees.borrow().clone(),
            self.uses.borrow().clone(),
        ))
    }

    pub(crate) fn node<'g>(&self, raw: cudaGraphNode_t) -> Node<'g> {
        Node {
            raw,
            of: self.id,
            graph: PhantomData,
        }
    }

    /// The dependencies as the C functions take them, if all of them are nodes of this
    /// graph.
    pub(crate) fn dependencies(&self, call: &'static str, after: &[Node<'_>]) -> Result<RawNodes> {
        if after.iter().all(|node| node.of == self.id) {
            return Ok(RawNodes::new(after));
        }
        let why = "a dependency is a node of another graph";
        Err(self.runtime.refusal(call, cudaError_t::INVALID_VALUE, why))
    }

    /// A graph that belongs to a node of this one.
    pub(crate) fn part(&self, raw: cudaGraph_t) -> Self {
        let (runtime, device) = (self.runtime, self.device);
        let mut part = Self::of(runtime, raw, device, Frees::default(), Uses::default());
        part.is_part = true;
        part
    }

    fn close(&self) -> cudaError_t {
        // SAFETY: the handle is live, and the caller ends this value's life. Nodes
        // borrow the graph, so none is left.
        unsafe { self.runtime.api.cudaGraphDestroy(self.raw) }
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        if self.is_part {
            return;
        }
        let code = self.close();
        self.runtime.note_closed("cudaGraphDestroy", code);
    }
}

/// Handles of nodes in a row. Most nodes depend on few others, which then need no memory
/// of their own.
#[derive(Debug)]
pub(crate) enum RawNodes {
    Few([cudaGraphNode_t; Self::FEW], usize),
    Many(Vec<cudaGraphNode_t>),
}

impl RawNodes {
    const FEW: usize = 4;

    fn new(nodes: &[Node<'_>]) -> Self {
        let mut few = [cudaGraphNode_t::NULL; Self::FEW];
        if nodes.len() > few.len() {
            return Self::Many(nodes.iter().map(|node| node.raw).collect());
        }
        for (slot, node) in few.iter_mut().zip(nodes) {
            *slot = node.raw;
        }
        Self::Few(few, nodes.len())
    }

    pub(crate) fn as_slice(&self) -> &[cudaGraphNode_t] {
        match self {
            Self::Few(few, count) => few.get(..*count).unwrap_or(few),
            Self::Many(many) => many,
        }
    }
}
