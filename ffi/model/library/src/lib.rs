//! The simulated runtime as a shared library that programs in any language can load. On
//! Linux, `libcudart_simulated.so` is both a libcudart and a libcuda. It contains the
//! functions of [`cudart_model::c_api`].

pub use cudart_model::symbol;
