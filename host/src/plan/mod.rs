//! What a graph will hold, before it runs.

mod analysis;
pub mod description;
pub mod dot;
pub mod findings;
pub mod forecast;
pub mod layout;
pub mod play;
pub mod programme;
pub mod result;
pub mod scenario;
pub mod timeline;
mod units;

#[cfg(test)]
pub(crate) mod recordings;
