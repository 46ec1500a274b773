//! The exported functions as values, so that calls can be counted and named.

use cudart_ffi::Function;
use cudart_ffi::simulated_runtime::SIMULATED_RUNTIME_FUNCTIONS;
use cudart_ffi::simulated_runtime_functions;

macro_rules! ids {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// One exported function.
        #[allow(non_camel_case_types, missing_docs, reason = "the C names say it")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FunctionId {
            $($name,)*
        }

        impl FunctionId {
            /// Every function, in the order of the list.
            pub const ALL: [Self; SIMULATED_RUNTIME_FUNCTIONS.len()] = [$(Self::$name,)*];
        }
    };
}

simulated_runtime_functions!(ids);

impl FunctionId {
    /// The number of functions.
    pub const COUNT: usize = SIMULATED_RUNTIME_FUNCTIONS.len();

    fn line(self) -> Option<&'static Function> {
        SIMULATED_RUNTIME_FUNCTIONS.get(self as usize)
    }

    /// The C name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.line().map_or("", |line| line.name)
    }

    /// The function with this C name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|function| function.name() == name)
    }

    /// Whether it returns an error code. Only such calls are counted, can be made to
    /// fail, or set the last error.
    #[must_use]
    pub fn returns_code(self) -> bool {
        !matches!(self, Self::cudaGetLastError | Self::cudaPeekAtLastError)
            && self
                .line()
                .is_some_and(|line| line.returns == "cudaError_t")
    }

    /// Whether it makes a context current if none is: all functions do, except queries
    /// of a device or of the thread.
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
    fn an_id_has_the_name_of_its_own_line() {
        assert_eq!(FunctionId::cudaGraphLaunch.name(), "cudaGraphLaunch");
        assert_eq!(
            FunctionId::from_name("cudaFree"),
            Some(FunctionId::cudaFree)
        );
        assert!(!FunctionId::cudaGetErrorName.returns_code());
        assert!(FunctionId::cudaFree.returns_code());
    }
}
