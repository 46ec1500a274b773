//! The start of the process, its forks, and its end.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use graph_memory_record::{Event, Exit, FORMAT, GRAPHS_FOLDER, Process, VERSION, settings};

use crate::guard::{self, Inside};
use crate::{driver, reading, state};

/// Which graphs are printed as DOT files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dot {
    /// Those with memory nodes or conditional nodes.
    Memory,
    /// All.
    All,
    /// None.
    None,
}

/// The settings from the environment variables.
#[derive(Debug)]
pub struct Settings {
    /// The folder of the recording.
    pub folder: PathBuf,
    /// Which graphs are printed.
    pub dot: Dot,
    /// The largest number of bytes of DOT files.
    pub dot_limit: u64,
}

static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();

impl Settings {
    fn from_environment() -> Option<Self> {
        let folder = PathBuf::from(env::var_os(settings::DIRECTORY)?);
        if !folder.is_absolute() {
            return None;
        }
        let text = |name| env::var(name).unwrap_or_default();
        Some(Self {
            folder,
            dot: match text(settings::DOT).as_str() {
                settings::DOT_ALL => Dot::All,
                settings::DOT_NONE => Dot::None,
                _ => Dot::Memory,
            },
            dot_limit: text(settings::DOT_LIMIT)
                .parse()
                .unwrap_or(settings::DOT_LIMIT_DEFAULT),
        })
    }

    /// The folder of the DOT files.
    pub fn graphs(&self) -> PathBuf {
        self.folder.join(GRAPHS_FOLDER)
    }
}

/// Runs when the library is loaded, before the program's `main`.
extern "C" fn loaded() {
    guard::shield(|| {
        if SETTINGS.get_or_init(Settings::from_environment).is_none() {
            return;
        }
        guard::silence_panics();
        begin(false);
        // SAFETY: the handlers are functions of this library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
            libc::atexit(ended);
        }
    });
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

/// Begins this process's record.
pub fn begin(forked: bool) {
    let Some(Some(settings)) = SETTINGS.get() else {
        return;
    };
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    state::begin(
        settings,
        Process {
            format: FORMAT.to_owned(),
            version: VERSION,
            library_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: process::id(),
            parent: std::os::unix::process::parent_id(),
            forked,
            executable: executable().display().to_string(),
            arguments: arguments(),
            start_unix_ns: since_1970
                .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
        },
    );
}

/// The path of the program.
pub fn executable() -> PathBuf {
    std::fs::read_link("/proc/self/exe").unwrap_or_default()
}

fn arguments() -> Vec<String> {
    let bytes = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let mut arguments: Vec<_> = bytes
        .split(|&byte| byte == 0)
        .map(|part| {
            let part = OsString::from_vec(part.to_vec());
            part.to_string_lossy().into_owned()
        })
        .collect();
    // A zero byte also ends the last argument.
    arguments.pop();
    arguments
}

extern "C" fn forked() {
    state::forget_in_child();
}

/// Registers the function that makes the last reading. Exit handlers run in the reverse
/// order of their registration. The driver's handler destroys the contexts, so this one
/// must be registered after a context was created.
pub fn read_at_exit() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::AcqRel) {
        // SAFETY: a function of this library, which is never unloaded.
        unsafe { libc::atexit(ending) };
    }
}

extern "C" fn ending() {
    guard::shield(|| {
        let (Some(state), Some(driver), Some(_inside)) =
            (state::active(), driver::get(), Inside::enter())
        else {
            return;
        };
        state.ending.store(true, Ordering::Relaxed);
        let devices: Vec<i32> = state.lock().last.keys().copied().collect();
        let mut all = !devices.is_empty();
        for device in devices {
            all &= reading::read(state, driver, device).free_bytes.is_some();
        }
        state.lock().read_at_exit = all;
    });
}

/// Runs at `exit`, after the handlers that the program registered.
extern "C" fn ended() {
    guard::shield(|| {
        let Some(state) = state::active() else {
            return;
        };
        let mut inner = state.lock();
        if inner.exited {
            return;
        }
        inner.exited = true;
        let counters = inner.counters.as_ref();
        let counters = counters.filter(|c| c.anonymous()).map(|c| c.execs());
        let line = state.line(Event::Exit(Exit {
            read_at_exit: inner.read_at_exit,
            last: inner.last.iter().map(|(d, r)| (*d, r.clone())).collect(),
            counters: counters.unwrap_or_default(),
        }));
        inner.write(&line);
    });
}
