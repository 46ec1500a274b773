//! Contexts.

use core::ffi::{c_int, c_uint, c_void};

use cudart_ffi::types::*;

use super::super::calls as runtime;
use super::super::entry::Call;
use super::super::pointers::{not_null, write};
use super::entry::{Needs, as_runtime, run};
use crate::runtime::Outcome;

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxRetain(
    pctx: *mut CUcontext,
    dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(pctx)?;
        let handle = call.runtime().primary_retain(dev)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, CUcontext(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> CUresult {
    run(Needs::Init, |call| call.runtime().primary_release(dev))
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxSetFlags_v2(
    dev: CUdevice,
    flags: c_uint,
) -> CUresult {
    run(Needs::Init, |call| {
        call.runtime().primary_set_flags(dev, flags)
    })
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxGetState(
    dev: CUdevice,
    flags: *mut c_uint,
    active: *mut c_int,
) -> CUresult {
    run(Needs::Init, |call| {
        let (flags_out, active_out) = (not_null(flags)?, not_null(active)?);
        let (flags, active) = call.runtime().primary_state(dev)?;
        // SAFETY: as above, for both.
        unsafe {
            write(flags_out, flags);
            write(active_out, c_int::from(active));
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> CUresult {
    run(Needs::Init, |call| call.runtime().primary_reset(dev))
}

pub(in crate::c_api) unsafe fn cuCtxCreate_v2(
    pctx: *mut CUcontext,
    flags: c_uint,
    dev: CUdevice,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(pctx)?;
        let thread = call.thread.number;
        let handle = call.runtime().context_create(thread, flags, dev)?;
        follow(call);
        // SAFETY: as above.
        unsafe { write(out, CUcontext(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxCreate_v3(
    pctx: *mut CUcontext,
    params_array: *mut CUexecAffinityParam,
    num_params: c_int,
    flags: c_uint,
    dev: CUdevice,
) -> CUresult {
    // Execution affinity is not simulated.
    if num_params != 0 || !params_array.is_null() {
        return CUresult::NOT_SUPPORTED;
    }
    // SAFETY: the caller guarantees it.
    unsafe { cuCtxCreate_v2(pctx, flags, dev) }
}

pub(in crate::c_api) unsafe fn cuCtxCreate_v4(
    pctx: *mut CUcontext,
    ctx_create_params: *mut CUctxCreateParams,
    flags: c_uint,
    dev: CUdevice,
) -> CUresult {
    // Execution affinity and graphics contexts are not simulated.
    // SAFETY: the program promises null or parameters that can be read.
    if let Some(params) = unsafe { ctx_create_params.as_ref() }
        && (params.exec_affinity_param_count != 0 || !params.cig_params.is_null())
    {
        return CUresult::NOT_SUPPORTED;
    }
    // SAFETY: the caller guarantees it.
    unsafe { cuCtxCreate_v2(pctx, flags, dev) }
}

pub(in crate::c_api) unsafe fn cuCtxDestroy_v2(ctx: CUcontext) -> CUresult {
    run(Needs::Init, |call| {
        let thread = call.thread.number;
        call.runtime().context_destroy(thread, ctx.0 as u64)?;
        follow(call);
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxPushCurrent_v2(ctx: CUcontext) -> CUresult {
    run(Needs::Init, |call| {
        let thread = call.thread.number;
        call.runtime().context_push(thread, ctx.0 as u64)?;
        follow(call);
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxPopCurrent_v2(pctx: *mut CUcontext) -> CUresult {
    run(Needs::Init, |call| {
        let thread = call.thread.number;
        let handle = call.runtime().context_pop(thread)?;
        follow(call);
        if !pctx.is_null() {
            // SAFETY: not null, and the program promises that it can be written.
            unsafe { write(pctx, CUcontext(handle as *mut c_void)) };
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxSetCurrent(ctx: CUcontext) -> CUresult {
    run(Needs::Init, |call| {
        let thread = call.thread.number;
        call.runtime().context_set(thread, ctx.0 as u64)?;
        follow(call);
        Ok(())
    })
}

/// Makes the runtime use the device of the current context.
fn follow(call: &mut Call<'_>) {
    let thread = call.thread.number;
    let device = call.runtime().current_device(thread);
    call.thread.has_context = device.is_ok();
    if let Ok(device) = device {
        call.thread.device = device;
    }
}

pub(in crate::c_api) unsafe fn cuCtxGetCurrent(pctx: *mut CUcontext) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(pctx)?;
        let thread = call.thread.number;
        let handle = call.runtime().context_current(thread);
        // SAFETY: as above.
        unsafe { write(out, CUcontext(handle as *mut c_void)) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { current(device, |call, thread| call.runtime().current_device(thread)) }
}

pub(in crate::c_api) unsafe fn cuCtxGetFlags(flags: *mut c_uint) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { current(flags, |call, thread| call.runtime().current_flags(thread)) }
}

/// Writes a property of the current context.
///
/// # Safety
///
/// `out` must be null or valid for a write.
unsafe fn current<T>(
    out: *mut T,
    value: impl FnOnce(&mut Call<'_>, u64) -> Outcome<T>,
) -> CUresult {
    run(Needs::Context, |call| {
        let out = not_null(out)?;
        let thread = call.thread.number;
        let value = value(call, thread)?;
        // SAFETY: not null, and valid as the caller guarantees.
        unsafe { write(out, value) };
        Ok(())
    })
}

/// The version of the context interface that every driver returns.
const API_VERSION: c_uint = 3020;

pub(in crate::c_api) unsafe fn cuCtxGetApiVersion(
    ctx: CUcontext,
    version: *mut c_uint,
) -> CUresult {
    run(Needs::Init, |call| {
        let out = not_null(version)?;
        if !ctx.is_null() {
            call.runtime().check_context(ctx.0 as u64)?;
        }
        // SAFETY: as above.
        unsafe { write(out, API_VERSION) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxSynchronize() -> CUresult {
    as_runtime(Needs::Context, || {
        // SAFETY: the function takes no pointer.
        unsafe { runtime::cudaDeviceSynchronize() }
    })
}

pub(in crate::c_api) unsafe fn cuCtxGetStreamPriorityRange(
    least_priority: *mut c_int,
    greatest_priority: *mut c_int,
) -> CUresult {
    run(Needs::Context, |_| {
        let [least, greatest] = super::streams::PRIORITIES;
        for (out, value) in [(least_priority, least), (greatest_priority, greatest)] {
            if !out.is_null() {
                // SAFETY: not null, and the program promises that it can be written.
                unsafe { write(out, value) };
            }
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cuCtxDestroy(ctx: CUcontext) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuCtxDestroy_v2(ctx) }
}

pub(in crate::c_api) unsafe fn cuCtxPushCurrent(ctx: CUcontext) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuCtxPushCurrent_v2(ctx) }
}

pub(in crate::c_api) unsafe fn cuCtxPopCurrent(pctx: *mut CUcontext) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuCtxPopCurrent_v2(pctx) }
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxRelease(dev: CUdevice) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuDevicePrimaryCtxRelease_v2(dev) }
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxSetFlags(
    dev: CUdevice,
    flags: c_uint,
) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuDevicePrimaryCtxSetFlags_v2(dev, flags) }
}

pub(in crate::c_api) unsafe fn cuDevicePrimaryCtxReset(dev: CUdevice) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { cuDevicePrimaryCtxReset_v2(dev) }
}
