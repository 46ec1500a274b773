//! The common parts of all driver calls.

use cudart_ffi::{CUresult, cudaError_t};

use super::super::entry::{Call, begin, end};
use crate::instance;
use crate::runtime::Outcome;

/// The requirements of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// `cuInit` must have been called.
    Init,
    /// In addition, a context must be current.
    Context,
}

/// Runs a call that exists only in the driver.
pub(super) fn run(needs: Needs, body: impl FnOnce(&mut Call<'_>) -> Outcome) -> CUresult {
    let (instance, thread) = instance::current();
    let mut call = begin(&instance, thread);
    let result = ready(&mut call, needs).and_then(|()| body(&mut call));
    end(call);
    result_of(result.err().unwrap_or(cudaError_t::SUCCESS))
}

/// Runs a call that the runtime also has. Its error does not become the last error of the
/// runtime.
pub(super) fn as_runtime(needs: Needs, body: impl FnOnce() -> cudaError_t) -> CUresult {
    let (instance, thread) = instance::current();
    let mut call = begin(&instance, thread);
    let refused = ready(&mut call, needs);
    let last_error = call.thread.last_error;
    end(call);
    if let Err(code) = refused {
        return result_of(code);
    }
    let code = body();
    if code != cudaError_t::SUCCESS {
        instance::set_last_error(last_error);
    }
    result_of(code)
}

fn ready(call: &mut Call<'_>, needs: Needs) -> Outcome {
    if needs == Needs::Nothing {
        return Ok(());
    }
    if let Some(code) = call.broken() {
        return Err(code);
    }
    let thread = call.thread.number;
    let runtime = call.runtime();
    if !runtime.driver_is_initialized() {
        return Err(cudaError_t::INITIALIZATION_ERROR);
    }
    if needs == Needs::Context {
        runtime.current_device(thread)?;
    }
    Ok(())
}

/// The driver's code for a code of the runtime. Most are equal, but some exist only in the
/// runtime.
fn result_of(code: cudaError_t) -> CUresult {
    match code.0 {
        // Invalid launch configuration, invalid copy direction.
        9 | 21 => CUresult::INVALID_VALUE,
        // Invalid device function.
        98 => CUresult::INVALID_HANDLE,
        other => CUresult(other),
    }
}
