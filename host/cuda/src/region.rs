//! Device memory whose bounds and owner are known.

use std::rc::Rc;

use crate::address::DeviceAddress;
use crate::buffer::Memory;
use crate::error::{CudaError, Result};
use crate::runtime::Runtime;
use crate::uses::Use;

/// A piece of device memory that this crate has allocated: where it is and how large.
///
/// A region of a [`Buffer`](crate::Buffer) keeps the memory allocated. One of graph memory
/// does not: the graph decides when that is allocated, and copies are refused while it
/// is not.
///
/// Only what allocates makes one, so that no address can be made up:
///
/// ```compile_fail,E0451
/// use cuda_graphs::{Buffer, DeviceAddress, Region, Runtime};
///
/// let runtime = Runtime::built_in_model();
/// let buffer = Buffer::new(&runtime, 4)?;
/// let elsewhere = Region {
///     address: DeviceAddress(0x1000),
///     ..buffer.region()
/// };
/// # Ok::<(), cuda_graphs::CudaError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Region<'rt> {
    runtime: &'rt Runtime,
    address: DeviceAddress,
    bytes: u64,
    owner: Owner<'rt>,
}

#[derive(Debug, Clone)]
enum Owner<'rt> {
    Buffer(Rc<Memory<'rt>>),
    Graph,
}

impl<'rt> Region<'rt> {
    pub(crate) fn of_graph(runtime: &'rt Runtime, address: DeviceAddress, bytes: u64) -> Self {
        Self {
            runtime,
            address,
            bytes,
            owner: Owner::Graph,
        }
    }

    pub(crate) fn of_buffer(memory: &Rc<Memory<'rt>>) -> Self {
        Self {
            runtime: memory.runtime(),
            address: memory.address(),
            bytes: memory.bytes(),
            owner: Owner::Buffer(Rc::clone(memory)),
        }
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What has to stay allocated for as long as something in CUDA names the region.
    pub(crate) fn uses(&self) -> Option<Use<'rt>> {
        match &self.owner {
            Owner::Buffer(memory) => Some(Use::Memory(Rc::clone(memory))),
            Owner::Graph => None,
        }
    }

    /// Refuses a region of another runtime, and one of fewer bytes than these.
    pub(crate) fn check(&self, runtime: &Runtime, call: &'static str, bytes: u64) -> Result<()> {
        runtime.same(self.runtime, call, "memory")?;
        if bytes <= self.bytes {
            return Ok(());
        }
        Err(self.refuse(
            call,
            format!("{bytes} bytes in a region of {} bytes", self.bytes),
        ))
    }

    /// The same, and refuses graph memory that is not allocated now.
    pub(crate) fn check_now(
        &self,
        runtime: &Runtime,
        call: &'static str,
        bytes: u64,
    ) -> Result<()> {
        self.check(runtime, call, bytes)?;
        match self.owner {
            Owner::Graph if self.runtime.ownership.live_bytes(self.address) < bytes => Err(self
                .refuse(
                    call,
                    format!("no allocation of a graph is live at {}", self.address),
                )),
            _ => Ok(()),
        }
    }

    fn refuse(&self, call: &'static str, why: String) -> CudaError {
        let code = cudart_ffi::cudaError_t::INVALID_VALUE;
        self.runtime.refusal(call, code, why)
    }
}
