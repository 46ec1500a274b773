//! Reading a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::counters::{CountersError, CountersFile};
use crate::event::{Event, Line, Process};
use crate::{FORMAT, GRAPHS_FOLDER, VERSION};

/// A recording: the records of all processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The folder.
    pub folder: PathBuf,
    /// The processes, ordered by the time at which their records began.
    pub processes: Vec<ProcessRecord>,
    /// The names of records that cannot be read, each with the reason: the process was
    /// killed before its first line was complete, or the record has another version.
    pub unreadable: Vec<(String, String)>,
}

/// The record of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessRecord {
    /// The record's name, `PID.N`.
    pub name: String,
    /// The process.
    pub process: Process,
    /// All events after the first, in the order of the file.
    pub lines: Vec<Line>,
    /// The number of lines that are incomplete or not an event.
    pub damaged_lines: usize,
    /// The counters; `None` if the process has no counters file, for example because it
    /// used no graphs.
    pub counters: Option<CountersFile>,
    /// Why the counters file cannot be read, if there is one.
    pub counters_error: Option<String>,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The folder cannot be read.
    #[error("cannot read the recording {}: {error}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no record in it.
    #[error("{} is not a recording: it has no file named PID.N.jsonl", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

impl Recording {
    /// Reads all records in a folder.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read or contains no record. A single record that cannot
    /// be read is listed in [`unreadable`](Self::unreadable) instead.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, ReadError> {
        let folder = folder.as_ref().to_path_buf();
        let failed = |error| ReadError::Folder {
            folder: folder.clone(),
            error,
        };
        let mut processes = Vec::new();
        let mut unreadable = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(name) = record_name(&path) else {
                continue;
            };
            match ProcessRecord::read(&folder, &name) {
                Ok(record) => processes.push(record),
                Err(reason) => unreadable.push((name, reason)),
            }
        }
        if processes.is_empty() && unreadable.is_empty() {
            return Err(ReadError::Empty { folder });
        }
        processes.sort_by(|a, b| {
            let key = |r: &ProcessRecord| (r.process.start_unix_ns, r.process.pid);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        unreadable.sort();
        Ok(Self {
            folder,
            processes,
            unreadable,
        })
    }

    /// The path of a graph's DOT file, for the name in
    /// [`GraphContent::dot`](crate::GraphContent::dot).
    pub fn dot_path(&self, name: &str) -> PathBuf {
        // A recording comes from outside: a name in it must not lead out of the
        // folder.
        let file = Path::new(name).file_name().unwrap_or_default();
        self.folder.join(GRAPHS_FOLDER).join(file)
    }
}

impl ProcessRecord {
    fn read(folder: &Path, name: &str) -> Result<Self, String> {
        let bytes = fs::read(folder.join(format!("{name}.jsonl"))).map_err(|e| e.to_string())?;
        let mut lines = bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let first = lines.next().ok_or("it is empty")?;
        let first: Line = serde_json::from_slice(first)
            .map_err(|error| format!("its first line is not an event: {error}"))?;
        let Event::Process(process) = first.event else {
            return Err("its first line does not describe a process".to_owned());
        };
        if process.format != FORMAT || process.version != VERSION {
            return Err(format!(
                "it is {} version {}, but this program reads {FORMAT} version {VERSION}",
                process.format, process.version
            ));
        }
        let mut record = Self {
            name: name.to_owned(),
            process,
            lines: Vec::new(),
            damaged_lines: 0,
            counters: None,
            counters_error: None,
        };
        for line in lines {
            match serde_json::from_slice(line) {
                Ok(line) => record.lines.push(line),
                Err(_) => record.damaged_lines += 1,
            }
        }
        match fs::read(folder.join(format!("{name}.counters"))) {
            Ok(bytes) => match CountersFile::parse(&bytes) {
                Ok(counters) => record.counters = Some(counters),
                // The process was killed after the file was created and
                // before its header was written.
                Err(CountersError::Magic) if bytes.iter().all(|&byte| byte == 0) => {}
                Err(error) => record.counters_error = Some(error.to_string()),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => record.counters_error = Some(error.to_string()),
        }
        Ok(record)
    }

    /// Whether the process ended by `exit` or by returning from `main`.
    pub fn exited(&self) -> bool {
        let is_exit = |line: &Line| matches!(line.event, Event::Exit(_));
        self.lines.iter().any(is_exit)
    }
}

/// `PID.N` of a file `PID.N.jsonl`.
fn record_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let (pid, n) = name.split_once('.')?;
    let number = |text: &str| text.parse::<u32>().is_ok();
    (number(pid) && number(n)).then(|| name.to_owned())
}
