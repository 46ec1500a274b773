//! Variables of modules, and text that kernels write.

use std::sync::Arc;

use super::{Backing, Printed, Runtime, Stretch};
use crate::kernels::module::KernelCode;

impl Runtime {
    /// Makes the variables of a kernel's module known.
    pub(super) fn add_variables(&mut self, code: &KernelCode) {
        if let Some(memory) = &code.variables {
            self.variables.insert(memory.start(), Arc::clone(memory));
        }
    }

    /// The memory of a module from an address in it on.
    pub(super) fn variables_at(&self, address: u64) -> Option<Stretch> {
        let (&start, memory) = self.variables.range(..=address).next_back()?;
        let end = start + memory.bytes();
        (address < end).then(|| Stretch {
            start: address,
            end,
            backing: Backing::Device(memory.contents().clone(), address - start),
        })
    }

    /// What kernels have written with `printf`, for use without the lock.
    #[must_use]
    pub fn printed(&self) -> Printed {
        self.printed.clone()
    }
}
