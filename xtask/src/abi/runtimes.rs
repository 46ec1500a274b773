//! A CUDA runtime's real headers and library, as Python wheels below `target/`.

use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;

use crate::wheels;

/// A CUDA release, such as 12.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The part before the dot.
    pub major: u32,
    /// The part after it.
    pub minor: u32,
}

impl Release {
    /// Such as `Release::new(12, 4)`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The runtime's own form, `1000 * major + 10 * minor`.
    pub fn number(self) -> i64 {
        i64::from(self.major) * 1000 + i64::from(self.minor) * 10
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` lets a table give it a width.
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

impl FromStr for Release {
    type Err = String;

    /// Reads `12.4`, and also a wheel's whole version, `12.4.127`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.').map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(format!("{text:?} is not a CUDA version such as 12.4")),
        }
    }
}

/// A requested runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// This release.
    Release(Release),
    /// The newest that `xtask/wheels.txt` lists.
    Newest,
}

impl FromStr for Request {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "newest" => Ok(Self::Newest),
            _ => text.parse().map(Self::Release),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(release) => release.fmt(f),
            Self::Newest => f.pad("newest"),
        }
    }
}

/// A runtime's files.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Its release.
    pub release: Release,
    /// The wheel that it came from, with its version.
    pub wheel: String,
    /// Folders for the compiler's include path.
    pub includes: Vec<PathBuf>,
    /// `libcudart.so.*`.
    pub library: PathBuf,
}

impl Runtime {
    /// Finds the files of an unpacked runtime wheel.
    ///
    /// # Errors
    ///
    /// When the wheel has no headers or no library.
    pub fn of_wheel(release: Release, package: &str, unpacked: &Path) -> anyhow::Result<Self> {
        // 11.x and 12.x: nvidia/cuda_runtime; 13.x: nvidia/cu13.
        let homes = entries(&unpacked.join("nvidia"));
        let include = homes
            .iter()
            .map(|home| home.join("include"))
            .find(|folder| folder.join("cuda_runtime_api.h").is_file())
            .with_context(|| format!("the wheel {package} {release} has no headers"))?;
        let library = homes
            .iter()
            .flat_map(|home| entries(&home.join("lib")))
            .find(|file| {
                file.file_name()
                    .and_then(|name| name.to_str())
                    .is_some_and(|name| name.starts_with("libcudart.so"))
            })
            .with_context(|| format!("the wheel {package} {release} has no libcudart"))?;
        Ok(Self {
            release,
            wheel: format!("{package} {}", wheels::version_of(unpacked)),
            includes: vec![include],
            library,
        })
    }
}

/// Which wheel has a release's runtime.
pub fn runtime_package(release: Release) -> &'static str {
    match release.major {
        0..=11 => "nvidia-cuda-runtime-cu11",
        12 => "nvidia-cuda-runtime-cu12",
        _ => "nvidia-cuda-runtime",
    }
}

/// Resolves "newest" to a release: the newest that `xtask/wheels.txt` lists, with a remark
/// where the registry has a newer one.
///
/// # Errors
///
/// When none is listed.
pub fn newest() -> anyhow::Result<(Release, Option<String>)> {
    let package = runtime_package(Release::new(u32::MAX, 0));
    let listed = wheels::newest_listed(package)
        .with_context(|| format!("xtask/wheels.txt lists no {package}"))?;
    let remark = match wheels::newest_published(package) {
        Ok(published) if wheels::by_number(&published, listed) == Ordering::Greater => Some(
            format!("{package} {published} is published, and xtask/wheels.txt lists {listed}"),
        ),
        Ok(_) => None,
        Err(_) => Some("the registry cannot be reached: there may be a newer release".to_owned()),
    };
    let release = listed.parse().map_err(anyhow::Error::msg)?;
    Ok((release, remark))
}

/// Fetches a runtime's wheels, or takes those that are here.
///
/// `cuda_runtime_api.h` includes `crt/host_defines.h`, which has macros only and
/// lies in another wheel: from 13.0 on in the small nvidia-cuda-crt, before in the
/// compiler's (20 to 40 MB). Unless `own_crt` requests the compiler's, 11.x and
/// 12.x get the one of 13.0.
///
/// # Errors
///
/// When a wheel cannot be fetched or lacks a file.
pub fn fetch(root: &Path, release: Release, own_crt: bool) -> anyhow::Result<Runtime> {
    let wanted = format!("{release}.*");
    let package = runtime_package(release);
    let unpacked = wheels::fetch(root, package, Some(&wanted))?;
    let mut runtime = Runtime::of_wheel(release, package, &unpacked)?;
    let crt = match release.major {
        0..=11 if own_crt => wheels::fetch(root, "nvidia-cuda-nvcc-cu11", Some(&wanted)),
        12 if own_crt => wheels::fetch(root, "nvidia-cuda-nvcc-cu12", Some(&wanted)),
        0..=12 => wheels::fetch(root, "nvidia-cuda-crt", Some("13.0.*")),
        _ => wheels::fetch(root, "nvidia-cuda-crt", Some(&wanted)),
    }?;
    let include = entries(&crt.join("nvidia"))
        .into_iter()
        .map(|home| home.join("include"))
        .find(|folder| folder.join("crt/host_defines.h").is_file())
        .context("the wheel of the compiler's headers has no crt/host_defines.h")?;
    runtime.includes.push(include);
    Ok(runtime)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_its_own_and_from_a_wheels_version() {
        assert_eq!("12.4".parse(), Ok(Release::new(12, 4)));
        assert_eq!("12.10.127".parse(), Ok(Release::new(12, 10)));
        assert!("12".parse::<Release>().is_err() && "a.b".parse::<Release>().is_err());
        assert!(Release::new(12, 10) > Release::new(12, 9));
        assert_eq!(Release::new(12, 10).number(), 12100);
        assert_eq!("newest".parse(), Ok(Request::Newest));
    }
}
