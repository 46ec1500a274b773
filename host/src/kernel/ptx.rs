//! The PTX of the kernel that spins: the embedded one, or the user's file.

use std::path::Path;

use cudart_ffi::ptx::{PtxHeader, PtxRefusal};

use crate::cli::exit::Stop;
use cuda_graphs::{Device, KernelError, RouteChoice, Runtime, SpinKernel};

/// The spinning kernel's name. Its argument is the spin time in SM clocks.
pub const KERNEL_NAME: &str = SpinKernel::NAME;

/// The output of `cargo xtask kernel --with rustc`, committed with its provenance.
const EMBEDDED: &str = SpinKernel::PTX;

/// The origin of the embedded text.
const EMBEDDED_ORIGIN: &str = "embedded";

/// PTX text and its header.
#[derive(Debug)]
pub struct KernelSource {
    /// The text.
    pub ptx: String,
    /// Its version, target, entries and provenance.
    pub header: PtxHeader,
    /// Its origin: `embedded`, or the file.
    pub origin: String,
}

impl KernelSource {
    /// Reads a file, or uses the embedded text.
    ///
    /// # Errors
    ///
    /// A usage error for a file that cannot be read, is not PTX, or does not contain the
    /// kernel with its one parameter.
    pub fn get(file: Option<&Path>) -> Result<Self, Stop> {
        let remedy =
            "omit --ptx to use the embedded kernel, or give a file that `cargo xtask kernel` wrote";
        let (ptx, origin) = match file {
            None => (EMBEDDED.to_owned(), EMBEDDED_ORIGIN.to_owned()),
            Some(file) => {
                let text = std::fs::read_to_string(file).map_err(|e| {
                    Stop::usage(format!("cannot read {}: {e}", file.display()), remedy)
                })?;
                (text, file.display().to_string())
            }
        };
        let header = PtxHeader::parse(&ptx)
            .map_err(|error| Stop::usage(format!("{origin}: {error}"), remedy))?;
        SpinKernel::check(&header, KERNEL_NAME)
            .map_err(|error| Stop::usage(format!("{origin}: {error}"), remedy))?;
        Ok(Self {
            ptx,
            header,
            origin,
        })
    }

    /// The error for PTX that the driver or the device would refuse.
    #[must_use]
    fn refused(&self, refusal: PtxRefusal) -> Stop {
        let remedy = if self.origin == EMBEDDED_ORIGIN {
            format!("{}, and give it to --ptx", refusal.remedy())
        } else {
            format!(
                "omit --ptx to use the embedded kernel, or {}",
                refusal.remedy()
            )
        };
        Stop::error(format!("{}: {refusal}", self.origin), remedy)
    }

    /// Makes a device current and loads the kernel on it.
    ///
    /// # Errors
    ///
    /// PTX that the driver or the device cannot run, and the errors of
    /// [`load`](Self::load).
    pub fn load_on<'rt>(
        &self,
        runtime: &'rt Runtime,
        device: Device<'rt>,
        route: RouteChoice,
    ) -> Result<SpinKernel<'rt>, Stop> {
        let capability = device.info()?.compute_capability;
        if let Some(driver) = runtime.driver_version() {
            let fits = self.header.check(driver.0, capability);
            fits.map_err(|refusal| self.refused(refusal))?;
        }
        device.make_current()?;
        Ok(self.load(runtime, capability, route)?)
    }

    /// Loads the kernel on the current device, which has this compute capability. If
    /// there is machine code for it, that is loaded; otherwise the driver compiles the
    /// PTX.
    ///
    /// # Errors
    ///
    /// 218 for text that is not PTX, 222 for a PTX version newer than the driver, 209 for
    /// a target that does not include the device, or [`KernelError::NoRoute`].
    pub fn load<'rt>(
        &self,
        runtime: &'rt Runtime,
        capability: (i32, i32),
        route: RouteChoice,
    ) -> Result<SpinKernel<'rt>, KernelError> {
        // Ready machine code is made of the embedded PTX.
        if same_code(&self.ptx, EMBEDDED) {
            SpinKernel::load_ready(runtime, capability, route)
        } else {
            SpinKernel::load(runtime, &self.ptx, KERNEL_NAME, route)
        }
    }
}

/// Whether two PTX texts differ in comment lines only, where the provenance stands.
fn same_code(a: &str, b: &str) -> bool {
    let code = |text| str::lines(text).filter(|line| !line.starts_with("//"));
    code(a).eq(code(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_code_is_used_for_ptx_that_differs_in_comments_only() {
        assert!(same_code(
            EMBEDDED,
            &format!("//@ command: another\n{EMBEDDED}")
        ));
        assert!(!same_code(
            EMBEDDED,
            &EMBEDDED.replace("%clock64", "%clock")
        ));
        assert!(!same_code(EMBEDDED, ""));
    }

    #[test]
    fn a_kernel_with_other_parameters_is_told_from_ours() {
        let with = |parameters: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            let text = format!(
                ".version 5.0\n.target sm_60\n.visible .entry clock_block({parameters})\n{{\n\tret;\n}}\n"
            );
            std::fs::write(file.path(), text).expect("written");
            KernelSource::get(Some(file.path())).map_err(|stop| stop.what)
        };
        assert!(with("\n\t.param .u64 clocks // how many\n").is_ok());
        assert!(with("/* , .param .u64 b */ .param .s64 clocks").is_ok());
        for other in [
            "",
            ".param .u32 a",
            ".param .u64 a, .param .u64 b",
            ".param .u64 a,\n.param .u64 b",
            ".param .u64 a /* ) */, .param .u64 b",
            ".param .b64 a[2]",
            ".param .align 8 .b8 a[16]",
        ] {
            let what = with(other).expect_err(other);
            assert!(what.contains("one 64-bit integer"), "{other}: {what}");
        }
    }
}
