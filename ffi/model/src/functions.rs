//! The functions of the table, as values to count and to name.

use cudart_ffi::{FUNCTIONS, Function};

macro_rules! ids {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// One function of the table.
        #[allow(non_camel_case_types, missing_docs, reason = "the C names say it")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FunctionId {
            $($name,)*
        }
    };
}

cudart_ffi::cudart_functions!(ids);

impl FunctionId {
    /// How many functions there are.
    pub const COUNT: usize = FUNCTIONS.len();

    /// The function's line in the table.
    #[must_use]
    pub fn line(self) -> Option<&'static Function> {
        FUNCTIONS.get(self as usize)
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
        self != Self::cudaGetLastError
            && self
                .line()
                .is_some_and(|line| line.returns == "cudaError_t")
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

macro_rules! all {
    ($($presence:ident [$since:literal] fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        impl FunctionId {
            /// Every function, in the table's order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name,)*];
        }
    };
}

cudart_ffi::cudart_functions!(all);

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
