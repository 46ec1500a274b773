//! The SHA-256 of a file, in a file beside it that `sha256sum -c` reads.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hmac_sha256::Hash;

/// Writes `FILE.sha256`, and returns its path.
///
/// # Errors
///
/// A file that cannot be read or written.
pub fn write(file: &Path) -> anyhow::Result<PathBuf> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.file_name().context("the file has a name")?;
    let mut place = file.as_os_str().to_owned();
    place.push(".sha256");
    let place = PathBuf::from(place);
    let mut text = String::new();
    for byte in Hash::hash(&bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    // Two spaces: a text that names a file without a folder.
    let _ = writeln!(text, "  {}", name.to_string_lossy());
    safe_io::write(&place, text)?;
    Ok(place)
}
