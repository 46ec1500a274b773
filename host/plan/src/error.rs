//! Why there is no plan.

use cuda_graphs::{CudaError, KernelError};

use crate::schedules::UnknownWord;

/// A replay that could not be made. Calls that fail because of what a scenario does are
/// no errors: they are part of the result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A CUDA call failed that no scenario makes fail, such as creating a stream.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The spin kernel cannot be loaded.
    #[error("the kernel cannot be loaded: {0}")]
    Kernel(#[from] KernelError),
    /// A word that is not part of a schedule.
    #[error("the schedule: {0}")]
    Schedule(#[from] UnknownWord),
}
