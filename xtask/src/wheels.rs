//! NVIDIA's tools and libraries, and what `dist --wheel` builds with, as Python wheels,
//! unpacked below `target/`.
//!
//! The checks against real files (ptxas, nvdisasm, headers, `libcudart`) need
//! neither a GPU nor an installed toolkit: NVIDIA publishes each as a wheel.
//! Nothing here runs in an ordinary build; `cargo test` does fetch wheels.
//!
//! What is fetched is run and loaded, so `xtask/wheels.txt` lists every file by its exact
//! version and its SHA-256, and nothing else is used: pip refuses a file with another
//! hash, and an unpacked folder is used again only if it was made of a listed file. pip
//! and Python run isolated (`-I`) in a folder of their own, so that nothing in the current
//! folder or in `PYTHONPATH` is imported.

use std::cmp::Ordering;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::trouble::Trouble;

/// The wheels that may be used, in the form of pip's requirements.
const LIST: &str = include_str!("../wheels.txt");

/// The file in an unpacked wheel's folder with the SHA-256 of what it was made of.
const STAMP: &str = "wheel.sha256";

/// A wheel of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed<'l> {
    package: &'l str,
    version: &'l str,
    /// One for each kind of machine.
    hashes: Vec<&'l str>,
}

/// Every wheel of a list in the form of pip's requirements with hashes.
fn listed(list: &str) -> impl Iterator<Item = Listed<'_>> {
    let words = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .filter(|word| *word != "\\");
    let mut wheels: Vec<Listed<'_>> = Vec::new();
    for word in words {
        if let Some((package, version)) = word.split_once("==") {
            wheels.push(Listed {
                package,
                version,
                hashes: Vec::new(),
            });
        } else if let Some(hash) = word.strip_prefix("--hash=sha256:")
            && let Some(wheel) = wheels.last_mut()
        {
            wheel.hashes.push(hash);
        }
    }
    wheels.into_iter()
}

/// The newest listed wheel of `package` that fits: `version` is an exact version
/// (`"12.9.86"`), one with a wildcard at its end (`"12.9.*"`), or `None` for any.
fn choose<'l>(list: &'l str, package: &str, version: Option<&str>) -> Option<Listed<'l>> {
    listed(list)
        .filter(|wheel| wheel.package == package)
        .filter(|wheel| version.is_none_or(|wanted| fits(wheel.version, wanted)))
        .max_by(|a, b| by_number(a.version, b.version))
}

/// Returns the folder that holds `package`, unpacked, downloading it if it is
/// not there yet: `<root>/target/wheels/<package>/<version>`.
///
/// `version` is an exact version (`"12.9.86"`), one with a wildcard at its end
/// (`"12.9.*"`), or `None`; the newest that `xtask/wheels.txt` lists is taken.
///
/// # Errors
///
/// A [`Trouble`] when the list has no such version, when there is no pip or no
/// network, or when the file has another hash; its first line ends with pip's own last
/// error line.
pub fn fetch(root: &Path, package: &str, version: Option<&str>) -> anyhow::Result<PathBuf> {
    let Some(wheel) = choose(LIST, package, version) else {
        let wanted = version.map_or(String::new(), |version| format!(" {version}"));
        return Err(Trouble::new(
            format!("xtask/wheels.txt lists no {package}{wanted}"),
            "add its version and its hash there; the head of the file says how",
        )
        .into());
    };
    fetch_listed(root, &wheel)
}

fn fetch_listed(root: &Path, wheel: &Listed<'_>) -> anyhow::Result<PathBuf> {
    let shelf = root.join("target/wheels").join(wheel.package);
    let home = shelf.join(wheel.version);
    if is_made_of(&home, wheel) {
        return Ok(home);
    }
    fs::create_dir_all(&shelf).with_context(|| format!("cannot create {}", shelf.display()))?;
    // Unpacked beside its final place and renamed, so that a broken download
    // or a second process never leaves a half-filled folder.
    let scratch = tempfile::Builder::new()
        .prefix(".fetch-")
        .tempdir_in(&shelf)
        .context("cannot create a folder for the download")?;
    let (file, hash) = download(wheel, scratch.path())?;
    let unpacked = scratch.path().join("unpacked");
    unpack(&file, &unpacked)?;
    fs::write(unpacked.join(STAMP), hash).context("cannot write the hash of a wheel")?;

    if home.is_dir() && !is_made_of(&home, wheel) {
        // Unpacked before hashes were checked, or of another file.
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    match fs::rename(&unpacked, &home) {
        Ok(()) => Ok(home),
        Err(_) if is_made_of(&home, wheel) => Ok(home),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", home.display())),
    }
}

/// Whether a folder was unpacked from a file of the list.
fn is_made_of(folder: &Path, wheel: &Listed<'_>) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| wheel.hashes.contains(&stamp.trim()))
}

/// Python, which imports nothing from the current folder or from variables.
fn python(folder: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg("-I").current_dir(folder);
    command
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
    let output = python(Path::new("/"))
        .args(["-m", "pip", "index", "versions", package])
        .args(["--disable-pip-version-check", "--no-input"])
        .args(["--retries=1", "--timeout=15"])
        .output()
        .context("cannot run python3 to list the versions of a wheel")?;
    // The first line reads `nvidia-cuda-runtime (13.5.37)`.
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .next()
        .and_then(|line| line.split_once('(')?.1.split_once(')'))
        .map(|(version, _)| version.to_owned())
        .ok_or_else(|| {
            Trouble::new(
                format!("pip did not report the newest version of {package}"),
                format!("check the network, then `python3 -m pip index versions {package}`"),
            )
            .into()
        })
}

/// The newest version of `package` that may be fetched.
pub fn newest_listed(package: &str) -> Option<&'static str> {
    choose(LIST, package, None).map(|wheel| wheel.version)
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
pub fn by_number(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| -> Vec<u64> {
        version.split('.').map(|p| p.parse().unwrap_or(0)).collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// Fetches one file of the list; it and its hash.
fn download(wheel: &Listed<'_>, into: &Path) -> anyhow::Result<(PathBuf, String)> {
    let spec = format!("{}=={}", wheel.package, wheel.version);
    // Past the test harness, which would keep it: fetching is nothing to do in silence.
    let _ = writeln!(io::stderr(), "fetching the wheel {spec} into target/wheels");
    let hashes = wheel.hashes.iter();
    let hashes: String = hashes
        .map(|hash| format!(" --hash=sha256:{hash}"))
        .collect();
    let requirements = into.join("requirements.txt");
    fs::write(&requirements, format!("{spec}{hashes}\n")).context("cannot write a list")?;
    let output = python(into)
        .args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--require-hashes", "--no-cache-dir"])
        .args(["--only-binary=:all:", "--disable-pip-version-check"])
        .args(["--no-input", "--retries=1", "--timeout=15"])
        .arg("--dest")
        .arg(into)
        .arg("--requirement")
        .arg(&requirements)
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
    let file = fs::read_dir(into)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ext| ext == "whl"))
        .with_context(|| format!("pip reported success but left no wheel for {spec}"))?;
    let hash = hash_of(&file)?;
    anyhow::ensure!(
        wheel.hashes.contains(&hash.as_str()),
        "the wheel {spec} has the SHA-256 {hash}, which xtask/wheels.txt does not list"
    );
    Ok((file, hash))
}

/// The SHA-256 of a file, in hexadecimal digits.
fn hash_of(file: &Path) -> anyhow::Result<String> {
    let mut file = io::BufReader::new(fs::File::open(file)?);
    let mut hash = hmac_sha256::Hash::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => break,
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

/// The line of pip's words that says why. Without a network its last line is
/// that no distribution matches; the reason stands in the warnings before it.
fn cause(stderr: &str) -> &str {
    let line = |test: fn(&str) -> bool| stderr.lines().rev().find(|line| test(line));
    if line(|line| line.contains("DO NOT MATCH THE HASHES")).is_some() {
        return "the file has another hash than xtask/wheels.txt lists";
    }
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
    let folder = wheel.parent().context("a wheel lies in a folder")?;
    let output = python(folder)
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

/// Folders whose files are programs. Python's zipfile drops the mode bits.
const PROGRAMS: [&str; 3] = ["bin", "scripts", "ziglang"];

/// Everything in a folder of programs is a program again.
#[cfg(unix)]
fn make_programs_executable(dir: &Path, in_bin: bool) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    for entry in fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            make_programs_executable(
                &path,
                in_bin || PROGRAMS.iter().any(|name| entry.file_name() == *name),
            )?;
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

    const SOME: &str = "# a head\n\na==12.9.86 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n\
                        a==12.10.3 --hash=sha256:03\nb==1 --hash=sha256:04\n";

    #[test]
    fn the_newest_that_is_listed_and_fits_is_chosen() {
        let chosen = |package, version| {
            choose(SOME, package, version).map(|wheel| (wheel.version, wheel.hashes))
        };
        assert_eq!(chosen("a", None), Some(("12.10.3", vec!["03"])));
        assert_eq!(
            chosen("a", Some("12.9.*")),
            Some(("12.9.86", vec!["01", "02"]))
        );
        assert_eq!(chosen("a", Some("12.9.1")), None);
        assert_eq!(chosen("c", None), None);
    }

    #[test]
    fn every_listed_wheel_has_an_exact_version_and_whole_hashes() {
        let mut count = 0;
        for wheel in listed(LIST) {
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            assert!(digits(wheel.version), "{wheel:?}");
            assert!(!wheel.hashes.is_empty(), "{wheel:?}");
            for hash in &wheel.hashes {
                let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                assert!(
                    hash.len() == 64 && hash.bytes().all(hexadecimal),
                    "{wheel:?}"
                );
            }
            count += 1;
        }
        assert_eq!(
            count,
            LIST.matches("==").count() - 1,
            "the head names one more"
        );
    }

    #[test]
    fn the_hash_is_that_of_other_programs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abc").unwrap();
        // FIPS 180-4, the example of one block.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of(file.path()).unwrap(), known);
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
    fn an_unpacked_wheel_is_reused_only_if_its_hash_fits() {
        let root = tempfile::tempdir().unwrap();
        let wheel = Listed {
            package: "no-such-package-of-this-project",
            version: "1",
            hashes: vec!["aa", "bb"],
        };
        let home = root
            .path()
            .join("target/wheels")
            .join(wheel.package)
            .join("1");
        fs::create_dir_all(&home).unwrap();
        for (stamp, reused) in [(None, false), (Some("cc"), false), (Some("bb\n"), true)] {
            if let Some(stamp) = stamp {
                fs::write(home.join(STAMP), stamp).unwrap();
            }
            assert_eq!(is_made_of(&home, &wheel), reused, "{stamp:?}");
        }
        assert_eq!(fetch_listed(root.path(), &wheel).unwrap(), home);
    }

    /// A module in the current folder, or one that a variable leads to, would be run in
    /// the place of pip.
    #[test]
    fn python_imports_nothing_from_where_it_is_started() {
        let folder = tempfile::tempdir().unwrap();
        for module in ["pip", "zipfile"] {
            fs::create_dir(folder.path().join(module)).unwrap();
            for file in ["__init__.py", "__main__.py"] {
                let trap = "open('/dev/stderr', 'w').write('TRAP')\n";
                fs::write(folder.path().join(module).join(file), trap).unwrap();
            }
            let run = |mut command: Command| {
                command.args(["-m", module, "--help"]);
                command.env("PYTHONPATH", folder.path());
                let output = command.output().expect("python3");
                String::from_utf8_lossy(&output.stderr).contains("TRAP")
            };
            let mut control = Command::new("python3");
            control.current_dir(folder.path());
            assert!(run(control), "{module}: the trap works");
            assert!(!run(python(folder.path())), "{module}");
        }
    }
}
