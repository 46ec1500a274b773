//! Variables of the program's kernels, which the program identifies by a host variable.

use core::ffi::c_void;

use cudart_ffi::types::*;

use super::super::entry::{Call, run};
use super::super::nvcc;
use super::super::pointers::{not_null, write};
use crate::functions::FunctionId as F;
use crate::objects::effects::{CopyRequest, Side};
use crate::runtime::Outcome;

/// The address and the size of a variable.
///
/// # Errors
///
/// 13 (`cudaErrorInvalidSymbol`) if there is no such variable.
fn variable(call: &mut Call<'_>, symbol: *const c_void) -> Outcome<(u64, u64)> {
    nvcc::variable_of(call.runtime(), symbol.addr() as u64).ok_or(cudaError_t(13))
}

pub(in crate::c_api) unsafe fn cudaGetSymbolAddress(
    dev_ptr: *mut *mut c_void,
    symbol: *const c_void,
) -> cudaError_t {
    run(F::cudaGetSymbolAddress, |call| {
        let out = not_null(dev_ptr)?;
        let (address, _) = variable(call, symbol)?;
        // SAFETY: not null, and the program promises that it can be written.
        unsafe { write(out, address as *mut c_void) };
        Ok(())
    })
}

pub(in crate::c_api) unsafe fn cudaGetSymbolSize(
    size: *mut usize,
    symbol: *const c_void,
) -> cudaError_t {
    run(F::cudaGetSymbolSize, |call| {
        let out = not_null(size)?;
        let (_, bytes) = variable(call, symbol)?;
        // SAFETY: as above.
        unsafe { write(out, bytes as usize) };
        Ok(())
    })
}

/// A copy between a variable and other memory.
struct Copy {
    symbol: *const c_void,
    other: u64,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    /// Whether the variable is the destination.
    writes: bool,
}

impl Copy {
    /// Makes the copy in a stream. With `waits`, the call waits for it.
    fn make(&self, call: &mut Call<'_>, stream: u64, waits: bool) -> Outcome {
        let (address, size) = variable(call, self.symbol)?;
        let allowed = match self.kind {
            cudaMemcpyKind::HOST_TO_DEVICE => self.writes,
            cudaMemcpyKind::DEVICE_TO_HOST => !self.writes,
            cudaMemcpyKind::DEVICE_TO_DEVICE | cudaMemcpyKind::DEFAULT => true,
            _ => false,
        };
        if !allowed {
            // cudaErrorInvalidMemcpyDirection
            return Err(cudaError_t(21));
        }
        let end = self.offset.checked_add(self.count);
        if end.is_none_or(|end| end as u64 > size) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if self.count == 0 {
            return Ok(());
        }
        let there = Side::Device(address + self.offset as u64);
        let runtime = call.runtime();
        let (_, other) = runtime.sides(self.kind, 0, self.other)?;
        let other = match self.kind {
            cudaMemcpyKind::DEVICE_TO_HOST => Side::Host(self.other),
            _ => other,
        };
        let (to, from) = if self.writes {
            (there, other)
        } else {
            (other, there)
        };
        let copy = CopyRequest {
            to,
            from,
            bytes: self.count as u64,
        };
        let device = call.thread.device;
        let end = call.runtime().copy_async(copy, stream, device)?;
        if waits {
            call.wait_until(end);
        }
        Ok(())
    }
}

/// A copy that the call waits for if there is no stream.
fn copy(function: F, copy: &Copy, stream: Option<cudaStream_t>) -> cudaError_t {
    run(function, |call| match stream {
        None => copy.make(call, 0, true),
        Some(stream) => copy.make(call, stream.0 as u64, false),
    })
}

pub(in crate::c_api) unsafe fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    let of = Copy {
        symbol,
        other: src as u64,
        count,
        offset,
        kind,
        writes: true,
    };
    copy(F::cudaMemcpyToSymbol, &of, None)
}

pub(in crate::c_api) unsafe fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> cudaError_t {
    let of = Copy {
        symbol,
        other: src as u64,
        count,
        offset,
        kind,
        writes: true,
    };
    copy(F::cudaMemcpyToSymbolAsync, &of, Some(stream))
}

pub(in crate::c_api) unsafe fn cudaMemcpyFromSymbol(
    dst: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> cudaError_t {
    let of = Copy {
        symbol,
        other: dst as u64,
        count,
        offset,
        kind,
        writes: false,
    };
    copy(F::cudaMemcpyFromSymbol, &of, None)
}

pub(in crate::c_api) unsafe fn cudaMemcpyFromSymbolAsync(
    dst: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> cudaError_t {
    let of = Copy {
        symbol,
        other: dst as u64,
        count,
        offset,
        kind,
        writes: false,
    };
    copy(F::cudaMemcpyFromSymbolAsync, &of, Some(stream))
}
