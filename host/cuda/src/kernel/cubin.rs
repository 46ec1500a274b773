//! The kernel's machine code for common architectures, so that the driver need not
//! compile the PTX when the program starts.
//!
//! The driver compiles PTX at its first use, which takes a tenth of a second if it is
//! not in the driver's cache. `cargo xtask ptxas --bless` makes the machine code from
//! the embedded PTX, and `cargo xtask ptxas` checks it byte by byte. On all other
//! devices the PTX is loaded.

use cudart_ffi::loader::Version;

/// The release of the ptxas that made the code. An older driver may not load it.
const MADE_BY: Version = Version(12090);

/// If this is 1, the driver ignores machine code.
const ONLY_PTX: &str = "CUDA_FORCE_PTX_JIT";

/// Machine code for one architecture.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineCode {
    /// The architecture that it was made for, such as 90; it runs on later ones of
    /// the same major number too.
    pub(super) sm: i32,
    /// The ELF file.
    pub(super) cubin: &'static [u8],
}

/// An ELF file begins where its own fields may be read in place.
#[repr(align(16))]
struct Aligned<const N: usize>([u8; N]);

macro_rules! machine_code {
    ($($sm:literal),*) => {
        &[$(MachineCode {
            sm: $sm,
            cubin: {
                static FILE: Aligned<{ include_bytes!(file!($sm)).len() }> =
                    Aligned(*include_bytes!(file!($sm)));
                &FILE.0
            },
        }),*]
    };
}

macro_rules! file {
    ($sm:literal) => {
        concat!(
            "../../../../kernels-rs/cubin/clock_block.sm_",
            $sm,
            ".cubin"
        )
    };
}

/// The machine code, from the oldest architecture to the newest.
const CLOCK_BLOCK: &[MachineCode] = machine_code!(75, 80, 90, 100, 120);

/// The machine code of `clock_block` that a device of this compute capability and this
/// driver can run, if there is any.
pub(super) fn clock_block(
    capability: (i32, i32),
    driver: Option<Version>,
) -> Option<&'static MachineCode> {
    if std::env::var_os(ONLY_PTX).is_some_and(|value| value == "1") {
        return None;
    }
    if driver.is_none_or(|driver| driver < MADE_BY) {
        return None;
    }
    for_capability(capability)
}

fn for_capability((major, minor): (i32, i32)) -> Option<&'static MachineCode> {
    CLOCK_BLOCK
        .iter()
        .rev()
        .find(|code| code.sm / 10 == major && code.sm % 10 <= minor)
}

#[cfg(test)]
mod tests {
    use object::read::elf::FileHeader;
    use object::{Object, ObjectSymbol};

    use super::super::SpinKernel;
    use super::*;

    #[test]
    fn a_device_gets_code_of_its_own_major_number_and_no_later_minor_one() {
        let sm = |capability| for_capability(capability).map(|code| code.sm);
        assert_eq!(sm((7, 0)), None);
        assert_eq!(sm((7, 5)), Some(75));
        assert_eq!(sm((8, 6)), Some(80));
        assert_eq!(sm((8, 9)), Some(80));
        assert_eq!(sm((9, 0)), Some(90));
        assert_eq!(sm((10, 3)), Some(100));
        assert_eq!(sm((11, 0)), None);
        assert_eq!(sm((12, 1)), Some(120));
    }

    #[test]
    fn a_driver_older_than_the_assembler_gets_none() {
        let h200 = |driver| clock_block((9, 0), driver).map(|code| code.sm);
        assert_eq!(h200(Some(Version(13000))), Some(90));
        assert_eq!(h200(Some(MADE_BY)), Some(90));
        assert_eq!(h200(Some(Version(12080))), None);
        assert_eq!(h200(None), None);
    }

    /// Reads the file with a library, independently of this project.
    #[test]
    fn each_file_is_code_of_the_kernel_for_the_architecture_that_its_name_says() {
        for code in CLOCK_BLOCK {
            let header = object::elf::FileHeader64::<object::Endianness>::parse(code.cubin)
                .expect("an ELF file");
            let endian = header.endian().expect("of known byte order");
            assert_eq!(header.e_machine(endian), object::elf::EM_CUDA);
            // The architecture stands in the flags, from the ABI's version 8 on in
            // their second byte.
            let shift = if header.e_ident().abi_version < 8 {
                0
            } else {
                8
            };
            let sm = header.e_flags(endian) >> shift & 0xff;
            assert_eq!(i64::from(sm), i64::from(code.sm));
            let file = object::File::parse(code.cubin).expect("an ELF file");
            let entry = file
                .symbols()
                .find(|symbol| symbol.name() == Ok(SpinKernel::NAME));
            assert!(
                entry.is_some_and(|entry| entry.size() > 0),
                "sm_{}",
                code.sm
            );
            assert!(code.cubin.as_ptr().addr().is_multiple_of(16));
        }
    }
}
