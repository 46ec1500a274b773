//! The files that one command writes.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::NamedTempFile;

use crate::identity::{folder_of, resolved};
use crate::system::{Id, Seen, as_a_new_file};
use crate::visible::Shown;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The command also reads it.
    #[error("{} is also an input, and writing it would destroy that", Shown(.0.display()))]
    IsInput(PathBuf),
    /// The command already writes it.
    #[error("{} and {} are the same file", Shown(.0.display()), Shown(.1.display()))]
    Twice(PathBuf, PathBuf),
    /// It cannot be written.
    #[error("cannot write {}: {source}", Shown(path.display()))]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OutputError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::IsInput(_) => "name another file to write",
            Self::Twice(..) => "give each output a file of its own",
            Self::Unwritable { .. } => "name a file that can be written, in a folder that can",
        }
    }
}

/// The files that one command reads and writes.
///
/// [`Outputs::open`] checks a file and changes nothing. What is written goes to a
/// temporary file in the same folder, and [`Outputs::commit`] renames all of them to
/// their names at the end. Dropped without that, they leave no trace: an old file stays
/// as it was when the command is refused, fails, or finds the disk full. Standard output,
/// terminals, devices and pipes have nothing to keep, and are written as it comes.
///
/// A name is refused if it leads to a file that is also read or written by another name,
/// through symbolic links, hard links, `.` and `..`, or upper and lower case where the
/// file system does not tell them apart. A symbolic link stays one, and what it leads to
/// is replaced; a hard link is replaced by a file of its own.
#[derive(Debug, Clone, Default)]
pub struct Outputs(Rc<RefCell<Files>>);

#[derive(Debug, Default)]
struct Files {
    inputs: Vec<(PathBuf, Option<Id>)>,
    outputs: Vec<Taken>,
}

/// An output that was opened.
#[derive(Debug)]
struct Taken {
    /// As the user spelt it.
    path: PathBuf,
    /// Where it is; `None` for what may be written by several at once.
    place: Option<Place>,
    output: Output,
}

/// Where a file is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    resolved: PathBuf,
    id: Option<Id>,
}

impl Place {
    fn is(&self, path: &Path, id: Option<Id>) -> bool {
        self.resolved == path || (id.is_some() && self.id == id)
    }
}

/// One open output. What is written to it is in its file after [`Outputs::commit`].
#[derive(Debug, Clone)]
pub struct Output(Rc<RefCell<Sink>>);

#[derive(Debug)]
enum Sink {
    /// Standard output, and whether its reader has closed it.
    Stdout {
        out: BufWriter<Stdout>,
        closed: bool,
    },
    /// A terminal, a device, or a pipe.
    Stream(BufWriter<File>),
    /// A file that will be at a place when it is whole.
    File {
        place: PathBuf,
        permissions: Option<Permissions>,
        written: Option<BufWriter<NamedTempFile>>,
    },
}

impl Outputs {
    /// The outputs of a command that reads these files; `-` is standard input.
    pub fn new<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Self {
        let outputs = Self::default();
        for input in inputs {
            outputs.add_input(input.as_ref());
        }
        outputs
    }

    /// Names one more file that is read, before or after outputs are opened. Of a folder,
    /// every file in it is.
    pub fn add_input(&self, path: &Path) {
        if let (true, Ok(entries)) = (path.is_dir(), fs::read_dir(path)) {
            for entry in entries.flatten() {
                self.add_input(&entry.path());
            }
            return;
        }
        let known = if path == Path::new("-") {
            // Terminals, pipes and sockets may be read and written at once.
            let file = Seen::stdin().filter(|seen| seen.metadata.is_file());
            (PathBuf::from("/dev/stdin"), file.map(|seen| seen.id))
        } else {
            if Seen::at(path).is_ok_and(|seen| seen.is_char_device()) {
                return;
            }
            (
                resolved(path).unwrap_or_else(|_| path.to_owned()),
                Id::at(path),
            )
        };
        self.0.borrow_mut().inputs.push(known);
    }

    /// Opens a file for writing; `-` is standard output. Nothing is changed yet.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn open(&self, path: &Path) -> Result<Output, OutputError> {
        let (sink, place) = opened(path).map_err(|source| OutputError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
        if let Some(place) = &place {
            self.0.borrow().check(path, place, None)?;
        }
        let output = Output(Rc::new(RefCell::new(sink)));
        self.0.borrow_mut().outputs.push(Taken {
            path: path.to_owned(),
            place,
            output: output.clone(),
        });
        Ok(output)
    }

    /// Checks that files could be written into a folder, which need not be there yet.
    ///
    /// # Errors
    ///
    /// [`OutputError::Unwritable`].
    pub fn check_folder(&self, folder: &Path) -> Result<(), OutputError> {
        let mut nearest = folder;
        while matches!(nearest.try_exists(), Ok(false)) && folder_of(nearest) != nearest {
            nearest = folder_of(nearest);
        }
        probe(nearest).map_err(|source| OutputError::Unwritable {
            path: folder.to_owned(),
            source,
        })
    }

    /// Opens a file in a folder, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn open_in(&self, folder: &Path, name: &str) -> Result<Output, OutputError> {
        fs::create_dir_all(folder).map_err(|source| OutputError::Unwritable {
            path: folder.to_owned(),
            source,
        })?;
        self.open(&folder.join(name))
    }

    /// Whether standard output has been closed by its reader, and nothing else is
    /// written: then nobody will see what comes.
    #[must_use]
    pub fn nobody_reads(&self) -> bool {
        let files = self.0.borrow();
        let closed =
            |taken: &Taken| matches!(*taken.output.0.borrow(), Sink::Stdout { closed: true, .. });
        !files.outputs.is_empty() && files.outputs.iter().all(closed)
    }

    /// Puts every file in its place. None is put there unless all of them are whole.
    ///
    /// # Errors
    ///
    /// [`OutputError`]: a disk that is full, or a place that has changed meanwhile.
    pub fn commit(self) -> Result<(), OutputError> {
        let files = self.0.borrow();
        let failed = |taken: &Taken| {
            let path = taken.path.clone();
            |source| OutputError::Unwritable { path, source }
        };
        for (at, taken) in files.outputs.iter().enumerate() {
            taken
                .output
                .0
                .borrow_mut()
                .finish()
                .map_err(failed(taken))?;
            files.check_again(at, taken)?;
        }
        for (at, taken) in files.outputs.iter().enumerate() {
            files.check_again(at, taken)?;
            taken.output.0.borrow_mut().put().map_err(failed(taken))?;
        }
        Ok(())
    }
}

impl Files {
    /// The same check at the end: a file may have appeared since, be known as an input
    /// only now, or be one that has just been put in its place.
    fn check_again(&self, at: usize, taken: &Taken) -> Result<(), OutputError> {
        let Some(place) = &taken.place else {
            return Ok(());
        };
        let place = Place {
            resolved: place.resolved.clone(),
            id: Id::at(&place.resolved).or(place.id),
        };
        self.check(&taken.path, &place, Some(at))
    }

    /// Refuses a place that is read, or written by an output before this one.
    fn check(&self, path: &Path, place: &Place, at: Option<usize>) -> Result<(), OutputError> {
        if self.inputs.iter().any(|(input, id)| place.is(input, *id)) {
            return Err(OutputError::IsInput(path.to_owned()));
        }
        let before = self.outputs.get(..at.unwrap_or(self.outputs.len()));
        for taken in before.unwrap_or_default() {
            if let Some(other) = &taken.place {
                // Where a file was made since it was opened, its identity is new.
                let id = Id::at(&other.resolved).or(other.id);
                if place.is(&other.resolved, id) {
                    return Err(OutputError::Twice(taken.path.clone(), path.to_owned()));
                }
            }
        }
        Ok(())
    }
}

/// Writes one file, whole or not at all.
///
/// # Errors
///
/// [`OutputError`].
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    let outputs = Outputs::default();
    let mut output = outputs.open(path)?;
    output
        .write_all(bytes.as_ref())
        .map_err(|source| OutputError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
    outputs.commit()
}

/// What a path stands for, and its place if only one may write there.
fn opened(path: &Path) -> io::Result<(Sink, Option<Place>)> {
    let stdout = Seen::stdout();
    if path == Path::new("-") {
        let alone = |seen: &Seen| !seen.is_char_device() || io::stdout().is_terminal();
        let place = stdout.filter(alone).map(|seen| Place {
            resolved: PathBuf::from("/dev/stdout"),
            id: Some(seen.id),
        });
        return Ok((Sink::stdout(), place));
    }
    let names_folder = path.to_string_lossy().ends_with(std::path::is_separator);
    let seen = match Seen::at(path) {
        Ok(seen) => seen,
        // Nothing there, or a link to nothing: a new file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !names_folder => {
            let resolved = resolved(path)?;
            probe(folder_of(&resolved))?;
            let place = Place {
                resolved: resolved.clone(),
                id: None,
            };
            return Ok((Sink::file(resolved, None), Some(place)));
        }
        Err(error) => return Err(error),
    };
    let id = Some(seen.id);
    let kind = seen.metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if seen.is_block_device() {
        return Err(io::Error::other("it is a disk"));
    }
    // Whoever may not change the file may not replace it either.
    if kind.is_file() {
        match OpenOptions::new().write(true).open(path) {
            // A program that runs cannot be written to, but it can be replaced.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
            opened => drop(opened?),
        }
    }
    if stdout.is_some_and(|stdout| stdout.id == seen.id) && !seen.is_char_device() {
        // Such as /dev/stdout, whose file the shell may have opened to append to.
        let place = Place {
            resolved: path.to_owned(),
            id,
        };
        return Ok((Sink::stdout(), Some(place)));
    }
    if !kind.is_file() {
        let stream = OpenOptions::new().write(true).open(path)?;
        let shared = seen.is_char_device() && !stream.is_terminal();
        let place = Place {
            resolved: resolved(path)?,
            id,
        };
        return Ok((
            Sink::Stream(BufWriter::new(stream)),
            (!shared).then_some(place),
        ));
    }
    let resolved = path.canonicalize()?;
    probe(folder_of(&resolved))?;
    let place = Place {
        resolved: resolved.clone(),
        id,
    };
    Ok((
        Sink::file(resolved, Some(seen.metadata.permissions())),
        Some(place),
    ))
}

/// Whether a file can be made in this folder; it has no name, or is removed at once.
fn probe(folder: &Path) -> io::Result<()> {
    if folder.metadata()?.is_dir() {
        tempfile::tempfile_in(folder).map(drop)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

impl Sink {
    fn stdout() -> Self {
        Self::Stdout {
            out: BufWriter::new(io::stdout()),
            closed: false,
        }
    }

    fn file(place: PathBuf, permissions: Option<Permissions>) -> Self {
        Self::File {
            place,
            permissions,
            written: None,
        }
    }

    /// Everything is written: an error of the disk is to come now.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout { out, closed } => open_pipe(closed, || out.flush()),
            Self::Stream(stream) => stream.flush(),
            Self::File { .. } => {
                let file = self.temporary()?;
                file.flush()?;
                file.get_ref().as_file().sync_all()
            }
        }
    }

    fn put(&mut self) -> io::Result<()> {
        if let Self::File { place, written, .. } = self
            && let Some(file) = written.take()
        {
            let file = file.into_inner().map_err(|error| error.into_error())?;
            file.persist(&*place).map_err(|error| error.error)?;
        }
        Ok(())
    }

    /// The temporary file, made when the first byte is written, so that a command that is
    /// interrupted while it computes leaves nothing behind.
    fn temporary(&mut self) -> io::Result<&mut BufWriter<NamedTempFile>> {
        let Self::File {
            place,
            permissions,
            written,
        } = self
        else {
            return Err(io::Error::other("a stream has no temporary file"));
        };
        match written {
            Some(file) => Ok(file),
            none => {
                let mut builder = tempfile::Builder::new();
                builder.prefix(".unfinished-");
                as_a_new_file(&mut builder);
                let file = builder.tempfile_in(folder_of(place))?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions.clone())?;
                }
                Ok(none.insert(BufWriter::new(file)))
            }
        }
    }
}

/// Whether the reader of a pipe has closed it.
#[must_use]
pub fn is_closed_pipe(error: &io::Error) -> bool {
    // Windows has several codes for it; the standard library does not know this one.
    const NOT_CONNECTED: i32 = 233;
    error.kind() == io::ErrorKind::BrokenPipe
        || cfg!(windows) && error.raw_os_error() == Some(NOT_CONNECTED)
}

/// Writes to standard output until its reader closes it. A reader that has done so has
/// read enough, which is no error.
fn open_pipe(closed: &mut bool, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if *closed {
        return Ok(());
    }
    match write() {
        Err(error) if is_closed_pipe(&error) => {
            *closed = true;
            Ok(())
        }
        written => written,
    }
}

impl Output {
    /// Whether this is standard output.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        matches!(*self.0.borrow(), Sink::Stdout { .. })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sink = self.0.borrow_mut();
        match &mut *sink {
            Sink::Stdout { out, closed } => {
                open_pipe(closed, || out.write_all(bytes))?;
                Ok(bytes.len())
            }
            Sink::Stream(stream) => stream.write(bytes),
            Sink::File { .. } => sink.temporary()?.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *self.0.borrow_mut() {
            Sink::Stdout { out, closed } => open_pipe(closed, || out.flush()),
            Sink::Stream(stream) => stream.flush(),
            // Whole at the end, and no sooner.
            Sink::File { .. } => Ok(()),
        }
    }
}
