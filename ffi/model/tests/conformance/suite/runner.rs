//! Runs programs: makes the call of each line, then reads the four attributes.

use core::ptr::null_mut;
use std::time::Instant;

use cudart_ffi::{Cudart, cudaGraphMemAttributeType};

use super::calls::{Outcome, Run};
use super::kernel::BusyKernel;
use super::program::Program;
use super::trace::{Trace, TraceLine};

/// The value for an attribute that could not be read.
const UNREADABLE: u64 = u64::MAX;

/// The notes that are added to a line. They are never compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notes {
    /// The call's host time.
    pub time: bool,
    /// Free memory as returned by `cudaMemGetInfo`.
    pub free_memory: bool,
}

/// A runtime that is ready to run programs.
#[derive(Debug)]
pub struct Session<'a> {
    cudart: &'a Cudart,
    kernel: BusyKernel,
    notes: Notes,
}

impl<'a> Session<'a> {
    /// Selects device 0, creates its context, loads the kernel and runs it once, so
    /// that lazy loading does not affect the programs.
    ///
    /// # Errors
    ///
    /// One line with the call that failed and its code.
    pub fn new(cudart: &'a Cudart, notes: Notes) -> Result<Self, String> {
        // SAFETY: freeing null only creates the context.
        let codes = unsafe { [cudart.cudaSetDevice(0), cudart.cudaFree(null_mut())] };
        if let Some(code) = codes.iter().find(|code| !code.is_success()) {
            return Err(format!("device 0 cannot be used: {code:?}"));
        }
        let kernel = BusyKernel::load(cudart, 0)?;
        let session = Self {
            cudart,
            kernel,
            notes,
        };
        let warm_up = "stream s\ngraph g\nkernel k in g\ninstantiate x of g\nlaunch x on s\nsync s";
        let warm_up = Program::parse("warm-up", warm_up).map_err(|error| error.to_string())?;
        let trace = session.run(&warm_up, |_| ());
        match trace.lines.iter().find(|line| line.code != 0) {
            Some(line) => Err(format!("an empty kernel cannot be run: {line}")),
            None => Ok(session),
        }
    }

    /// The way in which the kernel was loaded.
    #[must_use]
    pub fn kernel_route(&self) -> &'static str {
        self.kernel.route()
    }

    /// Runs a program and cleans up after it. `each` is called with every line as soon
    /// as its call has returned.
    pub fn run(&self, program: &Program, mut each: impl FnMut(&TraceLine)) -> Trace {
        self.start();
        let mut run = Run::new(self.cudart, &self.kernel);
        let mut trace = Trace::default();
        for line in &program.lines {
            let traced = self.traced(&line.text, || run.call(&line.op));
            each(&traced);
            trace.lines.push(traced);
        }
        type Step<'s> = fn(&mut Run<'s>) -> Outcome;
        let cleanup: [(&str, Step<'_>); 4] = [
            ("(sync)", Run::finish),
            ("(free)", Run::free_all),
            ("(destroy)", Run::destroy_all),
            ("(trim)", Run::trim),
        ];
        for (name, step) in cleanup {
            let traced = self.traced(name, || step(&mut run));
            each(&traced);
            trace.lines.push(traced);
        }
        trace
    }

    /// Whether a program left no memory in the pool.
    #[must_use]
    pub fn left_clean(trace: &Trace) -> bool {
        trace
            .lines
            .last()
            .is_some_and(|line| line.attributes[0] == 0 && line.attributes[2] == 0)
    }

    /// Sets the same initial state for every program of a process: an empty pool,
    /// high-water marks of 0, no pending error.
    fn start(&self) {
        // SAFETY: the only pointer is to a local variable that exists during the
        // call.
        unsafe {
            self.cudart.cudaSetDevice(0);
            self.cudart.cudaDeviceSynchronize();
            self.cudart.cudaDeviceGraphMemTrim(0);
            for mark in [
                cudaGraphMemAttributeType::USED_MEM_HIGH,
                cudaGraphMemAttributeType::RESERVED_MEM_HIGH,
            ] {
                let mut zero = 0_u64;
                self.cudart
                    .cudaDeviceSetGraphMemAttribute(0, mark, (&raw mut zero).cast());
            }
            self.cudart.cudaGetLastError();
        }
    }

    fn traced(&self, op: &str, call: impl FnOnce() -> Outcome) -> TraceLine {
        let start = Instant::now();
        let outcome = call();
        let elapsed = start.elapsed();
        let mut notes = Vec::new();
        if self.notes.time {
            notes.push(format!("{:.1} us", elapsed.as_secs_f64() * 1e6));
        }
        if self.notes.free_memory {
            let (mut free, mut total) = (0, 0);
            // SAFETY: both pointers are valid for the write of a size.
            let code = unsafe { self.cudart.cudaMemGetInfo(&raw mut free, &raw mut total) };
            notes.push(format!("{free} B free of {total} ({})", code.0));
        }
        TraceLine {
            op: op.to_owned(),
            code: outcome.code.0,
            attributes: [0, 1, 2, 3].map(|index| self.attribute(index)),
            address: outcome.address,
            value: outcome.value,
            note: (!notes.is_empty()).then(|| notes.join(", ")),
        }
    }

    fn attribute(&self, index: u32) -> u64 {
        let mut value = 0_u64;
        // SAFETY: the pointer is valid for the write of a u64.
        let code = unsafe {
            self.cudart.cudaDeviceGetGraphMemAttribute(
                0,
                cudaGraphMemAttributeType(index),
                (&raw mut value).cast(),
            )
        };
        if code.is_success() { value } else { UNREADABLE }
    }
}
