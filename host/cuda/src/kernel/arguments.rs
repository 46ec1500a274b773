//! What a kernel is launched with: dimensions, and arguments that fit its parameters.

use std::ffi::c_void;

use cudart_ffi::ptx::{Parameter, Scalar};

use crate::address::DeviceAddress;

/// The dimensions of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of each block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of each block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// So many blocks of so many threads, in a row, without dynamic shared memory.
    #[must_use]
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
        }
    }
}

/// One argument of a launch. Most are made with `From`: `Argument::from(8_u64)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// An integer of this many bytes, in the machine's byte order, signed or not.
    Integer([u8; 8], usize),
    /// A 32-bit floating-point number.
    F32(f32),
    /// A 64-bit floating-point number.
    F64(f64),
    /// An address on the device.
    Address(DeviceAddress),
    /// A struct or an array, byte for byte as the kernel has it.
    Bytes(&'a [u8]),
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Argument<'_> {
            fn from(value: $integer) -> Self {
                let value = value.to_ne_bytes();
                let mut bytes = [0; 8];
                for (slot, byte) in bytes.iter_mut().zip(value) {
                    *slot = byte;
                }
                Self::Integer(bytes, value.len())
            }
        }
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);

impl From<f32> for Argument<'_> {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

impl From<f64> for Argument<'_> {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl From<DeviceAddress> for Argument<'_> {
    fn from(value: DeviceAddress) -> Self {
        Self::Address(value)
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl Argument<'_> {
    /// Whether it is what this parameter takes: of the same size, and a number only for a
    /// parameter of its kind. `.b32` takes every number of 32 bits.
    fn fits(&self, parameter: &Parameter) -> bool {
        let scalar = parameter.scalar;
        let is_integer = matches!(
            scalar,
            Scalar::Unsigned(_) | Scalar::Signed(_) | Scalar::Bits(_)
        );
        let is_float = matches!(scalar, Scalar::Float(_) | Scalar::Bits(_));
        let is_single = parameter.elements.is_none();
        match *self {
            Self::Integer(_, bytes) => is_single && is_integer && bytes == scalar.bytes(),
            Self::F32(_) => is_single && is_float && scalar.bytes() == 4,
            Self::F64(_) => is_single && is_float && scalar.bytes() == 8,
            Self::Address(_) => is_single && is_integer && scalar.bytes() == 8,
            Self::Bytes(bytes) => bytes.len() == parameter.bytes(),
        }
    }

    fn describe(&self) -> String {
        match *self {
            Self::Integer(_, bytes) => format!("an integer of {} bits", bytes * 8),
            Self::F32(_) => "an f32".to_owned(),
            Self::F64(_) => "an f64".to_owned(),
            Self::Address(_) => "an address".to_owned(),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
        }
    }
}

/// Arguments as the C functions take them: a pointer to each value.
#[derive(Debug)]
pub(super) struct Marshalled<'a>(Vec<Value<'a>>);

#[derive(Debug)]
enum Value<'a> {
    Own([u8; 8]),
    Borrowed(&'a [u8]),
}

impl<'a> Marshalled<'a> {
    /// The arguments, if they are what the parameters take; else the reason why not.
    pub(super) fn new(
        arguments: &'a [Argument<'_>],
        parameters: &[Parameter],
    ) -> Result<Self, String> {
        if arguments.len() != parameters.len() {
            return Err(format!(
                "{} arguments for {} parameters",
                arguments.len(),
                parameters.len()
            ));
        }
        let pairs = arguments.iter().zip(parameters).enumerate();
        for (index, (argument, parameter)) in pairs {
            if !argument.fits(parameter) {
                return Err(format!(
                    "parameter {} is {parameter}, and the argument is {}",
                    index + 1,
                    argument.describe()
                ));
            }
        }
        let values = arguments.iter().map(|argument| match *argument {
            Argument::Integer(bytes, _) => Value::Own(bytes),
            Argument::F32(number) => {
                let [a, b, c, d] = number.to_ne_bytes();
                Value::Own([a, b, c, d, 0, 0, 0, 0])
            }
            Argument::F64(number) => Value::Own(number.to_ne_bytes()),
            Argument::Address(address) => Value::Own(address.0.to_ne_bytes()),
            Argument::Bytes(bytes) => Value::Borrowed(bytes),
        });
        Ok(Self(values.collect()))
    }

    /// A pointer to each value, valid for as long as this is borrowed. The calls that they
    /// are for read the values and write nothing.
    pub(super) fn pointers(&mut self) -> Vec<*mut c_void> {
        let each = self.0.iter_mut().map(|value| match value {
            Value::Own(bytes) => bytes.as_mut_ptr().cast(),
            Value::Borrowed(bytes) => bytes.as_ptr().cast_mut().cast(),
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(scalar: Scalar, elements: Option<usize>) -> Parameter {
        Parameter {
            name: "p".to_owned(),
            scalar,
            elements,
            align: None,
        }
    }

    #[test]
    fn an_argument_fits_a_parameter_of_its_kind_and_size_alone() {
        let block = [0_u8; 40];
        let arguments = [
            Argument::from(1_u8),
            Argument::from(1_i32),
            Argument::from(1_u64),
            Argument::from(1_f32),
            Argument::from(1_f64),
            Argument::from(DeviceAddress(1)),
            Argument::from(&block[..]),
        ];
        let parameters = [
            (Scalar::Unsigned(8), None, "1000000"),
            (Scalar::Unsigned(32), None, "0100000"),
            (Scalar::Signed(64), None, "0010010"),
            (Scalar::Float(32), None, "0001000"),
            (Scalar::Float(64), None, "0000100"),
            (Scalar::Bits(32), None, "0101000"),
            (Scalar::Bits(64), None, "0010110"),
            (Scalar::Bits(8), Some(40), "0000001"),
            (Scalar::Bits(64), Some(5), "0000001"),
            (Scalar::Bits(64), Some(1), "0000000"),
            (Scalar::Bits(128), None, "0000000"),
        ];
        for (scalar, elements, expected) in parameters {
            let parameter = parameter(scalar, elements);
            let fits = arguments.iter().map(|argument| argument.fits(&parameter));
            let found: String = fits.map(|fits| if fits { '1' } else { '0' }).collect();
            assert_eq!(found, expected, "{parameter}");
        }
    }

    #[test]
    fn values_arrive_byte_for_byte() {
        let block = [7_u8; 3];
        let arguments = [
            Argument::from(-2_i16),
            Argument::from(0.5_f32),
            Argument::from(&block[..]),
        ];
        let parameters = [
            parameter(Scalar::Signed(16), None),
            parameter(Scalar::Float(32), None),
            parameter(Scalar::Bits(8), Some(3)),
        ];
        let mut marshalled = Marshalled::new(&arguments, &parameters).expect("they fit");
        let pointers = marshalled.pointers();
        // SAFETY: each pointer is valid for reads of its value's size.
        unsafe {
            assert_eq!(pointers[0].cast::<i16>().read_unaligned(), -2);
            assert!((pointers[1].cast::<f32>().read_unaligned() - 0.5).abs() < f32::EPSILON);
            assert_eq!(pointers[2].cast::<[u8; 3]>().read_unaligned(), block);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let parameters = [parameter(Scalar::Unsigned(64), None)];
        let why = |arguments: &[Argument<'_>]| Marshalled::new(arguments, &parameters).unwrap_err();
        assert_eq!(why(&[]), "0 arguments for 1 parameters");
        assert_eq!(
            why(&[Argument::from(1_f64)]),
            "parameter 1 is .u64, and the argument is an f64"
        );
    }
}
