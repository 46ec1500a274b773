//! Which file a path leads to, however it is spelt.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file on this machine: links to it, hard or symbolic, have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    device: u64,
    inode: u64,
}

impl Id {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Of the file behind a path, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// What a standard stream leads to; `None` if it is closed.
pub(crate) fn metadata_of(stream: impl AsFd) -> Option<Metadata> {
    let file = stream.as_fd().try_clone_to_owned().ok()?;
    File::from(file).metadata().ok()
}

/// Symbolic links in a row before a path is refused, as Linux has it.
const MOST_LINKS: usize = 40;

/// The path that would be written: symbolic links at its end are followed even where
/// they lead to a file that is not there yet, and its folder is made canonical.
///
/// # Errors
///
/// Those of reading links and of a folder that is not there.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                // An absolute target replaces the path before it.
                path = folder_of(&path).join(fs::read_link(&path)?);
            }
            Ok(_) => return path.canonicalize(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = path.file_name().ok_or(error)?;
                return Ok(folder_of(&path).canonicalize()?.join(name));
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The folder that a path's last part is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}
