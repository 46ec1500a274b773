//! The simulated runtime as a file that programs in any language load: on Linux
//! `libcudart_simulated.so`, which is a libcudart and a libcuda. All functions are those of
//! [`cudart_model::c_api`].

pub use cudart_model::symbol;
