//! Calls that CUDA refuses for graphs with memory nodes, made to see the code.
//!
//! Each is written so that nothing comes of it should a runtime allow it: what was
//! made is destroyed, what was freed is known to be.

use cudart_ffi::{cudaGraph_t, cudaGraphNode_t};

use super::error::Result;
use super::graph::{DeviceAddress, Graph, Node};
use super::runtime::Runtime;

impl Runtime {
    /// Frees whatever graph allocation is alive at this address.
    ///
    /// # Errors
    ///
    /// 1 if none is: its graph never ran, or it is freed already (M6, M8).
    #[doc(alias = "cudaFree")]
    pub fn try_free(&self, address: DeviceAddress) -> Result<()> {
        // SAFETY: the address is only compared with those of allocations. If one is
        // alive there, its owner is told below.
        let code = unsafe { self.api.cudaFree(address.as_ptr()) };
        self.check("cudaFree", code)?;
        self.ownership.end(address);
        Ok(())
    }
}

impl<'rt> Graph<'rt> {
    /// Clones the graph, and destroys the clone.
    ///
    /// # Errors
    ///
    /// 801 for a graph with memory nodes (R24).
    #[doc(alias = "cudaGraphClone")]
    pub fn try_clone(&self) -> Result<()> {
        let mut clone = cudaGraph_t::NULL;
        // SAFETY: the graph is alive; the pointer is valid for the write of a handle.
        let code = unsafe { self.runtime.api.cudaGraphClone(&raw mut clone, self.raw) };
        self.runtime.check("cudaGraphClone", code)?;
        // SAFETY: the clone was just made, and nothing else knows it.
        let code = unsafe { self.runtime.api.cudaGraphDestroy(clone) };
        self.runtime.check("cudaGraphDestroy", code)
    }

    /// Makes another graph a node of this one.
    ///
    /// # Errors
    ///
    /// 801 for one with memory nodes (R26).
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    pub fn try_add_child(&self, child: &Graph<'rt>) -> Result<()> {
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: both graphs are alive; there are no dependencies to read; the
        // pointer is valid for the write of a node.
        let code = unsafe {
            self.runtime.api.cudaGraphAddChildGraphNode(
                &raw mut raw,
                self.raw,
                std::ptr::null(),
                0,
                child.raw,
            )
        };
        self.runtime.check("cudaGraphAddChildGraphNode", code)
    }

    /// Adds an empty node and removes it again.
    ///
    /// # Errors
    ///
    /// 801 of the removal, for a graph with memory nodes (R23); the node stays.
    #[doc(alias = "cudaGraphDestroyNode")]
    pub fn try_add_and_remove(&self, after: &[Node<'_>]) -> Result<()> {
        let after = super::graph::raw_nodes(after);
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph and the dependencies are alive; the pointers are valid
        // for their reads and the write of a node.
        let code = unsafe {
            self.runtime.api.cudaGraphAddEmptyNode(
                &raw mut raw,
                self.raw,
                after.as_ptr(),
                after.len(),
            )
        };
        self.runtime.check("cudaGraphAddEmptyNode", code)?;
        // SAFETY: the node was just made, and nothing else knows it.
        let code = unsafe { self.runtime.api.cudaGraphDestroyNode(raw) };
        self.runtime.check("cudaGraphDestroyNode", code)
    }
}
