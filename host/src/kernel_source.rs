//! The PTX of the kernels: of `clock_block` the embedded one or the user's file, of
//! `negated_squares` the embedded one.

use std::ffi::CStr;
use std::path::Path;

use cudart_ffi::ptx::PtxHeader;

use crate::exit::Stop;

/// The kernel's name: spins for at least as many SM clocks as its one argument says.
pub const KERNEL_NAME: &str = "clock_block";

/// What `cargo xtask kernel --with rustc` writes, committed with its provenance.
const EMBEDDED: &str = include_str!("../../kernels-rs/ptx/clock_block.ptx");

/// The kernel that writes: `-(x * x)` for each 32-bit number of its first argument to
/// its second, as many as its third says, a thread each.
pub const NEGATED_SQUARES: &CStr = c"negated_squares";

/// What `cargo xtask kernel --kernel negated-squares --with rustc` writes.
pub const NEGATED_SQUARES_PTX: &CStr = match CStr::from_bytes_with_nul(
    concat!(
        include_str!("../../kernels-rs/ptx/negated_squares.ptx"),
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
    /// A file that cannot be read, is no PTX, or lacks the kernel.
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
        if !header.entries.iter().any(|entry| entry == KERNEL_NAME) {
            return Err(Stop::usage(
                format!("{origin} has no kernel `{KERNEL_NAME}`"),
                remedy,
            ));
        }
        Ok(Self {
            ptx,
            header,
            origin,
        })
    }
}
