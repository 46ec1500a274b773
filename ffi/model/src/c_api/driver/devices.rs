//! Devices.

use core::ffi::{c_char, c_int, c_void};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::pointers::{not_null, write};
use super::entry::{Needs, as_runtime, run};

pub(in crate::c_api) unsafe fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(device)?;
        call.runtime().check_device(ordinal)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, ordinal) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(count)?;
        let value = call.runtime().device_count();
        // SAFETY: as above.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetName(
    name: *mut c_char,
    len: c_int,
    dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(name)?.cast::<u8>();
        let room = usize::try_from(len).map_err(|_| cudaError_t::INVALID_VALUE)?;
        let properties = call.runtime().properties(dev)?;
        let length = properties.name.len().min(room.saturating_sub(1));
        if room > 0 {
            // SAFETY: the program guarantees `len` bytes, and fewer are written.
            unsafe {
                out.copy_from_nonoverlapping(properties.name.as_ptr(), length);
                out.add(length).write(0);
            }
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(uuid)?;
        let bytes = call.runtime().device_uuid(dev)?;
        let bytes = bytes.map(|byte| byte as c_char);
        // SAFETY: as above.
        unsafe { write(out, CUuuid { bytes }) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuDeviceGetUuid(uuid, dev) }
}

pub(in crate::c_api) unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(bytes)?;
        let total = call.runtime().properties(dev)?.total_bytes;
        // SAFETY: as above.
        unsafe { write(out, total as usize) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetAttribute(
    pi: *mut c_int,
    attrib: CUdevice_attribute,
    dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(pi)?;
        // The attributes of the runtime have the same numbers as those of the
        // driver.
        let attribute = cudaDeviceAttr(attrib.0);
        let value = call.runtime().device_attribute(attribute, dev)?;
        // SAFETY: as above.
        unsafe { write(out, value) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let (major_out, minor_out) = (not_null(major)?, not_null(minor)?);
        let [major, minor] = call.runtime().properties(dev)?.compute_capability;
        // SAFETY: as above, for both.
        unsafe {
            write(major_out, major);
            write(minor_out, minor);
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceCanAccessPeer(
    can_access_peer: *mut c_int,
    dev: CUdevice,
    peer_dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(can_access_peer)?;
        call.runtime().check_device(dev)?;
        call.runtime().check_device(peer_dev)?;
        // SAFETY: as above.
        unsafe { write(out, c_int::from(dev != peer_dev)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetDefaultMemPool(
    pool_out: *mut CUmemoryPool,
    dev: CUdevice,
) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaDeviceGetDefaultMemPool(pool_out, dev) }
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGetMemPool(
    pool: *mut CUmemoryPool,
    dev: CUdevice,
) -> CUresult {
    // The default pool is the only one.
    // SAFETY: the caller guarantees it.
    unsafe { cuDeviceGetDefaultMemPool(pool, dev) }
}

pub(in crate::c_api) unsafe fn cuDeviceGetGraphMemAttribute(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> CUresult {
    as_runtime(Needs::Init, || {
        let attr = cudaGraphMemAttributeType(attr.0);
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaDeviceGetGraphMemAttribute(device, attr, value) }
    })
}

pub(in crate::c_api) unsafe fn cuDeviceSetGraphMemAttribute(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> CUresult {
    as_runtime(Needs::Init, || {
        let attr = cudaGraphMemAttributeType(attr.0);
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaDeviceSetGraphMemAttribute(device, attr, value) }
    })
}

pub(in crate::c_api) unsafe fn cuDeviceGraphMemTrim(device: CUdevice) -> CUresult {
    as_runtime(Needs::Init, || {
        // SAFETY: the caller guarantees it.
        unsafe { runtime::cudaDeviceGraphMemTrim(device) }
    })
}
