//! Who frees what: which graph allocations are live, by address.
//!
//! A live allocation can end without its owner: an AutoFree relaunch frees what the
//! launch before it left (R19), and a free node of another graph frees what it names
//! (R14). The launch that does so ends the allocation here, so that its
//! [`LiveAllocation`](crate::LiveAllocation) frees nothing twice.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::address::DeviceAddress;

/// The graph allocations that are live. Two never have the same address (R5).
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    live: RefCell<HashMap<DeviceAddress, Live>>,
    /// The addresses that alloc nodes were given, of graphs that may be gone.
    given: RefCell<HashSet<DeviceAddress>>,
}

#[derive(Debug)]
struct Live {
    bytes: u64,
    life: Rc<Cell<bool>>,
}

/// One launch's allocation: whether it is still live.
#[derive(Debug)]
pub(crate) struct Life(Rc<Cell<bool>>);

impl Ownership {
    /// Notes the address of a new alloc node.
    pub(crate) fn give(&self, address: DeviceAddress) {
        self.given.borrow_mut().insert(address);
    }

    /// Whether an alloc node was ever given this address, so that it is an address of
    /// graph memory and of nothing else.
    pub(crate) fn was_given(&self, address: DeviceAddress) -> bool {
        self.given.borrow().contains(&address)
    }

    /// An allocation begins. One that was live at this address has ended: the launch
    /// that made the new one freed it.
    pub(crate) fn begin(&self, address: DeviceAddress, bytes: u64) -> Life {
        let life = Rc::new(Cell::new(true));
        let live = Live {
            bytes,
            life: Rc::clone(&life),
        };
        if let Some(earlier) = self.live.borrow_mut().insert(address, live) {
            earlier.life.set(false);
        }
        Life(life)
    }

    /// Whatever is live at this address ends. Whether anything was.
    pub(crate) fn end(&self, address: DeviceAddress) -> bool {
        match self.live.borrow_mut().remove(&address) {
            Some(live) => live.life.replace(false),
            None => false,
        }
    }

    /// The size of the allocation that is live at this address; 0 if none is.
    pub(crate) fn live_bytes(&self, address: DeviceAddress) -> u64 {
        self.live
            .borrow()
            .get(&address)
            .map_or(0, |live| live.bytes)
    }
}

impl Life {
    pub(crate) fn is_live(&self) -> bool {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: DeviceAddress = DeviceAddress(0x3_0200_0000);

    #[test]
    fn r19_a_relaunch_ends_what_the_launch_before_it_left() {
        let ownership = Ownership::default();
        let first = ownership.begin(HERE, 1);
        let second = ownership.begin(HERE, 2);
        assert_eq!((first.is_live(), second.is_live()), (false, true));
        assert_eq!(ownership.live_bytes(HERE), 2);
    }

    #[test]
    fn r14_what_another_graph_freed_is_over_and_ends_once() {
        let ownership = Ownership::default();
        let life = ownership.begin(HERE, 1);
        assert!(ownership.end(HERE));
        assert!(!life.is_live());
        assert!(!ownership.end(HERE));
        assert_eq!(ownership.live_bytes(HERE), 0);
    }
}
