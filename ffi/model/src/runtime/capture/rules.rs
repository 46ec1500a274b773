//! Which calls captures forbid, and to which threads.
//!
//! A call that a capture may not be beside returns 900 and invalidates the captures
//! that forbid it. Some are forbidden in every mode. Others are unsafe only because they
//! may take or wait for something behind the program's back: those the mode of the
//! capture and the mode of the calling thread decide on.

use cudart_ffi::{cudaError_t, cudaStreamCaptureMode};

use crate::functions::FunctionId as F;
use crate::objects::id::StreamId;
use crate::runtime::{Outcome, Runtime};

/// What captures under way have to say to a call, whatever its arguments are.
enum Rule {
    /// Nothing.
    Safe,
    /// The modes decide.
    Unsafe,
    /// It waits for the whole device: forbidden beside any capture.
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
    /// Refuses a call that a capture under way forbids.
    ///
    /// # Errors
    ///
    /// 900, and the captures that forbid the call are invalid from then on.
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

    /// Refuses an unsafe call of a thread. In relaxed mode a thread may make all of them.
    /// Otherwise captures forbid them that the thread itself began, in another mode than
    /// relaxed; and to threads in global mode captures in global mode of any thread.
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

    /// Refuses work in the legacy default stream while a blocking stream captures: the
    /// legacy stream would have to wait for it.
    pub(in crate::runtime) fn refuse_beside_legacy(&mut self, stream: StreamId) -> Outcome {
        if self.captures.all.is_empty() || !self.is_legacy(stream) {
            return Ok(());
        }
        let captures = self.captures_beside_legacy().collect();
        self.refuse_beside(captures, cudaError_t::STREAM_CAPTURE_IMPLICIT)
    }

    /// Refuses a stream that captures, for a call that a capture does not take.
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
