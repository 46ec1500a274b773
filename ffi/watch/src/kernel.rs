//! Kernel launches. The first launch of a kernel loads the kernel, if modules are loaded
//! lazily, and can increase the local memory of the context. All further launches are
//! passed on after a lookup in a table that is read without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use cudart_ffi::types::{CUfunction, CUresult};
use graph_memory_record::Category;

use crate::account;
use crate::guard::shield;
use crate::state;
use crate::wrap::Entry;

/// The kernels that were launched. When a table is too small, a new one replaces it, and
/// the old one is never freed, because another thread may still be reading it.
pub struct Seen {
    table: AtomicPtr<Table>,
}

struct Table {
    /// Their number is a power of two. 0 marks a free place.
    places: Box<[AtomicUsize]>,
    taken: AtomicUsize,
}

impl Table {
    fn new(size: usize) -> *mut Self {
        let places = (0..size).map(|_| AtomicUsize::new(0)).collect();
        let taken = AtomicUsize::new(0);
        Box::into_raw(Box::new(Self { places, taken }))
    }

    /// The place of a kernel, or the free place for it.
    #[inline]
    fn place(&self, kernel: usize) -> Option<&AtomicUsize> {
        let mask = self.places.len() - 1;
        let start = (kernel >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (0..=mask)
            .filter_map(|step| self.places.get((start + step) & mask))
            .find(|place| matches!(place.load(Ordering::Relaxed), known if known == 0 || known == kernel))
    }

    fn insert(&self, kernel: usize) {
        if let Some(place) = self.place(kernel) {
            place.store(kernel, Ordering::Relaxed);
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Seen {
    /// An empty set.
    pub fn new() -> Self {
        Self {
            table: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether a kernel was launched before.
    #[inline]
    fn contains(&self, kernel: usize) -> bool {
        // SAFETY: null, or a table, which is never freed.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() };
        let place = table.and_then(|table| table.place(kernel));
        place.is_some_and(|place| place.load(Ordering::Relaxed) == kernel)
    }

    /// Adds a kernel. The caller holds the state's lock.
    fn insert(&self, kernel: usize) {
        if kernel == 0 || self.contains(kernel) {
            return;
        }
        // SAFETY: as in `contains`.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() };
        if let Some(table) = table
            && table.taken.load(Ordering::Relaxed) * 2 < table.places.len()
        {
            table.insert(kernel);
            return;
        }
        let next = Table::new(table.map_or(256, |table| table.places.len() * 2));
        // SAFETY: just made.
        let new = unsafe { &*next };
        for place in table.iter().flat_map(|table| &table.places) {
            match place.load(Ordering::Relaxed) {
                0 => {}
                known => new.insert(known),
            }
        }
        new.insert(kernel);
        self.table.store(next, Ordering::Release);
    }
}

/// All functions that launch a kernel.
#[inline]
pub fn launched(
    entry: &'static Entry,
    real: impl FnOnce() -> CUresult,
    kernel: CUfunction,
) -> CUresult {
    match state::active() {
        Some(state) if !state.kernels.contains(kernel.0 as usize) => {
            shield(|| {
                let _writers = state.lock();
                state.kernels.insert(kernel.0 as usize);
            });
            account::other(entry, real, Category::Kernel)
        }
        _ => real(),
    }
}
