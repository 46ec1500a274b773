//! The content of a PTX text for the simulated runtime: the kernels, their parameters, and
//! whether a kernel has a spin time.

use std::sync::Arc;

use cudart_ffi::cudaError_t;
use cudart_ffi::ptx::{Entry, Parameter, PtxHeader};

use crate::kernels::program::{Program, Unit};
use crate::kernels::variables::ModuleMemory;
use crate::profile::Profile;

/// A kernel: its parameters, its spin time, and its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelCode {
    /// The entry's name.
    pub name: String,
    /// The size of each parameter in bytes.
    pub parameter_bytes: Vec<usize>,
    /// Whether it reads `%clock` or `%clock64`. Such a kernel is assumed to spin for as
    /// many SM clock cycles as its first 64-bit parameter says.
    pub reads_clock: bool,
    /// Its code, if the simulated runtime can execute it.
    pub program: Option<Arc<Program>>,
    /// The variables of its module, if there are any.
    pub variables: Option<Arc<ModuleMemory>>,
}

impl KernelCode {
    /// A kernel of which only the name is known. In NVIDIA's samples, the kernel that
    /// spins for the time in its first argument is named `clockBlock`.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        let spins = name.contains("clockBlock") || name.contains("clock_block");
        Self {
            name: name.to_owned(),
            parameter_bytes: if spins { vec![8] } else { Vec::new() },
            reads_clock: spins,
            program: None,
            variables: None,
        }
    }

    /// The index of the parameter that contains the spin time, if there is one.
    #[must_use]
    pub fn spin_parameter(&self) -> Option<usize> {
        self.reads_clock
            .then(|| self.parameter_bytes.iter().position(|&bytes| bytes == 8))
            .flatten()
    }
}

/// Why a PTX text was refused: the error code, and the line for the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// 218, 222 or 209.
    pub code: cudaError_t,
    /// The text for the log buffer.
    pub log: String,
}

/// Reads the kernels of a PTX text for the profile's driver and device.
///
/// # Errors
///
/// 218 for a text that is not PTX, 222 for a `.version` newer than the driver, 209 for a
/// `.target` that the device cannot run.
pub fn load(text: &str, profile: &Profile) -> Result<Vec<KernelCode>, Refused> {
    let refuse = |code, log: String| Refused { code, log };
    let header = PtxHeader::parse(text)
        .map_err(|error| refuse(cudaError_t::INVALID_PTX, error.to_string()))?;
    let [major, minor] = profile.compute_capability;
    header
        .check(profile.driver_version, (major, minor))
        .map_err(|refusal| refuse(refusal.code(), refusal.to_string()))?;
    Ok(codes_of(text, header.entries).0)
}

/// The kernels and variables of a PTX text, for any driver and device: a program's fat
/// binary also contains machine code for the device. Empty if the text is not PTX.
#[must_use]
pub fn unchecked(text: &str) -> (Vec<KernelCode>, Option<Arc<ModuleMemory>>) {
    PtxHeader::parse(text).map_or_else(
        |_| (Vec::new(), None),
        |header| codes_of(text, header.entries),
    )
}

fn codes_of(text: &str, entries: Vec<Entry>) -> (Vec<KernelCode>, Option<Arc<ModuleMemory>>) {
    let mut unit = Unit::parse(text);
    let variables = ModuleMemory::of(&mut unit).map(Arc::new);
    let code = |entry| code_of(entry, &unit, variables.clone());
    let codes = entries.into_iter().map(code).collect();
    (codes, variables)
}

fn code_of(entry: Entry, unit: &Unit, variables: Option<Arc<ModuleMemory>>) -> KernelCode {
    let names: Vec<_> = entry.parameters.iter().map(|p| p.name.as_str()).collect();
    KernelCode {
        reads_clock: entry
            .body
            .split(|c: char| !(c.is_alphanumeric() || c == '%' || c == '_'))
            .any(|word| matches!(word, "%clock" | "%clock64")),
        program: Program::parse(&entry.body, &names, unit).map(Arc::new),
        variables,
        parameter_bytes: entry.parameters.iter().map(Parameter::bytes).collect(),
        name: entry.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: &str = "\
// written by hand
.version 6.5
.target sm_50
.address_size 64
.visible .entry spin(.param .u32 lanes, .param .u64 clocks)
{
    .reg .b64 %rd<4>;
    { mov.u64 %rd1, %clock64; } /* } */
    ret;
}
.visible .entry plain(
    .param .align 8 .b8 block[40]
)
{
    // %clock64 in a comment is not read
    ret;
}
";

    #[test]
    fn entries_parameters_and_clock_reads_are_found() {
        let kernels = load(SPIN, &Profile::default()).unwrap();
        assert_eq!(kernels.len(), 2);
        assert_eq!(kernels[0].name, "spin");
        assert_eq!(kernels[0].parameter_bytes, [4, 8]);
        assert_eq!(kernels[0].spin_parameter(), Some(1));
        assert_eq!(kernels[1].name, "plain");
        assert_eq!(kernels[1].parameter_bytes, [40]);
        assert_eq!(kernels[1].spin_parameter(), None);
    }

    #[test]
    fn text_that_is_not_ptx_is_218() {
        let profile = Profile::default();
        for text in [
            "",
            "hello",
            ".version 6.5\n.target sm_50\n.entry k() {",
            ".version 6.5\n.target sm_50\n.entry k(int x) { }",
        ] {
            let refused = load(text, &profile).unwrap_err();
            assert_eq!(refused.code, cudaError_t::INVALID_PTX, "{text:?}");
            assert!(!refused.log.is_empty());
        }
    }

    #[test]
    fn a_version_newer_than_the_driver_is_222_and_a_target_above_the_device_209() {
        let profile = Profile {
            driver_version: 11040,
            ..Profile::default()
        };
        let newer = SPIN.replace("6.5", "8.8");
        assert_eq!(
            load(&newer, &profile).unwrap_err().code,
            cudaError_t::UNSUPPORTED_PTX_VERSION
        );
        let above = SPIN.replace("sm_50", "sm_100");
        assert_eq!(
            load(&above, &Profile::default()).unwrap_err().code,
            cudaError_t::NO_KERNEL_IMAGE_FOR_DEVICE
        );
    }
}
