//! Writing a record.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::event::Line;

/// Writes the events of one process, each with one `write(2)`.
#[derive(Debug)]
pub struct Writer {
    file: File,
    line: Vec<u8>,
    /// Whether the last write was incomplete, so that the next event must begin with a
    /// line break.
    torn: bool,
}

/// A new record.
#[derive(Debug)]
pub struct Opened {
    /// The writer.
    pub writer: Writer,
    /// The record's name, `PID.N`.
    pub name: String,
    /// The path for the counters file of this record.
    pub counters: PathBuf,
}

impl Writer {
    /// Begins a record of process `pid` in the folder `recording`, which must exist.
    /// `place` can move the new file to another file descriptor.
    ///
    /// # Errors
    ///
    /// When the file cannot be created.
    pub fn create(
        recording: &Path,
        pid: u32,
        place: impl FnOnce(File) -> File,
    ) -> io::Result<Opened> {
        let mut n = 0_u32;
        loop {
            let name = format!("{pid}.{n}");
            let path = recording.join(format!("{name}.jsonl"));
            let mut options = OpenOptions::new();
            match options.append(true).create_new(true).open(&path) {
                Ok(file) => {
                    let writer = Self {
                        file: place(file),
                        line: Vec::with_capacity(1024),
                        torn: false,
                    };
                    let counters = recording.join(format!("{name}.counters"));
                    return Ok(Opened {
                        writer,
                        name,
                        counters,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The open file, so that the caller can check that its descriptor is still open.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Replaces the file, and returns the previous one.
    pub fn replace(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    /// Writes one event.
    ///
    /// # Errors
    ///
    /// If the line was not written completely, for example because the disk is full
    /// (`ENOSPC`) or the file would exceed the size limit of the process (`EFBIG`).
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        self.line.clear();
        if self.torn {
            self.line.push(b'\n');
        }
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        loop {
            match self.file.write(&self.line) {
                Ok(written) if written == self.line.len() => {
                    self.torn = false;
                    return Ok(());
                }
                Ok(written) => {
                    self.torn |= written > 0;
                    return Err(io::ErrorKind::WriteZero.into());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
