//! Who frees what: which graph allocations are alive, by address.
//!
//! A live allocation can end without its owner: an AutoFree relaunch frees what
//! the launch before it left (R19), and a free node of another graph frees what it
//! names (R14). The launch that does so ends the allocation here, so that its
//! [`LiveAllocation`](super::LiveAllocation) knows and frees nothing twice.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::graph::DeviceAddress;

/// The graph allocations that are alive. Two never have the same address (R5).
#[derive(Debug, Default)]
pub(super) struct Ownership {
    alive: RefCell<HashMap<DeviceAddress, Rc<Cell<bool>>>>,
}

/// One launch's allocation: whether it is alive still.
#[derive(Debug)]
pub(super) struct Life(Rc<Cell<bool>>);

impl Ownership {
    /// An allocation begins. One that was alive at this address has ended: the
    /// launch that made the new one freed it.
    pub(super) fn begin(&self, address: DeviceAddress) -> Life {
        let life = Rc::new(Cell::new(true));
        let earlier = self.alive.borrow_mut().insert(address, Rc::clone(&life));
        if let Some(earlier) = earlier {
            earlier.set(false);
        }
        Life(life)
    }

    /// Whatever is alive at this address ends. Whether anything was.
    pub(super) fn end(&self, address: DeviceAddress) -> bool {
        match self.alive.borrow_mut().remove(&address) {
            Some(life) => life.replace(false),
            None => false,
        }
    }
}

impl Life {
    pub(super) fn is_alive(&self) -> bool {
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
        let first = ownership.begin(HERE);
        let second = ownership.begin(HERE);
        assert_eq!((first.is_alive(), second.is_alive()), (false, true));
    }

    #[test]
    fn r14_what_another_graph_freed_is_over_and_ends_once() {
        let ownership = Ownership::default();
        let life = ownership.begin(HERE);
        assert!(ownership.end(HERE));
        assert!(!life.is_alive());
        assert!(!ownership.end(HERE));
    }
}
