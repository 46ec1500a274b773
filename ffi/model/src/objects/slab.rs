//! Storage of objects by handle. The handle of a destroyed object is recognised as invalid.
//!
//! The crate `slotmap` is not used, because a handle with its kind must fit into the 64
//! bits of a C pointer, and because a place must no longer be used when its generations are
//! exhausted. `slotmap` starts again after 2^31 objects in a place, so that the first
//! handle would be valid again.

use super::id::{GENERATION_BITS, Id, Kind};

/// The last generation of a place. The place is not used again after the object of this
/// generation, so that no two objects ever have the same handle.
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// Objects of type `T` and of one kind, by id.
#[derive(Debug)]
pub struct Slab<K, T> {
    entries: Vec<Entry<T>>,
    /// Places without an object that can be used again.
    vacant: Vec<u32>,
    count: usize,
    kind: core::marker::PhantomData<fn() -> K>,
}

impl<K, T> Default for Slab<K, T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            count: 0,
            kind: core::marker::PhantomData,
        }
    }
}

impl<K: Kind, T> Slab<K, T> {
    /// Stores an object. `None` if all 2^32 - 1 places are used up.
    pub fn insert(&mut self, value: T) -> Option<Id<K>> {
        if let Some(index) = self.vacant.pop() {
            let entry = &mut self.entries[index as usize];
            entry.value = Some(value);
            self.count += 1;
            return Some(Id::new(index, entry.generation));
        }
        let index = u32::try_from(self.entries.len())
            .ok()
            .filter(|&index| index < u32::MAX)?;
        self.entries.push(Entry {
            generation: 0,
            value: Some(value),
        });
        self.count += 1;
        Some(Id::new(index, 0))
    }

    /// The object; `None` if it was removed.
    #[must_use]
    pub fn get(&self, id: Id<K>) -> Option<&T> {
        self.entries
            .get(id.index as usize)
            .filter(|entry| entry.generation == id.generation)
            .and_then(|entry| entry.value.as_ref())
    }

    /// The object; `None` if it was removed.
    pub fn get_mut(&mut self, id: Id<K>) -> Option<&mut T> {
        self.entries
            .get_mut(id.index as usize)
            .filter(|entry| entry.generation == id.generation)
            .and_then(|entry| entry.value.as_mut())
    }

    /// Removes the object. The id is invalid from then on.
    pub fn remove(&mut self, id: Id<K>) -> Option<T> {
        let entry = self
            .entries
            .get_mut(id.index as usize)
            .filter(|entry| entry.generation == id.generation)?;
        let value = entry.value.take()?;
        self.count -= 1;
        if entry.generation < LAST_GENERATION {
            entry.generation += 1;
            self.vacant.push(id.index);
        }
        Some(value)
    }

    /// The number of objects.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Every object with its id, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (Id<K>, &T)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let id = Id::new(u32::try_from(index).ok()?, entry.generation);
                Some((id, entry.value.as_ref()?))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::kind;
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(u8);

    fn slab() -> Slab<kind::Event, Thing> {
        Slab::default()
    }

    #[test]
    fn an_id_survives_the_conversion_to_a_handle_which_is_never_null() {
        let id = slab().insert(Thing(1)).unwrap();
        assert_ne!(id.to_handle(), 0);
        assert_eq!(Id::from_handle(id.to_handle()), Some(id));
    }

    #[test]
    fn a_removed_id_stays_invalid_when_its_place_is_used_again() {
        let mut slab = slab();
        let old = slab.insert(Thing(1)).unwrap();
        assert_eq!(slab.remove(old), Some(Thing(1)));
        let new = slab.insert(Thing(2)).unwrap();
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.get(new), Some(&Thing(2)));
        assert_eq!(slab.count(), 1);
    }

    #[test]
    fn a_place_is_not_used_again_when_its_generations_are_used_up() {
        let mut slab = slab();
        let first = slab.insert(Thing(1)).unwrap();
        slab.remove(first);
        // The state after 2^28 - 2 more objects in the same place.
        slab.entries[0].generation = LAST_GENERATION;
        let last = slab.insert(Thing(2)).unwrap();
        assert_eq!(last.index, first.index);
        assert_eq!(Id::from_handle(last.to_handle()), Some(last));
        slab.remove(last);
        let next = slab.insert(Thing(3)).unwrap();
        assert_ne!(next.index, first.index);
        assert_eq!([slab.get(first), slab.get(last)], [None, None]);
        assert_eq!(slab.count(), 1);
    }

    #[test]
    fn a_handle_of_another_kind_is_recognised() {
        let id = slab().insert(Thing(1)).unwrap();
        assert_eq!(Id::<kind::Stream>::from_handle(id.to_handle()), None);
        assert_eq!(Id::<kind::Event>::from_handle(0), None);
        assert_eq!(Id::<kind::Event>::from_handle(1), None);
    }
}
