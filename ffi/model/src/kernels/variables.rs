//! Memory of a module: its variables in global and constant memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernels::program::{Unit, Variable};
use crate::memory::contents::Shared;

/// Where modules' memory begins: no allocation of a device, and by its place none of a
/// program, is there. With a GPU it is elsewhere.
const FIRST: u64 = 0x6e00_0000_0000;
/// What modules' addresses are multiples of.
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
    /// Places the variables of a unit in memory of their own; `None` where it has none.
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

    /// How many bytes the variables have, with the gaps between them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What they hold.
    #[must_use]
    pub fn contents(&self) -> &Shared {
        &self.contents
    }

    /// How many bytes its constants have.
    #[must_use]
    pub fn constant_bytes(&self) -> u64 {
        let constants = self.variables.iter().filter(|v| v.is_constant);
        constants.map(|constant| constant.bytes).sum()
    }

    /// The address and size of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let found = self
            .variables
            .iter()
            .find(|variable| variable.name == name)?;
        Some((self.start + found.offset, found.bytes))
    }
}
