//! The effects of a node on memory.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use cudart_ffi::CUgraphConditionalNodeType;

use crate::clock::Nanos;
use crate::kernels::program::{Arguments, Program};
use crate::memory::graph_memory::AllocationRef;

/// An effect on the contents of memory, or one that the program can observe.
#[derive(Debug, Clone)]
pub enum Effect {
    /// A kernel that the simulated runtime can run.
    Kernel(KernelRun),
    /// A memset.
    Set(Fill),
    /// A copy.
    Copy(CopyRequest),
    /// A call of a function of the program.
    Host(HostCall),
    /// A conditional node of a graph, by its handle. Its bodies may still change. An
    /// exec contains a [`Branch`](Self::Branch) instead.
    Conditional(u64),
    /// Runs bodies depending on the value of a condition.
    Branch(Arc<ConditionalRun>),
    /// Sets conditions to their initial values at a launch.
    AssignConditions(Arc<[(Arc<AtomicU32>, u32)]>),
    /// Ends allocations of other graphs, each at the time at which the free runs in its
    /// stream.
    EndAllocations(Arc<[(AllocationRef, Nanos)]>),
}

/// A conditional node with the effects of its bodies.
#[derive(Debug)]
pub struct ConditionalRun {
    /// The value of its condition.
    pub value: Arc<AtomicU32>,
    /// The type of the node: which bodies run for which value.
    pub kind: CUgraphConditionalNodeType,
    /// The effects of each body.
    pub bodies: Vec<Arc<[Effect]>>,
}

/// The parameters of a memset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// The first byte.
    pub address: u64,
    /// The value of each element.
    pub value: u32,
    /// The size of an element in bytes: 1, 2 or 4.
    pub element_bytes: u32,
    /// The number of elements in a row.
    pub width: u64,
    /// The number of rows.
    pub height: u64,
    /// The distance from one row to the next in bytes, if there are several.
    pub pitch: u64,
}

impl Fill {
    /// A fill of `bytes` bytes in one row.
    #[must_use]
    pub fn bytes(address: u64, value: u8, bytes: u64) -> Self {
        Self {
            address,
            value: value.into(),
            element_bytes: 1,
            width: bytes,
            height: 1,
            pitch: 0,
        }
    }

    /// The first address and the length in bytes of each row.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let Self {
            address,
            element_bytes,
            width,
            height,
            pitch,
            ..
        } = *self;
        let row = width.saturating_mul(element_bytes.into());
        (0..height).map(move |y| (address.saturating_add(y.saturating_mul(pitch)), row))
    }
}

/// One side of a copy, with its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Memory of the host program.
    Host(u64),
    /// Memory of a device.
    Device(u64),
}

impl Side {
    /// The address of the first byte.
    #[must_use]
    pub fn address(self) -> u64 {
        match self {
            Self::Host(address) | Self::Device(address) => address,
        }
    }
}

/// A copy of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRequest {
    /// The destination.
    pub to: Side,
    /// The source.
    pub from: Side,
    /// The size in bytes.
    pub bytes: u64,
}

/// A function of the program that is called with one pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCall {
    /// The function's address.
    pub function: u64,
    /// The argument of the function.
    pub user_data: u64,
}

/// A kernel with its launch dimensions and arguments.
#[derive(Debug, Clone)]
pub struct KernelRun {
    /// Its instructions.
    pub program: Arc<Program>,
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The number of threads per block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: Arguments,
}
