//! The kernel that ends a WHILE node.

use super::{Argument, Kernel, LaunchConfig, RouteChoice};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::region::Region;
use crate::runtime::Runtime;

/// A kernel for the body of a [WHILE node](Graph::add_while): it counts the rounds in
/// memory and ends the loop by `cudaGraphSetConditional`.
///
/// Launching it is safe: the region is checked to have room for the number.
#[derive(Debug)]
pub struct NextRound<'rt>(Kernel<'rt>);

impl<'rt> NextRound<'rt> {
    const PTX: &'static str = include_str!("../../../../kernels-rs/ptx/next_round.ptx");

    /// Loads the kernel. The device's context must be current.
    ///
    /// # Errors
    ///
    /// As for [`NegatedSquares::load`](super::NegatedSquares::load).
    pub fn load(runtime: &'rt Runtime, choice: RouteChoice) -> Result<Self> {
        Kernel::load_built_in(runtime, Self::PTX, "next_round", choice).map(Self)
    }

    /// Adds a node to a body whose condition this is.
    pub(crate) fn add_to<'b>(
        &self,
        body: &'b Graph<'rt>,
        after: &[Node<'b>],
        condition: u64,
        number: &Region<'rt>,
        rounds: u32,
    ) -> Result<Node<'b>> {
        let bytes = size_of::<u32>() as u64;
        number.check(body.runtime, "cudaGraphAddKernelNode", bytes)?;
        if let Some(memory) = number.uses() {
            body.keep(&memory);
        }
        let arguments = [
            Argument::from(condition),
            Argument::from(number.address()),
            Argument::from(u64::from(rounds)),
        ];
        // SAFETY: the kernel reads and writes one number of a region that has room for
        // it, and sets the condition of the node whose body this is. Graph memory that is
        // not allocated when the kernel runs is at an address of the device that the
        // driver reserves for such memory, as for the nodes of other graphs.
        unsafe { body.add_kernel(after, &self.0, LaunchConfig::new(1, 1), &arguments) }
    }
}
