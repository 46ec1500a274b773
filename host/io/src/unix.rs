//! What Unix says of a file: its device and inode, and the kinds of files that are not
//! regular.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// A file on this machine: links to it, hard or symbolic, have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    device: u64,
    inode: u64,
}

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
        Seen::at(path).ok().map(|seen| seen.id)
    }
}

impl Seen {
    /// The file behind a path.
    ///
    /// # Errors
    ///
    /// None there, or one that may not be looked at.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(Self::of)
    }

    /// What standard input leads to; `None` if it is closed.
    pub(crate) fn stdin() -> Option<Self> {
        Self::of_stream(io::stdin())
    }

    /// What standard output leads to; `None` if it is closed.
    pub(crate) fn stdout() -> Option<Self> {
        Self::of_stream(io::stdout())
    }

    fn of_stream(stream: impl AsFd) -> Option<Self> {
        let file = stream.as_fd().try_clone_to_owned().ok()?;
        File::from(file).metadata().ok().map(Self::of)
    }

    fn of(metadata: Metadata) -> Self {
        Self {
            id: Id {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            metadata,
        }
    }

    /// A terminal, `/dev/null` and the like.
    pub(crate) fn is_char_device(&self) -> bool {
        self.metadata.file_type().is_char_device()
    }

    /// A disk.
    pub(crate) fn is_block_device(&self) -> bool {
        self.metadata.file_type().is_block_device()
    }
}

/// Gives a temporary file the permissions of any new file, of which the umask takes its
/// part.
pub(crate) fn as_a_new_file(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(0o666));
}
