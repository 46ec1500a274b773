//! The exported functions, as values to count and to name.

use cudart_ffi::{Function, Presence};

use crate::exports::{exported_functions, with_those_of_other_programs};

macro_rules! presence {
    (required) => {
        Presence::Required
    };
    (optional) => {
        Presence::Optional
    };
    (model) => {
        Presence::Model
    };
}

macro_rules! ids {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// One exported function.
        #[allow(non_camel_case_types, missing_docs, reason = "the C names say it")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FunctionId {
            $($name,)*
        }

        /// Every function of the runtime that is exported, with its prototype: where that
        /// differs between versions of CUDA, the one of 13.
        pub const EXPORTS: &[Function] = &[
            $(Function {
                name: stringify!($name),
                arguments: &[$((stringify!($arg), stringify!($ty))),*],
                returns: stringify!($ret),
                presence: presence!($presence),
                since: stringify!($since),
            },)*
        ];

        impl FunctionId {
            /// Every function, in the order of the list.
            pub const ALL: [Self; EXPORTS.len()] = [$(Self::$name,)*];
        }
    };
}

exported_functions!(ids);

impl FunctionId {
    /// How many functions there are.
    pub const COUNT: usize = EXPORTS.len();

    fn line(self) -> Option<&'static Function> {
        EXPORTS.get(self as usize)
    }

    /// The C name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.line().map_or("", |line| line.name)
    }

    /// The function of this C name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|function| function.name() == name)
    }

    /// Whether it returns an error code: only such calls are counted, fail by a
    /// fault, or set the last error.
    #[must_use]
    pub fn returns_code(self) -> bool {
        !matches!(self, Self::cudaGetLastError | Self::cudaPeekAtLastError)
            && self
                .line()
                .is_some_and(|line| line.returns == "cudaError_t")
    }

    /// Whether it makes a context current where none is: all but questions to devices
    /// and to the thread.
    #[must_use]
    pub fn uses_context(self) -> bool {
        !self.needs_no_driver()
            && !matches!(
                self,
                Self::cudaGetDeviceCount
                    | Self::cudaGetDevice
                    | Self::cudaDeviceGetAttribute
                    | Self::cudaGetDeviceProperties
                    | Self::cudaGetDeviceProperties_v2
                    | Self::cudaThreadExchangeStreamCaptureMode
            )
    }

    /// Whether it works without a driver and a device.
    #[must_use]
    pub fn needs_no_driver(self) -> bool {
        matches!(
            self,
            Self::cudaDriverGetVersion | Self::cudaRuntimeGetVersion
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_own_line() {
        assert_eq!(FunctionId::cudaGraphLaunch.name(), "cudaGraphLaunch");
        assert_eq!(
            FunctionId::from_name("cudaFree"),
            Some(FunctionId::cudaFree)
        );
        assert!(!FunctionId::cudaGetErrorName.returns_code());
        assert!(FunctionId::cudaFree.returns_code());
    }
}
