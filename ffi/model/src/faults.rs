//! Faults: calls that are made to fail.

use core::fmt;
use core::str::FromStr;

use cudart_ffi::cudaError_t;

use crate::functions::FunctionId;

/// One call that returns a code and does nothing.
///
/// As text: `17=700` (the 17th of all calls) or `cudaGraphLaunch:3=2` (the third call of
/// one function). Calls are counted from 1. Calls that do not return an error code are not
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// If `None`, all calls are counted; otherwise only calls of this function.
    pub function: Option<FunctionId>,
    /// The number of the call.
    pub call: u64,
    /// The code that it returns.
    pub code: cudaError_t,
}

/// The error for a text that is not a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a fault: write NUMBER=CODE or FUNCTION:NUMBER=CODE, as in cudaGraphLaunch:3=2"
)]
pub struct FaultSyntax(String);

impl FromStr for Fault {
    type Err = FaultSyntax;

    fn from_str(text: &str) -> Result<Self, FaultSyntax> {
        let wrong = || FaultSyntax(text.to_owned());
        let (place, code) = text.trim().split_once('=').ok_or_else(wrong)?;
        let (function, call) = match place.split_once(':') {
            Some((name, call)) => {
                let function = FunctionId::from_name(name.trim()).ok_or_else(wrong)?;
                if !function.returns_code() {
                    return Err(wrong());
                }
                (Some(function), call)
            }
            None => (None, place),
        };
        let call = call.trim().parse().map_err(|_| wrong())?;
        let code = code.trim().parse().map_err(|_| wrong())?;
        if call == 0 || code == 0 {
            return Err(wrong());
        }
        Ok(Self {
            function,
            call,
            code: cudaError_t(code),
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "{}:", function.name())?;
        }
        write!(f, "{}={}", self.call, self.code.0)
    }
}

/// Reads a list of faults, separated by commas or spaces.
///
/// # Errors
///
/// The first entry that is not a fault.
pub fn parse_list(text: &str) -> Result<Vec<Fault>, FaultSyntax> {
    text.split([',', ' '])
        .filter(|entry| !entry.is_empty())
        .map(str::parse)
        .collect()
}

/// Whether such a code corrupts the context, so that every later call returns it too.
#[must_use]
pub fn corrupts_the_context(code: cudaError_t) -> bool {
    // Illegal address, launch timeout, assert, hardware exceptions such as an illegal
    // instruction, and launch failure.
    matches!(code.0, 700 | 702 | 710 | 714..=719)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_fault_are_read_and_written() {
        for text in ["17=700", "cudaGraphLaunch:3=2"] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        let list = parse_list("17=700, cudaFree:1=1").unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].function, FunctionId::from_name("cudaFree"));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "17",
            "0=1",
            "17=0",
            "17=x",
            "cudaNothing:1=1",
            "cudaGetErrorName:1=1",
            ":1=1",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text:?}");
        }
    }
}
