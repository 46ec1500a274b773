//! Calls that CUDA refuses for graphs with memory nodes, made to see the code.
//!
//! Each is written so that nothing is lost should a runtime allow it: what was made is
//! destroyed, and the owner of what was freed does not free it again.

use cudart_ffi::{cudaError_t, cudaGraph_t, cudaGraphNode_t};

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::runtime::Runtime;

impl Runtime {
    /// Frees whatever graph allocation is live at this address.
    ///
    /// # Errors
    ///
    /// 1 `cudaErrorInvalidValue` if none is: its graph never ran, or it is freed already
    /// (M6, M8). The call is not made for an address that no alloc node was given.
    #[doc(alias = "cudaFree")]
    pub fn try_free(&self, address: DeviceAddress) -> Result<()> {
        const CALL: &str = "cudaFree";
        if !self.ownership.was_given(address) {
            let why = "no alloc node was ever given this address";
            return Err(self.refusal(CALL, cudaError_t::INVALID_VALUE, why));
        }
        // SAFETY: the address is one of graph memory, so nothing else is freed. If an
        // allocation is live there, its owner is marked below as having been freed.
        let code = unsafe { self.api.cudaFree(address.as_ptr()) };
        self.check(CALL, code)?;
        self.ownership.end(address);
        Ok(())
    }
}

impl<'rt> Graph<'rt> {
    /// Clones the graph, and destroys the clone.
    ///
    /// # Errors
    ///
    /// 801 `cudaErrorNotSupported` for a graph with memory nodes (R24).
    #[doc(alias = "cudaGraphClone")]
    pub fn try_clone(&self) -> Result<()> {
        let mut clone = cudaGraph_t::NULL;
        // SAFETY: the graph is live; the pointer is valid for the write of a handle.
        let code = unsafe { self.runtime.api.cudaGraphClone(&raw mut clone, self.raw) };
        self.runtime.check("cudaGraphClone", code)?;
        // SAFETY: the clone was just made, and nothing else has its handle.
        let code = unsafe { self.runtime.api.cudaGraphDestroy(clone) };
        self.runtime.check("cudaGraphDestroy", code)
    }

    /// Makes a copy of another graph a node of this one.
    ///
    /// # Errors
    ///
    /// - 400 `cudaErrorInvalidResourceHandle` for a graph of another [`Runtime`].
    /// - 801 `cudaErrorNotSupported` for one with memory nodes (R26).
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    pub fn try_add_child(&self, child: &Graph<'rt>) -> Result<()> {
        self.runtime
            .same(child.runtime, "cudaGraphAddChildGraphNode", "child graph")?;
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: both graphs are live; there are no dependencies to read; the
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
        self.runtime.check("cudaGraphAddChildGraphNode", code)?;
        self.keep_all_of(child);
        Ok(())
    }

    /// Adds an empty node and removes it again.
    ///
    /// # Errors
    ///
    /// 801 `cudaErrorNotSupported` of the removal, for a graph with memory nodes (R23); the
    /// node stays. 1 `cudaErrorInvalidValue` for a dependency that is a node of another
    /// graph.
    #[doc(alias = "cudaGraphDestroyNode")]
    pub fn try_add_and_remove(&self, after: &[Node<'_>]) -> Result<()> {
        let after = self.dependencies("cudaGraphAddEmptyNode", after)?;
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is live and the dependencies are nodes of it; the pointers
        // are valid for their reads and the write of a node.
        let code = unsafe {
            self.runtime.api.cudaGraphAddEmptyNode(
                &raw mut raw,
                self.raw,
                after.as_slice().as_ptr(),
                after.as_slice().len(),
            )
        };
        self.runtime.check("cudaGraphAddEmptyNode", code)?;
        // SAFETY: the node was just made, and nothing else has its handle.
        let code = unsafe { self.runtime.api.cudaGraphDestroyNode(raw) };
        self.runtime.check("cudaGraphDestroyNode", code)
    }
}
