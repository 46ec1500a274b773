//! The PTX of the kernels: of `clock_block` the embedded one or the user's file, of
//! `negated_squares` the embedded one.

use std::ffi::CStr;
use std::path::Path;

use cudart_ffi::ptx::PtxHeader;

use super::cubin;
use crate::exit::Stop;
use cuda_graphs::{Device, Kernel, KernelError, RouteChoice, Runtime};

/// The kernel's name: spins for at least as many SM clocks as its one argument says.
pub const KERNEL_NAME: &str = "clock_block";

/// What `cargo xtask kernel --with rustc` writes, committed with its provenance.
const EMBEDDED: &str = include_str!("../../../kernels-rs/ptx/clock_block.ptx");

/// The kernel that writes: `-(x * x)` for each 32-bit number of its first argument to
/// its second, as many as its third says, a thread each.
pub const NEGATED_SQUARES: &CStr = c"negated_squares";

/// What `cargo xtask kernel --kernel negated-squares --with rustc` writes.
pub const NEGATED_SQUARES_PTX: &CStr = match CStr::from_bytes_with_nul(
    concat!(
        include_str!("../../../kernels-rs/ptx/negated_squares.ptx"),
        "\0"
    )
    .as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("PTX has no NUL byte"),
};

/// PTX text and what is known of it.
#[derive(Debug)]
pub struct KernelSource {
    /// The text.
    pub ptx: String,
    /// Its version, target, entries and provenance.
    pub header: PtxHeader,
    /// Where it came from: `embedded`, or the file.
    pub origin: String,
}

impl KernelSource {
    /// Reads a file, or takes the embedded text.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is no PTX, or lacks the kernel with its one
    /// parameter.
    pub fn get(file: Option<&Path>) -> Result<Self, Stop> {
        let remedy = "--ptx takes a file that `cargo xtask kernel` wrote";
        let (ptx, origin) = match file {
            None => (EMBEDDED.to_owned(), "embedded".to_owned()),
            Some(file) => {
                let text = std::fs::read_to_string(file).map_err(|e| {
                    Stop::usage(format!("cannot read {}: {e}", file.display()), remedy)
                })?;
                (text, file.display().to_string())
            }
        };
        let header = PtxHeader::parse(&ptx)
            .map_err(|error| Stop::usage(format!("{origin}: {error}"), remedy))?;
        let Some(entry) = header.entry(KERNEL_NAME) else {
            return Err(Stop::usage(
                format!("{origin} has no kernel `{KERNEL_NAME}`"),
                remedy,
            ));
        };
        let [only] = entry.parameters.as_slice() else {
            return Err(not_one_integer(&origin, remedy));
        };
        if !only.is_64_bit_integer() {
            return Err(not_one_integer(&origin, remedy));
        }
        Ok(Self {
            ptx,
            header,
            origin,
        })
    }

    /// Makes a device current and loads the kernel on it.
    ///
    /// # Errors
    ///
    /// PTX that the driver or the device cannot run, and what [`load`](Self::load) says.
    pub fn load_on<'rt>(
        &self,
        runtime: &'rt Runtime,
        device: Device<'rt>,
        route: RouteChoice,
    ) -> Result<Kernel<'rt>, Stop> {
        let capability = device.info()?.compute_capability;
        if let Some(driver) = runtime.driver_version() {
            let fits = self.header.check(driver.0, capability);
            fits.map_err(|refusal| {
                Stop::error(format!("{}: {refusal}", self.origin), refusal.remedy())
            })?;
        }
        device.make_current()?;
        Ok(self.load(runtime, capability, route)?)
    }

    /// Loads the kernel on a device that is current and has this compute capability:
    /// from ready machine code where there is some that fits, else the driver
    /// compiles the PTX.
    ///
    /// # Errors
    ///
    /// 218 for text that is no PTX, 222 for a PTX version newer than the driver, 209
    /// for a target that the device is not; neither way of loading it being there.
    pub fn load<'rt>(
        &self,
        runtime: &'rt Runtime,
        capability: (i32, i32),
        route: RouteChoice,
    ) -> Result<Kernel<'rt>, KernelError> {
        if let Some(code) = self.machine_code(runtime, capability) {
            match Kernel::load_cubin(runtime, code.cubin, KERNEL_NAME, route) {
                Ok(kernel) => return Ok(kernel),
                Err(error) => log::info!(
                    "the machine code for sm_{} was refused, so the driver compiles the PTX: {error}",
                    code.sm
                ),
            }
        }
        Kernel::load(runtime, &self.ptx, KERNEL_NAME, route)
    }

    /// Code made of this very PTX. The model reads PTX alone.
    fn machine_code(
        &self,
        runtime: &Runtime,
        capability: (i32, i32),
    ) -> Option<&'static cubin::MachineCode> {
        if runtime.model_description().is_some() || !same_code(&self.ptx, EMBEDDED) {
            return None;
        }
        cubin::clock_block(capability, runtime.driver_version())
    }
}

fn not_one_integer(origin: &str, remedy: &str) -> Stop {
    Stop::usage(
        format!("{origin}: `{KERNEL_NAME}` does not take one 64-bit integer"),
        remedy,
    )
}

/// Whether two PTX texts differ in comment lines alone, where provenance stands.
fn same_code(a: &str, b: &str) -> bool {
    let code = |text| str::lines(text).filter(|line| !line.starts_with("//"));
    code(a).eq(code(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_may_differ_from_what_the_machine_code_was_made_of() {
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
