//! The memory of a module: its variables in global and constant memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernels::program::{Unit, Variable};
use crate::memory::contents::Shared;

/// The first address of modules' memory. It is far from the allocations of devices and of
/// programs. On a GPU, it is elsewhere.
const FIRST: u64 = 0x6e00_0000_0000;
/// The address of each module's memory is a multiple of this, in bytes.
const STEP: u64 = 2 << 20;

/// The memory of a module's variables.
#[derive(Debug)]
pub struct ModuleMemory {
    start: u64,
    bytes: u64,
    contents: Shared,
    variables: Vec<Variable>,
}

impl PartialEq for ModuleMemory {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start
    }
}

impl Eq for ModuleMemory {}

impl ModuleMemory {
    /// Allocates memory for the variables of a unit; `None` if it has no variables.
    #[must_use]
    pub fn of(unit: &mut Unit) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(FIRST);
        let bytes = unit.variables().iter().map(|v| v.offset + v.bytes).max()?;
        let room = bytes.next_multiple_of(STEP).max(STEP);
        let start = NEXT.fetch_add(room, Ordering::Relaxed);
        unit.place_at(start);
        let variables = unit.variables().to_vec();
        let contents = Shared::default();
        contents.fill(0, bytes, [0; 4]);
        for variable in &variables {
            contents.write(variable.offset, &variable.content);
        }
        Some(Self {
            start,
            bytes,
            contents,
            variables,
        })
    }

    /// The first address.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The total size of the variables in bytes, including gaps between them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Their contents.
    #[must_use]
    pub fn contents(&self) -> &Shared {
        &self.contents
    }

    /// The total size of the constants in bytes.
    #[must_use]
    pub fn constant_bytes(&self) -> u64 {
        let constants = self.variables.iter().filter(|v| v.is_constant);
        constants.map(|constant| constant.bytes).sum()
    }

    /// The address and size in bytes of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let found = self
            .variables
            .iter()
            .find(|variable| variable.name == name)?;
        Some((self.start + found.offset, found.bytes))
    }
}
