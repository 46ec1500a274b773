//! Copies and memsets of several rows.

use core::ffi::{c_int, c_void};

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use crate::functions::FunctionId as F;
use crate::objects::effects::Fill;
use crate::runtime::{Outcome, Rows};

/// The arguments of a copy with rows, in the order of the C functions.
fn rows(
    call: &mut Call<'_>,
    (to, to_pitch): (*mut c_void, usize),
    (from, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
) -> Outcome<Rows> {
    let (to, from) = (to as u64, from as u64);
    // The direction is checked first.
    let (to_side, from_side) = call.runtime().sides(kind, to, from)?;
    if height != 0 && width != 0 && (width > to_pitch || width > from_pitch) {
        // cudaErrorInvalidPitchValue
        return Err(cudaError_t(12));
    }
    Ok(Rows {
        to: to_side,
        to_pitch: to_pitch as u64,
        from: from_side,
        from_pitch: from_pitch as u64,
        width: width as u64,
        height: height as u64,
    })
}

/// A copy that the call waits for if there is no stream.
fn copy_rows(
    function: F,
    to: (*mut c_void, usize),
    from: (*const c_void, usize),
    extent: (usize, usize),
    kind: cudaMemcpyKind,
    stream: Option<cudaStream_t>,
) -> cudaError_t {
    run(function, |call| {
        let device = call.thread.device;
        let rows = rows(call, to, from, extent, kind)?;
        let into = stream.map_or(0, |stream| stream.0 as u64);
        let end = call.runtime().copy_rows(&rows, into, device)?;
        if stream.is_none() {
            call.wait_until(end);
        }
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaMemcpy2D(
    dst: *mut c_void,
    dst_pitch: usize,
    src: *const c_void,
    src_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    let (to, from) = ((dst, dst_pitch), (src, src_pitch));
    copy_rows(F::cudaMemcpy2D, to, from, (width, height), kind, None)
}

#[allow(clippy::too_many_arguments, reason = "the C prototype has them")]
pub(in crate::c_api) unsafe fn cudaMemcpy2DAsync(
    dst: *mut c_void,
    dst_pitch: usize,
    src: *const c_void,
    src_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> cudaError_t {
    let (to, from) = ((dst, dst_pitch), (src, src_pitch));
    let extent = (width, height);
    copy_rows(F::cudaMemcpy2DAsync, to, from, extent, kind, Some(stream))
}

fn fill_rows(
    dev_ptr: *mut c_void,
    pitch: usize,
    value: c_int,
    (width, height): (usize, usize),
) -> Outcome<Option<Fill>> {
    if width == 0 || height == 0 {
        return Ok(None);
    }
    if width > pitch {
        return Err(cudaError_t::INVALID_VALUE);
    }
    Ok(Some(Fill {
        height: height as u64,
        pitch: pitch as u64,
        ..Fill::bytes(dev_ptr as u64, value as u8, width as u64)
    }))
}

fn set_rows(function: F, fill: Outcome<Option<Fill>>, stream: u64) -> cudaError_t {
    run(function, |call| {
        let device = call.thread.device;
        match fill? {
            Some(fill) => call.runtime().set_async(fill, stream, device),
            None => Ok(()),
        }
    })
}

pub(in crate::c_api) unsafe fn cudaMemset2D(
    dev_ptr: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> cudaError_t {
    let fill = fill_rows(dev_ptr, pitch, value, (width, height));
    set_rows(F::cudaMemset2D, fill, 0)
}

pub(in crate::c_api) unsafe fn cudaMemset2DAsync(
    dev_ptr: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    let fill = fill_rows(dev_ptr, pitch, value, (width, height));
    set_rows(F::cudaMemset2DAsync, fill, stream.0 as u64)
}
