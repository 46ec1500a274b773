//! WHILE nodes: a body that runs again as long as a kernel of it says so.
//!
//! Conditional nodes came with CUDA 12.3. The node is added by the driver's
//! `cuGraphAddNode_v2`, since the runtime's own function has one prototype up to 12.9 and
//! another from 13.0 on.

use std::ffi::{c_uint, c_ulonglong};
use std::ptr;

use cudart_ffi::driver::load_driver;
use cudart_ffi::{
    CUcontext, CUgraphConditionalNodeType, CUgraphNodeParams, CUgraphNodeType, cudaError_t,
    cudaGraphNode_t,
};

use crate::address::DeviceAddress;
use crate::error::Result;
use crate::graph::{AllocNode, Graph, Node};
use crate::kernel::NextRound;
use crate::region::Region;
use crate::runtime::Runtime;

/// A WHILE node and its body.
#[derive(Debug)]
pub struct WhileNode<'g, 'rt> {
    /// The node.
    pub node: Node<'g>,
    /// What it runs in each round.
    pub body: Body<'g, 'rt>,
}

/// The body of a conditional node: a graph that belongs to the node. It can be filled,
/// and neither instantiated nor destroyed.
#[derive(Debug)]
pub struct Body<'g, 'rt> {
    graph: Graph<'rt>,
    /// The graph with the node. Its execs keep what the body uses.
    parent: &'g Graph<'rt>,
    condition: c_ulonglong,
}

impl Runtime {
    /// Whether the runtime can make conditional nodes: 12.3 and later can.
    #[must_use]
    pub fn has_conditional_nodes(&self) -> bool {
        self.api.exports("cudaGraphConditionalHandleCreate")
    }
}

impl<'rt> Graph<'rt> {
    /// Adds a WHILE node, whose body is empty at first. It runs its body again as long as
    /// [a kernel of the body](Body::add_next_round) lets it, and at least once.
    ///
    /// ```
    /// use cuda_graphs::{Buffer, Graph, NextRound, RouteChoice, Runtime, Stream};
    ///
    /// let runtime = Runtime::built_in_model();
    /// let kernel = NextRound::load(&runtime, RouteChoice::Auto)?;
    /// let stream = Stream::new(&runtime)?;
    /// let number = Buffer::new(&runtime, 4)?.region();
    /// stream.write(&number, &[0])?;
    /// let graph = Graph::new(&runtime, 0)?;
    /// let loops = graph.add_while(&[])?;
    /// loops.body.add_next_round(&[], &kernel, &number, 5)?;
    /// let _ = graph.instantiate()?.launch(&stream)?;
    /// let rounds: Vec<i32> = stream.read(&number, 1)?;
    /// assert_eq!(rounds, [5]);
    /// # Ok::<(), cuda_graphs::CudaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - 1 `cudaErrorInvalidValue` for a dependency that is a node of another graph.
    /// - 801 `cudaErrorNotSupported` for a runtime or a driver without conditional nodes.
    #[doc(alias = "cudaGraphConditionalHandleCreate")]
    #[doc(alias = "cudaGraphAddNode")]
    #[doc(alias = "cuGraphAddNode_v2")]
    pub fn add_while<'g>(&'g self, after: &[Node<'g>]) -> Result<WhileNode<'g, 'rt>> {
        const CALL: &str = "cuGraphAddNode_v2";
        let runtime = self.runtime;
        let refuse = |why: String| runtime.refusal(CALL, cudaError_t::NOT_SUPPORTED, why);
        let after = self.dependencies(CALL, after)?;
        // SAFETY: who made the runtime promised that its driver is the CUDA driver.
        let driver = unsafe { runtime.api.newer_driver() }.map_err(refuse)?;
        let context = context(runtime).map_err(refuse)?;
        let condition = self.condition()?;
        // SAFETY: all zero is what the driver takes for parameters that are not given.
        let mut params: CUgraphNodeParams = unsafe { std::mem::zeroed() };
        params.type_ = CUgraphNodeType::CONDITIONAL;
        params.conditional.handle = condition;
        params.conditional.type_ = CUgraphConditionalNodeType::WHILE;
        params.conditional.size = 1;
        params.conditional.context = context;
        let mut raw = cudaGraphNode_t::NULL;
        // SAFETY: the graph is live and the dependencies are nodes of it; a runtime graph
        // is a driver graph. The pointers are valid for the writes of a node and the
        // parameters.
        let code = unsafe {
            driver.cuGraphAddNode_v2(
                &raw mut raw,
                self.raw,
                after.as_slice().as_ptr(),
                ptr::null(),
                after.as_slice().len(),
                &raw mut params,
            )
        };
        // The driver's codes for this call have the runtime's numbers.
        runtime.check(CALL, cudaError_t(code.0))?;
        // SAFETY: the driver gives an array of as many bodies as were requested, one,
        // which lives as long as the node.
        let body = unsafe { params.conditional.bodies.read() };
        Ok(WhileNode {
            node: self.node(raw),
            body: Body {
                graph: self.part(body),
                parent: self,
                condition,
            },
        })
    }

    /// A condition of this graph that is true when a launch begins.
    fn condition(&self) -> Result<c_ulonglong> {
        /// `cudaGraphCondAssignDefault`: each launch begins with the default value.
        const ASSIGN_DEFAULT: c_uint = 1;
        let mut handle = 0;
        // SAFETY: the graph is live; the pointer is valid for the write of a handle.
        let code = unsafe {
            self.runtime.api.cudaGraphConditionalHandleCreate(
                &raw mut handle,
                self.raw,
                1,
                ASSIGN_DEFAULT,
            )
        };
        let code = code.unwrap_or(cudaError_t::NOT_SUPPORTED);
        self.runtime
            .check("cudaGraphConditionalHandleCreate", code)?;
        Ok(handle)
    }
}

/// The context that the node runs in: the current one. The simulated runtime has none.
fn context(runtime: &Runtime) -> std::result::Result<CUcontext, String> {
    let mut context = CUcontext::NULL;
    if runtime.model_description().is_none() {
        // SAFETY: as above.
        let driver = unsafe { load_driver() }?;
        // SAFETY: the pointer is valid for the write of a handle.
        unsafe { driver.cuCtxGetCurrent(&raw mut context) };
    }
    Ok(context)
}

impl<'rt> Body<'_, 'rt> {
    /// Adds a node that adds 1 to the 32-bit number at the beginning of a region, and lets
    /// the WHILE node go on as long as the number is below `rounds`.
    ///
    /// # Errors
    ///
    /// As [`Graph::add_kernel`]; 1 `cudaErrorInvalidValue` where the region has no room
    /// for the number.
    #[doc(alias = "cudaGraphSetConditional")]
    pub fn add_next_round<'b>(
        &'b self,
        after: &[Node<'b>],
        kernel: &NextRound<'rt>,
        number: &Region<'rt>,
        rounds: u32,
    ) -> Result<Node<'b>> {
        let node = kernel.add_to(&self.graph, after, self.condition, number, rounds)?;
        self.parent.keep_all_of(&self.graph);
        Ok(node)
    }

    /// As [`Graph::add_alloc`]. A graph with such a body cannot be instantiated (R56).
    ///
    /// # Errors
    ///
    /// As [`Graph::add_alloc`].
    pub fn add_alloc<'b>(&'b self, after: &[Node<'b>], bytes: u64) -> Result<AllocNode<'b, 'rt>> {
        self.graph.add_alloc(after, bytes)
    }

    /// As [`Graph::add_free`]. A graph with such a body cannot be instantiated (R56).
    ///
    /// # Errors
    ///
    /// As [`Graph::add_free`].
    pub fn add_free<'b>(&'b self, after: &[Node<'b>], address: DeviceAddress) -> Result<Node<'b>> {
        self.graph.add_free(after, address)
    }
}
