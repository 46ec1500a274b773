//! One function for each line of the table: it converts pointers to values and back.
//!
//! All are as unsafe as the C functions, with the same requirements.

#![allow(non_snake_case, reason = "the C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the module documentation contains it for all"
)]

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use cudart_ffi::types::*;

use super::entry::{Call, last_error, look, run, take_last_error};
use super::pointers::{handles, not_null, write};
use crate::errors;
use crate::functions::FunctionId as F;
use crate::kernels::program::Arguments;
use crate::objects::effects::Fill;
use crate::runtime::{AllocRequest, KernelRequest, LiveObjects, Outcome};

mod by_version;
mod capture;
mod conditional;
mod device_settings;
mod devices;
mod entry_points;
mod exec_nodes;
mod graph_queries;
mod kernels;
mod libraries;
mod managed;
mod memory;
mod nodes;
mod pointers;
mod rows;
mod stream_ordered;
mod streams;
mod symbols;

pub(super) use by_version::*;
pub(super) use capture::*;
pub(super) use conditional::*;
pub(super) use device_settings::*;
pub(super) use devices::*;
pub(super) use entry_points::*;
pub(super) use exec_nodes::*;
pub(super) use graph_queries::*;
pub(super) use kernels::*;
pub(super) use libraries::*;
pub(super) use managed::*;
pub(super) use memory::*;
pub(super) use nodes::*;
pub(super) use pointers::*;
pub(super) use rows::*;
pub(super) use stream_ordered::*;
pub(super) use streams::*;
pub(super) use symbols::*;

// Versions, errors

pub(super) unsafe fn cudaDriverGetVersion(version: *mut c_int) -> cudaError_t {
    run(F::cudaDriverGetVersion, |call| {
        let out = not_null(version)?;
        let value = call.runtime().profile().driver_version;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(super) unsafe fn cudaRuntimeGetVersion(version: *mut c_int) -> cudaError_t {
    run(F::cudaRuntimeGetVersion, |call| {
        let out = not_null(version)?;
        let value = call.runtime().profile().runtime_version;
        // SAFETY: as above.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    errors::name(error.0).as_ptr()
}

pub(super) unsafe fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    errors::text(error.0).as_ptr()
}

pub(super) unsafe fn cudaGetLastError() -> cudaError_t {
    take_last_error()
}

pub(super) unsafe fn cudaPeekAtLastError() -> cudaError_t {
    last_error()
}

// Plain memory

pub(super) unsafe fn cudaMalloc(dev_ptr: *mut *mut c_void, size: usize) -> cudaError_t {
    run(F::cudaMalloc, |call| {
        let out = not_null(dev_ptr)?;
        let device = call.thread.device;
        let address = call.runtime().malloc(size as u64, device)?;
        // SAFETY: as above.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(super) unsafe fn cudaFree(dev_ptr: *mut c_void) -> cudaError_t {
    run(F::cudaFree, |call| {
        let end = call.runtime().free(dev_ptr as u64)?;
        call.wait_until(end);
        Ok(())
    })
}

pub(super) unsafe fn cudaFreeAsync(dev_ptr: *mut c_void, stream: cudaStream_t) -> cudaError_t {
    run(F::cudaFreeAsync, |call| {
        let device = call.thread.device;
        call.runtime()
            .free_async(dev_ptr as u64, stream.0 as u64, device)
    })
}

pub(super) unsafe fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> cudaError_t {
    run(F::cudaMemGetInfo, |call| {
        let (free_out, total_out) = (not_null(free)?, not_null(total)?);
        let device = call.thread.device;
        let (free, total) = call.runtime().mem_info(device)?;
        // SAFETY: as above, for both.
        unsafe {
            write(free_out, free as usize);
            write(total_out, total as usize);
        }
        Ok(())
    })
}

pub(super) unsafe fn cudaMemsetAsync(
    dev_ptr: *mut c_void,
    value: c_int,
    count: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    run(F::cudaMemsetAsync, |call| {
        let device = call.thread.device;
        let fill = Fill::bytes(dev_ptr as u64, value as u8, count as u64);
        call.runtime().set_async(fill, stream.0 as u64, device)
    })
}

// Graphs

pub(super) unsafe fn cudaGraphCreate(graph: *mut cudaGraph_t, flags: c_uint) -> cudaError_t {
    run(F::cudaGraphCreate, |call| {
        let out = not_null(graph)?;
        let handle = call.runtime().graph_create(flags)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraph_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphDestroy(graph: cudaGraph_t) -> cudaError_t {
    run(F::cudaGraphDestroy, |call| {
        call.runtime().graph_destroy(graph.0 as u64)
    })
}

pub(super) unsafe fn cudaGraphClone(clone: *mut cudaGraph_t, original: cudaGraph_t) -> cudaError_t {
    run(F::cudaGraphClone, |call| {
        let out = not_null(clone)?;
        let handle = call.runtime().graph_clone(original.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraph_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphDestroyNode(node: cudaGraphNode_t) -> cudaError_t {
    run(F::cudaGraphDestroyNode, |call| {
        call.runtime().graph_destroy_node(node.0 as u64)
    })
}

pub(super) unsafe fn cudaGraphAddMemAllocNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    params: *mut cudaMemAllocNodeParams,
) -> cudaError_t {
    run(F::cudaGraphAddMemAllocNode, |call| {
        let (out, params) = (not_null(node)?, not_null(params)?);
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length, and parameters
        // that can be read.
        let (dependencies, given) = unsafe {
            (
                handles(dependencies.cast(), dependency_count, most)?,
                params.read_unaligned(),
            )
        };
        // SAFETY: as above, for the descriptors to which the parameters point.
        let access = unsafe { access_descs(&given)? };
        let request = AllocRequest {
            alloc_type: given.pool_props.alloc_type,
            handle_types: given.pool_props.handle_types,
            location: given.pool_props.location,
            access,
            bytes: given.bytesize as u64,
        };
        let (handle, address) =
            call.runtime()
                .add_alloc_node(graph.0 as u64, &dependencies, request)?;
        // SAFETY: not null, and the program promises that both can be written.
        unsafe {
            write(out, cudaGraphNode_t(handle as *mut c_void));
            write(&raw mut (*params).dptr, address as *mut c_void);
        }
        Ok(())
    })
}

/// More descriptors than any machine has devices are refused without reading them (R28).
const MAX_ACCESS_DESCS: usize = 64;

/// # Safety
///
/// The descriptors must be null or readable for as many as the parameters say.
unsafe fn access_descs(params: &cudaMemAllocNodeParams) -> Outcome<Vec<cudaMemAccessDesc>> {
    let count = params.access_desc_count;
    if count == 0 {
        return Ok(Vec::new());
    }
    if params.access_descs.is_null() || count > MAX_ACCESS_DESCS {
        return Err(cudaError_t::INVALID_VALUE);
    }
    Ok((0..count)
        // SAFETY: not null, and the index is below the count.
        .map(|index| unsafe { params.access_descs.add(index).read_unaligned() })
        .collect())
}

pub(super) unsafe fn cudaGraphAddMemFreeNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    dev_ptr: *mut c_void,
) -> cudaError_t {
    run(F::cudaGraphAddMemFreeNode, |call| {
        let out = not_null(node)?;
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length.
        let dependencies = unsafe { handles(dependencies.cast(), dependency_count, most)? };
        let handle = call
            .runtime()
            .add_free_node(graph.0 as u64, &dependencies, dev_ptr as u64)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphAddKernelNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    params: *const cudaKernelNodeParams,
) -> cudaError_t {
    run(F::cudaGraphAddKernelNode, |call| {
        let (out, params) = (not_null(node)?, not_null(params.cast_mut())?);
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length, and parameters
        // that can be read.
        let (dependencies, given) = unsafe {
            (
                handles(dependencies.cast(), dependency_count, most)?,
                params.read_unaligned(),
            )
        };
        // SAFETY: the program guarantees one pointer for each parameter, to a value
        // of the parameter's size.
        let (request, arguments) = unsafe { kernel_request(call, given)? };
        let handle =
            call.runtime()
                .add_kernel_node(graph.0 as u64, &dependencies, &request, arguments)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
        Ok(())
    })
}

/// The arguments of a launch, in the form of a kernel node's parameters.
fn launch_params(
    func: *const c_void,
    grid_dim: dim3,
    block_dim: dim3,
    shared_mem_bytes: usize,
    kernel_params: *mut *mut c_void,
) -> cudaKernelNodeParams {
    cudaKernelNodeParams {
        func: func.cast_mut(),
        grid_dim,
        block_dim,
        shared_mem_bytes: u32::try_from(shared_mem_bytes).unwrap_or(u32::MAX),
        kernel_params,
        extra: core::ptr::null_mut(),
    }
}

/// The launch of a kernel node, with the values of its arguments. A packed argument buffer
/// (`extra`) is not simulated.
///
/// # Safety
///
/// The same as for [`kernel_arguments`], for the kernel in the parameters.
unsafe fn kernel_request(
    call: &mut Call<'_>,
    given: cudaKernelNodeParams,
) -> Outcome<(KernelRequest, Arguments)> {
    let kernel = super::nvcc::kernel_of(call.runtime(), given.func as u64);
    let code = call.runtime().kernel(kernel)?;
    let sizes = code.parameter_bytes.clone();
    let spin = code.spin_parameter();
    // SAFETY: the caller guarantees it.
    let arguments = unsafe { kernel_arguments(&sizes, given.kernel_params)? };
    let spin_clocks = spin
        .and_then(|index| arguments.first(index))
        .map_or(0, u64::cast_signed);
    let extents = |d: dim3| [d.x, d.y, d.z];
    let request = KernelRequest {
        kernel,
        grid: extents(given.grid_dim),
        block: extents(given.block_dim),
        shared_bytes: given.shared_mem_bytes,
        spin_clocks,
    };
    Ok((request, arguments))
}

pub(super) unsafe fn cudaGraphAddEmptyNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
) -> cudaError_t {
    run(F::cudaGraphAddEmptyNode, |call| {
        let out = not_null(node)?;
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length.
        let dependencies = unsafe { handles(dependencies.cast(), dependency_count, most)? };
        let handle = call
            .runtime()
            .add_empty_node(graph.0 as u64, &dependencies)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphAddChildGraphNode(
    node: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_count: usize,
    child: cudaGraph_t,
) -> cudaError_t {
    run(F::cudaGraphAddChildGraphNode, |call| {
        let out = not_null(node)?;
        let most = call.runtime().node_count(graph.0 as u64)?;
        // SAFETY: the program promises an array of this length.
        let dependencies = unsafe { handles(dependencies.cast(), dependency_count, most)? };
        let handle =
            call.runtime()
                .add_child_graph_node(graph.0 as u64, &dependencies, child.0 as u64)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphNode_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphMemAllocNodeGetParams(
    node: cudaGraphNode_t,
    params: *mut cudaMemAllocNodeParams,
) -> cudaError_t {
    run(F::cudaGraphMemAllocNodeGetParams, |call| {
        let out = not_null(params)?;
        let (allocation, access) = call.runtime().alloc_node_params(node.0 as u64)?;
        let mut params = cudaMemAllocNodeParams::zeroed();
        params.pool_props.alloc_type = cudaMemAllocationType::PINNED;
        params.pool_props.location = cudaMemLocation {
            type_: cudaMemLocationType::DEVICE,
            id: c_int::try_from(allocation.device).unwrap_or(c_int::MAX),
        };
        // As in the real runtime, the descriptors belong to the node, and are valid
        // until the graph is destroyed.
        if !access.is_empty() {
            params.access_descs = access.as_ptr();
            params.access_desc_count = access.len();
        }
        params.bytesize = allocation.bytes as usize;
        params.dptr = allocation.address as *mut c_void;
        // SAFETY: as above.
        unsafe { write(out, params) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphMemFreeNodeGetParams(
    node: cudaGraphNode_t,
    dev_ptr_out: *mut c_void,
) -> cudaError_t {
    run(F::cudaGraphMemFreeNodeGetParams, |call| {
        let out = not_null(dev_ptr_out)?.cast::<*mut c_void>();
        let address = call.runtime().free_node_address(node.0 as u64)?;
        // SAFETY: not null, and the program guarantees that a pointer can be
        // written.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphInstantiateWithFlags(
    exec: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    flags: c_ulonglong,
) -> cudaError_t {
    run(F::cudaGraphInstantiateWithFlags, |call| {
        let out = not_null(exec)?;
        let handle = call.runtime().instantiate(graph.0 as u64, flags)?;
        // SAFETY: as above.
        unsafe { write(out, cudaGraphExec_t(handle as *mut c_void)) };
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphExecDestroy(exec: cudaGraphExec_t) -> cudaError_t {
    run(F::cudaGraphExecDestroy, |call| {
        call.runtime().exec_destroy(exec.0 as u64)
    })
}

pub(super) unsafe fn cudaGraphLaunch(exec: cudaGraphExec_t, stream: cudaStream_t) -> cudaError_t {
    run(F::cudaGraphLaunch, |call| {
        let device = call.thread.device;
        let runtime = call.runtime();
        let end = runtime.launch(exec.0 as u64, stream.0 as u64, device)?;
        call.wait_until(end);
        Ok(())
    })
}

pub(super) unsafe fn cudaGraphUpload(exec: cudaGraphExec_t, stream: cudaStream_t) -> cudaError_t {
    run(F::cudaGraphUpload, |call| {
        let device = call.thread.device;
        let runtime = call.runtime();
        let end = runtime.upload(exec.0 as u64, stream.0 as u64, device)?;
        call.wait_until(end);
        Ok(())
    })
}

// Graph memory

pub(super) unsafe fn cudaDeviceGetGraphMemAttribute(
    device: c_int,
    attr: cudaGraphMemAttributeType,
    value: *mut c_void,
) -> cudaError_t {
    run(F::cudaDeviceGetGraphMemAttribute, |call| {
        let bytes = call.runtime().graph_mem_attribute(device, attr)?;
        let out = not_null(value)?.cast::<u64>();
        // SAFETY: not null, and the program guarantees that a u64 can be written.
        unsafe { write(out, bytes) };
        Ok(())
    })
}

pub(super) unsafe fn cudaDeviceSetGraphMemAttribute(
    device: c_int,
    attr: cudaGraphMemAttributeType,
    value: *mut c_void,
) -> cudaError_t {
    run(F::cudaDeviceSetGraphMemAttribute, |call| {
        call.runtime().check_device(device)?;
        let value = not_null(value)?.cast::<u64>();
        // SAFETY: not null, and the program guarantees a u64.
        let value = unsafe { value.read_unaligned() };
        call.runtime().set_graph_mem_attribute(device, attr, value)
    })
}

pub(super) unsafe fn cudaDeviceGraphMemTrim(device: c_int) -> cudaError_t {
    run(F::cudaDeviceGraphMemTrim, |call| {
        call.runtime().trim(device)
    })
}

// The functions that only the simulated runtime has.

const DESCRIPTION: &CStr = match CStr::from_bytes_with_nul(
    concat!(
        "cudart_model ",
        env!("CARGO_PKG_VERSION"),
        ": footprints, addresses and error codes are simulated, not measured\0"
    )
    .as_bytes(),
) {
    Ok(text) => text,
    Err(_) => c"cudart_model",
};

pub(super) unsafe fn cudartModelDescribe() -> *const c_char {
    DESCRIPTION.as_ptr()
}

pub(super) unsafe fn cudartModelLiveObjects(counts: *mut c_ulonglong, capacity: usize) -> usize {
    let live: LiveObjects = look(|state| state.runtime.live_objects());
    let all = live.to_array();
    if !counts.is_null() {
        for (index, &count) in all.iter().enumerate().take(capacity) {
            // SAFETY: not null, and the program guarantees an array of
            // `capacity` elements.
            unsafe { write(counts.add(index), count) };
        }
    }
    all.len()
}
