//! The execs by their handles: a hash table that a launch reads without a lock.
//!
//! Writers hold the state's lock. When a table is too small, a new one replaces it, and the
//! old one is never freed, because another thread may still be reading it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::counters::Slot;

/// The place was never used: a search ends here.
const EMPTY: usize = 0;
/// The place was used for an exec that was removed: a search continues.
const REMOVED: usize = 1;

/// A table of this size or larger grows only for execs that are live.
const LARGE: usize = 1 << 16;

/// The data of an exec that a launch needs.
#[derive(Debug, Clone, Copy)]
pub struct Exec {
    /// Its number.
    pub number: u64,
    /// Its counters.
    pub slot: Slot,
    /// A bit for each device on which it has memory nodes; 0 without memory nodes.
    pub memory_devices: u64,
    /// The device whose memory is read.
    pub device: i32,
}

struct Place {
    key: AtomicUsize,
    number: AtomicU64,
    slot: AtomicPtr<u8>,
    memory_devices: AtomicU64,
    device: AtomicU64,
}

struct Table {
    /// Their number is a power of two.
    places: Box<[Place]>,
    /// The number of places that are not [`EMPTY`].
    taken: AtomicUsize,
}

/// The table of execs.
pub struct Execs {
    table: AtomicPtr<Table>,
}

impl Table {
    fn new(size: usize) -> Self {
        let place = || Place {
            key: AtomicUsize::new(EMPTY),
            number: AtomicU64::new(0),
            slot: AtomicPtr::new(ptr::null_mut()),
            memory_devices: AtomicU64::new(0),
            device: AtomicU64::new(0),
        };
        Self {
            places: (0..size).map(|_| place()).collect(),
            taken: AtomicUsize::new(0),
        }
    }

    /// The places for a handle, in the order in which they are searched.
    #[inline]
    fn search(&self, handle: usize) -> impl Iterator<Item = &Place> {
        let mask = self.places.len() - 1;
        let start = (handle >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (0..=mask).filter_map(move |step| self.places.get((start + step) & mask))
    }

    fn find(&self, handle: usize) -> Option<&Place> {
        if handle <= REMOVED {
            return None;
        }
        for place in self.search(handle) {
            match place.key.load(Ordering::Acquire) {
                key if key == handle => return Some(place),
                EMPTY => return None,
                _ => {}
            }
        }
        None
    }

    fn insert(&self, handle: usize, exec: Exec) {
        let free = self
            .search(handle)
            .find(|place| place.key.load(Ordering::Relaxed) <= REMOVED);
        let Some(place) = free else {
            return;
        };
        let was_empty = place.key.load(Ordering::Relaxed) == EMPTY;
        place.number.store(exec.number, Ordering::Relaxed);
        place.slot.store(exec.slot.as_raw(), Ordering::Relaxed);
        place
            .memory_devices
            .store(exec.memory_devices, Ordering::Relaxed);
        let device = u64::from(exec.device.cast_unsigned());
        place.device.store(device, Ordering::Relaxed);
        place.key.store(handle, Ordering::Release);
        self.taken
            .fetch_add(usize::from(was_empty), Ordering::Relaxed);
    }
}

impl Place {
    fn exec(&self) -> Exec {
        // SAFETY: the pointer was stored by `insert`, before the key.
        let slot = unsafe { Slot::from_raw(self.slot.load(Ordering::Relaxed)) };
        Exec {
            number: self.number.load(Ordering::Relaxed),
            slot,
            memory_devices: self.memory_devices.load(Ordering::Relaxed),
            device: self.device.load(Ordering::Relaxed) as u32 as i32,
        }
    }
}

impl Execs {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            table: AtomicPtr::new(Box::into_raw(Box::new(Table::new(64)))),
        }
    }

    /// The exec of a handle.
    #[inline]
    pub fn find(&self, handle: usize) -> Option<Exec> {
        // SAFETY: a table is never freed.
        let table = unsafe { &*self.table.load(Ordering::Acquire) };
        table.find(handle).map(Place::exec)
    }

    /// Adds an exec. The caller holds the state's lock.
    pub fn insert(&self, handle: usize, exec: Exec) {
        if handle <= REMOVED {
            return;
        }
        self.remove(handle);
        // SAFETY: as in `find`.
        let table = unsafe { &*self.table.load(Ordering::Acquire) };
        if table.taken.load(Ordering::Relaxed) * 2 < table.places.len() {
            table.insert(handle, exec);
            return;
        }
        let kept: Vec<_> = table
            .places
            .iter()
            .map(|place| (place.key.load(Ordering::Relaxed), place))
            .filter(|(key, _)| *key > REMOVED)
            .collect();
        // A table in which most places are of removed execs is also replaced by a
        // larger one, so that a program that creates and destroys execs all the time
        // needs few new tables.
        let for_kept = ((kept.len() + 1) * 4).next_power_of_two();
        let next = Table::new(for_kept.max((table.places.len() * 2).min(LARGE)));
        for (key, place) in kept {
            next.insert(key, place.exec());
        }
        next.insert(handle, exec);
        self.table
            .store(Box::into_raw(Box::new(next)), Ordering::Release);
    }

    /// Removes an exec. The caller holds the state's lock.
    pub fn remove(&self, handle: usize) -> Option<Exec> {
        // SAFETY: as in `find`.
        let table = unsafe { &*self.table.load(Ordering::Acquire) };
        let place = table.find(handle)?;
        let exec = place.exec();
        place.key.store(REMOVED, Ordering::Release);
        Some(exec)
    }
}
