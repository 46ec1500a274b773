//! What a graph will hold, before it runs.

pub mod description;
pub mod dot;
pub mod forecast;
pub mod layout;
pub mod play;
pub mod scenario;
pub mod timeline;

#[cfg(test)]
pub(crate) mod recordings;
