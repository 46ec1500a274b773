//! Variables of modules, and text that kernels print.

use std::sync::Arc;

use super::{Backing, Printed, Runtime, Stretch};
use crate::kernels::module::KernelCode;
use crate::kernels::variables::ModuleMemory;

impl Runtime {
    /// Adds the variables of a kernel's module.
    pub(super) fn add_variables(&mut self, code: &KernelCode) {
        if let Some(memory) = &code.variables {
            self.add_module(memory);
        }
    }

    /// Adds the variables of a module.
    pub fn add_module(&mut self, memory: &Arc<ModuleMemory>) {
        self.variables.insert(memory.start(), Arc::clone(memory));
    }

    /// Whether a range is in the variables of a module.
    pub(super) fn has_variables(&self, address: u64, bytes: u64) -> bool {
        let found = self.variables_at(address);
        found.is_some_and(|found| found.has(address, bytes))
    }

    /// The memory of a module, from an address in it on.
    pub(super) fn variables_at(&self, address: u64) -> Option<Stretch> {
        let (&start, memory) = self.variables.range(..=address).next_back()?;
        let end = start + memory.bytes();
        (address < end).then(|| Stretch {
            start: address,
            end,
            backing: Backing::Device(memory.contents().clone(), address - start),
        })
    }

    /// The text that kernels have written with `printf`, for use without the lock.
    #[must_use]
    pub fn printed(&self) -> Printed {
        self.printed.clone()
    }
}
