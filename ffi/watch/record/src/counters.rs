//! The counters file: how often each executable graph was launched.
//!
//! A launch writes an event only if something changed; otherwise it only increments a
//! counter. The counters are in a file that the watched process maps, so they are on disk
//! even if the process is killed. All numbers are little-endian.
//!
//! The file is a header of [`HEADER_BYTES`] and then one slot of [`SLOT_BYTES`] per
//! exec, in the order of the execs' numbers, extended by [`CHUNK_SLOTS`] at a time.
//! A slot in which the exec's number is 0 is unused.

use serde::{Deserialize, Serialize};

/// The first eight bytes of the file.
pub const MAGIC: [u8; 8] = *b"GMRCOUNT";

/// The version of this layout, a `u32` after [`MAGIC`].
pub const LAYOUT_VERSION: u32 = 1;

/// The size of the header in bytes: [`MAGIC`], [`LAYOUT_VERSION`], four bytes of
/// zero, then the fields of [`header`] as `u64`, then zeros.
pub const HEADER_BYTES: usize = 4096;

/// The size of a slot in bytes: two cache lines, the counts in the first.
pub const SLOT_BYTES: usize = 128;

/// The number of slots by which the file grows.
pub const CHUNK_SLOTS: usize = 1024;

/// The number of streams that a slot stores.
pub const STREAMS: usize = 4;

/// The offsets of the header's fields in bytes.
pub mod header {
    /// Launches of execs whose instantiation was not recorded.
    pub const UNKNOWN_LAUNCHES: usize = 16;
    /// Calls that allocate or free device memory, but changed no reading, so that no
    /// event was written.
    pub const UNCHANGED_CALLS: usize = 24;
    /// Events that could not be written.
    pub const LOST_EVENTS: usize = 32;
}

/// The offsets of a slot's fields in bytes.
pub mod slot {
    /// The exec's number.
    pub const EXEC: usize = 0;
    /// Launches that succeeded.
    pub const LAUNCHES: usize = 8;
    /// Launches after which an attribute had changed.
    pub const CHANGED: usize = 16;
    /// Launches after which the pool's reserved memory had grown.
    pub const GREW: usize = 24;
    /// Launches that failed.
    pub const FAILED: usize = 32;
    /// Uploads.
    pub const UPLOADS: usize = 40;
    /// Updates.
    pub const UPDATES: usize = 48;
    /// 1 once the exec was destroyed.
    pub const DESTROYED: usize = 56;
    /// The first [`STREAMS`](super::STREAMS) streams on which it was launched, each as
    /// the handle's number plus 1.
    pub const STREAM: usize = 64;
    /// Launches on streams that are not among those.
    pub const OTHER_STREAMS: usize = 96;
}

/// The counters of one exec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// The exec's number.
    pub exec: u64,
    /// Launches that succeeded.
    pub launches: u64,
    /// Launches after which one of the four graph memory attributes had changed.
    /// Counted only for execs with memory nodes.
    pub changed: u64,
    /// Launches after which the pool's reserved memory had grown.
    pub grew: u64,
    /// Launches that failed.
    pub failed: u64,
    /// Uploads that succeeded.
    pub uploads: u64,
    /// Updates that succeeded.
    pub updates: u64,
    /// Whether the exec was destroyed.
    pub destroyed: bool,
    /// The handles of the first streams on which it was launched, as numbers.
    pub streams: Vec<u64>,
    /// Launches on streams that are not among those.
    pub other_streams: u64,
}

/// The counters of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountersFile {
    /// Launches of execs whose instantiation was not recorded.
    pub unknown_launches: u64,
    /// Memory calls that changed no reading, so that no event was written.
    pub unchanged_calls: u64,
    /// Events that could not be written.
    pub lost_events: u64,
    /// The execs, by number.
    pub execs: Vec<Counters>,
}

/// Why a counters file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// It does not begin with [`MAGIC`].
    #[error("it is not a counters file")]
    Magic,
    /// Its layout has another version.
    #[error("its layout has version {0}, but this program reads version {LAYOUT_VERSION}")]
    Version(u32),
}

impl CountersFile {
    /// Reads the bytes of a counters file. A slot at the end that is incomplete is left
    /// out.
    ///
    /// # Errors
    ///
    /// If it is not a counters file of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self, CountersError> {
        let version = bytes.get(MAGIC.len()..).and_then(|rest| rest.first_chunk());
        if !bytes.starts_with(&MAGIC) || bytes.len() < HEADER_BYTES {
            return Err(CountersError::Magic);
        }
        let version = version.map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if version != LAYOUT_VERSION {
            return Err(CountersError::Version(version));
        }
        let slots = bytes[HEADER_BYTES..].chunks_exact(SLOT_BYTES);
        Ok(Self {
            unknown_launches: number(bytes, header::UNKNOWN_LAUNCHES),
            unchanged_calls: number(bytes, header::UNCHANGED_CALLS),
            lost_events: number(bytes, header::LOST_EVENTS),
            execs: slots.map(Counters::parse).filter(|c| c.exec != 0).collect(),
        })
    }

    /// The counters of an exec.
    pub fn of(&self, exec: u64) -> Option<&Counters> {
        let found = self.execs.binary_search_by_key(&exec, |c| c.exec);
        found.ok().and_then(|index| self.execs.get(index))
    }
}

impl Counters {
    /// Reads one slot of [`SLOT_BYTES`]. Bytes that are missing at its end are read as
    /// 0.
    pub fn parse(slot: &[u8]) -> Self {
        let streams = (0..STREAMS).map(|i| number(slot, slot::STREAM + 8 * i));
        Self {
            exec: number(slot, slot::EXEC),
            launches: number(slot, slot::LAUNCHES),
            changed: number(slot, slot::CHANGED),
            grew: number(slot, slot::GREW),
            failed: number(slot, slot::FAILED),
            uploads: number(slot, slot::UPLOADS),
            updates: number(slot, slot::UPDATES),
            destroyed: number(slot, slot::DESTROYED) != 0,
            streams: streams.filter(|&s| s != 0).map(|s| s - 1).collect(),
            other_streams: number(slot, slot::OTHER_STREAMS),
        }
    }
}

fn number(bytes: &[u8], offset: usize) -> u64 {
    let chunk = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    chunk.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut [u8], offset: usize, value: u64) {
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn file(slots: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + slots * SLOT_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = 1;
        bytes
    }

    #[test]
    fn slots_are_read_and_unused_and_cut_ones_left_out() {
        let mut bytes = file(3);
        put(&mut bytes, header::UNKNOWN_LAUNCHES, 4);
        for (index, launches) in [(0, 700), (1, 5)] {
            let at = HEADER_BYTES + index * SLOT_BYTES;
            put(&mut bytes, at + slot::EXEC, index as u64 + 1);
            put(&mut bytes, at + slot::LAUNCHES, launches);
            put(&mut bytes, at + slot::STREAM, 0x7f00 + 1);
            put(&mut bytes, at + slot::STREAM + 8, 1);
        }
        bytes.truncate(bytes.len() - 1);
        let file = CountersFile::parse(&bytes).unwrap();
        assert_eq!(file.unknown_launches, 4);
        assert_eq!(file.execs.len(), 2);
        assert_eq!(file.of(1).unwrap().launches, 700);
        assert_eq!(file.of(2).unwrap().streams, [0x7f00, 0]);
        assert_eq!(file.of(3), None);
    }

    #[test]
    fn another_file_and_another_version_are_refused() {
        assert_eq!(CountersFile::parse(b"GMRCOUNT"), Err(CountersError::Magic));
        let mut other = file(0);
        other[8] = 2;
        let refused = CountersFile::parse(&other);
        assert_eq!(refused, Err(CountersError::Version(2)));
        other[0] = b'X';
        assert_eq!(CountersFile::parse(&other), Err(CountersError::Magic));
    }
}
