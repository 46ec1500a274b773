//! The graphs that several experiments use.

use std::time::Duration;

use super::Lab;
use cuda_graphs::{Device, DeviceAddress, Graph, GraphExec, Result, Runtime};

/// The spin time of graphs for which only the order matters.
pub(super) const SHORT_SPIN_TIME: Duration = Duration::from_micros(50);

/// Alloc, then free: the smallest graph that maps memory.
pub(super) fn alloc_free<'rt>(
    runtime: &'rt Runtime,
    device: Device<'rt>,
    bytes: u64,
) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    let graph = Graph::new(runtime, device.ordinal())?;
    let alloc = graph.add_alloc(&[], bytes)?;
    graph.add_free(&[alloc.node], alloc.address)?;
    Ok((graph.instantiate()?, alloc.address))
}

/// Alloc, then a kernel that spins for `spin_time`, then free.
pub(super) fn alloc_spin_free<'rt>(
    lab: &Lab<'rt>,
    spin_time: Duration,
) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    alloc_spin_free_of(lab, lab.choices.allocation_bytes, spin_time)
}

/// The same with an allocation of `bytes`.
pub(super) fn alloc_spin_free_of<'rt>(
    lab: &Lab<'rt>,
    bytes: u64,
    spin_time: Duration,
) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    let graph = lab.graph()?;
    let alloc = graph.add_alloc(&[], bytes)?;
    let spin = graph.add_spin(&[alloc.node], lab.kernel, lab.clocks(spin_time))?;
    graph.add_free(&[spin], alloc.address)?;
    Ok((graph.instantiate()?, alloc.address))
}

/// Alloc without free: the allocation is left allocated after the launch.
pub(super) fn alloc_only<'rt>(lab: &Lab<'rt>) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    alloc_only_of(lab, lab.choices.allocation_bytes)
}

/// The same with an allocation of `bytes`.
pub(super) fn alloc_only_of<'rt>(
    lab: &Lab<'rt>,
    bytes: u64,
) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    let graph = lab.graph()?;
    let alloc = graph.add_alloc(&[], bytes)?;
    Ok((graph.instantiate()?, alloc.address))
}

/// A kernel that ends immediately, and no memory node.
pub(super) fn spin_only<'rt>(lab: &Lab<'rt>) -> Result<GraphExec<'rt>> {
    let graph = lab.graph()?;
    graph.add_spin(&[], lab.kernel, 0)?;
    graph.instantiate()
}

impl<'rt> Lab<'rt> {
    pub(super) fn graph(&self) -> Result<Graph<'rt>> {
        Graph::new(self.runtime, self.device.ordinal())
    }

    /// A time in SM clocks at the nominal clock rate.
    pub(super) fn clocks(&self, time: Duration) -> i64 {
        let clocks = time.as_secs_f64() * f64::from(self.clock_rate_khz) * 1e3;
        // A float to integer cast saturates.
        clocks.ceil() as i64
    }
}
