//! cuda-graphs contains the simulated runtime, so this test needs no other file.

use cuda_graphs::{CudaError, Device, Graph, Runtime, Stream};

#[test]
fn buffers_that_follow_each_other_share_memory() -> Result<(), CudaError> {
    let runtime = Runtime::built_in_model();
    let device = Device::new(&runtime, 0);
    device.make_current()?;
    let graph = Graph::new(&runtime, device.ordinal())?;
    let first = graph.add_alloc(&[], 64 << 20)?;
    let freed = graph.add_free(&[first.node], first.address)?;
    let second = graph.add_alloc(&[freed], 64 << 20)?;
    graph.add_free(&[second.node], second.address)?;
    let exec = graph.instantiate()?;
    let stream = Stream::new(&runtime)?;
    let launched = exec.launch(&stream)?;
    stream.synchronize()?;
    assert!(launched.live.is_empty());
    assert_eq!(device.graph_memory().snapshot()?.used_bytes, 64 << 20);
    Ok(())
}
