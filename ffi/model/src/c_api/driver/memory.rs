//! Memory, copies and memsets.

use core::ffi::{c_uchar, c_uint, c_ushort, c_void};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::pointers::not_null;
use super::entry::{Needs, as_runtime, run};
use crate::objects::effects::Fill;

pub(in crate::c_api) unsafe fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaMemGetInfo(free, total) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize) -> CUresult {
    if bytesize == 0 {
        // For 0 bytes, the runtime returns null and the driver an error.
        return run(Needs::Context, |_| Err(cudaError_t::INVALID_VALUE));
    }
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it; an address has the size of a pointer.
        unsafe { runtime::cudaMalloc(dptr.cast(), bytesize) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAllocPitch_v2(
    dptr: *mut CUdeviceptr,
    pitch: *mut usize,
    width_in_bytes: usize,
    height: usize,
    element_size_bytes: c_uint,
) -> CUresult {
    if !matches!(element_size_bytes, 4 | 8 | 16) || width_in_bytes == 0 || height == 0 {
        return run(Needs::Context, |_| Err(cudaError_t::INVALID_VALUE));
    }
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaMallocPitch(dptr.cast(), pitch, width_in_bytes, height) }
    })
}

pub(in crate::c_api) unsafe fn cuMemFree_v2(dptr: CUdeviceptr) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the function takes an address, which is only looked up.
        unsafe { runtime::cudaFree(dptr as *mut c_void) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAllocHost_v2(
    pp: *mut *mut c_void,
    bytesize: usize,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaMallocHost(pp, bytesize) }
    })
}

pub(in crate::c_api) unsafe fn cuMemHostAlloc(
    pp: *mut *mut c_void,
    bytesize: usize,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaHostAlloc(pp, bytesize, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuMemFreeHost(p: *mut c_void) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as for cuMemFree.
        unsafe { runtime::cudaFreeHost(p) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAllocManaged(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    flags: c_uint,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the caller guarantees it; an address has the size of a pointer.
        unsafe { runtime::cudaMallocManaged(dptr.cast(), bytesize, flags) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAllocAsync(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    stream: CUstream,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaMallocAsync(dptr.cast(), bytesize, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuMemAllocFromPoolAsync(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as above.
        unsafe { runtime::cudaMallocFromPoolAsync(dptr.cast(), bytesize, pool, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuMemFreeAsync(dptr: CUdeviceptr, stream: CUstream) -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: as for cuMemFree.
        unsafe { runtime::cudaFreeAsync(dptr as *mut c_void, stream) }
    })
}

pub(in crate::c_api) unsafe fn cuMemPoolTrimTo(
    pool: CUmemoryPool,
    min_bytes_to_keep: usize,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the function takes no pointer.
        unsafe { runtime::cudaMemPoolTrimTo(pool, min_bytes_to_keep) }
    })
}

pub(in crate::c_api) unsafe fn cuMemPoolGetAttribute(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaMemPoolGetAttribute(pool, cudaMemPoolAttr(attr.0), value) }
    })
}

pub(in crate::c_api) unsafe fn cuMemPoolSetAttribute(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaMemPoolSetAttribute(pool, cudaMemPoolAttr(attr.0), value) }
    })
}

// Copies

/// A copy, in a stream or, without one, synchronously.
///
/// # Safety
///
/// The host side must be valid for reading or writing `bytes` bytes.
unsafe fn copy(
    to: u64,
    from: u64,
    bytes: usize,
    kind: cudaMemcpyKind,
    stream: Option<CUstream>,
) -> CUresult {
    let (to, from) = (to as *mut c_void, from as *const c_void);
    as_runtime(Needs::Context, || match stream {
        // SAFETY: the caller guarantees it.
        None => unsafe { runtime::cudaMemcpy(to, from, bytes, kind) },
        // SAFETY: as above.
        Some(stream) => unsafe { runtime::cudaMemcpyAsync(to, from, bytes, kind, stream) },
    })
}

pub(in crate::c_api) unsafe fn cuMemcpy(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst, src, byte_count, cudaMemcpyKind::DEFAULT, None) }
}

pub(in crate::c_api) unsafe fn cuMemcpyAsync(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst, src, byte_count, cudaMemcpyKind::DEFAULT, Some(stream)) }
}

pub(in crate::c_api) unsafe fn cuMemcpyHtoD_v2(
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
) -> CUresult {
    let kind = cudaMemcpyKind::HOST_TO_DEVICE;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_device, src_host as u64, byte_count, kind, None) }
}

pub(in crate::c_api) unsafe fn cuMemcpyDtoH_v2(
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> CUresult {
    let kind = cudaMemcpyKind::DEVICE_TO_HOST;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_host as u64, src_device, byte_count, kind, None) }
}

pub(in crate::c_api) unsafe fn cuMemcpyDtoD_v2(
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> CUresult {
    let kind = cudaMemcpyKind::DEVICE_TO_DEVICE;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_device, src_device, byte_count, kind, None) }
}

pub(in crate::c_api) unsafe fn cuMemcpyHtoDAsync_v2(
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> CUresult {
    let kind = cudaMemcpyKind::HOST_TO_DEVICE;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_device, src_host as u64, byte_count, kind, Some(stream)) }
}

pub(in crate::c_api) unsafe fn cuMemcpyDtoHAsync_v2(
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> CUresult {
    let kind = cudaMemcpyKind::DEVICE_TO_HOST;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_host as u64, src_device, byte_count, kind, Some(stream)) }
}

pub(in crate::c_api) unsafe fn cuMemcpyDtoDAsync_v2(
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> CUresult {
    let kind = cudaMemcpyKind::DEVICE_TO_DEVICE;
    // SAFETY: the caller guarantees it.
    unsafe { copy(dst_device, src_device, byte_count, kind, Some(stream)) }
}

// Memsets

fn set(dst: CUdeviceptr, value: u32, element_bytes: u32, n: usize, stream: CUstream) -> CUresult {
    run(Needs::Context, |call| {
        if !dst.is_multiple_of(u64::from(element_bytes)) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if n > 0 {
            not_null(dst as *mut c_void)?;
        }
        let device = call.thread.device;
        let fill = Fill {
            address: dst,
            value,
            element_bytes,
            width: n as u64,
            height: 1,
            pitch: 0,
        };
        call.runtime().set_async(fill, stream.0 as u64, device)
    })
}

pub(in crate::c_api) unsafe fn cuMemsetD8_v2(
    dst_device: CUdeviceptr,
    uc: c_uchar,
    n: usize,
) -> CUresult {
    set(dst_device, uc.into(), 1, n, CUstream::NULL)
}

pub(in crate::c_api) unsafe fn cuMemsetD16_v2(
    dst_device: CUdeviceptr,
    us: c_ushort,
    n: usize,
) -> CUresult {
    set(dst_device, us.into(), 2, n, CUstream::NULL)
}

pub(in crate::c_api) unsafe fn cuMemsetD32_v2(
    dst_device: CUdeviceptr,
    ui: c_uint,
    n: usize,
) -> CUresult {
    set(dst_device, ui, 4, n, CUstream::NULL)
}

pub(in crate::c_api) unsafe fn cuMemsetD8Async(
    dst_device: CUdeviceptr,
    uc: c_uchar,
    n: usize,
    stream: CUstream,
) -> CUresult {
    set(dst_device, uc.into(), 1, n, stream)
}

pub(in crate::c_api) unsafe fn cuMemsetD16Async(
    dst_device: CUdeviceptr,
    us: c_ushort,
    n: usize,
    stream: CUstream,
) -> CUresult {
    set(dst_device, us.into(), 2, n, stream)
}

pub(in crate::c_api) unsafe fn cuMemsetD32Async(
    dst_device: CUdeviceptr,
    ui: c_uint,
    n: usize,
    stream: CUstream,
) -> CUresult {
    set(dst_device, ui, 4, n, stream)
}
