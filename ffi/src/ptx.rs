//! The head of a PTX file, and whether a driver and a device can take it.
//!
//! A driver that is older than the PTX refuses it with code 222, a device that is
//! older than the target with 209, both only when the kernel is loaded and
//! without a word about versions. [`PtxHeader::check`] says it before, with both
//! versions.

use core::ffi::c_int;
use core::fmt;
use core::str::FromStr;

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

/// The first CUDA release (`1000 * major + 10 * minor`) that knows a PTX version,
/// oldest first; from the release history in NVIDIA's PTX ISA document. CUDA 12.6
/// stayed at 8.5; 12.7 was a driver without a toolkit.
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
    /// The first CUDA version whose driver can load this PTX; `None` for a PTX
    /// version newer than this table.
    #[must_use]
    pub fn first_cuda(self) -> Option<Version> {
        CUDA_RELEASES
            .iter()
            .find(|(known, _)| *known >= self)
            .map(|&(_, cuda)| Version(cuda))
    }

    /// The newest PTX that a driver for this CUDA version loads, as far as this
    /// table goes.
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

/// Decimal digits only: `parse` alone would take a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Which devices a `.target` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetReach {
    /// `sm_90`: this compute capability and every later one.
    Onward,
    /// `sm_100f`: this one and later ones of its major version.
    Family,
    /// `sm_90a`: this one alone.
    Exact,
}

/// The architecture in `.target`, such as `sm_60` or `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtxTarget {
    /// The compute capability's major version.
    pub major: u32,
    /// The compute capability's minor version.
    pub minor: u32,
    /// Which devices it allows.
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
        // The last digit is the minor version: sm_75 is 7.5 and sm_103 is 10.3.
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

/// Why a text is not read as PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtxError {
    /// A directive that every PTX file has is not there.
    #[error("this is no PTX: it has no {0} directive")]
    Missing(&'static str),
    /// `.version` is not followed by two numbers.
    #[error("this is no PTX that is known here: .version {0:?} is not of the form 8.8")]
    BadVersion(String),
    /// `.target` does not start with an architecture.
    #[error("this is no PTX that is known here: .target {0:?} is not of the form sm_60 or sm_90a")]
    BadTarget(String),
}

/// What the head of a PTX file says, and which kernels the file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxHeader {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target`'s architecture.
    pub target: PtxTarget,
    /// `.address_size` in bits; 32 when it is not stated.
    pub address_size: u32,
    /// The names of the kernels, in the file's order.
    pub entries: Vec<String>,
    /// The lines `//@ key: value` at the file's very start: what made it, written
    /// by `cargo xtask kernel`.
    pub provenance: Vec<(String, String)>,
    /// What the compiler's own opening comment says: `Generated by …` and, from
    /// NVIDIA's, `Cuda compilation tools, …`, in one line.
    pub generator: Option<String>,
}

impl PtxHeader {
    /// Reads a PTX file's text; a NUL at its end is no part of it.
    ///
    /// # Errors
    ///
    /// [`PtxError`] when `.version` or `.target` is missing or unreadable.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        let text = text.trim_end_matches('\0');
        let code = without_comments(text);
        let mut words = code
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | ';' | '{' | '}'))
            .filter(|word| !word.is_empty());
        let (mut version, mut target, mut address_size) = (None, None, 32);
        let mut entries = Vec::new();
        while let Some(word) = words.next() {
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
                ".entry" => entries.extend(words.next().map(str::to_owned)),
                _ => {}
            }
        }
        Ok(Self {
            version: version.ok_or(PtxError::Missing(".version"))?,
            target: target.ok_or(PtxError::Missing(".target"))?,
            address_size,
            entries,
            provenance: provenance(text),
            generator: generator(text),
        })
    }

    /// One value of the provenance, such as `compiler`.
    #[must_use]
    pub fn made_by(&self, key: &str) -> Option<&str> {
        self.provenance
            .iter()
            .find_map(|(k, value)| (k == key).then_some(value.as_str()))
    }

    /// Whether this driver and this device can load the file.
    ///
    /// `driver_version` is what `cudaDriverGetVersion` gives (`1000 * major + 10 *
    /// minor`); 0, no driver, leaves the versions uncompared. `compute_capability`
    /// is the device's major and minor version. A PTX version newer than this
    /// table is refused only if the driver is older than the table's newest.
    ///
    /// # Errors
    ///
    /// [`PtxRefusal`], whose text names what the file needs and what is here.
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
    /// The code that loading the file would end in.
    #[must_use]
    pub fn code(&self) -> cudaError_t {
        match self {
            Self::NewerThanDriver { .. } => cudaError_t::UNSUPPORTED_PTX_VERSION,
            Self::NotForDevice { .. } => cudaError_t::NO_KERNEL_IMAGE_FOR_DEVICE,
        }
    }

    /// What to do about it, in one line.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NewerThanDriver { .. } => {
                "update the NVIDIA driver, or use the PTX that rustc makes (--with rustc), which every driver from CUDA 11.4 on loads"
            }
            Self::NotForDevice { target, .. } if target.reach == TargetReach::Onward => {
                "build the kernel for this device's architecture or an older one (--arch)"
            }
            Self::NotForDevice { .. } => {
                "build the kernel for a plain architecture such as compute_75 (--arch), which later devices run too"
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

/// The text with every comment replaced by a space; what stands in quotes stays.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(at);
        code.push_str(before);
        let (kept, length) = if from.starts_with("//") {
            ("\n", from.find('\n').map_or(from.len(), |end| end + 1))
        } else if let Some(inside) = from.strip_prefix("/*") {
            (" ", inside.find("*/").map_or(from.len(), |end| end + 4))
        } else if let Some(inside) = from.strip_prefix('"') {
            // A file name or a string could look like a directive.
            (" ", inside.find('"').map_or(from.len(), |end| end + 2))
        } else {
            ("/", 1)
        };
        code.push_str(kept);
        rest = from.get(length..).unwrap_or_default();
    }
    code + rest
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const FROM_NVVM: &str = "\
//@ kernel: clock_block
//@ compiler: rust-cuda 946c91f: with a colon
//
// Generated by NVIDIA NVVM Compiler
//
// Cuda compilation tools, release 12.9, V12.9.86
// Based on NVVM 7.0.1
// .version 1.0 in a comment
.version 8.8
.target sm_75, debug
.address_size 64
/* .entry not_this( */
.file 1 \"a//b/.entry\"
.visible .entry clock_block(
\t.param .u64 clock_block_param_0
)
{
\tret;
}
.entry
 second ( ) { ret; }
\0";

    fn header(version: &str, target: &str) -> PtxHeader {
        PtxHeader::parse(&format!(".version {version}\n.target {target}\n")).unwrap()
    }

    #[test]
    fn the_header_is_read_past_comments_and_strings() {
        let header = PtxHeader::parse(FROM_NVVM).unwrap();
        assert_eq!(header.version.to_string(), "8.8");
        assert_eq!(header.target.to_string(), "sm_75");
        assert_eq!(header.address_size, 64);
        assert_eq!(header.entries, ["clock_block", "second"]);
        assert_eq!(header.made_by("kernel"), Some("clock_block"));
        assert_eq!(
            header.made_by("compiler"),
            Some("rust-cuda 946c91f: with a colon")
        );
        assert_eq!(
            header.generator.as_deref(),
            Some("NVIDIA NVVM Compiler, Cuda compilation tools, release 12.9, V12.9.86")
        );
    }

    #[test]
    fn what_is_no_ptx_is_refused_with_the_reason() {
        for (text, said) in [
            ("", "it has no .version directive"),
            (".version 8.8", "it has no .target directive"),
            (".version eight\n.target sm_75", ".version \"eight\""),
            (".version +8.8\n.target sm_75", ".version \"+8.8\""),
            (".version 8.8\n.target", ".target \"\""),
            (".version 8.8\n.target sm_7", ".target \"sm_7\""),
            (".version 8.8\n.target compute_75", ".target \"compute_75\""),
            (".version 8.8\n.target sm_9é", ".target \"sm_9é\""),
            ("/* .version 8.8 .target sm_75", "it has no .version"),
        ] {
            let error = PtxHeader::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn ptx_newer_than_the_driver_names_both_versions() {
        let refusal = header("8.8", "sm_75").check(12040, (9, 0)).unwrap_err();
        assert_eq!(refusal.code().0, 222);
        assert_eq!(
            refusal.to_string(),
            "the kernel is PTX 8.8, which needs a driver for CUDA 12.9 or later; \
             this driver supports CUDA 12.4 (PTX 8.4)"
        );
        assert_eq!(header("8.8", "sm_75").check(12090, (9, 0)), Ok(()));
        assert_eq!(header("8.8", "sm_75").check(13000, (9, 0)), Ok(()));
    }

    #[test]
    fn the_oldest_supported_driver_loads_rustcs_ptx() {
        assert_eq!(header("5.0", "sm_60").check(11040, (6, 0)), Ok(()));
    }

    #[test]
    fn without_a_driver_only_the_device_is_compared() {
        assert_eq!(header("9.5", "sm_75").check(0, (9, 0)), Ok(()));
    }

    #[test]
    fn ptx_that_the_table_does_not_know_is_left_to_a_driver_that_is_as_new() {
        let unknown = header("9.9", "sm_75");
        assert_eq!(unknown.check(13050, (9, 0)), Ok(()));
        assert!(unknown.check(13040, (9, 0)).is_err());
    }

    #[test]
    fn a_target_reaches_later_devices_its_family_or_itself() {
        let runs = |target: &str, device| header("8.8", target).check(13050, device).is_ok();
        assert!(runs("sm_75", (7, 5)) && runs("sm_75", (12, 0)) && !runs("sm_75", (7, 0)));
        assert!(runs("sm_90a", (9, 0)) && !runs("sm_90a", (10, 0)) && !runs("sm_90a", (8, 9)));
        assert!(runs("sm_100f", (10, 3)) && !runs("sm_100f", (11, 0)) && !runs("sm_103f", (10, 0)));
    }

    #[test]
    fn a_device_older_than_the_target_is_named_with_it() {
        let refusal = header("8.8", "sm_90a").check(13000, (10, 0)).unwrap_err();
        assert_eq!(refusal.code().0, 209);
        assert_eq!(
            refusal.to_string(),
            "the kernel is for sm_90a: devices of compute capability 9.0 only; this device is 10.0"
        );
    }

    #[test]
    fn the_release_table_is_in_order() {
        for pair in CUDA_RELEASES.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{pair:?}");
        }
    }
}
