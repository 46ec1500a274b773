//! A sorted map that is small while it has few entries.
//!
//! A process may have a hundred thousand graphs of three nodes, and one graph a
//! million nodes. A tree's smallest node has room for eleven entries, which in the
//! former would be most of the memory; a list gets slow in the latter.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::{Bound, RangeBounds};
use std::slice;

/// More entries than this are kept in a tree.
const FEW: usize = 32;

/// A sorted map: a list, or a tree once it has had many entries.
#[derive(Clone, Debug)]
pub(super) enum Few<K, V> {
    List(Vec<(K, V)>),
    Tree(BTreeMap<K, V>),
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl<K: Ord + Copy, V> Few<K, V> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tree(tree) => tree.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        match self {
            Self::List(list) => match list.binary_search_by_key(&key, |entry| entry.0) {
                Ok(at) => {
                    if let Some(entry) = list.get_mut(at) {
                        entry.1 = value;
                    }
                }
                Err(at) if list.len() < FEW => {
                    if list.is_empty() {
                        list.reserve_exact(1);
                    }
                    list.insert(at, (key, value));
                }
                Err(_) => {
                    let mut tree: BTreeMap<K, V> = list.drain(..).collect();
                    tree.insert(key, value);
                    *self = Self::Tree(tree);
                }
            },
            Self::Tree(tree) => {
                tree.insert(key, value);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::List(list) => {
                let at = list.binary_search_by_key(key, |entry| entry.0).ok()?;
                Some(list.remove(at).1)
            }
            Self::Tree(tree) => tree.remove(key),
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::List(list) => {
                let at = list.binary_search_by_key(key, |entry| entry.0).ok()?;
                list.get(at).map(|entry| &entry.1)
            }
            Self::Tree(tree) => tree.get(key),
        }
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::List(list) => {
                let at = list.binary_search_by_key(key, |entry| entry.0).ok()?;
                list.get_mut(at).map(|entry| &mut entry.1)
            }
            Self::Tree(tree) => tree.get_mut(key),
        }
    }

    /// The entries whose keys are in the range, in ascending order.
    pub(super) fn range(&self, range: impl RangeBounds<K>) -> Entries<'_, K, V> {
        match self {
            Self::List(list) => {
                let from = list.partition_point(|(key, _)| match range.start_bound() {
                    Bound::Included(start) => key < start,
                    Bound::Excluded(start) => key <= start,
                    Bound::Unbounded => false,
                });
                let to = list.partition_point(|(key, _)| match range.end_bound() {
                    Bound::Included(end) => key <= end,
                    Bound::Excluded(end) => key < end,
                    Bound::Unbounded => true,
                });
                Entries::List(list.get(from..to).unwrap_or_default().iter())
            }
            Self::Tree(tree) => {
                // A tree panics at a range that ends before it starts.
                match (range.start_bound(), range.end_bound()) {
                    (
                        Bound::Included(start) | Bound::Excluded(start),
                        Bound::Included(end) | Bound::Excluded(end),
                    ) if start >= end => Entries::List([].iter()),
                    _ => Entries::Tree(tree.range(range)),
                }
            }
        }
    }

    /// All entries in ascending order.
    pub(super) fn iter(&self) -> Entries<'_, K, V> {
        self.range(..)
    }

    pub(super) fn first(&self) -> Option<K> {
        self.iter().next().map(|(key, _)| key)
    }

    pub(super) fn last(&self) -> Option<K> {
        self.iter().next_back().map(|(key, _)| key)
    }
}

impl<K: Ord + Copy, V: Default> Few<K, V> {
    /// The value of a key, which gets one if it has none.
    pub(super) fn or_default(&mut self, key: K) -> Option<&mut V> {
        if self.get(&key).is_none() {
            self.insert(key, V::default());
        }
        self.get_mut(&key)
    }
}

/// Entries of a [`Few`].
pub(super) enum Entries<'a, K, V> {
    List(slice::Iter<'a, (K, V)>),
    Tree(btree_map::Range<'a, K, V>),
}

impl<'a, K: Copy, V> Iterator for Entries<'a, K, V> {
    type Item = (K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::List(list) => list.next().map(|(key, value)| (*key, value)),
            Self::Tree(tree) => tree.next().map(|(key, value)| (*key, value)),
        }
    }
}

impl<K: Copy, V> DoubleEndedIterator for Entries<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::List(list) => list.next_back().map(|(key, value)| (*key, value)),
            Self::Tree(tree) => tree.next_back().map(|(key, value)| (*key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_and_a_tree_answer_alike() {
        let mut few: Few<u32, u32> = Few::default();
        let mut tree = BTreeMap::new();
        let mut noise = 1_u32;
        for step in 0..2_000 {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Around the size at which the list becomes a tree.
            let key = (noise >> 16) % 48;
            if noise >> 30 != 0 {
                few.insert(key, step);
                tree.insert(key, step);
            } else {
                assert_eq!(few.remove(&key), tree.remove(&key));
            }
            assert_eq!(few.len(), tree.len());
            assert_eq!(few.get(&key), tree.get(&key));
            assert!(few.iter().eq(tree.iter().map(|(k, v)| (*k, v))));
            let (low, high) = (key / 2, key);
            let listed: Vec<_> = few.range(low..high).rev().collect();
            let mut treed = Vec::new();
            if low < high {
                treed.extend(tree.range(low..high).rev().map(|(k, v)| (*k, v)));
            }
            assert_eq!(listed, treed);
            assert_eq!(few.first(), tree.keys().next().copied());
            assert_eq!(few.last(), tree.keys().next_back().copied());
        }
        assert!(matches!(few, Few::Tree(_)));
    }
}
