//! Which file a path leads to, however it is spelt.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
