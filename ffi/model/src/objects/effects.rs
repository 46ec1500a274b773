//! What running a node does to memory.

use std::sync::Arc;

use crate::kernels::program::Program;

/// Something that changes what memory holds.
#[derive(Debug, Clone)]
pub enum Effect {
    /// A kernel that the model can run.
    Kernel(KernelRun),
    /// A memset.
    Set {
        /// Its first byte.
        address: u64,
        /// What each byte becomes.
        value: u8,
        /// How many.
        bytes: u64,
    },
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
    /// The arguments; one longer than 8 bytes is 0.
    pub arguments: Box<[u64]>,
}
