//! The mapped counters file. [`graph_memory_record::counters`] describes its layout.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use graph_memory_record::counters::{
    CHUNK_SLOTS, Counters, HEADER_BYTES, LAYOUT_VERSION, MAGIC, SLOT_BYTES, STREAMS, header, slot,
};

use crate::guard::with_file_size_signal_blocked;

/// The counters of one exec, in memory that is never unmapped.
#[derive(Debug, Clone, Copy)]
pub struct Slot(*mut u8);

// SAFETY: all fields are atomics.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

fn field(base: *mut u8, offset: usize) -> &'static AtomicU64 {
    // SAFETY: the base is that of a slot or header, aligned to 8 bytes and never
    // unmapped; the offset is a multiple of 8 within it.
    unsafe { AtomicU64::from_ptr(base.add(offset).cast()) }
}

impl Slot {
    /// Makes a slot from the pointer that [`as_raw`](Self::as_raw) returned.
    ///
    /// # Safety
    ///
    /// The pointer must come from [`as_raw`](Self::as_raw).
    pub unsafe fn from_raw(pointer: *mut u8) -> Self {
        Self(pointer)
    }

    /// The address of the slot.
    pub fn as_raw(self) -> *mut u8 {
        self.0
    }

    /// A counter of the slot, by its offset in [`graph_memory_record::counters::slot`].
    #[inline]
    pub fn field(self, offset: usize) -> &'static AtomicU64 {
        field(self.0, offset)
    }

    /// Adds one to a counter, and returns the new value.
    #[inline]
    pub fn add(self, offset: usize) -> u64 {
        self.field(offset).fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a launch on a stream. Returns whether it is the first launch on this
    /// stream, as far as the slot can store streams.
    #[inline]
    pub fn stream(self, stream: u64) -> bool {
        let wanted = stream.wrapping_add(1);
        for index in 0..STREAMS {
            let known = self.field(slot::STREAM + 8 * index);
            let value = known.load(Ordering::Relaxed);
            if value == wanted {
                return false;
            }
            if value == 0 {
                let added = known.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed);
                match added {
                    Ok(_) => return true,
                    Err(other) if other == wanted => return false,
                    Err(_) => {}
                }
            }
        }
        self.add(slot::OTHER_STREAMS);
        false
    }

    fn read(self) -> Counters {
        let mut bytes = [0_u8; SLOT_BYTES];
        for (index, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            let value = self.field(8 * index).load(Ordering::Relaxed);
            chunk.copy_from_slice(&value.to_le_bytes());
        }
        Counters::parse(&bytes)
    }
}

/// The counters of a process: in a file or, if no file can be created, only in the memory
/// of the process.
#[derive(Debug)]
pub struct CountersFile {
    file: Option<File>,
    length: usize,
    header: *mut u8,
    slots: Vec<Slot>,
    used: usize,
}

// SAFETY: the pointer is to a mapping that is never unmapped, and all fields in it are
// atomics.
unsafe impl Send for CountersFile {}

/// The size of a chunk is a multiple of every page size in use (64 KiB at most), and so is
/// the distance between chunks after the first.
const CHUNK_BYTES: usize = CHUNK_SLOTS * SLOT_BYTES;

impl CountersFile {
    /// Creates the file with a first chunk. If that fails, the counters are only in
    /// memory, and the error says why.
    pub fn create(path: &Path) -> (Self, Option<io::Error>) {
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create_new(true).open(path);
        let (file, mut error) = match opened {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error)),
        };
        let mut this = Self {
            file,
            length: 0,
            header: ptr::null_mut(),
            slots: Vec::new(),
            used: 0,
        };
        if let Err(grow) = this.grow() {
            error = error.or(Some(grow));
        }
        (this, error)
    }

    /// Whether the counters of some or all execs are only in the memory of the process.
    pub fn anonymous(&self) -> bool {
        self.file.is_none()
    }

    /// Takes the slot for the next exec, whose number is the count of slots taken.
    /// `None` if there is no memory.
    pub fn next(&mut self) -> (Option<(u64, Slot)>, Option<io::Error>) {
        let mut error = None;
        if self.used == self.slots.len() {
            error = self.grow().err();
        }
        let Some(&slot) = self.slots.get(self.used) else {
            return (None, error);
        };
        self.used += 1;
        let exec = self.used as u64;
        slot.field(slot::EXEC).store(exec, Ordering::Relaxed);
        (Some((exec, slot)), error)
    }

    /// The counters of all execs.
    pub fn execs(&self) -> Vec<Counters> {
        let used = self.slots.iter().take(self.used);
        used.map(|slot| slot.read()).collect()
    }

    /// Counts an event that could not be written.
    pub fn lost_event(&self) {
        self.count(header::LOST_EVENTS);
    }

    /// Adds one to a counter in the header.
    pub fn count(&self, offset: usize) {
        if let Some(field) = self.header_field(offset) {
            field.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A counter in the header, by its offset in
    /// [`graph_memory_record::counters::header`].
    pub fn header_field(&self, offset: usize) -> Option<&'static AtomicU64> {
        (!self.header.is_null()).then(|| field(self.header, offset))
    }

    /// Adds a chunk. After the first error of the file, chunks are in the memory of the
    /// process.
    fn grow(&mut self) -> io::Result<()> {
        let bytes = if self.header.is_null() {
            HEADER_BYTES + CHUNK_BYTES
        } else {
            CHUNK_BYTES
        };
        let mapped = with_file_size_signal_blocked(|| match &self.file {
            Some(file) => map(Some(file), self.length, bytes),
            None => Err(io::ErrorKind::NotFound.into()),
        });
        let (start, result) = match mapped {
            Ok(start) => (start, Ok(())),
            Err(error) => {
                self.file = None;
                (map(None, 0, bytes)?, Err(error))
            }
        };
        let mut first = start;
        if self.header.is_null() {
            self.header = start;
            // SAFETY: the mapping is new, so nothing else refers to it, and it
            // begins with the header.
            unsafe {
                let head = slice::from_raw_parts_mut(start, HEADER_BYTES);
                head[..MAGIC.len()].copy_from_slice(&MAGIC);
                head[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&LAYOUT_VERSION.to_le_bytes());
                first = start.add(HEADER_BYTES);
            }
        }
        self.length += bytes;
        for index in 0..CHUNK_SLOTS {
            // SAFETY: within the mapping.
            self.slots
                .push(Slot(unsafe { first.add(index * SLOT_BYTES) }));
        }
        result
    }
}

/// Maps `bytes` of the file from `offset` on, or anonymous memory without a file. Space in
/// the file is allocated first, because on a full disk a write to a page without space
/// would raise SIGBUS.
fn map(file: Option<&File>, offset: usize, bytes: usize) -> io::Result<*mut u8> {
    let large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let (descriptor, flags) = match file {
        Some(file) => (file.as_raw_fd(), libc::MAP_SHARED),
        None => (-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
    };
    let offset_in_file = libc::off_t::try_from(offset).map_err(large)?;
    let length = libc::off_t::try_from(bytes).map_err(large)?;
    if file.is_some() {
        // SAFETY: the descriptor is open.
        let error = unsafe { libc::posix_fallocate(descriptor, offset_in_file, length) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
    }
    // The header makes the offset of a later chunk not a multiple of the page size, so
    // the mapping begins at the page boundary before it.
    // SAFETY: `sysconf` accesses no memory of this program.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let lead = offset % page;
    // SAFETY: a new mapping, anywhere.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes + lead,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            descriptor,
            libc::off_t::try_from(offset - lead).map_err(large)?,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: within the mapping.
    Ok(unsafe { start.cast::<u8>().add(lead) })
}
