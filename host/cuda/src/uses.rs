//! What must not be unloaded or freed while CUDA may still use it.
//!
//! A graph refers to kernels and buffers by handle, and so does every exec that is
//! instantiated from it and every launch that has not finished. CUDA does not promise to
//! keep them: what `cudaLibraryUnload` and `cuModuleUnload` do to a kernel that runs is not
//! documented. (On an H200 with driver 580, `cudaLibraryUnload` returned when the kernel had
//! ended, 202 ms later.) So each of graph, exec and stream has a list of them here, and the
//! last list that drops one unloads or frees it. Dropping a kernel waits for nothing.

use std::rc::Rc;

use crate::buffer::Memory;
use crate::kernel::Module;

/// One kernel's code or one buffer's memory.
#[derive(Debug, Clone)]
pub(crate) enum Use<'rt> {
    /// The code of kernels.
    Code(Rc<Module<'rt>>),
    /// Plain device memory.
    Memory(Rc<Memory<'rt>>),
}

impl Use<'_> {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Code(a), Self::Code(b)) => Rc::ptr_eq(a, b),
            (Self::Memory(a), Self::Memory(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Several of them, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uses<'rt>(Vec<Use<'rt>>);

impl<'rt> Uses<'rt> {
    pub(crate) fn add(&mut self, one: &Use<'rt>) {
        if !self.0.iter().any(|known| known.is(one)) {
            self.0.push(one.clone());
        }
    }

    pub(crate) fn add_all(&mut self, others: &Self) {
        for other in &others.0 {
            self.add(other);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
