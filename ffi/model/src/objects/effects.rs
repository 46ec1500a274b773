//! What running a node does to memory.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use cudart_ffi::CUgraphConditionalNodeType;

use crate::clock::Nanos;
use crate::kernels::program::{Arguments, Program};
use crate::memory::graph_memory::AllocationRef;

/// Something that changes what memory holds, or that a program sees.
#[derive(Debug, Clone)]
pub enum Effect {
    /// A kernel that the simulated runtime can run.
    Kernel(KernelRun),
    /// A memset.
    Set(Fill),
    /// A copy.
    Copy(CopyRequest),
    /// A function of the program.
    Host(HostCall),
    /// A conditional node of a graph, by its handle, whose bodies may still change. An
    /// exec has a [`Branch`](Self::Branch) in its place.
    Conditional(u64),
    /// Runs bodies as the value of a condition asks for.
    Branch(Arc<ConditionalRun>),
    /// Sets conditions to the values that a launch starts with.
    AssignConditions(Arc<[(Arc<AtomicU32>, u32)]>),
    /// Ends allocations of other graphs, each at a time of its stream.
    EndAllocations(Arc<[(AllocationRef, Nanos)]>),
}

/// A conditional node with what its bodies do.
#[derive(Debug)]
pub struct ConditionalRun {
    /// What it looks at.
    pub value: Arc<AtomicU32>,
    /// Which bodies run for which value.
    pub kind: CUgraphConditionalNodeType,
    /// What each body does to memory.
    pub bodies: Vec<Arc<[Effect]>>,
}

/// What a memset writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// The first byte.
    pub address: u64,
    /// What each element becomes.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element_bytes: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from one row to the next, if there are several.
    pub pitch: u64,
}

impl Fill {
    /// So many bytes in one row.
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

    /// The first address and the length of each row, in bytes.
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

/// One side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Memory of the program.
    Host(u64),
    /// Memory of a device.
    Device(u64),
}

impl Side {
    /// The first byte's address.
    #[must_use]
    pub fn address(self) -> u64 {
        match self {
            Self::Host(address) | Self::Device(address) => address,
        }
    }
}

/// A copy of so many bytes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRequest {
    /// Where it goes.
    pub to: Side,
    /// Where it comes from.
    pub from: Side,
    /// How many bytes.
    pub bytes: u64,
}

/// A function of the program that is called with one pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCall {
    /// The function's address.
    pub function: u64,
    /// What it is given.
    pub user_data: u64,
}

/// A kernel with its shape and arguments.
#[derive(Debug, Clone)]
pub struct KernelRun {
    /// Its instructions.
    pub program: Arc<Program>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: Arguments,
}
