//! Graphs under construction: nodes, dependencies, and addresses.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use cudart_ffi::{
    cudaError_t, cudaGraph_t, cudaGraphExec_t, cudaGraphNode_t, cudaMemAllocNodeParams,
    cudaMemAllocationType, cudaMemLocation, cudaMemLocationType, instantiate_flags,
};

use super::error::Result;
use super::exec::GraphExec;
use super::kernel::{Kernel, KernelLaunch};
use super::runtime::Runtime;

/// A virtual address on a device. A value, not a pointer: nothing here reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceAddress(pub u64);

impl fmt::Display for DeviceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl DeviceAddress {
    pub(super) fn as_ptr(self) -> *mut c_void {
        // An address of the device's space, which the host never dereferences.
        std::ptr::without_provenance_mut(usize::try_from(self.0).unwrap_or(usize::MAX))
    }
}

/// A graph: nodes that depend on one another.
#[derive(Debug)]
pub struct Graph<'rt> {
    pub(super) runtime: &'rt Runtime,
    pub(super) raw: cudaGraph_t,
    device: i32,
    /// Addresses of alloc nodes that no free node of this graph frees.
    unfreed: RefCell<Vec<DeviceAddress>>,
    /// Addresses of other graphs' allocations that free nodes of this one free.
    frees_elsewhere: RefCell<Vec<DeviceAddress>>,
    /// The kernels that it launches, borrowed for as long as it lives: invariant, so
    /// that no call can take a kernel for a shorter time.
    kernels: PhantomData<Cell<&'rt Kernel<'rt>>>,
}

/// A node, usable as a dependency in the graph that it is part of.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Node<'g> {
    raw: cudaGraphNode_t,
    graph: PhantomData<&'g ()>,
}

/// An alloc node and the address that it was given.
#[derive(Debug, Clone, Copy)]
pub struct AllocNode<'g> {
    /// The node.
    pub node: Node<'g>,
    /// The allocation's address, fixed from here on (R1, R2).
    pub address: DeviceAddress,
}

impl<'rt> Graph<'rt> {
    /// Creates an empty graph whose allocations are on the device of this ordinal.
    ///
    /// # Errors
    ///
    /// Those of the call.
    #[doc(alias = "cudaGraphCreate")]
    pub fn new(runtime: &'rt Runtime, device: i32) -> Result<Self> {
        let mut raw = cudaGraph_t::NULL;
        // SAFETY: the pointer is valid for the write of a handle.
        let code = unsafe { runtime.api.cudaGraphCreate(&raw mut raw, 0) };
        runtime.check("cudaGraphCreate", code)?;
        Ok(Self {
            runtime,
            raw,
            device,
            unfreed: RefCell::default(),
            frees_elsewhere: RefCell::default(),
            kernels: PhantomData,
        })
    }

    /// A captured graph, with what it allocates and does not free, and what it frees
    /// of other graphs.
    pub(super) fn captured(
        runtime: &'rt Runtime,
        raw: cudaGraph_t,
        device: i32,
        unfreed: Vec<DeviceAddress>,
        frees_elsewhere: Vec<DeviceAddress>,
    ) -> Self {
        Self {
            runtime,
            raw,
            device,
            unfreed: RefCell::new(unfreed),
            frees_elsewhere: RefCell::new(frees_elsewhere),
            kernels: PhantomData,
        }
    }

    /// Adds a node that allocates `bytes` on the graph's device.
    ///
    /// # Errors
    ///
    /// 1 for 0 bytes, 2 for more than the device could ever have (M10).
    #[doc(alias = "cudaGraphAddMemAllocNode")]
    pub fn add_alloc<'g>(&'g self, after: &[Node<'g>], bytes: u64) -> Result<AllocNode<'g>> {
        let mut params = cudaMemAllocNodeParams::zeroed();
        params.pool_props.alloc_type = cudaMemAllocationType::PINNED;
        params.pool_props.location = cudaMemLocation {
            type_: cudaMemLocationType::DEVICE,
            id: self.device,
        };
        // On a 32-bit host a size beyond its range is more than any device has.
        params.bytesize = usize::try_from(bytes).unwrap_or(usize::MAX);
        let after = raw_nodes(after);
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is alive, the dependencies are nodes of graphs that are
        // alive, and the pointers are valid for the writes of a node and the params.
        let code = unsafe {
            self.runtime.api.cudaGraphAddMemAllocNode(
                &raw mut raw,
                self.raw,
                after.as_ptr(),
                after.len(),
                &raw mut params,
            )
        };
        self.runtime.check("cudaGraphAddMemAllocNode", code)?;
        let address = DeviceAddress(params.dptr.addr() as u64);
        self.unfreed.borrow_mut().push(address);
        Ok(AllocNode {
            node: Node::new(raw),
            address,
        })
    }

    /// Adds a node that frees the allocation at this address, of this graph or of
    /// another (R14).
    ///
    /// # Errors
    ///
    /// 1 for an address that no alloc node returned, a second free (R30), or one
    /// here and another in the graph that it belongs to (R15).
    #[doc(alias = "cudaGraphAddMemFreeNode")]
    pub fn add_free<'g>(&'g self, after: &[Node<'g>], address: DeviceAddress) -> Result<Node<'g>> {
        let after = raw_nodes(after);
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is alive, the dependencies are nodes of graphs that are
        // alive; the address is only compared with those that alloc nodes returned.
        let code = unsafe {
            self.runtime.api.cudaGraphAddMemFreeNode(
                &raw mut raw,
                self.raw,
                after.as_ptr(),
                after.len(),
                address.as_ptr(),
            )
        };
        self.runtime.check("cudaGraphAddMemFreeNode", code)?;
        let mut unfreed = self.unfreed.borrow_mut();
        match unfreed.iter().position(|&own| own == address) {
            Some(own) => {
                unfreed.remove(own);
            }
            None => self.frees_elsewhere.borrow_mut().push(address),
        }
        Ok(Node::new(raw))
    }

    /// Adds a node that launches one block of 32 threads of a kernel that takes a
    /// single 64-bit integer.
    ///
    /// # Errors
    ///
    /// Also those of the kernel's compilation, which may happen only now.
    #[doc(alias = "cudaGraphAddKernelNode")]
    pub fn add_kernel<'g>(
        &'g self,
        after: &[Node<'g>],
        kernel: &'rt Kernel<'rt>,
        argument: i64,
    ) -> Result<Node<'g>> {
        let launch = KernelLaunch {
            blocks: 1,
            arguments: &[argument.cast_unsigned()],
        };
        self.add_launch(after, kernel, launch)
    }

    /// Adds a node that launches a kernel, which stays loaded as long as the graph and
    /// what is instantiated from it:
    ///
    /// ```compile_fail,E0597
    /// use cuda_graphs::{Graph, GraphExec, Kernel, Result, Runtime};
    ///
    /// fn unloaded_too_early(runtime: &Runtime, load: fn(&Runtime) -> Kernel<'_>) -> Result<()> {
    ///     let exec: GraphExec<'_>;
    ///     {
    ///         let kernel = load(runtime);
    ///         let graph = Graph::new(runtime, 0)?;
    ///         graph.add_kernel(&[], &kernel, 0)?;
    ///         exec = graph.instantiate()?;
    ///     } // `kernel` would be unloaded here
    ///     exec.destroy()
    /// }
    /// ```
    ///
    /// The same with the kernel outside:
    ///
    /// ```no_run
    /// # use cuda_graphs::{Graph, GraphExec, Kernel, Result, Runtime};
    /// # fn in_order(runtime: &Runtime, load: fn(&Runtime) -> Kernel<'_>) -> Result<()> {
    /// let kernel = load(runtime);
    /// let exec: GraphExec<'_>;
    /// {
    ///     let graph = Graph::new(runtime, 0)?;
    ///     graph.add_kernel(&[], &kernel, 0)?;
    ///     exec = graph.instantiate()?;
    /// }
    /// exec.destroy()
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Graph::add_kernel`]; 1 for more or fewer arguments than parameters.
    pub fn add_launch<'g>(
        &'g self,
        after: &[Node<'g>],
        kernel: &'rt Kernel<'rt>,
        launch: KernelLaunch<'_>,
    ) -> Result<Node<'g>> {
        kernel
            .add_node(self.raw, raw_nodes(after), launch)
            .map(Node::new)
    }

    /// Makes the graph executable. Nothing is mapped by this (R31).
    ///
    /// # Errors
    ///
    /// 801 while another exec of a graph with memory nodes is alive (R25).
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
        // SAFETY: the graph is alive; the pointer is valid for the write of a handle.
        let code = unsafe {
            self.runtime
                .api
                .cudaGraphInstantiateWithFlags(&raw mut raw, self.raw, flags)
        };
        self.runtime.check("cudaGraphInstantiateWithFlags", code)?;
        Ok(GraphExec::new(
            self.runtime,
            raw,
            self.unfreed.borrow().clone(),
            self.frees_elsewhere.borrow().clone(),
        ))
    }

    fn close(&self) -> cudaError_t {
        // SAFETY: the handle is alive, and the caller ends this value's life. Nodes
        // borrow the graph, so none is left.
        unsafe { self.runtime.api.cudaGraphDestroy(self.raw) }
    }
}

impl Node<'_> {
    fn new(raw: cudaGraphNode_t) -> Self {
        Self {
            raw,
            graph: PhantomData,
        }
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let code = self.close();
        self.runtime.note_closed("cudaGraphDestroy", code);
    }
}

/// The same nodes as the C functions take them, without a copy: a node is added in
/// every step of building a graph.
pub(super) fn raw_nodes<'s>(nodes: &'s [Node<'_>]) -> &'s [cudaGraphNode_t] {
    // SAFETY: a `Node` is transparent over the handle, so a slice of one is a slice of
    // the other, of the same length and life.
    unsafe { std::slice::from_raw_parts(nodes.as_ptr().cast(), nodes.len()) }
}
