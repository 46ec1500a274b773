//! The contents of a PTX file: its version and target, and its kernels with their
//! parameters. All programs of this workspace read PTX with it; the simulated runtime also
//! gets from it the code that it runs.
//!
//! If a PTX file is newer than the driver, loading it returns error 222; if it is for a
//! newer device, 209. Neither message names the versions. [`PtxHeader::check`] checks this
//! before loading, and its error names both versions.

mod entry;
mod lexer;
#[cfg(test)]
mod tests;

use core::ffi::c_int;
use core::fmt;
use core::str::FromStr;

pub use entry::{Entry, Parameter, Scalar};
pub use lexer::without_comments;
use lexer::{Token, tokens};

use crate::loader::Version;
use crate::types::cudaError_t;

/// A version of the PTX language, as in `.version 8.8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// The part before the dot.
    pub major: u32,
    /// The part after the dot.
    pub minor: u32,
}

/// The first CUDA release (`1000 * major + 10 * minor`) that supports a PTX version, oldest
/// first; from the release history in NVIDIA's PTX ISA document. CUDA 12.6 has the PTX
/// version of 12.5 (8.5), and CUDA 12.7 was a driver without a toolkit.
const CUDA_RELEASES: &[(PtxVersion, c_int)] = &[
    (ptx(1, 0), 1000),
    (ptx(1, 1), 1010),
    (ptx(1, 2), 2000),
    (ptx(1, 3), 2010),
    (ptx(1, 4), 2020),
    (ptx(2, 0), 3000),
    (ptx(2, 1), 3010),
    (ptx(2, 2), 3020),
    (ptx(2, 3), 4000),
    (ptx(3, 0), 4010),
    (ptx(3, 1), 5000),
    (ptx(3, 2), 5050),
    (ptx(4, 0), 6000),
    (ptx(4, 1), 6050),
    (ptx(4, 2), 7000),
    (ptx(4, 3), 7050),
    (ptx(5, 0), 8000),
    (ptx(6, 0), 9000),
    (ptx(6, 1), 9010),
    (ptx(6, 2), 9020),
    (ptx(6, 3), 10000),
    (ptx(6, 4), 10010),
    (ptx(6, 5), 10020),
    (ptx(7, 0), 11000),
    (ptx(7, 1), 11010),
    (ptx(7, 2), 11020),
    (ptx(7, 3), 11030),
    (ptx(7, 4), 11040),
    (ptx(7, 5), 11050),
    (ptx(7, 6), 11060),
    (ptx(7, 7), 11070),
    (ptx(7, 8), 11080),
    (ptx(8, 0), 12000),
    (ptx(8, 1), 12010),
    (ptx(8, 2), 12020),
    (ptx(8, 3), 12030),
    (ptx(8, 4), 12040),
    (ptx(8, 5), 12050),
    (ptx(8, 6), 12070),
    (ptx(8, 7), 12080),
    (ptx(8, 8), 12090),
    (ptx(9, 0), 13000),
    (ptx(9, 1), 13010),
    (ptx(9, 2), 13020),
    (ptx(9, 3), 13030),
    (ptx(9, 4), 13040),
    (ptx(9, 5), 13050),
];

const fn ptx(major: u32, minor: u32) -> PtxVersion {
    PtxVersion { major, minor }
}

/// The newest CUDA release of the table.
fn newest_known() -> c_int {
    CUDA_RELEASES.last().map_or(0, |&(_, cuda)| cuda)
}

impl PtxVersion {
    /// The first CUDA version whose driver can load this PTX; `None` if the PTX version
    /// is newer than this table.
    #[must_use]
    pub fn first_cuda(self) -> Option<Version> {
        CUDA_RELEASES
            .iter()
            .find(|(known, _)| *known >= self)
            .map(|&(_, cuda)| Version(cuda))
    }

    /// The newest PTX version in this table that a driver for this CUDA version loads.
    #[must_use]
    pub fn newest_for(driver: Version) -> Option<Self> {
        CUDA_RELEASES
            .iter()
            .rfind(|&&(_, cuda)| cuda <= driver.0)
            .map(|&(known, _)| known)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxVersion {
    type Err = PtxError;

    fn from_str(text: &str) -> Result<Self, PtxError> {
        let bad = || PtxError::BadVersion(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        Ok(Self {
            major: number(major).ok_or_else(bad)?,
            minor: number(minor).ok_or_else(bad)?,
        })
    }
}

/// Reads decimal digits. `str::parse` alone would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Which devices a `.target` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetReach {
    /// `sm_90`: this compute capability and all later ones.
    Onward,
    /// `sm_100f`: this compute capability and later ones with the same major version.
    Family,
    /// `sm_90a`: only this compute capability.
    Exact,
}

/// The architecture in `.target`, such as `sm_60` or `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtxTarget {
    /// The compute capability's major version.
    pub major: u32,
    /// The compute capability's minor version.
    pub minor: u32,
    /// Which devices can run code for it.
    pub reach: TargetReach,
}

impl PtxTarget {
    /// Whether a device of this compute capability can run it.
    #[must_use]
    pub fn runs_on(self, major: u32, minor: u32) -> bool {
        let own = (self.major, self.minor);
        match self.reach {
            TargetReach::Onward => (major, minor) >= own,
            TargetReach::Family => major == self.major && minor >= self.minor,
            TargetReach::Exact => (major, minor) == own,
        }
    }
}

impl fmt::Display for PtxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.reach {
            TargetReach::Onward => "",
            TargetReach::Family => "f",
            TargetReach::Exact => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.major, self.minor)
    }
}

impl FromStr for PtxTarget {
    type Err = PtxError;

    fn from_str(text: &str) -> Result<Self, PtxError> {
        let bad = || PtxError::BadTarget(text.to_owned());
        let name = text.strip_prefix("sm_").ok_or_else(bad)?;
        let (digits, reach) = match name.strip_suffix('a') {
            Some(digits) => (digits, TargetReach::Exact),
            None => match name.strip_suffix('f') {
                Some(digits) => (digits, TargetReach::Family),
                None => (name, TargetReach::Onward),
            },
        };
        // The last digit is the minor version: `sm_75` is 7.5, and `sm_103` is 10.3.
        let all = number(digits)
            .filter(|_| digits.len() >= 2)
            .ok_or_else(bad)?;
        Ok(Self {
            major: all / 10,
            minor: all % 10,
            reach,
        })
    }
}

/// Why a text cannot be read as PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtxError {
    /// A directive that every PTX file has is missing.
    #[error("this is not PTX: it has no {0} directive")]
    Missing(&'static str),
    /// Something precedes the `.version` directive.
    #[error("this is not PTX: it does not begin with a .version directive")]
    NotFirst,
    /// `.version` is not followed by two numbers.
    #[error("the PTX cannot be read: .version {0:?} is not of the form 8.8")]
    BadVersion(String),
    /// `.target` does not start with an architecture.
    #[error("the PTX cannot be read: .target {0:?} is not of the form sm_60 or sm_90a")]
    BadTarget(String),
    /// An `.entry` is not followed by a name.
    #[error("this PTX is broken: an .entry has no name")]
    EntryWithoutName,
    /// Something is wrong with the kernel of this name.
    #[error("this PTX is broken: the kernel {0} {1}")]
    BadEntry(String, &'static str),
    /// A parameter of a kernel has a form that this reader does not know.
    #[error("this PTX is broken: parameter {number} of the kernel {entry} has an unknown form")]
    BadParameter {
        /// The kernel's name.
        entry: String,
        /// The parameter, counted from 1.
        number: usize,
    },
    /// Two kernels have the same name.
    #[error("this PTX is broken: it has two kernels named {0}")]
    TwoEntries(String),
    /// The braces do not come in pairs.
    #[error("this PTX is broken: braces do not match")]
    Braces,
}

/// The header of a PTX file, and the names of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxHeader {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target`'s architecture.
    pub target: PtxTarget,
    /// `.address_size` in bits; 32 when it is not stated.
    pub address_size: u32,
    /// The kernels that the file defines, in its order.
    pub entries: Vec<Entry>,
    /// The lines `//@ key: value` at the very start of the file. `cargo xtask kernel`
    /// writes them; they say how the file was made.
    pub provenance: Vec<(String, String)>,
    /// The opening comment of the compiler in one line: `Generated by …`, followed by
    /// `Cuda compilation tools, …` for NVIDIA's compilers.
    pub generator: Option<String>,
}

impl PtxHeader {
    /// Reads the text of a PTX file. A NUL at its end is ignored.
    ///
    /// # Errors
    ///
    /// [`PtxError`] if `.version` or `.target` is missing or unreadable, or if a kernel
    /// is.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        let text = text.trim_end_matches('\0');
        let code = without_comments(text);
        let mut words = tokens(&code).filter_map(|(_, token)| match token {
            Token::Word(word) => Some(word),
            Token::Mark(_) => None,
        });
        let (mut version, mut target, mut address_size) = (None, None, 32);
        let mut is_first = true;
        while let Some(word) = words.next() {
            // A file with another beginning could be in one of the driver's
            // binary formats.
            if std::mem::take(&mut is_first) && word != ".version" && code.contains(".version") {
                return Err(PtxError::NotFirst);
            }
            match word {
                ".version" if version.is_none() => {
                    version = Some(words.next().unwrap_or_default().parse()?);
                }
                ".target" if target.is_none() => {
                    target = Some(words.next().unwrap_or_default().parse()?);
                }
                ".address_size" => {
                    address_size = words.next().and_then(number).unwrap_or(address_size);
                }
                // The header ends here.
                ".entry" | ".func" => break,
                _ => {}
            }
        }
        Ok(Self {
            version: version.ok_or(PtxError::Missing(".version"))?,
            target: target.ok_or(PtxError::Missing(".target"))?,
            address_size,
            entries: entry::entries(&code)?,
            provenance: provenance(text),
            generator: generator(text),
        })
    }

    /// The kernel of this name, if the file defines it.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// One of the values in [`provenance`](Self::provenance), such as that of
    /// `compiler`.
    #[must_use]
    pub fn made_by(&self, key: &str) -> Option<&str> {
        self.provenance
            .iter()
            .find_map(|(k, value)| (k == key).then_some(value.as_str()))
    }

    /// Checks whether this driver and this device can load the file.
    ///
    /// `driver_version` is the result of `cudaDriverGetVersion` (`1000 * major + 10 *
    /// minor`). If it is 0, there is no driver, and versions are not compared.
    /// `compute_capability` is the device's major and minor version. A PTX version
    /// newer than this table is refused only if the driver is older than the newest
    /// version of the table.
    ///
    /// # Errors
    ///
    /// [`PtxRefusal`], whose text names the required version and the one found.
    pub fn check(
        &self,
        driver_version: c_int,
        compute_capability: (c_int, c_int),
    ) -> Result<(), PtxRefusal> {
        let driver = Version(driver_version);
        let too_old = match self.version.first_cuda() {
            Some(first) => driver < first,
            None => driver_version < newest_known(),
        };
        if driver_version > 0 && too_old {
            return Err(PtxRefusal::NewerThanDriver {
                ptx: self.version,
                driver,
            });
        }
        let (major, minor) = compute_capability;
        let device = (
            u32::try_from(major).unwrap_or(0),
            u32::try_from(minor).unwrap_or(0),
        );
        if !self.target.runs_on(device.0, device.1) {
            return Err(PtxRefusal::NotForDevice {
                target: self.target,
                device,
            });
        }
        Ok(())
    }
}

/// Why a driver or a device would refuse a PTX file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtxRefusal {
    /// The file's PTX version is newer than the driver knows.
    NewerThanDriver {
        /// The file's `.version`.
        ptx: PtxVersion,
        /// The newest CUDA version that the driver supports.
        driver: Version,
    },
    /// The file's target does not include the device.
    NotForDevice {
        /// The file's `.target`.
        target: PtxTarget,
        /// The device's compute capability.
        device: (u32, u32),
    },
}

impl PtxRefusal {
    /// The CUDA error code that loading the file would return.
    #[must_use]
    pub fn code(&self) -> cudaError_t {
        match self {
            Self::NewerThanDriver { .. } => cudaError_t::UNSUPPORTED_PTX_VERSION,
            Self::NotForDevice { .. } => cudaError_t::NO_KERNEL_IMAGE_FOR_DEVICE,
        }
    }

    /// What to do, as one line to which the caller can add.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NewerThanDriver { .. } => "update the NVIDIA driver",
            Self::NotForDevice { target, .. } if target.reach == TargetReach::Onward => {
                "compile the kernel for this device's architecture or an older one"
            }
            Self::NotForDevice { .. } => {
                "compile the kernel for an architecture without a suffix, such as compute_75, which later devices also run"
            }
        }
    }
}

impl fmt::Display for PtxRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerThanDriver { ptx, driver } => {
                write!(f, "the kernel is PTX {ptx}, which needs a driver for CUDA ")?;
                match ptx.first_cuda() {
                    Some(first) => write!(f, "{first} or later")?,
                    None => write!(f, "later than {}", Version(newest_known()))?,
                }
                write!(f, "; this driver supports CUDA {driver}")?;
                match PtxVersion::newest_for(*driver) {
                    Some(newest) => write!(f, " (PTX {newest})"),
                    None => Ok(()),
                }
            }
            Self::NotForDevice { target, device } => {
                let (major, minor) = (target.major, target.minor);
                write!(
                    f,
                    "the kernel is for {target}: devices of compute capability "
                )?;
                match target.reach {
                    TargetReach::Onward => write!(f, "{major}.{minor} or later")?,
                    TargetReach::Family => write!(f, "{major}.x from {major}.{minor} on")?,
                    TargetReach::Exact => write!(f, "{major}.{minor} only")?,
                }
                write!(f, "; this device is {}.{}", device.0, device.1)
            }
        }
    }
}

impl std::error::Error for PtxRefusal {}

fn provenance(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map_while(|line| line.strip_prefix("//@ "))
        .filter_map(|entry| entry.split_once(": "))
        .map(|(key, value)| (key.to_owned(), value.trim_end().to_owned()))
        .collect()
}

fn generator(text: &str) -> Option<String> {
    let said: Vec<&str> = text
        .lines()
        .take_while(|line| line.starts_with("//") || line.trim().is_empty())
        .filter_map(|line| line.strip_prefix("//"))
        .map(str::trim)
        .filter_map(|line| {
            line.strip_prefix("Generated by ")
                .or_else(|| line.starts_with("Cuda compilation tools").then_some(line))
        })
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}
