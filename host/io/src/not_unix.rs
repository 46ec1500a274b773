//! What other systems say of a file. Windows has no files that stand for devices, except
//! by reserved names, which are written to like any other.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use same_file::Handle;

/// A file on this machine: links to it, hard or symbolic, have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(u64);

/// A file that is there.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What it is.
    pub id: Id,
    /// What the system says of it.
    pub metadata: Metadata,
}

impl Id {
    /// Of the file behind a path, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Handle::from_path(path).ok().as_ref().map(Self::of)
    }

    /// The system compares open files by numbers, which the hash is made of.
    fn of(handle: &Handle) -> Self {
        let mut hasher = DefaultHasher::new();
        handle.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Seen {
    /// The file behind a path.
    ///
    /// # Errors
    ///
    /// None there, or one that may not be looked at.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let handle = Handle::from_path(path)?;
        Ok(Self {
            id: Id::of(&handle),
            metadata,
        })
    }

    /// The file that standard input leads to; `None` if it is closed, or no file.
    pub(crate) fn stdin() -> Option<Self> {
        Self::of_stream(Handle::stdin())
    }

    /// The file that standard output leads to; `None` if it is closed, or no file.
    pub(crate) fn stdout() -> Option<Self> {
        Self::of_stream(Handle::stdout())
    }

    fn of_stream(handle: io::Result<Handle>) -> Option<Self> {
        let handle = handle.ok()?;
        let metadata = handle.as_file().metadata().ok();
        metadata.filter(Metadata::is_file).map(|metadata| Self {
            id: Id::of(&handle),
            metadata,
        })
    }

    /// None is.
    #[allow(clippy::unused_self, reason = "as on Unix")]
    pub(crate) fn is_char_device(&self) -> bool {
        false
    }

    /// None is.
    #[allow(clippy::unused_self, reason = "as on Unix")]
    pub(crate) fn is_block_device(&self) -> bool {
        false
    }
}

/// A temporary file has the permissions of any new file already.
pub(crate) fn as_a_new_file(_: &mut tempfile::Builder<'_, '_>) {}
