//! What a graph will hold, before it runs.
//!
//! - [`dot`] and [`scenario`] read descriptions of graphs, `input` chooses between
//!   them; [`description`] is the form that both become.
//! - [`layout`] is where allocations lie and what that maps, [`timeline`] what is
//!   alive when, [`findings`] what could be better; [`result`] is all of it as data.
//! - [`forecast`] makes the programmes that a plan asks about, [`mod@play`] runs one
//!   on a GPU or on the model, [`programme`] holds measured against planned.
//!
//! Addresses and footprints follow the driver's rule as it was found on an H200
//! (`cudart_model::memory::address`).

mod analysis;
mod args;
pub mod description;
pub mod dot;
pub mod findings;
pub mod forecast;
mod input;
pub mod layout;
pub mod name;
pub mod play;
pub mod programme;
pub mod result;
mod run;
pub mod scenario;
mod text;
pub mod timeline;
mod units;

pub use args::{PlanArgs, PlanFormat};
pub use run::run;

#[cfg(test)]
pub(crate) mod recordings;
