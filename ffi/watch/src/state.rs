//! The state of the watched process, and the record that the library writes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use graph_memory_record::{Event, Line, Note, NoteKind, Reading, Writer};

use crate::capture::Capture;
use crate::counters::CountersFile;
use crate::execs::Execs;
use crate::guard::with_file_size_signal_blocked;
use crate::kernel::Seen;
use crate::process::Settings;

/// Memory of devices with this ordinal or a higher one is not read.
pub const DEVICES: usize = 64;

/// The state of the process. It is never freed, because a forked child and exit handlers
/// can use it at any time.
pub struct State {
    /// The settings from the environment variables.
    pub settings: &'static Settings,
    /// The record's name, `PID.N`.
    pub name: String,
    /// When the record began.
    pub start: Instant,
    /// The execs, for launches.
    pub execs: Execs,
    /// The kernels that were launched, for kernel launches.
    pub kernels: Seen,
    /// The last reading of each device, for launches.
    pub devices: [DeviceCache; DEVICES],
    /// The counter for launches of execs whose instantiation was not recorded.
    pub unknown_launches: OnceLock<Option<&'static AtomicU64>>,
    /// A bit for each device that has a known context.
    pub known_devices: AtomicU64,
    /// The number of capturing streams.
    pub capturing: AtomicU32,
    /// Whether the process has used graphs. Only then are graph memory attributes read.
    pub graphs_seen: AtomicBool,
    /// Whether the program has already got a wrapped function.
    pub intercepted: AtomicBool,
    /// Whether the process is ending. Contexts may then be destroyed, so a failed call
    /// is not an error.
    pub ending: AtomicBool,
    /// Everything else.
    inner: Mutex<Inner>,
}

/// The four attributes of the last reading, in the order of their numbers.
#[derive(Default)]
pub struct DeviceCache {
    /// All are `u64::MAX` until the first reading.
    pub attributes: [AtomicU64; 4],
}

/// The state that only events use.
pub struct Inner {
    writer: Writer,
    path: PathBuf,
    identity: (u64, u64),
    lost: u64,
    /// The counters file, once there is an exec.
    pub counters: Option<CountersFile>,
    /// The path for the counters file.
    pub counters_path: PathBuf,
    notes: HashMap<(NoteKindKey, String), u64>,
    /// Contexts by handle.
    pub contexts: HashMap<usize, Context>,
    /// The number of the last context.
    pub last_context: u64,
    /// The devices that the record already describes.
    pub described: HashSet<i32>,
    /// The last full reading of each device.
    pub last: BTreeMap<i32, Reading>,
    /// The pools in use on each device: their handles and numbers.
    pub pools: HashMap<i32, Vec<(usize, u64)>>,
    /// Captures by their stream.
    pub captures: HashMap<u64, Capture>,
    /// The number of the capture that made a graph, by the graph's handle.
    pub graphs: HashMap<usize, u64>,
    /// The number of the last capture.
    pub last_capture: u64,
    /// The number of the last pool.
    pub last_pool: u64,
    /// The number of bytes of DOT files so far.
    pub dot_bytes: u64,
    /// Whether the exit event was written.
    pub exited: bool,
    /// Whether `last` was read while the process ended.
    pub read_at_exit: bool,
}

/// A context.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Its device.
    pub device: i32,
    /// Whether it is the device's primary context.
    pub primary: bool,
}

type NoteKindKey = u8;

static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());
/// Set in a forked child until its first CUDA call.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The state, if this process is watched.
#[inline]
pub fn active() -> Option<&'static State> {
    let state = STATE.load(Ordering::Acquire);
    // SAFETY: the pointer is null or of a leaked box.
    match unsafe { state.as_ref() } {
        None if FORKED.load(Ordering::Relaxed) => begin_in_child(),
        state => state,
    }
}

#[cold]
fn begin_in_child() -> Option<&'static State> {
    if FORKED.swap(false, Ordering::AcqRel) {
        crate::guard::shield(|| crate::process::begin(true));
    }
    // SAFETY: as in `active`.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

/// Called in a forked child: it no longer uses the parent's state. A lock that another
/// thread of the parent held would never be released, and the counters are those of the
/// parent. The record's descriptor stays open, because the program may have closed it and
/// be using its number.
pub fn forget_in_child() {
    let state = STATE.swap(ptr::null_mut(), Ordering::AcqRel);
    if state.is_null() {
        return;
    }
    FORKED.store(true, Ordering::Release);
}

/// Moves the record's file to a high descriptor, so that the program gets the same
/// descriptor numbers as without the library.
fn place_high(file: File) -> File {
    // SAFETY: the descriptor is open, and nothing else uses the new one.
    unsafe {
        let high = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 500);
        if high < 0 {
            return file;
        }
        File::from_raw_fd(high)
    }
}

/// Begins the record of this process. If the file cannot be created, the process is not
/// watched.
pub fn begin(settings: &'static Settings, process: graph_memory_record::Process) {
    let opened =
        with_file_size_signal_blocked(|| Writer::create(&settings.folder, process.pid, place_high));
    let Ok(opened) = opened else {
        return;
    };
    let file = opened.writer.file();
    let identity = file.metadata().map_or((0, 0), |m| (m.dev(), m.ino()));
    let path = settings.folder.join(format!("{}.jsonl", opened.name));
    let state = Box::new(State {
        settings,
        name: opened.name,
        start: Instant::now(),
        execs: Execs::new(),
        kernels: Seen::new(),
        devices: std::array::from_fn(|_| DeviceCache {
            attributes: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
        }),
        unknown_launches: OnceLock::new(),
        known_devices: AtomicU64::new(0),
        capturing: AtomicU32::new(0),
        graphs_seen: AtomicBool::new(false),
        intercepted: AtomicBool::new(false),
        ending: AtomicBool::new(false),
        inner: Mutex::new(Inner {
            writer: opened.writer,
            path,
            identity,
            lost: 0,
            counters: None,
            counters_path: opened.counters,
            notes: HashMap::new(),
            contexts: HashMap::new(),
            last_context: 0,
            described: HashSet::new(),
            last: BTreeMap::new(),
            pools: HashMap::new(),
            captures: HashMap::new(),
            graphs: HashMap::new(),
            last_capture: 0,
            last_pool: 0,
            dot_bytes: 0,
            exited: false,
            read_at_exit: false,
        }),
    });
    state.event(Event::Process(process));
    STATE.store(Box::into_raw(state), Ordering::Release);
}

impl State {
    /// The state that only events use. No driver function may be called while it is
    /// locked.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since the record began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Writes an event.
    pub fn event(&self, event: Event) {
        let line = self.line(event);
        self.lock().write(&line);
    }

    /// An event with its time and thread.
    pub fn line(&self, event: Event) -> Line {
        // SAFETY: `gettid` has no arguments and cannot fail.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        Line {
            time_ns: self.now(),
            thread: u32::try_from(thread).unwrap_or_default(),
            event,
        }
    }

    /// Writes a note when its count is 1, 2, 4, 8 and so on.
    pub fn note(&self, kind: NoteKind, text: &str, call: Option<&str>, code: Option<i64>) {
        let mut inner = self.lock();
        let key = (kind as NoteKindKey, call.unwrap_or(text).to_owned());
        let count = inner.notes.entry(key).or_insert(0);
        *count += 1;
        let count = *count;
        if count.is_power_of_two() {
            let line = self.line(Event::Note(Note {
                kind,
                text: text.to_owned(),
                call: call.map(str::to_owned),
                code,
                count,
            }));
            inner.write(&line);
        }
    }

    /// Writes a note that the counters are only in the memory of the process.
    pub fn counters_failed(&self, error: &io::Error) {
        let code = error.raw_os_error().map(i64::from);
        let text = "the counters could not be kept in a file";
        self.note(NoteKind::Counters, text, None, code);
    }

    /// Writes a note about a driver call by the library that failed.
    pub fn failed(&self, call: &str, code: cudart_ffi::types::CUresult) {
        if self.ending.load(Ordering::Relaxed) {
            return;
        }
        let text = "a call that the watch library made itself failed";
        self.note(NoteKind::FailedCall, text, Some(call), Some(code.0.into()));
    }
}

impl Inner {
    /// The counters file, which the first use creates. The error says why there is no
    /// file.
    pub fn counters(&mut self) -> (&mut CountersFile, Option<io::Error>) {
        let mut error = None;
        let path = &self.counters_path;
        let counters = self.counters.get_or_insert_with(|| {
            let (file, failed) = CountersFile::create(path);
            error = failed;
            file
        });
        (counters, error)
    }

    /// Writes a line.
    pub fn write(&mut self, line: &Line) {
        with_file_size_signal_blocked(|| {
            self.reopen_if_closed();
            if self.lost > 0 {
                let note = Line {
                    event: Event::Note(Note {
                        kind: NoteKind::LostWrite,
                        text: "events could not be written".to_owned(),
                        call: None,
                        code: None,
                        count: self.lost,
                    }),
                    ..line.clone()
                };
                if self.writer.write(&note).is_ok() {
                    self.lost = 0;
                }
            }
            if self.writer.write(line).is_err() {
                self.lost += 1;
                if let Some(counters) = &self.counters {
                    counters.lost_event();
                }
            }
        });
    }

    /// A program may close descriptors that it did not open, and the number may now
    /// belong to another file. The record is then opened again.
    fn reopen_if_closed(&mut self) {
        let now = self.writer.file().metadata();
        if now.is_ok_and(|m| (m.dev(), m.ino()) == self.identity) {
            return;
        }
        let Ok(file) = OpenOptions::new().append(true).open(&self.path) else {
            return;
        };
        let file = place_high(file);
        let stranger = self.writer.replace(file);
        // The program owns this descriptor, so it stays open.
        let _ = stranger.into_raw_fd();
    }
}

/// Writes a note about a panic of the library, unless the state is locked at that moment.
pub fn internal_fault(place: &str) {
    let state = STATE.load(Ordering::Acquire);
    // SAFETY: as in `active`.
    let Some(state) = (unsafe { state.as_ref() }) else {
        return;
    };
    if let Ok(mut inner) = state.inner.try_lock() {
        let line = state.line(Event::Note(Note {
            kind: NoteKind::Internal,
            text: format!("an internal error of the watch library at {place}"),
            call: None,
            code: None,
            count: 1,
        }));
        inner.write(&line);
    }
}
