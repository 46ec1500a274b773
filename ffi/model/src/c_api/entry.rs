//! The common parts of every call: counting, faults, duration, the last error.

use std::cell::Cell;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudart_ffi::cudaError_t;

use super::output;
use crate::clock::Nanos;
use crate::functions::FunctionId;
use crate::instance::{self, Instance, State, ThreadState};
use crate::objects::effects::Effect;
use crate::profile::{Costs, nanos};
use crate::runtime::{Caller, Runtime, Surroundings, carry_out};

/// A sleeping thread wakes late by about this much. The rest of the time is spent polling.
const SLEEP_SLACK: Duration = Duration::from_micros(150);

thread_local! {
    /// Whether the thread is working on memory, or runs a function of the program.
    static WORKING: Cell<bool> = const { Cell::new(false) };
}

/// A running call: the runtime that it uses, and its thread's state.
pub(super) struct Call<'a> {
    instance: &'a Instance,
    /// `None` only while the call waits, so that other calls can run.
    state: Option<MutexGuard<'a, State>>,
    pub(super) thread: ThreadState,
}

impl Call<'_> {
    fn state(&mut self) -> &mut State {
        self.state.get_or_insert_with(|| self.instance.lock())
    }

    pub(super) fn runtime(&mut self) -> &mut Runtime {
        let caller = Caller {
            thread: self.thread.number,
            mode: self.thread.capture_mode,
            device: self.thread.device,
            per_thread_default: self.thread.per_thread_default,
        };
        let runtime = &mut self.state().runtime;
        runtime.set_caller(caller);
        runtime
    }

    /// Makes the primary context of the thread's device current.
    pub(super) fn use_device(&mut self) {
        let (thread, device) = (self.thread.number, self.thread.device);
        self.runtime().use_device(thread, device);
        self.thread.has_context = true;
    }

    /// The error code of every call, if no call works: the environment has an invalid
    /// setting, a fault has corrupted the context, or the process is a forked child.
    pub(super) fn broken(&mut self) -> Option<cudaError_t> {
        let state = self.state();
        if state.misconfigured || state.forked {
            Some(cudaError_t::INITIALIZATION_ERROR)
        } else {
            state.corrupted
        }
    }

    /// Does the work on memory that the call has queued, without the lock, after the
    /// work that earlier calls queued.
    fn do_work(&mut self) {
        let Some(target) = self.runtime().work().take_own() else {
            return;
        };
        // This call was made by a function of the program that is part of that work.
        if WORKING.get() {
            return;
        }
        while !self.runtime().work().is_done(target) {
            if self.runtime().work().busy {
                self.wait_for_work();
                continue;
            }
            self.runtime().work().busy = true;
            while !self.runtime().work().is_done(target)
                && let Some(effect) = self.runtime().work().pop()
            {
                self.do_one(&effect);
                self.runtime().work().finished();
            }
            self.runtime().work().busy = false;
            if self.runtime().work().waiters > 0 {
                self.instance.work_done.notify_all();
            }
        }
    }

    fn do_one(&mut self, effect: &Effect) {
        if let Effect::EndAllocations(which) = effect {
            self.runtime().end_allocations(which);
            return;
        }
        let printed = self.runtime().printed();
        self.state = None;
        WORKING.set(true);
        match effect {
            Effect::Host(host) => super::pointers::call_host(*host),
            other => carry_out(
                other,
                Surroundings {
                    lookup: &|address| self.instance.lock().runtime.memory_at(address),
                    conditions: &|handle| self.instance.lock().runtime.condition(handle),
                    printed: &printed,
                },
            ),
        }
        WORKING.set(false);
    }

    /// Waits until another thread has stopped working on memory.
    fn wait_for_work(&mut self) {
        self.runtime().work().waiters += 1;
        if let Some(state) = self.state.take() {
            let state = self.instance.work_done.wait(state);
            self.state = Some(state.unwrap_or_else(PoisonError::into_inner));
        }
        self.runtime().work().waiters -= 1;
    }

    /// Waits until the simulated clock has reached `time`.
    pub(super) fn wait_until(&mut self, time: Nanos) {
        self.do_work();
        let Some(left) = self.runtime().clock_mut().wait_until(time) else {
            return;
        };
        self.state = None;
        let end = Instant::now() + left;
        if let Some(long) = left.checked_sub(SLEEP_SLACK) {
            std::thread::sleep(long);
        }
        while Instant::now() < end {
            std::thread::yield_now();
        }
    }
}

/// Runs a call that returns an error code.
pub(super) fn run(
    function: FunctionId,
    body: impl FnOnce(&mut Call<'_>) -> Result<(), cudaError_t>,
) -> cudaError_t {
    let (instance, thread) = instance::current();
    let mut call = begin(&instance, thread);
    let mut first = false;
    let result = match refused(call.state(), function) {
        Some(code) => Err(code),
        None => {
            first = !call.thread.has_context && function.uses_context();
            if first {
                call.use_device();
            }
            call.runtime()
                .allowed_beside_captures(function)
                .and_then(|()| body(&mut call))
        }
    };
    let code = result.err().unwrap_or(cudaError_t::SUCCESS);
    // "Not ready" is not an error, so it does not become the last error.
    if code != cudaError_t::SUCCESS && code != cudaError_t::NOT_READY {
        call.thread.last_error = code;
    }
    let printed = call.runtime().printed();
    end(call);
    if output::is_written_by(function) && code == cudaError_t::SUCCESS {
        output::write(&printed.take());
    }
    if first {
        // The runtime has initialized the driver, so the injection library is
        // loaded.
        super::driver::load_injection();
    }
    code
}

/// Begins a call of this thread.
pub(super) fn begin(instance: &Instance, thread: ThreadState) -> Call<'_> {
    Call {
        state: Some(instance.lock()),
        instance,
        thread,
    }
}

/// Ends a call: calls the functions of the program that are now due, and stores the
/// thread's state.
pub(super) fn end(mut call: Call<'_>) {
    call.do_work();
    let thread = call.thread;
    drop(call);
    instance::keep(thread);
}

/// Counts the call. Returns an error code if the call must not run.
fn refused(state: &mut State, function: FunctionId) -> Option<cudaError_t> {
    let cost = nanos(price(function, &state.runtime.profile().costs_us));
    state.runtime.clock_mut().charge(cost);
    state.calls += 1;
    let of_function = match state.calls_of.get_mut(function as usize) {
        Some(count) => {
            *count += 1;
            *count
        }
        None => 0,
    };
    if !state.faults.is_empty() {
        let all = state.calls;
        let hit = state.faults.iter().find(|fault| match fault.function {
            Some(only) => only == function && fault.call == of_function,
            None => fault.call == all,
        });
        if let Some(fault) = hit {
            let code = fault.code;
            state.faults_hit.push(function);
            if crate::faults::corrupts_the_context(code) {
                state.corrupted = Some(code);
            }
            return Some(code);
        }
    }
    if function.needs_no_driver() {
        return None;
    }
    if state.misconfigured || state.forked && !works_after_fork(function, &mut state.runtime) {
        return Some(cudaError_t::INITIALIZATION_ERROR);
    }
    state.runtime.startup_error().or(state.corrupted)
}

/// Whether a call works in a forked child whose parent has used CUDA, as on an H200 (driver
/// 580, CUDA 13.0).
fn works_after_fork(function: FunctionId, runtime: &mut Runtime) -> bool {
    match function {
        // These return what the process already knows. `cudaSetDevice` and
        // `cudaMalloc` check their arguments first.
        FunctionId::cudaGetDeviceCount
        | FunctionId::cudaGetDeviceProperties
        | FunctionId::cudaGetDeviceProperties_v2
        | FunctionId::cudaEventQuery
        | FunctionId::cudaEventSynchronize
        | FunctionId::cudaEventElapsedTime
        | FunctionId::cudaSetDevice
        | FunctionId::cudaMalloc => true,
        // The pool has free memory, so the driver is not needed.
        FunctionId::cudaMallocAsync | FunctionId::cudaFreeAsync => runtime.has_pooled_memory(),
        _ => false,
    }
}

/// The duration of a call with a virtual clock, in microseconds.
fn price(function: FunctionId, costs: &Costs) -> f64 {
    match function {
        FunctionId::cudaGraphCreate => costs.graph_create,
        FunctionId::cudaGraphAddMemAllocNode
        | FunctionId::cudaGraphAddMemFreeNode
        | FunctionId::cudaGraphAddKernelNode
        | FunctionId::cudaGraphAddEmptyNode
        | FunctionId::cudaGraphAddChildGraphNode => costs.add_node,
        FunctionId::cudaGraphInstantiateWithFlags => costs.instantiate,
        FunctionId::cudaGraphLaunch
        | FunctionId::cudaGraphUpload
        | FunctionId::cudaLaunchKernel => costs.launch,
        FunctionId::cudaMalloc => costs.malloc,
        FunctionId::cudaFree => costs.free,
        // The two calls together take 1.9 us (M15).
        FunctionId::cudaFreeAsync | FunctionId::cudaMallocAsync => costs.free_async,
        FunctionId::cudaLibraryLoadData => costs.load_library,
        _ => costs.call,
    }
}

/// Reads from the simulated runtime without counting as a call.
pub(super) fn look<T>(body: impl FnOnce(&State) -> T) -> T {
    let (instance, _) = instance::current();
    let state = instance.lock();
    body(&state)
}

/// `cudaGetLastError`: returns the thread's last error and resets it. A failed start and a
/// corrupted context are not reset.
pub(super) fn take_last_error() -> cudaError_t {
    let (mut thread, lasting) = thread_and_lasting_error();
    let error = lasting.unwrap_or(thread.last_error);
    thread.last_error = lasting.unwrap_or(cudaError_t::SUCCESS);
    instance::keep(thread);
    error
}

/// `cudaPeekAtLastError`: the same without the reset.
pub(super) fn last_error() -> cudaError_t {
    let (thread, lasting) = thread_and_lasting_error();
    instance::keep(thread);
    lasting.unwrap_or(thread.last_error)
}

fn thread_and_lasting_error() -> (ThreadState, Option<cudaError_t>) {
    let (instance, thread) = instance::current();
    let state = instance.lock();
    let lasting = if thread.last_error == cudaError_t::SUCCESS {
        state.corrupted
    } else if state.misconfigured {
        Some(cudaError_t::INITIALIZATION_ERROR)
    } else {
        state.runtime.startup_error().or(state.corrupted)
    };
    (thread, lasting)
}
