//! What memory holds: the bytes that copies, memsets and kernels have written.
//!
//! Kept by physical memory and not by address, so that graphs that share a block see
//! what the other wrote there (R5, R10). What nothing has written is not kept, and
//! reads as [`NEVER_WRITTEN`].

use std::collections::BTreeMap;

use crate::memory::pool::BlockId;

/// What memory reads as before anything was written: not zero, so that a program that
/// counts on zeroes is found out.
pub const NEVER_WRITTEN: u8 = 0xcd;

/// Bytes are kept in pieces of this size, which no two allocations share.
pub const PIECE: u64 = 512;

/// What memory a piece is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backing {
    /// Plain or pool memory, which is where its address says for good.
    Plain,
    /// A block of a device's graph memory.
    Block(usize, BlockId),
}

/// Where a byte is: the memory, and the distance from its start. For plain memory
/// that is the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The memory.
    pub backing: Backing,
    /// Bytes from its start.
    pub offset: u64,
}

/// Everything that was written.
#[derive(Debug, Default)]
pub struct Contents {
    /// What was written byte by byte.
    pieces: BTreeMap<(Backing, u64), Box<[u8; PIECE as usize]>>,
    /// What memsets wrote, where no piece is: by the first byte, the byte after the
    /// last and the value. None overlaps another.
    fills: BTreeMap<(Backing, u64), (u64, u8)>,
}

impl Contents {
    /// The byte at a place.
    #[must_use]
    pub fn read(&self, place: Place) -> u8 {
        match self.pieces.get(&(place.backing, place.offset / PIECE)) {
            Some(piece) => {
                let at = (place.offset % PIECE) as usize;
                piece.get(at).copied().unwrap_or(NEVER_WRITTEN)
            }
            None => self.filled(place),
        }
    }

    fn filled(&self, place: Place) -> u8 {
        let before = (place.backing, 0)..=(place.backing, place.offset);
        match self.fills.range(before).next_back() {
            Some((_, &(end, value))) if place.offset < end => value,
            _ => NEVER_WRITTEN,
        }
    }

    /// Writes a byte.
    pub fn write(&mut self, place: Place, value: u8) {
        let number = place.offset / PIECE;
        let key = (place.backing, number);
        if !self.pieces.contains_key(&key) {
            let bytes = std::array::from_fn(|at| {
                let offset = number * PIECE + at as u64;
                self.filled(Place { offset, ..place })
            });
            self.pieces.insert(key, Box::new(bytes));
        }
        if let Some(piece) = self.pieces.get_mut(&key)
            && let Some(byte) = piece.get_mut((place.offset % PIECE) as usize)
        {
            *byte = value;
        }
    }

    /// Writes this many bytes of one memory.
    pub fn fill(&mut self, place: Place, bytes: u64, value: u8) {
        let Place {
            backing,
            offset: start,
        } = place;
        let end = start.saturating_add(bytes);
        let pieces = (backing, start / PIECE)..(backing, end.div_ceil(PIECE));
        for (&(_, number), piece) in self.pieces.range_mut(pieces) {
            for (byte, offset) in piece.iter_mut().zip(number * PIECE..) {
                if (start..end).contains(&offset) {
                    *byte = value;
                }
            }
        }
        let overlapping: Vec<_> = self
            .fills
            .range((backing, 0)..(backing, end))
            .map(|(&(_, from), &(to, old))| (from, to, old))
            .filter(|&(_, to, _)| to > start)
            .collect();
        for (from, to, old) in overlapping {
            self.fills.remove(&(backing, from));
            if from < start {
                self.fills.insert((backing, from), (start, old));
            }
            if to > end {
                self.fills.insert((backing, end), (to, old));
            }
        }
        if start < end {
            self.fills.insert((backing, start), (end, value));
        }
    }

    /// Forgets what is in memory that is no longer there: `is_there` says of the first
    /// byte of each part.
    pub fn keep(&mut self, is_there: impl Fn(Place) -> bool) {
        self.pieces.retain(|&(backing, number), _| {
            let offset = number * PIECE;
            is_there(Place { backing, offset })
        });
        self.fills
            .retain(|&(backing, offset), _| is_there(Place { backing, offset }));
    }

    /// How many parts are kept.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.pieces.len() + self.fills.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(offset: u64) -> Place {
        Place {
            backing: Backing::Plain,
            offset,
        }
    }

    #[test]
    fn what_was_written_is_read_and_all_else_is_not_zero() {
        let mut contents = Contents::default();
        contents.write(plain(PIECE - 1), 1);
        contents.write(plain(PIECE), 2);
        let read: Vec<_> = (PIECE - 2..PIECE + 2)
            .map(|at| contents.read(plain(at)))
            .collect();
        assert_eq!(read, [NEVER_WRITTEN, 1, 2, NEVER_WRITTEN]);
        assert_eq!(contents.parts(), 2);
    }

    #[test]
    fn memsets_and_bytes_overwrite_each_other_in_their_order() {
        let mut contents = Contents::default();
        contents.fill(plain(0), 4 * PIECE, 9);
        contents.write(plain(PIECE + 1), 3);
        contents.fill(plain(PIECE + 2), PIECE, 7);
        contents.fill(plain(3), 2, 5);
        let read = |at| contents.read(plain(at));
        assert_eq!([2, 3, 4, 5].map(read), [9, 5, 5, 9]);
        let around = [0, 1, 2, 3, PIECE, PIECE + 1, PIECE + 2].map(|at| read(PIECE + at));
        assert_eq!(around, [9, 3, 7, 7, 7, 7, 9]);
        assert_eq!(read(4 * PIECE), NEVER_WRITTEN);
    }

    #[test]
    fn memory_that_went_takes_its_contents_along() {
        let mut contents = Contents::default();
        contents.write(plain(0), 1);
        contents.write(plain(PIECE), 2);
        contents.keep(|place| place.offset >= PIECE);
        assert_eq!((contents.parts(), contents.read(plain(PIECE))), (1, 2));
    }
}
