//! The contents of memory: the bytes that copies, memsets and kernels have written.
//!
//! Each plain allocation and each block of physical memory has its own contents. Graphs
//! that share a block see what the other one wrote there (R5, R10). Contents can be used
//! without locking the simulated runtime.
//!
//! Only written bytes are stored, in pages. A page or a longer range that repeats the same
//! four bytes, such as zeros, is stored as these four bytes. Memory that is allocated and
//! never written, or only set, therefore takes no memory of the host.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The value of bytes that were never written. It is not zero, so that a program that
/// wrongly expects zeros gets wrong results.
pub const NEVER_WRITTEN: u8 = 0xcd;

/// The size of a page in bytes.
pub const PAGE: usize = 4096;
const PAGE_BYTES: u64 = PAGE as u64;

/// The contents of an allocation or of a block. They are created at the first use and
/// shared with all users.
#[derive(Default)]
pub struct Contents(OnceLock<Shared>);

impl Contents {
    /// The contents, for use without locking the simulated runtime.
    #[must_use]
    pub fn share(&self) -> Shared {
        self.0.get_or_init(Shared::default).clone()
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.0.get().is_some();
        f.debug_struct("Contents").field("used", &used).finish()
    }
}

/// Contents that are in use.
#[derive(Debug, Clone, Default)]
pub struct Shared(Arc<Mutex<Written>>);

/// A part of the contents of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The same four bytes repeated. The first of them is at offsets that are multiples
    /// of four.
    Repeated {
        /// The four bytes.
        pattern: [u8; 4],
        /// The size of the part in bytes.
        bytes: u64,
    },
    /// Nothing was written in this part.
    NeverWritten {
        /// The size of the part in bytes.
        bytes: u64,
    },
}

impl Part<'_> {
    /// The size of the part in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Repeated { bytes, .. } | Self::NeverWritten { bytes } => *bytes,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads bytes, starting at `offset`.
    pub fn read(&self, offset: u64, to: &mut [u8]) {
        let bytes = to.len() as u64;
        self.lock().for_each_part(offset, bytes, |at, part| {
            let from = (at - offset) as usize;
            let room = &mut to[from..from + part.bytes() as usize];
            match part {
                Part::Bytes(bytes) => room.copy_from_slice(bytes),
                Part::Repeated { pattern, .. } => repeat(pattern, at, room),
                Part::NeverWritten { .. } => room.fill(NEVER_WRITTEN),
            }
        });
    }

    /// Calls `visit` with the offset of each part of a range and the part, in ascending
    /// order.
    pub fn for_each_part(&self, offset: u64, bytes: u64, visit: impl FnMut(u64, Part<'_>)) {
        self.lock().for_each_part(offset, bytes, visit);
    }

    /// Writes bytes, starting at `offset`. Returns the number of new pages.
    pub fn write(&self, offset: u64, from: &[u8]) -> u64 {
        self.lock().write(offset, from)
    }

    /// Writes a range. `source` is called with an offset and a buffer, and fills the
    /// buffer with the bytes for that offset.
    pub fn write_from(&self, offset: u64, bytes: u64, source: impl FnMut(u64, &mut [u8])) {
        self.lock().write_from(offset, bytes, source);
    }

    /// Fills a range with four repeated bytes. The first of them is at offsets that are
    /// multiples of four.
    pub fn fill(&self, offset: u64, bytes: u64, pattern: [u8; 4]) {
        self.lock().fill(offset, bytes, Some(pattern));
    }

    /// Resets a range to the state in which nothing was written.
    pub fn clear(&self, offset: u64, bytes: u64) {
        self.lock().fill(offset, bytes, None);
    }

    /// Takes a page out until [`give_back`](Self::give_back). Returns whether the page
    /// was stored before. Other accesses to the page are not blocked; only the order of
    /// the work keeps them apart.
    #[must_use]
    pub fn lend(&self, number: u64) -> (Box<[u8; PAGE]>, bool) {
        let mut written = self.lock();
        match written.pages.remove(&number) {
            Some(page) => (page, true),
            None => (written.new_page(number), false),
        }
    }

    /// Stores a page that was taken out.
    pub fn give_back(&self, number: u64, page: Box<[u8; PAGE]>) {
        self.lock().pages.insert(number, page);
    }

    /// A number that is different for other contents as long as both are in use.
    #[must_use]
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The number of stored pages and repeated ranges.
    #[must_use]
    pub fn kept(&self) -> usize {
        let written = self.lock();
        written.pages.len() + written.runs.len()
    }
}

/// Fills a buffer, which starts at `offset`, with four repeated bytes.
fn repeat(pattern: [u8; 4], offset: u64, room: &mut [u8]) {
    if pattern == [pattern[0]; 4] {
        room.fill(pattern[0]);
        return;
    }
    let mut pattern = pattern;
    pattern.rotate_left((offset % 4) as usize);
    let mut quads = room.chunks_exact_mut(4);
    for quad in &mut quads {
        quad.copy_from_slice(&pattern);
    }
    let rest = quads.into_remainder();
    let length = rest.len();
    rest.copy_from_slice(&pattern[..length]);
}

type Page = Box<[u8; PAGE]>;

/// A range that repeats four bytes.
#[derive(Debug, Clone, Copy)]
struct Run {
    end: u64,
    pattern: [u8; 4],
}

#[derive(Debug, Default)]
struct Written {
    /// By page number. If a page is stored, its bytes are valid instead of those of
    /// `runs`.
    pages: BTreeMap<u64, Page>,
    /// By first byte. They do not overlap.
    runs: BTreeMap<u64, Run>,
}

impl Written {
    fn for_each_part(&self, offset: u64, bytes: u64, mut visit: impl FnMut(u64, Part<'_>)) {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        let first = offset / PAGE_BYTES;
        for (&number, page) in self.pages.range(first..end.div_ceil(PAGE_BYTES).max(first)) {
            let start = (number * PAGE_BYTES).max(offset);
            self.for_each_run(at, start, &mut visit);
            at = ((number + 1) * PAGE_BYTES).min(end);
            let within = |offset: u64| (offset - number * PAGE_BYTES) as usize;
            visit(start, Part::Bytes(&page[within(start)..within(at)]));
        }
        self.for_each_run(at, end, &mut visit);
    }

    /// Visits the parts of a range for which no page is stored.
    fn for_each_run(&self, start: u64, end: u64, visit: &mut impl FnMut(u64, Part<'_>)) {
        let mut at = start;
        while at < end {
            let (to, pattern) = match self.run_at(at) {
                Some(run) => (run.end, Some(run.pattern)),
                None => {
                    let next = self.runs.range(at..end).next();
                    (next.map_or(end, |(&next, _)| next), None)
                }
            };
            let to = to.min(end);
            let bytes = to - at;
            visit(
                at,
                match pattern {
                    Some(pattern) => Part::Repeated { pattern, bytes },
                    None => Part::NeverWritten { bytes },
                },
            );
            at = to;
        }
    }

    /// The run that contains a byte.
    fn run_at(&self, offset: u64) -> Option<Run> {
        let (_, run) = self.runs.range(..=offset).next_back()?;
        (offset < run.end).then_some(*run)
    }

    /// A page for writing, filled with its current bytes.
    fn page(&mut self, number: u64, is_new: &mut u64) -> &mut [u8; PAGE] {
        if !self.pages.contains_key(&number) {
            *is_new += 1;
            let page = self.new_page(number);
            self.pages.insert(number, page);
        }
        self.pages
            .entry(number)
            .or_insert_with(|| Box::new([NEVER_WRITTEN; PAGE]))
    }

    /// A new page, filled with the bytes that its range has without a stored page.
    fn new_page(&self, number: u64) -> Page {
        let mut page: Page = Box::new([NEVER_WRITTEN; PAGE]);
        let start = number * PAGE_BYTES;
        self.for_each_run(start, start + PAGE_BYTES, &mut |at, part| {
            if let Part::Repeated { pattern, bytes } = part {
                let from = (at - start) as usize;
                repeat(pattern, at, &mut page[from..from + bytes as usize]);
            }
        });
        page
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> u64 {
        let mut new_pages = 0;
        let mut offset = offset;
        let mut from = from;
        while !from.is_empty() {
            let within = (offset % PAGE_BYTES) as usize;
            let (now, later) = from.split_at(from.len().min(PAGE - within));
            let page = self.page(offset / PAGE_BYTES, &mut new_pages);
            page[within..within + now.len()].copy_from_slice(now);
            offset += now.len() as u64;
            from = later;
        }
        new_pages
    }

    fn write_from(&mut self, offset: u64, bytes: u64, mut source: impl FnMut(u64, &mut [u8])) {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        // Consecutive whole pages that repeat four bytes are stored as one run at
        // the end.
        let mut pending: Option<(u64, Run)> = None;
        let mut spare: Option<Page> = None;
        while at < end {
            let number = at / PAGE_BYTES;
            let within = (at % PAGE_BYTES) as usize;
            let length = (PAGE - within).min((end - at) as usize);
            if length < PAGE {
                let page = self.page(number, &mut 0);
                source(at, &mut page[within..within + length]);
                at += length as u64;
                continue;
            }
            let mut page = spare.take().unwrap_or_else(zeroes);
            source(at, &mut page[..]);
            let next = at + PAGE_BYTES;
            match repeated(&page) {
                None => spare = self.pages.insert(number, page),
                Some(pattern) => {
                    spare = Some(page);
                    match &mut pending {
                        Some((_, run)) if run.end == at && run.pattern == pattern => {
                            run.end = next;
                        }
                        other => {
                            let new = Run { end: next, pattern };
                            if let Some((start, run)) = other.replace((at, new)) {
                                self.fill(start, run.end - start, Some(run.pattern));
                            }
                        }
                    }
                }
            }
            at = next;
        }
        if let Some((start, run)) = pending {
            self.fill(start, run.end - start, Some(run.pattern));
        }
    }

    /// Fills a range with a pattern, or without one resets it.
    fn fill(&mut self, offset: u64, bytes: u64, pattern: Option<[u8; 4]>) {
        let end = offset.saturating_add(bytes);
        if offset >= end {
            return;
        }
        // Pages that are covered completely are removed, others are written.
        let whole = offset.div_ceil(PAGE_BYTES)..end / PAGE_BYTES;
        if whole.start < whole.end {
            self.pages.extract_if(whole, |_, _| true).for_each(drop);
        }
        for number in [offset / PAGE_BYTES, (end - 1) / PAGE_BYTES] {
            let start = number * PAGE_BYTES;
            let (from, to) = (offset.max(start), end.min(start + PAGE_BYTES));
            if let Some(page) = self.pages.get_mut(&number) {
                let room = &mut page[(from - start) as usize..(to - start) as usize];
                repeat(pattern.unwrap_or([NEVER_WRITTEN; 4]), from, room);
            }
        }
        self.cut_runs(offset, end);
        if let Some(pattern) = pattern {
            self.add_run(offset, Run { end, pattern });
        }
    }

    /// Removes a range from the runs.
    fn cut_runs(&mut self, offset: u64, end: u64) {
        if let Some((_, run)) = self.runs.range_mut(..offset).next_back()
            && run.end > offset
        {
            let cut = Run { ..*run };
            run.end = offset;
            if cut.end > end {
                self.runs.insert(end, cut);
            }
        }
        while let Some((&start, &run)) = self.runs.range(offset..end).next() {
            self.runs.remove(&start);
            if run.end > end {
                self.runs.insert(end, run);
            }
        }
    }

    /// Adds a run in a range without runs, and joins it with a neighbour that it
    /// continues.
    fn add_run(&mut self, offset: u64, mut run: Run) {
        if let Some(&after) = self.runs.get(&run.end)
            && after.pattern == run.pattern
        {
            self.runs.remove(&run.end);
            run.end = after.end;
        }
        if let Some((_, before)) = self.runs.range_mut(..offset).next_back()
            && before.end == offset
            && before.pattern == run.pattern
        {
            before.end = run.end;
            return;
        }
        self.runs.insert(offset, run);
    }
}

/// A page of zeros. The allocator can often provide it without writing zeros.
fn zeroes() -> Page {
    let page = vec![0; PAGE].into_boxed_slice();
    page.try_into().unwrap_or_else(|_| Box::new([0; PAGE]))
}

/// The four bytes that a whole page repeats; `None` if it does not repeat four bytes.
fn repeated(page: &[u8; PAGE]) -> Option<[u8; 4]> {
    let (head, rest) = page.split_first_chunk::<4>()?;
    (rest == &page[..PAGE - 4]).then_some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(contents: &Shared, offset: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        contents.read(offset, &mut bytes);
        bytes
    }

    #[test]
    fn written_bytes_are_read_and_all_others_are_not_zero() {
        let contents = Shared::default();
        assert_eq!(contents.write(PAGE_BYTES - 1, &[1, 2]), 2);
        assert_eq!(
            read(&contents, PAGE_BYTES - 2, 4),
            [NEVER_WRITTEN, 1, 2, NEVER_WRITTEN]
        );
        assert_eq!(contents.kept(), 2);
    }

    #[test]
    fn later_sets_and_writes_overwrite_earlier_ones() {
        let contents = Shared::default();
        contents.fill(0, 4 * PAGE_BYTES, [9; 4]);
        contents.write(PAGE_BYTES + 1, &[3]);
        contents.fill(PAGE_BYTES + 2, PAGE_BYTES, [7; 4]);
        contents.fill(3, 2, [5; 4]);
        assert_eq!(read(&contents, 2, 4), [9, 5, 5, 9]);
        assert_eq!(read(&contents, PAGE_BYTES, 4), [9, 3, 7, 7]);
        assert_eq!(read(&contents, 2 * PAGE_BYTES + 1, 2), [7, 9]);
        assert_eq!(read(&contents, 4 * PAGE_BYTES, 1), [NEVER_WRITTEN]);
        contents.clear(4, PAGE_BYTES);
        assert_eq!(read(&contents, 3, 2), [5, NEVER_WRITTEN]);
        assert_eq!(read(&contents, PAGE_BYTES + 3, 2), [NEVER_WRITTEN, 7]);
    }

    #[test]
    fn repeated_bytes_take_no_pages() {
        let contents = Shared::default();
        let tib = 1_u64 << 40;
        contents.fill(0, tib, [0; 4]);
        contents.fill(tib, tib, [1, 2, 3, 4]);
        contents.write_from(tib / 2, 64 * PAGE_BYTES, |_, room| room.fill(0));
        assert_eq!(contents.kept(), 2);
        assert_eq!(read(&contents, tib - 2, 5), [0, 0, 1, 2, 3]);
        assert_eq!(read(&contents, tib + 6, 3), [3, 4, 1]);
        // The write replaces what was written before.
        contents.write_from(0, 64 * PAGE_BYTES, |at, room| {
            for (byte, at) in room.iter_mut().zip(at..) {
                *byte = (at % 251) as u8;
            }
        });
        assert_eq!(contents.kept(), 64 + 2);
        contents.fill(0, 64 * PAGE_BYTES, [0; 4]);
        assert_eq!(contents.kept(), 2);
    }

    /// Random operations on `Contents` and on a plain array give the same bytes.
    #[test]
    fn the_contents_equal_those_of_an_array() {
        const BYTES: usize = 6 * PAGE + 100;
        let mut noise = 7_u64;
        let mut below = |bound: usize| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (noise >> 33) as usize % bound
        };
        let contents = Shared::default();
        let mut array = vec![NEVER_WRITTEN; BYTES];
        for step in 0..3_000_usize {
            let start = below(BYTES);
            let most = if below(3) == 0 { BYTES } else { 40 };
            let end = BYTES.min(start + below(most));
            let value = step as u8;
            match below(4) {
                0 => {
                    contents.write(start as u64, &vec![value; end - start]);
                    array[start..end].fill(value);
                }
                1 => {
                    let pattern = [value, value / 2, value, 1];
                    contents.fill(start as u64, (end - start) as u64, pattern);
                    for (at, byte) in array.iter_mut().enumerate().take(end).skip(start) {
                        *byte = pattern[at % 4];
                    }
                }
                2 => {
                    contents.clear(start as u64, (end - start) as u64);
                    array[start..end].fill(NEVER_WRITTEN);
                }
                _ => {
                    let page = step.is_multiple_of(2);
                    let byte = |at: usize| if page { value } else { (at / 7) as u8 ^ value };
                    contents.write_from(start as u64, (end - start) as u64, |at, room| {
                        for (room, at) in room.iter_mut().zip(at as usize..) {
                            *room = byte(at);
                        }
                    });
                    for (at, room) in array.iter_mut().enumerate().take(end).skip(start) {
                        *room = byte(at);
                    }
                }
            }
            let (from, to) = (below(BYTES), below(BYTES));
            let (from, to) = (from.min(to), from.max(to));
            assert_eq!(
                read(&contents, from as u64, to - from),
                array[from..to],
                "step {step}"
            );
            let mut at = 0;
            contents.for_each_part(0, BYTES as u64, |offset, part| {
                assert_eq!(offset, at);
                at += part.bytes();
            });
            assert_eq!(at, BYTES as u64);
        }
    }
}
