//! Objects behind handles: a destroyed handle is recognised, never followed.

use core::fmt;
use core::marker::PhantomData;

/// What kind of object a handle names. The tag is part of the handle, so that a
/// stream given as a graph is recognised too.
pub trait Tagged {
    /// 1 to 15, different for each kind.
    const TAG: u64;
}

/// Names one object of a [`Slab`], and no later object in the same place.
pub struct Id<T> {
    index: u32,
    generation: u32,
    kind: PhantomData<fn() -> T>,
}

const GENERATION_BITS: u32 = 28;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const TAG_SHIFT: u32 = 60;

impl<T> Id<T> {
    fn new(index: u32, generation: u32) -> Self {
        Self {
            index,
            generation,
            kind: PhantomData,
        }
    }
}

impl<T: Tagged> Id<T> {
    /// The handle that a program gets: never 0, and not an address.
    #[must_use]
    pub fn to_handle(self) -> u64 {
        T::TAG << TAG_SHIFT | u64::from(self.generation) << 32 | (u64::from(self.index) + 1)
    }

    /// The id in a handle that a program gave, if it has this kind's form.
    #[must_use]
    pub fn from_handle(handle: u64) -> Option<Self> {
        if handle >> TAG_SHIFT != T::TAG {
            return None;
        }
        let index = u32::try_from(handle & 0xffff_ffff).ok()?.checked_sub(1)?;
        let generation = u32::try_from(handle >> 32).ok()? & GENERATION_MASK;
        Some(Self::new(index, generation))
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}
impl<T> Eq for Id<T> {}
impl<T> core::hash::Hash for Id<T> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (self.index, self.generation).hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.index, self.generation)
    }
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// Objects of one kind, by id.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores an object. `None` when 2^32 - 1 objects are there.
    pub fn insert(&mut self, value: T) -> Option<Id<T>> {
        if let Some(index) = self.vacant.pop()
            && let Some(entry) = self.entries.get_mut(index as usize)
        {
            entry.value = Some(value);
            return Some(Id::new(index, entry.generation));
        }
        let index = u32::try_from(self.entries.len())
            .ok()
            .filter(|&index| index < u32::MAX)?;
        self.entries.push(Entry {
            generation: 0,
            value: Some(value),
        });
        Some(Id::new(index, 0))
    }

    /// The object, unless it is gone.
    #[must_use]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.entries
            .get(id.index as usize)
            .filter(|entry| entry.generation == id.generation)
            .and_then(|entry| entry.value.as_ref())
    }

    /// The object, unless it is gone.
    pub fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        self.entries
            .get_mut(id.index as usize)
            .filter(|entry| entry.generation == id.generation)
            .and_then(|entry| entry.value.as_mut())
    }

    /// Takes the object out; its id names nothing from here on.
    pub fn remove(&mut self, id: Id<T>) -> Option<T> {
        let entry = self
            .entries
            .get_mut(id.index as usize)
            .filter(|entry| entry.generation == id.generation)?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1) & GENERATION_MASK;
        self.vacant.push(id.index);
        Some(value)
    }

    /// How many objects there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    /// Every object with its id, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let id = Id::new(u32::try_from(index).ok()?, entry.generation);
                Some((id, entry.value.as_ref()?))
            })
    }

    /// Every object with its id, in the order of their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Id<T>, &mut T)> {
        self.entries
            .iter_mut()
            .enumerate()
            .filter_map(|(index, entry)| {
                let id = Id::new(u32::try_from(index).ok()?, entry.generation);
                Some((id, entry.value.as_mut()?))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(u8);
    impl Tagged for Thing {
        const TAG: u64 = 5;
    }
    #[derive(Debug)]
    struct Other;
    impl Tagged for Other {
        const TAG: u64 = 6;
    }

    #[test]
    fn a_handle_survives_the_round_trip_and_is_never_null() {
        let mut slab = Slab::default();
        let id = slab.insert(Thing(1)).unwrap();
        assert_ne!(id.to_handle(), 0);
        assert_eq!(Id::from_handle(id.to_handle()), Some(id));
    }

    #[test]
    fn a_removed_id_names_nothing_even_when_its_place_is_taken_again() {
        let mut slab = Slab::default();
        let old = slab.insert(Thing(1)).unwrap();
        assert_eq!(slab.remove(old), Some(Thing(1)));
        let new = slab.insert(Thing(2)).unwrap();
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.get(new), Some(&Thing(2)));
        assert_eq!(slab.count(), 1);
    }

    #[test]
    fn a_handle_of_another_kind_is_recognised() {
        let mut slab = Slab::default();
        let id = slab.insert(Thing(1)).unwrap();
        assert_eq!(Id::<Other>::from_handle(id.to_handle()), None);
        assert_eq!(Id::<Thing>::from_handle(0), None);
        assert_eq!(Id::<Thing>::from_handle(1), None);
    }
}
