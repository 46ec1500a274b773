//! Which calls captures forbid, and to which threads.
//!
//! A call that an active capture forbids returns 900, and invalidates the captures that
//! forbid it. Some calls are forbidden in every mode. Other calls are forbidden only
//! because they may implicitly allocate or wait; for these, the mode of the capture and
//! that of the calling thread decide.

use cudart_ffi::{cudaError_t, cudaStreamCaptureMode};

use crate::functions::FunctionId as F;
use crate::objects::id::StreamId;
use crate::runtime::{Outcome, Runtime};

/// How active captures restrict a call, whatever its arguments are.
enum Rule {
    /// It is always allowed.
    Safe,
    /// The capture modes decide.
    Unsafe,
    /// It waits for the whole device, which every capture forbids.
    WaitsForDevice,
}

fn rule(function: F) -> Rule {
    match function.name() {
        "cudaMalloc"
        | "cudaFree"
        | "cudaMallocHost"
        | "cudaHostAlloc"
        | "cudaFreeHost"
        | "cudaHostRegister"
        | "cudaHostUnregister"
        | "cudaMallocManaged"
        | "cudaMallocPitch"
        | "cudaMemPoolCreate"
        | "cudaMemPoolDestroy"
        | "cudaMemPoolTrimTo"
        | "cudaMemPoolGetAttribute"
        | "cudaMemPoolSetAttribute"
        | "cudaDeviceSetMemPool"
        | "cudaDeviceSetLimit"
        | "cudaGraphInstantiate"
        | "cudaGraphInstantiateWithFlags"
        | "cudaGraphInstantiateWithParams"
        | "cudaGraphExecDestroy" => Rule::Unsafe,
        "cudaDeviceSynchronize" => Rule::WaitsForDevice,
        _ => Rule::Safe,
    }
}

impl Runtime {
    /// Refuses a call that an active capture forbids.
    ///
    /// # Errors
    ///
    /// 900. The captures that forbid the call are invalid from then on.
    pub fn allowed_beside_captures(&mut self, function: F) -> Outcome {
        if self.captures.all.is_empty() {
            return Ok(());
        }
        match rule(function) {
            Rule::Safe => Ok(()),
            Rule::Unsafe => self.refuse_unsafe(),
            Rule::WaitsForDevice => {
                let all = self.captures.all.keys().copied().collect();
                self.refuse_beside(all, cudaError_t::STREAM_CAPTURE_UNSUPPORTED)
            }
        }
    }

    /// Refuses a call that the capture modes may forbid. A thread in relaxed mode may
    /// make all such calls. For other threads, a capture that the thread itself began
    /// forbids them unless its mode is relaxed. For a thread in global mode, so does
    /// every capture in global mode, whatever thread began it.
    pub(in crate::runtime) fn refuse_unsafe(&mut self) -> Outcome {
        let caller = self.caller;
        if caller.mode == cudaStreamCaptureMode::RELAXED {
            return Ok(());
        }
        let anyones = caller.mode == cudaStreamCaptureMode::GLOBAL;
        let forbidding = self
            .captures
            .all
            .iter()
            .filter(|(_, capture)| match capture.mode {
                cudaStreamCaptureMode::RELAXED => false,
                cudaStreamCaptureMode::GLOBAL if anyones => true,
                _ => capture.thread == caller.thread,
            })
            .map(|(&number, _)| number)
            .collect();
        self.refuse_beside(forbidding, cudaError_t::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Refuses work in the legacy default stream while a blocking stream captures,
    /// because the legacy stream would have to wait for that stream.
    pub(in crate::runtime) fn refuse_beside_legacy(&mut self, stream: StreamId) -> Outcome {
        if self.captures.all.is_empty() || !self.is_legacy(stream) {
            return Ok(());
        }
        let captures = self.captures_beside_legacy().collect();
        self.refuse_beside(captures, cudaError_t::STREAM_CAPTURE_IMPLICIT)
    }

    /// Refuses a capturing stream, for a call that cannot be captured.
    pub(in crate::runtime) fn not_capturing(&mut self, stream: StreamId) -> Outcome<StreamId> {
        let own: Vec<u64> = self
            .captures
            .streams
            .get(&stream)
            .map(|branch| branch.capture)
            .into_iter()
            .collect();
        self.refuse_beside(own, cudaError_t::STREAM_CAPTURE_UNSUPPORTED)?;
        Ok(stream)
    }

    fn refuse_beside(&mut self, captures: Vec<u64>, code: cudaError_t) -> Outcome {
        if captures.is_empty() {
            return Ok(());
        }
        for capture in captures {
            self.invalidate(capture);
        }
        Err(code)
    }
}
