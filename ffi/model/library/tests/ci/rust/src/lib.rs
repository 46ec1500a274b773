//! Squares numbers on a GPU, as a graph that is captured once and launched as often as requested.

use std::error::Error;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

const SQUARE: &str = "
.version 7.0
.target sm_60
.address_size 64
.visible .entry square(.param .u64 numbers)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [numbers];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    mul.lo.s32 %r2, %r2, %r2;
    st.global.u32 [%rd3], %r2;
    ret;
}
";

/// Squares up to 1024 numbers, `times` times.
///
/// # Errors
///
/// The errors of the driver's calls.
pub fn square(numbers: &[u32], times: u32) -> Result<Vec<u32>, Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    // SAFETY: all work is in one stream. cudarc's events would order several streams,
    // but a captured stream cannot wait for an event that was recorded before the
    // capture.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let square = context
        .load_module(Ptx::from_src(SQUARE))?
        .load_function("square")?;
    let mut memory = stream.clone_htod(numbers)?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let shape = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (u32::try_from(numbers.len())?, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the kernel has one parameter, and each thread accesses only its own
    // number.
    unsafe {
        stream
            .launch_builder(&square)
            .arg(&mut memory)
            .launch(shape)
    }?;
    let graph = stream
        .end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?
        .ok_or("nothing was captured")?;
    for _ in 0..times {
        graph.launch()?;
    }
    Ok(stream.clone_dtoh(&memory)?)
}
