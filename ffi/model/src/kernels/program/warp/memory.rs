//! Loads and stores of a thread, in the state space of the address.

use super::{Block, Warp};
use crate::kernels::program::operation::Space;
use crate::kernels::program::{LOCAL_WINDOW, Memory, SHARED_WINDOW, TooLong, WINDOW_BYTES};

/// The value of a load from an invalid address.
const NOTHING: u64 = 0xcdcd_cdcd_cdcd_cdcd;

impl<const N: usize> Warp<N> {
    pub(super) fn load<M: Memory>(
        &self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
        block: &mut Block<'_, M>,
    ) -> u64 {
        let space = if space == Space::Generic {
            space_of(address)
        } else {
            space
        };
        let read = |memory: &[u8]| {
            let at = (address % WINDOW_BYTES) as usize;
            let Some(found) = at.checked_add(bytes).and_then(|end| memory.get(at..end)) else {
                return NOTHING;
            };
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(found);
            u64::from_le_bytes(value)
        };
        match space {
            Space::Global | Space::Generic => block.memory.load(address, bytes),
            Space::Shared => read(&block.shared),
            Space::Local => {
                let own = lane * self.local_bytes;
                read(&self.local[own..own + self.local_bytes])
            }
        }
    }

    pub(super) fn store<M: Memory>(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
        value: u64,
        block: &mut Block<'_, M>,
    ) -> Result<(), TooLong> {
        let space = if space == Space::Generic {
            space_of(address)
        } else {
            space
        };
        let write = |memory: &mut [u8]| {
            let at = (address % WINDOW_BYTES) as usize;
            if let Some(room) = at
                .checked_add(bytes)
                .and_then(|end| memory.get_mut(at..end))
            {
                room.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        };
        match space {
            Space::Global | Space::Generic => {
                let cost = block.memory.store(address, bytes, value);
                block.budget = block.budget.checked_sub(cost).ok_or(TooLong)?;
            }
            Space::Shared => write(&mut block.shared),
            Space::Local => {
                let own = lane * self.local_bytes;
                write(&mut self.local[own..own + self.local_bytes]);
            }
        }
        Ok(())
    }
}

/// The state space of a generic address.
pub(super) fn space_of(address: u64) -> Space {
    match address / WINDOW_BYTES * WINDOW_BYTES {
        SHARED_WINDOW => Space::Shared,
        LOCAL_WINDOW => Space::Local,
        _ => Space::Global,
    }
}
