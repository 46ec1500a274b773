//! The blocks of physical memory in a pool, by their ids.

use std::num::NonZeroU64;

/// Identifies a block of a pool. The id is not used for a later block in the same place.
/// Ids ascend in the order in which the blocks were allocated from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId(NonZeroU64);

/// The low bits of an id are the block's place. No device has more blocks than this allows.
const PLACE_BITS: u32 = 24;

impl BlockId {
    fn place(self) -> usize {
        (self.0.get() & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// Blocks by id. A launch of a graph accesses each of its blocks, so a block is found
/// without a search.
#[derive(Debug)]
pub(super) struct Blocks<B> {
    places: Vec<Option<(BlockId, B)>>,
    vacant: Vec<usize>,
    taken: u64,
}

impl<B> Default for Blocks<B> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            vacant: Vec::new(),
            taken: 0,
        }
    }
}

impl<B> Blocks<B> {
    /// The number of blocks.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// The block with an id; `None` if it was removed.
    pub(super) fn get(&self, id: BlockId) -> Option<&B> {
        let (there, block) = self.places.get(id.place())?.as_ref()?;
        (*there == id).then_some(block)
    }

    /// The block with an id; `None` if it was removed.
    pub(super) fn get_mut(&mut self, id: BlockId) -> Option<&mut B> {
        let (there, block) = self.places.get_mut(id.place())?.as_mut()?;
        (*there == id).then_some(block)
    }

    /// Adds a block. `None` if there are already 2^24 blocks, which is more than the
    /// memory of any profile.
    pub(super) fn insert(&mut self, block: B) -> Option<BlockId> {
        let place = self.vacant.pop().unwrap_or(self.places.len());
        if place >> PLACE_BITS != 0 {
            return None;
        }
        self.taken += 1;
        let id = BlockId(NonZeroU64::new(self.taken << PLACE_BITS | place as u64)?);
        match self.places.get_mut(place) {
            Some(vacant) => *vacant = Some((id, block)),
            None => self.places.push(Some((id, block))),
        }
        Some(id)
    }

    /// All blocks, in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (BlockId, &B)> {
        self.places.iter().flatten().map(|(id, block)| (*id, block))
    }

    /// Keeps the blocks for which `stays` is true.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&B) -> bool) {
        for (place, entry) in self.places.iter_mut().enumerate() {
            if entry.as_ref().is_some_and(|(_, block)| !stays(block)) {
                *entry = None;
                self.vacant.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_one_block_and_later_ids_are_greater() {
        let mut blocks = Blocks::default();
        let ids: Vec<BlockId> = ["a", "b"].map(|b| blocks.insert(b).unwrap()).into();
        blocks.retain(|&block| block != "a");
        assert_eq!((blocks.len(), blocks.get(ids[0])), (1, None));
        let new = blocks.insert("c").unwrap();
        assert!(ids[0] < ids[1] && ids[1] < new);
        assert_eq!(new.place(), ids[0].place());
        assert_eq!(blocks.get(ids[0]), None);
        assert_eq!(
            [blocks.get(ids[1]), blocks.get(new)],
            [Some(&"b"), Some(&"c")]
        );
        assert_eq!(blocks.iter().count(), 2);
    }
}
