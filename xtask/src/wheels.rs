//! NVIDIA's tools and libraries as Python wheels, unpacked below `target/`.
//!
//! The checks against real files (ptxas, nvdisasm, headers, `libcudart`) need
//! neither a GPU nor an installed toolkit: NVIDIA publishes each as a wheel.
//! Nothing here runs in an ordinary build.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::trouble::Trouble;

/// Returns the folder that holds `package`, unpacked, downloading it if it is
/// not there yet.
///
/// `version` is an exact version (`"12.9.86"`), one with a wildcard at its end
/// (`"12.9.*"`), or `None` for the newest. An unpacked copy that fits is used
/// without asking the registry, so `None` means "the newest that is here" once
/// one is. The folder is `<root>/target/wheels/<package>/<version>`.
///
/// # Errors
///
/// A [`Trouble`] when there is no pip, no network, or no such package or
/// version; its first line ends with pip's own last error line.
pub fn fetch(root: &Path, package: &str, version: Option<&str>) -> anyhow::Result<PathBuf> {
    let shelf = root.join("target/wheels").join(package);
    if let Some(found) = newest_unpacked(&shelf, version) {
        return Ok(found);
    }
    fs::create_dir_all(&shelf).with_context(|| format!("cannot create {}", shelf.display()))?;
    // Unpacked beside its final place and renamed, so that a broken download
    // or a second process never leaves a half-filled folder behind.
    let scratch = tempfile::Builder::new()
        .prefix(".fetch-")
        .tempdir_in(&shelf)
        .context("cannot create a folder for the download")?;
    let wheel = download(package, version, scratch.path())?;
    let version = wheel_version(&wheel)
        .with_context(|| format!("{} is not named like a wheel", wheel.display()))?;
    let unpacked = scratch.path().join("unpacked");
    unpack(&wheel, &unpacked)?;

    let home = shelf.join(version);
    match fs::rename(&unpacked, &home) {
        Ok(()) => Ok(home),
        Err(_) if home.is_dir() => Ok(home),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", home.display())),
    }
}

/// The version of an unpacked wheel, read off the folder that [`fetch`] gave.
pub fn version_of(unpacked: &Path) -> &str {
    unpacked
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("?")
}

/// The file of an unpacked wheel whose path ends with `tail`, such as
/// `bin/ptxas`: the folders above it differ between CUDA 12 and 13.
///
/// # Errors
///
/// When the wheel holds no such file.
pub fn file(unpacked: &Path, tail: &str) -> anyhow::Result<PathBuf> {
    fn search(dir: &Path, tail: &str) -> Option<PathBuf> {
        let direct = dir.join(tail);
        if direct.is_file() {
            return Some(direct);
        }
        let mut entries: Vec<_> = fs::read_dir(dir).ok()?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        entries
            .iter()
            .map(fs::DirEntry::path)
            .filter(|path| path.is_dir())
            .find_map(|path| search(&path, tail))
    }
    search(unpacked, tail)
        .with_context(|| format!("the wheel in {} holds no {tail}", unpacked.display()))
}

/// The newest version of `package` that the registry has, without fetching it.
///
/// # Errors
///
/// A [`Trouble`] when there is no pip, no network, or no such package.
pub fn newest_published(package: &str) -> anyhow::Result<String> {
    let output = Command::new("python3")
        .args(["-m", "pip", "index", "versions", package])
        .args(["--disable-pip-version-check", "--no-input"])
        .args(["--retries=1", "--timeout=15"])
        .output()
        .context("cannot run python3 to ask for a wheel's versions")?;
    // The first line reads `nvidia-cuda-runtime (13.5.37)`.
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .next()
        .and_then(|line| line.split_once('(')?.1.split_once(')'))
        .map(|(version, _)| version.to_owned())
        .ok_or_else(|| {
            Trouble::new(
                format!("pip could not tell the newest version of {package}"),
                format!("check the network, then `python3 -m pip index versions {package}`"),
            )
            .into()
        })
}

/// The newest version of `package` that lies unpacked below `target/`.
pub fn newest_here(root: &Path, package: &str) -> Option<String> {
    let shelf = root.join("target/wheels").join(package);
    newest_unpacked(&shelf, None).map(|path| version_of(&path).to_owned())
}

/// The newest unpacked version on `shelf` that fits the request.
fn newest_unpacked(shelf: &Path, version: Option<&str>) -> Option<PathBuf> {
    fs::read_dir(shelf)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !version_of(path).starts_with('.'))
        .filter(|path| version.is_none_or(|wanted| fits(version_of(path), wanted)))
        .max_by(|a, b| by_number(version_of(a), version_of(b)))
}

/// Whether `version` is the wanted one; `wanted` may end in `.*`.
fn fits(version: &str, wanted: &str) -> bool {
    match wanted.strip_suffix(".*") {
        Some(stem) => version
            .strip_prefix(stem)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        None => version == wanted,
    }
}

/// Orders versions part by part as numbers: 12.10 after 12.9.
fn by_number(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| -> Vec<u64> {
        version.split('.').map(|p| p.parse().unwrap_or(0)).collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// `nvidia_cuda_nvcc-13.2.51-py3-none-….whl` is version `13.2.51`.
fn wheel_version(wheel: &Path) -> Option<String> {
    let name = wheel.file_name()?.to_str()?;
    name.strip_suffix(".whl")?
        .split('-')
        .nth(1)
        .map(str::to_owned)
}

fn download(package: &str, version: Option<&str>, into: &Path) -> anyhow::Result<PathBuf> {
    let spec = match version {
        Some(version) => format!("{package}=={version}"),
        None => package.to_owned(),
    };
    let output = Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--only-binary=:all:", "--disable-pip-version-check"])
        .args(["--no-input", "--retries=1", "--timeout=15"])
        .arg("--dest")
        .arg(into)
        .arg(&spec)
        .output()
        .map_err(|error| {
            Trouble::new(
                format!("cannot run python3 to fetch the wheel {spec}: {error}"),
                "install Python 3 with pip (Debian: apt install python3-pip)",
            )
        })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = cause(&stderr);
        return Err(Trouble::new(
            format!("pip could not fetch the wheel {spec}: {last}"),
            format!("check the network, then `python3 -m pip download --no-deps {spec}`"),
        )
        .into());
    }
    fs::read_dir(into)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ext| ext == "whl"))
        .with_context(|| format!("pip reported success but left no wheel for {spec}"))
}

/// The line of pip's words that says why. Without a network its last line is
/// that no distribution matches; the reason stands in the warnings before it.
fn cause(stderr: &str) -> &str {
    let line = |test: fn(&str) -> bool| stderr.lines().rev().find(|line| test(line));
    if line(|line| line.contains("NewConnectionError") || line.contains("ConnectTimeout")).is_some()
    {
        return "the registry cannot be reached";
    }
    line(|line| line.starts_with("ERROR"))
        .or_else(|| stderr.lines().last())
        .unwrap_or("no message from pip")
}

fn unpack(wheel: &Path, into: &Path) -> anyhow::Result<()> {
    // pip needs Python anyway, and Python reads zip files: no unzip needed.
    let output = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(wheel)
        .arg(into)
        .output()
        .context("cannot run python3 to unpack a wheel")?;
    anyhow::ensure!(
        output.status.success(),
        "cannot unpack {}: {}",
        wheel.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    make_programs_executable(into, false)
}

/// Python's zipfile drops the mode bits; everything in a `bin` folder is a
/// program again.
#[cfg(unix)]
fn make_programs_executable(dir: &Path, in_bin: bool) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    for entry in fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            make_programs_executable(&path, in_bin || entry.file_name() == "bin")?;
        } else if in_bin {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_programs_executable(_dir: &Path, _in_bin: bool) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers() {
        assert_eq!(by_number("12.10.1", "12.9.86"), Ordering::Greater);
        assert_eq!(by_number("13.2.51", "13.2.51"), Ordering::Equal);
        assert_eq!(by_number("11.8.89", "12.0.76"), Ordering::Less);
    }

    #[test]
    fn a_wildcard_stands_for_whole_parts_only() {
        assert!(fits("12.9.86", "12.9.*"));
        assert!(fits("12.9.86", "12.9.86"));
        assert!(!fits("12.90.1", "12.9.*"));
        assert!(!fits("12.8.93", "12.9.*"));
    }

    #[test]
    fn the_version_is_read_off_the_file_name() {
        let wheel = Path::new("d/nvidia_cuda_nvcc-13.2.51-py3-none-manylinux2014_x86_64.whl");
        assert_eq!(wheel_version(wheel).as_deref(), Some("13.2.51"));
        assert_eq!(wheel_version(Path::new("notes.txt")), None);
    }

    #[test]
    fn a_missing_network_is_not_reported_as_a_missing_package() {
        let none = "ERROR: No matching distribution found for nvidia-nothing";
        let offline = format!(
            "WARNING: Retrying (Retry(total=0)) after connection broken by \
             'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection>: \
             Failed to establish a new connection')': /simple/nvidia-nothing/\n{none}\n"
        );
        assert_eq!(cause(&offline), "the registry cannot be reached");
        assert_eq!(cause(none), none);
        assert_eq!(cause(""), "no message from pip");
    }

    #[test]
    fn an_unpacked_wheel_is_reused_without_a_download() {
        let root = tempfile::tempdir().unwrap();
        let shelf = root.path().join("target/wheels/no-such-package");
        for version in ["12.9.86", "12.10.3", ".fetch-x"] {
            fs::create_dir_all(shelf.join(version)).unwrap();
        }
        let newest = fetch(root.path(), "no-such-package", None).unwrap();
        assert_eq!(version_of(&newest), "12.10.3");
        let older = fetch(root.path(), "no-such-package", Some("12.9.*")).unwrap();
        assert_eq!(version_of(&older), "12.9.86");
    }
}
