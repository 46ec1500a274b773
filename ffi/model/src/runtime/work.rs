//! Applies the effects of copies, memsets, kernels and host functions.
//!
//! The work of a process is done in the order in which its calls were made, one piece after
//! the other, and without the lock of the simulated runtime. A copy of many gigabytes
//! therefore does not block another thread that reads an attribute. A thread's call returns
//! when its own work is done.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::conditional::{assign, branch};
use super::printed::Printed;
use super::view::run_kernel;
use crate::c_api::pointers::{host_holds, read_host, write_host};
use crate::memory::contents::{NEVER_WRITTEN, PAGE, Part, Shared};
use crate::objects::effects::{CopyRequest, Effect, Fill, Side};

/// The number of bytes of a copy that are in the buffer at a time. They fit into the
/// processor's cache.
const COPIED_AT_ONCE: u64 = 128 << 10;
/// A copy of more bytes than this skips ranges that were never written on the device, so
/// that a large sparse buffer of the program stays sparse. Smaller copies write
/// [`NEVER_WRITTEN`] there.
const SPARSE_COPY: u64 = 1 << 30;
/// Work on at most this many bytes is done at once if no other work is waiting.
const SMALL: u64 = 64 << 10;

/// Pending work, in order.
#[derive(Debug, Default)]
pub struct WorkQueue {
    waiting: VecDeque<Effect>,
    /// The number of pieces of work that were queued and done so far.
    queued: u64,
    done: u64,
    /// Whether a thread is doing work of the queue.
    pub busy: bool,
    /// The number of threads that wait for it.
    pub waiters: usize,
    /// The number of the last piece that the current call queued.
    own: Option<u64>,
}

impl WorkQueue {
    /// Queues work of the current call.
    pub fn push(&mut self, effects: impl IntoIterator<Item = Effect>) {
        let before = self.waiting.len();
        self.waiting.extend(effects);
        self.queued += (self.waiting.len() - before) as u64;
        self.own = Some(self.queued);
    }

    /// The number of pieces that must be done before the current call returns. Returned
    /// only once.
    pub fn take_own(&mut self) -> Option<u64> {
        self.own.take().filter(|&own| !self.is_done(own))
    }

    /// Whether that many pieces are done.
    #[must_use]
    pub fn is_done(&self, target: u64) -> bool {
        self.done >= target
    }

    /// The next piece of work, for the one thread that does the work.
    pub fn pop(&mut self) -> Option<Effect> {
        self.waiting.pop_front()
    }

    /// Records that a piece of work is done.
    pub fn finished(&mut self) {
        self.done += 1;
    }

    /// Whether no work is pending or being done.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.busy
    }
}

/// A range of memory with one kind of backing.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// What backs it.
    pub backing: Backing,
}

/// What backs memory at an address.
#[derive(Debug, Clone)]
pub enum Backing {
    /// Nothing. A stray access reads [`NEVER_WRITTEN`] and writes nothing. This is a
    /// choice: on a GPU, such an access may hit any data (R11).
    Nothing,
    /// Memory of the program that a device can also access.
    Host,
    /// Device memory: its contents, and the offset of the range in them.
    Device(Shared, u64),
}

impl Stretch {
    /// The part that is below an address.
    fn below(mut self, end: u64) -> Self {
        self.end = self.end.min(end);
        self
    }

    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Whether the range contains another one.
    pub(super) fn has(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && address < self.end && self.end - address >= bytes
    }
}

/// Returns the memory that contains an address, with its extent.
pub type Lookup<'a> = dyn Fn(u64) -> Stretch + 'a;

/// Returns the value of a conditional handle.
pub type Conditions<'a> = dyn Fn(u64) -> Option<Arc<AtomicU32>> + 'a;

/// The environment of an effect, in addition to the memory itself.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Looks up the memory at an address.
    pub lookup: &'a Lookup<'a>,
    /// Looks up the value of a conditional handle.
    pub conditions: &'a Conditions<'a>,
    /// The text that kernels write with `printf`.
    pub printed: &'a Printed,
}

/// The memory ranges that make up a range, in ascending order.
fn stretches(lookup: &Lookup<'_>, address: u64, bytes: u64) -> impl Iterator<Item = Stretch> {
    let end = address.saturating_add(bytes);
    let mut at = address;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let stretch = lookup(at).below(end);
        at = stretch.end.max(at + 1);
        Some(stretch)
    })
}

/// Whether an effect takes so little time that the lock need not be released for it.
#[must_use]
pub fn is_small(effect: &Effect) -> bool {
    match effect {
        Effect::Set(fill) => fill.rows().map(|(_, bytes)| bytes).sum::<u64>() <= SMALL,
        Effect::Copy(copy) => copy.bytes <= SMALL,
        Effect::EndAllocations(_) | Effect::AssignConditions(_) => true,
        Effect::Kernel(_) | Effect::Host(_) | Effect::Branch(_) | Effect::Conditional(_) => false,
    }
}

/// Applies an effect to memory. Functions of the program are called elsewhere, and
/// allocations are ended elsewhere.
pub fn carry_out(effect: &Effect, around: Surroundings<'_>) {
    match effect {
        Effect::Set(fill) => set(fill, around.lookup),
        Effect::Copy(copy) => copy_bytes(*copy, around.lookup),
        Effect::Kernel(run) => run_kernel(run, around),
        Effect::Branch(run) => branch(run, &mut |effect| carry_out(effect, around)),
        Effect::AssignConditions(defaults) => assign(defaults),
        Effect::Host(_) | Effect::EndAllocations(_) | Effect::Conditional(_) => {}
    }
}

fn set(fill: &Fill, lookup: &Lookup<'_>) {
    let value = fill.value.to_le_bytes();
    let element = value.get(..fill.element_bytes as usize).unwrap_or(&value);
    for (address, bytes) in fill.rows() {
        let mut pattern = [0; 4];
        for (byte, of_element) in pattern.iter_mut().zip(element.iter().cycle()) {
            *byte = *of_element;
        }
        // A pattern is aligned to multiples of four, independently of the start of
        // the row.
        pattern.rotate_right((address % 4) as usize);
        for stretch in stretches(lookup, address, bytes) {
            match &stretch.backing {
                Backing::Nothing => {}
                Backing::Host => fill_host(stretch.start, stretch.bytes(), pattern),
                Backing::Device(contents, offset) => {
                    contents.fill(*offset, stretch.bytes(), pattern);
                }
            }
        }
    }
}

fn copy_bytes(copy: CopyRequest, lookup: &Lookup<'_>) {
    match (copy.from, copy.to) {
        (Side::Host(from), Side::Host(to)) => copy_on_host(from, to, copy.bytes),
        (Side::Host(from), Side::Device(to)) => {
            for stretch in stretches(lookup, to, copy.bytes) {
                let from = from.wrapping_add(stretch.start - to);
                match &stretch.backing {
                    Backing::Nothing => {}
                    Backing::Host => copy_on_host(from, stretch.start, stretch.bytes()),
                    Backing::Device(contents, offset) => {
                        contents.write_from(*offset, stretch.bytes(), |at, room| {
                            read_host(from.wrapping_add(at - offset), room);
                        });
                    }
                }
            }
        }
        (Side::Device(from), Side::Host(to)) => {
            let sparse = copy.bytes > SPARSE_COPY;
            for stretch in stretches(lookup, from, copy.bytes) {
                let to = to.wrapping_add(stretch.start - from);
                match &stretch.backing {
                    Backing::Nothing if sparse => {}
                    Backing::Nothing => fill_host(to, stretch.bytes(), [NEVER_WRITTEN; 4]),
                    Backing::Host => copy_on_host(stretch.start, to, stretch.bytes()),
                    Backing::Device(contents, offset) => {
                        contents.for_each_part(*offset, stretch.bytes(), |at, part| {
                            let to = to.wrapping_add(at - offset);
                            match part {
                                Part::Bytes(bytes) => write_host(to, bytes),
                                Part::Repeated { mut pattern, bytes } => {
                                    // The pattern is
                                    // aligned to
                                    // multiples of four
                                    // in the source, and
                                    // must be in the
                                    // destination.
                                    pattern.rotate_left((at % 4) as usize);
                                    pattern.rotate_right((to % 4) as usize);
                                    fill_host(to, bytes, pattern);
                                }
                                Part::NeverWritten { .. } if sparse => {}
                                Part::NeverWritten { bytes } => {
                                    fill_host(to, bytes, [NEVER_WRITTEN; 4]);
                                }
                            }
                        });
                    }
                }
            }
        }
        (Side::Device(from), Side::Device(to)) => copy_on_device(from, to, copy.bytes, lookup),
    }
}

fn copy_on_host(from: u64, to: u64, bytes: u64) {
    let mut buffer = vec![0_u8; bytes.min(COPIED_AT_ONCE) as usize];
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(COPIED_AT_ONCE) as usize;
        let piece = buffer.get_mut(..length).unwrap_or_default();
        read_host(from.wrapping_add(done), piece);
        write_host(to.wrapping_add(done), piece);
        done += length as u64;
    }
}

/// Repeats four bytes over host memory. The first of them is at addresses that are
/// multiples of four. Bytes that already have the right value are not written, so that
/// unused pages of a sparse buffer stay unused.
fn fill_host(address: u64, bytes: u64, pattern: [u8; 4]) {
    let mut template = [0_u8; PAGE + 4];
    for (byte, of_pattern) in template.iter_mut().zip(pattern.iter().cycle()) {
        *byte = *of_pattern;
    }
    let mut at = address;
    let end = address.saturating_add(bytes);
    while at < end {
        let length = (PAGE - at as usize % PAGE).min((end - at) as usize);
        let phase = (at % 4) as usize;
        let piece = template.get(phase..phase + length).unwrap_or_default();
        if !host_holds(at, piece) {
            write_host(at, piece);
        }
        at += length as u64;
    }
}

/// The part of a copy on a device that is processed at a time.
enum Piece {
    Bytes(std::ops::Range<usize>),
    Repeated([u8; 4], u64),
    NeverWritten(u64),
}

fn copy_on_device(from: u64, to: u64, bytes: u64, lookup: &Lookup<'_>) {
    let mut buffer: Vec<u8> = Vec::new();
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(COPIED_AT_ONCE);
        buffer.clear();
        pieces.clear();
        for stretch in stretches(lookup, from + done, length) {
            let mut keep = |bytes: &[u8]| {
                let start = buffer.len();
                buffer.extend_from_slice(bytes);
                start..buffer.len()
            };
            match &stretch.backing {
                Backing::Nothing => pieces.push(Piece::NeverWritten(stretch.bytes())),
                Backing::Host => {
                    let mut bytes = vec![0; stretch.bytes() as usize];
                    read_host(stretch.start, &mut bytes);
                    pieces.push(Piece::Bytes(keep(&bytes)));
                }
                Backing::Device(contents, offset) => {
                    contents.for_each_part(*offset, stretch.bytes(), |at, part| {
                        pieces.push(match part {
                            Part::Bytes(bytes) => Piece::Bytes(keep(bytes)),
                            Part::Repeated { mut pattern, bytes } => {
                                pattern.rotate_left((at % 4) as usize);
                                Piece::Repeated(pattern, bytes)
                            }
                            Part::NeverWritten { bytes } => Piece::NeverWritten(bytes),
                        });
                    });
                }
            }
        }
        let mut at = to + done;
        for piece in &pieces {
            let bytes = match piece {
                Piece::Bytes(range) => range.len() as u64,
                Piece::Repeated(_, bytes) | Piece::NeverWritten(bytes) => *bytes,
            };
            for stretch in stretches(lookup, at, bytes) {
                put(piece, &buffer, stretch.start - at, &stretch);
            }
            at += bytes;
        }
        done += length;
    }
}

/// Writes a part of a piece to a memory range, starting `skip` bytes into the piece.
fn put(piece: &Piece, buffer: &[u8], skip: u64, stretch: &Stretch) {
    let bytes = stretch.bytes();
    match (&stretch.backing, piece) {
        (Backing::Nothing, _) | (Backing::Host, Piece::NeverWritten(_)) => {}
        (Backing::Host, Piece::Bytes(range)) => {
            let start = range.start + skip as usize;
            write_host(
                stretch.start,
                buffer
                    .get(start..start + bytes as usize)
                    .unwrap_or_default(),
            );
        }
        (Backing::Host, Piece::Repeated(pattern, _)) => {
            let mut pattern = *pattern;
            pattern.rotate_left((skip % 4) as usize);
            pattern.rotate_right((stretch.start % 4) as usize);
            fill_host(stretch.start, bytes, pattern);
        }
        (Backing::Device(contents, offset), Piece::Bytes(range)) => {
            let start = range.start + skip as usize;
            let piece = buffer
                .get(start..start + bytes as usize)
                .unwrap_or_default();
            contents.write_from(*offset, bytes, |at, room| {
                let from = (at - offset) as usize;
                if let Some(piece) = piece.get(from..from + room.len()) {
                    room.copy_from_slice(piece);
                }
            });
        }
        (Backing::Device(contents, offset), Piece::Repeated(pattern, _)) => {
            let mut pattern = *pattern;
            pattern.rotate_left((skip % 4) as usize);
            pattern.rotate_right((offset % 4) as usize);
            contents.fill(*offset, bytes, pattern);
        }
        (Backing::Device(contents, offset), Piece::NeverWritten(_)) => {
            contents.clear(*offset, bytes);
        }
    }
}
