//! Executes kernels on the memory of a device.
//!
//! A kernel accesses memory in pages that are taken out of the contents, so that most
//! accesses need neither a lock nor a search. No other work runs meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::work::{Backing, Stretch, Surroundings};
use crate::c_api::pointers::{read_host, write_host};
use crate::kernels::program::{Launch, Memory};
use crate::memory::contents::{NEVER_WRITTEN, PAGE, Shared};
use crate::objects::effects::KernelRun;

/// The largest number of instructions of one launch, counted over all threads; they take
/// some seconds. A longer kernel is stopped, and a line on standard error says so.
const BUDGET: u64 = 1 << 30;
/// The number of instructions that a store counts as for each page of host memory that it
/// allocates. A kernel can therefore make the process grow by at most 256 MiB.
const PAGE_COST: u64 = BUDGET >> 16;
/// Whether that line was written.
static CUT_SHORT: AtomicBool = AtomicBool::new(false);
/// The number of memory ranges whose lookup is cached during a kernel.
const STRETCHES: usize = 4096;
/// The largest number of pages that are taken out at the same time.
const PAGES: usize = 1024;
/// The direct-mapped table of pages: the number of bytes that share an entry, and the
/// number of entries.
const PLACE_BYTES: u64 = 512;
const PLACES: usize = 2048;

/// Executes a kernel.
pub(super) fn run_kernel(run: &KernelRun, around: Surroundings<'_>) {
    if !run.program.stores() {
        return;
    }
    let launch = Launch {
        grid: run.grid,
        block: run.block,
        shared_bytes: run.shared_bytes,
        arguments: &run.arguments,
    };
    let mut budget = BUDGET;
    let ended = run.program.run(launch, &mut View::new(around), &mut budget);
    if ended.is_err() && !CUT_SHORT.swap(true, Ordering::Relaxed) {
        // If standard error is closed, the message is dropped.
        let _ = writeln!(
            std::io::stderr(),
            "cudart_model: a kernel took more than 2^30 instructions and was ended there: what \
             it had yet to write is missing"
        );
    }
}

/// A table entry: addresses whose memory is in one page that was taken out.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    end: u64,
    page: u32,
    /// The position of the first address in the page.
    offset: u32,
}

const NOWHERE: Place = Place {
    start: 0,
    end: 0,
    page: 0,
    offset: 0,
};

/// A page that was taken out of the contents.
struct Lent {
    contents: Shared,
    number: u64,
    page: Box<[u8; PAGE]>,
    /// Whether the contents stored the page before.
    was_kept: bool,
    is_written: bool,
}

/// The memory that a kernel accesses. Each address is looked up once.
struct View<'a> {
    around: Surroundings<'a>,
    /// By address.
    places: Box<[Place]>,
    pages: Vec<Lent>,
    /// By contents and page number.
    numbers: HashMap<(usize, u64), u32>,
    /// The memory range of the last lookup.
    last: Stretch,
    /// By first address.
    known: BTreeMap<u64, Stretch>,
}

impl<'a> View<'a> {
    fn new(around: Surroundings<'a>) -> Self {
        Self {
            around,
            places: vec![NOWHERE; PLACES].into_boxed_slice(),
            pages: Vec::new(),
            numbers: HashMap::new(),
            last: Stretch {
                start: 0,
                end: 0,
                backing: Backing::Nothing,
            },
            known: BTreeMap::new(),
        }
    }

    /// The page that contains an access, if it was already taken out, and the position
    /// in it.
    #[inline(always)]
    fn at_hand(&self, address: u64, bytes: usize) -> Option<(usize, usize)> {
        let place = self.places.get((address / PLACE_BYTES) as usize % PLACES)?;
        let fits =
            address >= place.start && address < place.end && place.end - address >= bytes as u64;
        fits.then(|| {
            let within = (address - place.start) as usize;
            (place.page as usize, place.offset as usize + within)
        })
    }

    fn stretch(&mut self, address: u64) -> &Stretch {
        if !self.last.has(address, 1) {
            let known = self.known.range(..=address).next_back();
            self.last = match known.filter(|(_, stretch)| stretch.has(address, 1)) {
                Some((_, stretch)) => stretch.clone(),
                None => {
                    let found = (self.around.lookup)(address);
                    if self.known.len() >= STRETCHES {
                        self.known.clear();
                    }
                    self.known.insert(found.start, found.clone());
                    found
                }
            };
        }
        &self.last
    }

    /// Takes out the page of device memory that contains an address; `false` if it is
    /// not device memory.
    fn borrow(&mut self, address: u64) -> bool {
        let stretch = self.stretch(address);
        let Backing::Device(contents, offset) = &stretch.backing else {
            return false;
        };
        let (start, end) = (stretch.start, stretch.end);
        let (contents, offset) = (contents.clone(), *offset);
        let at = offset + (address - start);
        let number = at / PAGE as u64;
        let key = (contents.identity(), number);
        let page = match self.numbers.get(&key) {
            Some(&page) => page,
            None => {
                if self.pages.len() >= PAGES {
                    self.give_back();
                }
                let (page, was_kept) = contents.lend(number);
                self.pages.push(Lent {
                    contents,
                    number,
                    page,
                    was_kept,
                    is_written: false,
                });
                let index = (self.pages.len() - 1) as u32;
                self.numbers.insert(key, index);
                index
            }
        };
        // The addresses of the page that are within the memory range.
        let within = at % PAGE as u64;
        let before = within.min(address - start);
        let after = (PAGE as u64 - within).min(end - address);
        if let Some(place) = self
            .places
            .get_mut((address / PLACE_BYTES) as usize % PLACES)
        {
            *place = Place {
                start: address - before,
                end: address + after,
                page,
                offset: (within - before) as u32,
            };
        }
        true
    }

    /// Puts all pages back. Pages that equal the contents are dropped.
    fn give_back(&mut self) {
        for lent in self.pages.drain(..) {
            if lent.was_kept || lent.is_written {
                lent.contents.give_back(lent.number, lent.page);
            }
        }
        self.numbers.clear();
        self.places.fill(NOWHERE);
    }

    fn read(&mut self, address: u64, to: &mut [u8]) {
        if self.at_hand(address, to.len()).is_none() && !self.borrow(address) {
            let stretch = self.stretch(address);
            if stretch.has(address, to.len() as u64) {
                match stretch.backing {
                    Backing::Host => read_host(address, to),
                    Backing::Nothing | Backing::Device(..) => to.fill(NEVER_WRITTEN),
                }
                return;
            }
        }
        match self.at_hand(address, to.len()) {
            Some((page, offset)) => {
                let page = self
                    .pages
                    .get(page)
                    .and_then(|lent| lent.page.get(offset..));
                if let Some(from) = page.and_then(|page| page.get(..to.len())) {
                    to.copy_from_slice(from);
                }
            }
            None if to.len() > 1 => {
                for (byte, at) in to.chunks_mut(1).zip(address..) {
                    self.read(at, byte);
                }
            }
            None => to.fill(NEVER_WRITTEN),
        }
    }

    /// Returns the number of pages of host memory that it allocated.
    fn write(&mut self, address: u64, from: &[u8]) -> u64 {
        if self.at_hand(address, from.len()).is_none() && !self.borrow(address) {
            let stretch = self.stretch(address);
            if stretch.has(address, from.len() as u64) {
                if matches!(stretch.backing, Backing::Host) {
                    write_host(address, from);
                }
                return 0;
            }
        }
        match self.at_hand(address, from.len()) {
            Some((page, offset)) => {
                let Some(lent) = self.pages.get_mut(page) else {
                    return 0;
                };
                let room = lent
                    .page
                    .get_mut(offset..)
                    .and_then(|page| page.get_mut(..from.len()));
                if let Some(room) = room {
                    room.copy_from_slice(from);
                }
                let is_new = !lent.was_kept && !lent.is_written;
                lent.is_written = true;
                u64::from(is_new)
            }
            None if from.len() > 1 => {
                let bytes = from.chunks(1).zip(address..);
                bytes.map(|(byte, at)| self.write(at, byte)).sum()
            }
            None => 0,
        }
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Memory for View<'_> {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        if let (4, Some((page, offset))) = (bytes, self.at_hand(address, 4)) {
            let page = self
                .pages
                .get(page)
                .and_then(|lent| lent.page.get(offset..));
            if let Some(word) = page.and_then(|page| page.first_chunk()) {
                return u64::from(u32::from_le_bytes(*word));
            }
        }
        let mut value = [0; 8];
        if let Some(room) = value.get_mut(..bytes) {
            self.read(address, room);
        }
        u64::from_le_bytes(value)
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64 {
        if let (4, Some((page, offset))) = (bytes, self.at_hand(address, 4))
            && let Some(lent) = self.pages.get_mut(page)
            && (lent.is_written || lent.was_kept)
            && let Some(word) = lent
                .page
                .get_mut(offset..)
                .and_then(|page| page.first_chunk_mut())
        {
            *word = (value as u32).to_le_bytes();
            lent.is_written = true;
            return 0;
        }
        let value = value.to_le_bytes();
        let new_pages = self.write(address, value.get(..bytes).unwrap_or_default());
        new_pages * PAGE_COST
    }

    fn set_condition(&mut self, handle: u64, value: u32) {
        if let Some(condition) = (self.around.conditions)(handle) {
            condition.store(value, Ordering::Relaxed);
        }
    }

    fn print(&mut self, text: &[u8]) {
        self.around.printed.add(text);
    }
}
